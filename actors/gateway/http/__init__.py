"""The gateway's HTTP side: the server, what stands before the endpoints, and how
answers are made."""
