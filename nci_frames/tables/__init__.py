"""Frames -> tables for people: great tables, numbers, Markdown."""
