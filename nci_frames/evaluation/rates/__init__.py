"""Counts -> TPR and FPR, their intervals, and the choice of operating points."""
