"""Metrics as surfaces over TPR and TNR, and what class imbalance does to them."""
