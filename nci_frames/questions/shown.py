"""Which models the charts of a report show, and what all of them mark."""

from typing import Any

import polars as pl

from nci_frames.questions.log_tables import MOST_MODELS, LogTables


def shown_models(comparison: LogTables, /, *, most: int = MOST_MODELS) -> list[str]:
    """Return the models that charts show: the few that rank highest anywhere, sorted."""
    return sorted(comparison.leading[:most])


def of_shown(table: pl.DataFrame, comparison: LogTables, /, *, most: int = MOST_MODELS) -> pl.DataFrame:
    """Return the rows of these models."""
    return table.filter(pl.col("model").is_in(shown_models(comparison, most=most), nulls_equal=True))


def marks(comparison: LogTables, /) -> dict[str, Any]:
    """Return what charts over prevalence have in common: these models, and the prevalence of the log."""
    return {"models": shown_models(comparison), "observed": comparison.observed_prevalence}
