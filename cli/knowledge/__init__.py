"""`agiraph knowledge`: the knowledge from earlier work.

command.py   the group and its commands: search, show, why, add, rm, scan, stats, prune
export.py    its exports: lines of JSON, and an Obsidian vault
"""
