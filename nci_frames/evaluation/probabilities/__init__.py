"""Counts -> the quality of scores as probabilities, at any prevalence."""
