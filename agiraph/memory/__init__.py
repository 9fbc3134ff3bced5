"""Memory: an entity's knowledge beyond its conversation, as Markdown files that people can read.

memory_files   the files of one entity's memory: read, written within limits, listed; insights
search         the whole memory if it is small, else the sections that match a query, ranked
loading        the part of an agent's memory that its prompt begins with; when to prune it
skills         AGENTS.md and SKILL.md: listed in the prompt by name, read on demand

An agent's memory is MEMORY.md and `memory/` in its home and is written by its coordinator alone.
A worker's is `memory.md` and `notebook.md` in its own folder and lasts as long as its run. The
files are authoritative; an index is built for a search and discarded.
"""
