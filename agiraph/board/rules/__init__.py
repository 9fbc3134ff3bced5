"""The rules of a board, by subject: which events a command leads to, or why it is refused."""
