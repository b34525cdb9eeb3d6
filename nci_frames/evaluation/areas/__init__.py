"""Counts -> areas under curves, with certified bounds."""
