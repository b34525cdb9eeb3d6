"""Counts -> tables: pure functions on small frames, without I/O and without charts."""
