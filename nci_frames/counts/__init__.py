"""Counts -> counts: add, pool, and what "exact" means."""
