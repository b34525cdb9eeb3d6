"""Metrics as surfaces over TPR and TNR, and their sensitivity to class imbalance."""
