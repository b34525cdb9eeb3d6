"""Thresholds to count at: fixed grids, and grids as fine as a tolerance requires."""
