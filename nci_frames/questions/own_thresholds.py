"""Rates -> F-beta of each model at its own best threshold, chosen and judged on different rows."""

from typing import NamedTuple

import polars as pl

from nci_frames.evaluation.metrics.predictive import f_beta
from nci_frames.evaluation.projection.averaging import average_over
from nci_frames.evaluation.significance.cross_fitting import cross_fit_f_beta
from nci_frames.evaluation.support.rule import point_flags
from nci_frames.questions.log_counts import LogCounts
from nci_frames.schemas import beside


class OwnPoints(NamedTuple):
    """The operating points with the highest F-beta of each model at some prevalence and beta."""

    #: All models, including those without rows of a class, which have no best point.
    models: pl.Series
    #: Threshold of each model by lambda, from ``own_maps``.
    maps: pl.DataFrame
    #: Rates with bounds.
    points: pl.DataFrame

    def at(self, places: pl.DataFrame) -> pl.DataFrame:
        """Return the best point of each model at pairs of prevalence and beta, with these columns."""
        eta, beta = pl.col("prevalence"), pl.col("beta")
        # At prevalence 1 precision is 1, so lambda is 0 for any beta.
        ratio = ((1 - eta) / eta / beta.pow(2)).fill_nan(0.0)
        wanted = self.models.to_frame("model").join(places.with_columns(ratio.alias("lambda")), how="cross")
        starts = self.maps.select("model", "threshold", pl.col("lambda_start").alias("lambda")).sort("lambda")
        found = wanted.sort("lambda").join_asof(starts, on="lambda", by="model", check_sortedness=False)
        return found.drop("lambda").join(self.points, on=["model", "threshold"], how="left")


def best_values(own: OwnPoints, log: LogCounts, places: pl.DataFrame) -> pl.DataFrame:
    """Return F-beta of each model at its best threshold, at pairs of prevalence and beta.

    The value comes from other rows than those that chose the threshold; bounds are those of the points. Sums
    of weights cannot be split, so their value is that of the points. With repeats, thresholds are chosen and
    judged within each repeat, and values are averaged.
    """
    chosen = own.at(places)
    values: dict[str, pl.Expr | pl.Series] = {"value": f_beta()}
    if log.judged is not None:
        # F-beta rises with TPR and falls with FPR.
        for side, tpr, fpr in (("lower", "tpr_lower", "fpr_upper"), ("upper", "tpr_upper", "fpr_lower")):
            bounds = chosen.with_columns(tpr=pl.col(tpr), fpr=pl.col(fpr))
            values[side] = bounds.select(f_beta()).to_series()
    best = chosen.with_columns(
        metric=pl.lit("f_beta"), **values, **point_flags(chosen.columns, needs_fpr=True)
    ).select("model", "threshold", "metric", "prevalence", "beta", *values, "supported", "reason")
    if log.judged is None:
        return best
    fitted = cross_fit_f_beta(log.judged, places, units=log.drawn.units)
    at = ["model", "prevalence", "beta"]
    if log.repeat is None:
        judged, told = best.rename({"value": "optimistic"}), ["value"]
    else:
        fitted, judged = averaged(fitted, log.repeat), best.drop("value")
        told = ["value", "optimistic", "std"]
    joined = beside(judged, fitted.select(*at, *told), at)
    return joined.with_columns(**widened("value")).select(*best.columns, "optimistic", *told[2:])


def widened(value: str) -> dict[str, pl.Expr]:
    """Return the bounds at the chosen threshold, widened to contain the value on other rows."""
    known = pl.all_horizontal(pl.col("lower", value).is_not_null())
    low, high = pl.min_horizontal("lower", value), pl.max_horizontal("upper", value)
    return {"lower": pl.when(known).then(low), "upper": pl.when(known).then(high)}


def averaged(fitted: pl.DataFrame, over: str) -> pl.DataFrame:
    """Return the means of the values of ``cross_fit`` over a key, with their standard deviation."""
    columns = ("model", over, "threshold", "metric", "prevalence", "beta", "value")
    honest = average_over(fitted.select(columns), over=over)
    own = average_over(fitted.select(*columns[:-1], value="optimistic"), over=over)
    return honest.with_columns(optimistic=own["value"])
