"""What the libraries raise where a file cannot be read."""

import polars as pl

READ_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
