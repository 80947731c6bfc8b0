"""The live page: runs followed while they run, over their event logs alone, served to this machine only.

finding -> lines -> tail -> tally and account -> following -> library -> server; nothing here writes into a run or takes
its lock.
"""
