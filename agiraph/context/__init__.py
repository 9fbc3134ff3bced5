"""Context: what is known of earlier work and of projects, as a graph of records with a search.

records    the records: nodes of nine kinds, typed edges, what a search and an export return
worth      how much a node is worth at a time: for ranking and pruning
store      the database `context.db`: written by one process, searched by FTS5 with bm25
words      from a question to the words that are looked up, and to the bounded set that is ranked
relevant   what of the hits enters a prompt within a bound on tokens, with the reason for each
learned    what a finished run leaves: its nodes and edges
scan       the project scanner, a process of its own: project, files, patterns
obsidian   the export as an Obsidian vault

Both ways of working, the board's and the Agentic Team's, write to the same database and read it.
Neither needs it: without it, or with an empty one, a run has no notes of earlier work, and nothing
else changes.
"""
