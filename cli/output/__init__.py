"""The output of commands: listings, values and texts, safe for a terminal."""
