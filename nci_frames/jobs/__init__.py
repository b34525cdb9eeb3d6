"""Jobs: logs in; counts, tables, verdicts and reports out."""
