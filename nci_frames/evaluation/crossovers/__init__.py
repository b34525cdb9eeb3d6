"""Rates or counts -> where the order of models changes, exactly."""
