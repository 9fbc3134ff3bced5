"""The API of a home on which no supervisor runs, in the process of a command: it only reads."""
