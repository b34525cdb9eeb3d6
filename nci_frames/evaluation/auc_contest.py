"""Counts -> where the average precisions of two models change places, with nothing missed."""
