"""Counts -> tables: pure functions on small frames, without I/O and without charts."""

# Fills the registry of metrics with the areas: the room of metrics stands below that of areas.
from nci_frames.evaluation import areas as areas
