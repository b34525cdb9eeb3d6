"""A comparison -> how far the repeats and folds of a cross-validation are apart."""

from typing import Any

import polars as pl

from nci_frames.questions.comparison import Comparison

__all__ = ["fold_spread"]


def fold_spread(comparison: Comparison, /) -> list[dict[str, Any]] | None:
    """Return PR-AUC of each model over repeats and over folds; None where the log has neither.

    The rows have ``model``, ``prevalence``, ``value`` and, where there are repeats, ``std`` over them;
    ``fold_value`` and ``fold_std`` are the mean and standard deviation of the values within each fold. They
    are at ``middle_prevalence``, sorted by model.
    """
    folds = comparison.fold_areas
    if folds is None and comparison.repeats is None:
        return None
    at = {"metric": "pr_auc", "prevalence": comparison.middle_prevalence}
    shown = comparison.areas.filter(**at).sort("model").select("model", "prevalence", "value", r"^std$")
    if "std" not in shown.columns:
        shown = shown.with_columns(std=pl.lit(None, pl.Float64))
    if folds is None:
        within = shown.select(
            "model", *(pl.lit(None, pl.Float64).alias(n) for n in ("fold_value", "fold_std"))
        )
    else:
        within = folds.filter(**at).select("model", fold_value="value", fold_std="std")
    joined = shown.join(within, on="model", how="left", nulls_equal=True, maintain_order="left")
    return joined.to_dicts()
