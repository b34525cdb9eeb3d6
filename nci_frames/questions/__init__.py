"""Counts -> every table of a comparison of models."""
