"""Counts -> counts: add up, pool, and what "exact" means."""
