"""The read-only API of a home without a supervisor, in the process of a command."""
