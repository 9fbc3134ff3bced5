"""What commands print: listings, values and texts, safe for a terminal."""
