"""Predictions -> counts: the only code that ever sees a prediction row."""
