"""Memory: what an entity knows beyond its conversation, as Markdown files that people can read.

sections   a file cut at its headings: what is searched and found
search     all of it when it is small, else the sections that fit a query, ranked
shelf      the files of one entity's memory: read, written within bounds, listed
loading    what of an agent's memory its prompt begins with
upkeep     when it should be distilled and pruned
insights   what a worker offers to the agent's memory, and how it is kept
skills     AGENTS.md and SKILL.md: told up front by name, read on demand

An agent's memory is MEMORY.md and `memory/` in its home and is written by its coordinator alone.
A worker's is `memory.md` and `notebook.md` in its own folder and lasts as long as its run. The
files are the truth; an index is made for a search and thrown away.
"""
