"""Checked rows -> counts: batches, groups, bins, and the two ways to count (grid and exact)."""
