"""What the libraries raise where a file cannot be read."""

import polars as pl

__all__ = ["READ_ERRORS"]

READ_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
