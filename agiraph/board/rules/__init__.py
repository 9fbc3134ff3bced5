"""The rules of a board, by subject: the events of a command, or why it is refused."""
