"""What can be asked of a report, stated once."""
