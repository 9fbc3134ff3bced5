"""The person's settings files: what they hold, what is wrong with them, and changing them."""
