"""Rates -> F-beta of each model at its own best threshold."""

from collections.abc import Sequence

import polars as pl

from nci_frames.evaluation.crossovers.decision_map import decision_map
from nci_frames.evaluation.metrics import f_beta
from nci_frames.evaluation.support.flags import point_flags

__all__ = ["best_values", "own_maps"]


def own_maps(rates: pl.DataFrame) -> pl.DataFrame:
    """Return the decision map of each model alone: its own best threshold for every lambda."""
    return decision_map(rates.with_columns(pl.col("model").alias("alone"))).drop("alone")


def best_values(
    points: pl.DataFrame, maps: pl.DataFrame, grid: Sequence[float], betas: Sequence[float], *, band: bool
) -> pl.DataFrame:
    """Return F-beta of each model at its best threshold, at every prevalence and beta."""
    eta, beta = pl.col("prevalence"), pl.col("beta")
    places = pl.DataFrame({"prevalence": grid}).join(pl.DataFrame({"beta": betas}), how="cross")
    # At prevalence 1 everything is precise, so lambda is 0 there whatever beta is.
    ratio = ((1 - eta) / eta / beta.pow(2)).fill_nan(0.0)
    chosen = (
        maps.select(pl.col("model").unique())
        .join(places.with_columns(ratio.alias("lambda")), how="cross")
        .sort("lambda")
        .join_asof(
            maps.sort("lambda_start"),
            left_on="lambda",
            right_on="lambda_start",
            by="model",
            check_sortedness=False,
        )
        .join(points, on=["model", "threshold"])
    )
    values: dict[str, pl.Expr | pl.Series] = {"value": f_beta()}
    if band:
        # F-beta rises with TPR and falls with FPR.
        for side, tpr, fpr in (("lower", "tpr_lower", "fpr_upper"), ("upper", "tpr_upper", "fpr_lower")):
            bounds = chosen.with_columns(tpr=pl.col(tpr), fpr=pl.col(fpr))
            values[side] = bounds.select(f_beta()).to_series()
    return chosen.with_columns(metric=pl.lit("f_beta"), **values, **point_flags(needs_fpr=True)).select(
        "model", "threshold", "metric", "prevalence", "beta", *values, "supported", "reason"
    )
