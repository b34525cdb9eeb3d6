"""Counts -> what scores are worth as probabilities, at any prevalence."""
