"""Figures, tables and worked examples of the sources, computed again with nci_frames.

Each module is one of them, or a few that belong together, and runs alone, for example
``python -m examples.reproductions.evaluation_fig1_p3 charts``. `make reproductions` runs all.
"""
