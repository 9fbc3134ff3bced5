"""The variables that hold the keys of search services: what starts a process reads them here.

Imports nothing. They are those of the table in `services`; a test holds the two together.
"""

KEY_NAMES = frozenset({"BRAVE_API_KEY", "SERPER_API_KEY", "TAVILY_API_KEY"})
