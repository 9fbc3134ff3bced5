"""The variables with the keys of search services, for the code that starts processes.

Imports nothing. The names are those of the table in `services`; a test compares both.
"""

KEY_NAMES = frozenset({"BRAVE_API_KEY", "SERPER_API_KEY", "TAVILY_API_KEY"})
