"""What is followed as it happens: events, changes of the home, text as it streams."""
