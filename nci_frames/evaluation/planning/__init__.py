"""How many rows a test set needs, and the true coverage of intervals."""
