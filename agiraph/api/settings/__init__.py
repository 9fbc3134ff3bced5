"""The person's settings files: their contents, their problems, and changes to them."""
