"""How many rows a test set needs, and what the intervals really cover."""
