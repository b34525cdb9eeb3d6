"""Checked rows -> cells: batches, groups, digitising, and the two ways to count."""
