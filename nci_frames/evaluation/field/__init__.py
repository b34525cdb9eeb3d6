"""What the field is like: the prevalence of its segments."""
