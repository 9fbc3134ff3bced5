"""Model calls as lines of a file, and the provider that plays them again."""
