"""The job file: what a scheduled job counts, reports, and judges, as TOML."""
