"""Whole tasks: logs -> counts, tables, verdicts and reports."""
