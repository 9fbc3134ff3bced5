"""Knowledge: records of earlier work and of projects, as a graph with a search.

records    the records: nodes of nine kinds, typed edges, the results of searches and exports
worth      the worth of a node at a time: for ranking and pruning
store      the database `knowledge.db`: written by one process, searched by FTS5 with bm25
words      the words of a question for the index, and the bounded set to rank
relevant   the hits that enter a prompt within a limit of tokens, with the reason for each
learned    the nodes and edges of a finished run
scan       the project scanner, a process of its own: project, files, patterns
obsidian   the export as an Obsidian vault

Both ways of working, the board's and the Agentic Team's, write to the same database and read it.
Both run without it: without a database, or with an empty one, a run has no notes of earlier work,
and nothing else changes.
"""
