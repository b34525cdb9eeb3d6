"""Frames -> formatted tables: Great Tables, numbers, Markdown."""
