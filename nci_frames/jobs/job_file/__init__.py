"""The job file: settings of a scheduled job, as TOML."""
