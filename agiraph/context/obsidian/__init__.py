"""The export as an Obsidian vault: a folder of notes that link to one another.

vault    what is written, compared with what was written before
names    names of notes that every file system and every link can hold
notes    a node as a note: its frontmatter, its text made harmless, its links
index    the map of content, and Obsidian's own settings
"""
