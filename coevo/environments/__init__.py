"""Environments: what an agent acts in for many turns, with a reward at the end.

An environment is a folder with `environment.toml` and `environment.py`. Those that ship with coevo are the folders
here; a user's own has the same shape and lies anywhere.
"""
