"""Which rows to label: ranges of scores, how densely to label each, and what to expect of it."""
