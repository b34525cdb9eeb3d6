"""Plans of labels -> the rows to label."""
