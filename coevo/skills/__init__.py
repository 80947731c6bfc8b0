"""Trace2Skill (arXiv:2603.25158): traces of children become lessons, lessons become one skill text."""
