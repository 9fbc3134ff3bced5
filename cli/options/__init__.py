"""The options of the commands, and how a command reaches its home and its API."""
