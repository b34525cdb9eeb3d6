"""Files and frames -> checked rows."""
