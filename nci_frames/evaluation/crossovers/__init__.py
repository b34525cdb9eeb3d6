"""Rates or counts -> the exact prevalences or betas at which the order of models changes."""
