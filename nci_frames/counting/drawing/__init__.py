"""Label plans -> the rows to label."""
