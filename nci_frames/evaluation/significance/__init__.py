"""Counts or rates -> tests: folds, segments, areas."""
