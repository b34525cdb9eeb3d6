"""Counts -> counts: add, pool, and the meaning of "exact"."""
