"""The read model: agents, boards, conversations, files and states of a home, read from files."""
