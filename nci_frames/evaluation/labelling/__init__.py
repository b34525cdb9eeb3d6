"""Which rows to label: ranges of scores, the number of labels in each, and the expected uncertainty."""
