"""Options of reports, defined once for commands and job files."""
