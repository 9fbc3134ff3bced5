"""Model calls recorded as lines of a file, and the provider that replays them."""
