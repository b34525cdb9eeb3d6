"""Charts and tables -> files."""
