"""The gateway's HTTP side: the server, what is before the endpoints, and how
answers are made."""
