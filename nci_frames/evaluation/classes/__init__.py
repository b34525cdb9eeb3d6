"""Counts of decisions among classes -> metrics at any mix of the classes, intervals, and best models."""
