"""Rates -> values at any prevalence and beta, their bands and ranks."""
