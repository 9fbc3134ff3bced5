"""The export as an Obsidian vault: a folder of notes that link to one another.

vault    the writes, compared with the last export
names    names of notes that are valid in every file system and every link
notes    a node as a note: its frontmatter, its text made harmless, its links
index    the map of content, and Obsidian's own settings
"""
