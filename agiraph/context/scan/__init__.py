"""The project scanner: what a folder's files say of the project, as nodes and edges.

scanner     the folder's files, compared with the last scan; batches of what is new and what is gone
ignores     what .gitignore files leave out, and what is never looked at
languages   a file's language, and what its beginning says of it
stack       what manifests say: the tech stack, and the patterns that the project follows

It is a process of its own, of low priority, that writes nothing: `python -m agiraph.context.scan
FOLDER` reads what is known from its standard input and prints the batches.
"""
