"""The field: the prevalence of its segments."""
