"""The project scanner: the facts in a folder's files about the project, as nodes and edges.

scanner     the folder's files, compared with the last scan; batches of new and deleted files
ignores     the files excluded by .gitignore files, and the files that are never read
languages   a file's language, and the description in its beginning
stack       the tech stack from manifests, and the patterns that the project follows

It is a process of its own, of low priority, that writes no files: `python -m agiraph.knowledge.scan
FOLDER` reads the known state from its standard input and prints the batches.
"""
