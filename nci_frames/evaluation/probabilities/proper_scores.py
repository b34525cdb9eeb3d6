"""Counts -> Brier score and log loss at any prevalence."""

from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Field, Frame, Names, Prevalences
from nci_frames.evaluation.areas.area import Area, Areas, Etas
from nci_frames.evaluation.areas.areas import areas_of, asked_areas
from nci_frames.evaluation.areas.proper_scores import LOG_LOSS, LOSSES, Loss, class_losses, mixed
from nci_frames.evaluation.arrays.roc_steps import Curves
from nci_frames.evaluation.arrays.score_bins import ScoreBins, Scores
from nci_frames.evaluation.probabilities.adjust import Logged, check_logged
from nci_frames.evaluation.rates.strata import collect_counts
from nci_frames.evaluation.support.rule import PR_SUPPORT
from nci_frames.schemas import PROPER_SCORES, beside, checked


@checked
def proper_scores(
    counts: Frame,
    /,
    *,
    prevalence: Prevalences | Field,
    metrics: Names = ("brier", "log_loss"),
    adjusted: bool = False,
    logged_prevalence: Logged = "observed",
) -> pl.DataFrame:
    """Return the Brier score and the log loss of every group of counts, at each prevalence.

    Parameters
    ----------
    counts
        A counts frame of probabilities: scores in [0, 1]. Rows beyond the outermost thresholds are assumed to
        lie in it, too.
    prevalence
        P(y=1), each in [0, 1]; or "observed": each group's own; or a prevalence per segment, as in
        ``project_rates``.
    metrics
        "brier", "log_loss", or both.
    adjusted
        False evaluates the scores as logged. True first moves them to each prevalence, as ``adjust_scores``
        does.
    logged_prevalence
        P(y=1) in (0, 1) at which the scores are calibrated; or "observed": each group's own. Used only with
        *adjusted*.

    Returns
    -------
    A row per group, metric and prevalence, sorted by all columns left of ``value``:

    %(columns of proper scores)s

    The value for the original rows lies between ``lower`` and ``upper``, which are equal where every score is
    known. As logged, every prevalence is supported if both classes have rows. Adjusted, values at a low
    prevalence depend on the rows with the highest scores, as precision does; so ``supported`` is that of
    PR-AUC.

    Raises
    ------
    ParameterError
        If scores lie outside [0, 1], a prevalence is out of range, a segment has none or several, or a metric
        is neither "brier" nor "log_loss".
    UnknownMetricError
        If a metric is unknown.
    SchemaError
        If *counts* is not a counts frame.

    Notes
    -----
    Brier = eta·mean over positives of (1-s)² + (1-eta)·mean over negatives of s²; the log loss has -log(s)
    and -log(1-s) instead. As logged, both are linear in the prevalence. For ``value``, rows between two
    thresholds are placed at the middle. A positive with score 0, or a negative with score 1, makes the log
    loss infinite at every prevalence where its class occurs; ``reason`` tells which.

    References
    ----------
    Brier (1950), doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2; Gneiting and Raftery (2007), Strictly
    proper scoring rules, doi:10.1198/016214506000001437.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> scores = nf.proper_scores(nf.count_confusion(log), prevalence=[0.01, 0.5], metrics="brier")
    >>> scores.select("prevalence", pl.col("value", "skill").round(4)).rows()
    [(0.01, 0.0865, -7.7336), (0.5, 0.1581, 0.3675)]
    """
    check_logged(logged_prevalence)
    areas = asked_areas(metrics)
    if any(area.name not in LOSSES for area in areas):
        raise ParameterError.out_of_range("metrics", metrics, '"brier", "log_loss", or both')
    if adjusted:
        areas = [_adjusted_area(area, logged_prevalence) for area in areas]
    frame = collect_counts(counts)
    table = areas_of(frame, prevalence, areas).drop("method")
    eta = Scores.of(table["prevalence"].fill_null(np.nan).to_numpy())
    constants = {area.name: pl.Series(LOSSES[area.name].uncertainty(eta), nan_to_null=True) for area in areas}
    reference = pl.coalesce(pl.when(metric=name).then(values) for name, values in constants.items())
    skill = pl.when(reference > 0).then(1 - pl.col("value") / reference)
    return PROPER_SCORES.finish(_endless(frame, table.with_columns(skill=skill)))


def _endless(counts: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """Add the reason of infinite values: rows with a score of 0 or 1, which no adjustment changes."""
    if not table["value"].is_infinite().any():
        return table
    keys = ["model", *PROPER_SCORES.keys(table.columns)]
    of_class = areas_of(counts, [0.0, 1.0], [LOG_LOSS]).filter(pl.col("value").is_infinite())
    names = {1.0: "positives with score 0", 0.0: "negatives with score 1"}
    rows = pl.col("prevalence").replace_strict(names, return_dtype=pl.String)
    told = of_class.group_by(keys).agg(__rows=rows.sort(descending=True).str.join(" and "))
    why = pl.when(pl.col("value").is_infinite()).then(pl.format("{} have an infinite loss", "__rows"))
    return beside(table, told, keys).with_columns(reason=pl.coalesce(why, "reason")).drop("__rows")


def _adjusted_area(area: Area, logged: Logged) -> Area:
    """Return the area for scores that are first moved to each prevalence."""
    return replace(
        area,
        certified=partial(_adjusted, loss=LOSSES[area.name], logged=logged),
        linear_in_prevalence=False,
        support=PR_SUPPORT,
    )


def _adjusted(curves: Curves, etas: Etas, loss: Loss, logged: Logged) -> list[Areas]:
    bins = ScoreBins.of(curves)
    holds = curves.observed_prevalence if isinstance(logged, str) else float(logged)
    return [mixed(*class_losses(curves, bins, loss, moved=(eta, holds)), eta) for eta in etas]
