"""Counts of decisions among classes -> values at any mix of the classes, their intervals, and who wins."""
