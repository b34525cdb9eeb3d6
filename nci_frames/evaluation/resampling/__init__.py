"""Counts -> resampled logs, and what varies between them."""
