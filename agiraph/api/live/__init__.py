"""Live feeds: events, changes of the home, text as it streams."""
