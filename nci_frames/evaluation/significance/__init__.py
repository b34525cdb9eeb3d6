"""Counts or rates -> tests of models, folds, segments and areas."""
