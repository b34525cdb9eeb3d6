"""How many rows a test set needs."""
