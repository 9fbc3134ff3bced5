"""The process of a child: its start, its exit, and the consequences of the exit."""
