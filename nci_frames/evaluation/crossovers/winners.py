"""Rates -> the best model and threshold along prevalence or beta, or for all pairs of the two."""

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Betas, Floats, Frame, Over, Places, Prevalences
from nci_frames.evaluation.areas.lowest import lowest_supported_prevalence
from nci_frames.evaluation.areas.pr import PR_AUC
from nci_frames.evaluation.crossovers.areas import TOLERANCE, AreaCurves, AreasAlong, check_curve, curves_of
from nci_frames.evaluation.crossovers.contest import Contest, Points, check_axis, repeated_keys
from nci_frames.evaluation.crossovers.lines import LineContest, f_beta_envelope
from nci_frames.evaluation.crossovers.meetings import axis_value, changes_of_best, places_along
from nci_frames.evaluation.metrics import Metric, curve_asked, find_metric
from nci_frames.evaluation.rates.strata import collect_counts
from nci_frames.evaluation.support.reasons import TOO_FEW_ABOVE, TOO_FEW_BELOW
from nci_frames.evaluation.support.rule import lowest_supported, point_flags
from nci_frames.schemas import DECISION_MAP, RATES, WINNERS, beside, checked, collect

_ENDS = {"prevalence": 1.0, "beta": np.inf}


@checked
def winner_ranges(
    rates: Frame,
    /,
    *,
    metric: str | pl.Expr,
    over: Over,
    prevalence: Prevalences = "observed",
    beta: Betas = 1.0,
    start: float | None = None,
    end: float | None = None,
) -> pl.DataFrame:
    """Return the best model and its threshold in each range of prevalence or of beta.

    Parameters
    ----------
    rates
        A rates frame with one or more operating points per model. For an area, a counts frame.
    metric
        Name or alias of a metric, a called metric, or an area: "pr_auc" (average precision), or one that is
        linear in the prevalence or does not depend on it.
    over
        "prevalence", at one *beta*; or "beta", at one *prevalence*.
    prevalence
        P(y=1) in [0, 1], if *over* is "beta"; or "observed", if it is the same for all models.
    beta
        Weight of recall in [0, inf], if *over* is "prevalence" and the metric has a beta.
    start, end
        Part of the axis to cover; by default the whole axis: 0 to 1, or 0 to infinity.

    Returns
    -------
    A row per range, sorted by keys and start, without gaps:

    %(columns of winners)s

    Keys are those of *rates*. Areas have no threshold. ``supported`` refers to the value of the best model.

    If several points are equally good over a whole range, the first by model and threshold is returned, and
    ``tied`` lists the models of all of them. A range over prevalence is split where the log begins to support
    the value of its model.

    Raises
    ------
    ParameterError
        If the metric cannot be ranked, has no beta and *over* is "beta", or is an area of another kind; an
        option is out of range; or *prevalence* is "observed" and differs between models.
    UnknownMetricError
        If the metric is unknown.
    SchemaError
        If *rates* is not a rates frame (for an area: a counts frame).

    Notes
    -----
    The ranges are exact for F-beta and for metrics that are linear in the prevalence, such as "brier" and
    "log_loss" (see ``find_crossovers``); "roc_auc" has one range. For other metrics and "pr_auc", a winner
    that leads only between two of 4,001 grid points is missed; for "pr_auc", ranges are computed within
    1e-12 <= eta <= 1 - 1e-12.

    They are exact for these counts. Scores between the thresholds of a grid are unknown, so the rows may have
    other winners by an area where its certified bounds overlap. With several thresholds per model, the
    threshold of a winner is chosen on the same rows, so its value is too high for new rows (``cross_fit``
    returns an honest one), and another log may have other winners (``compare_best`` tests them,
    ``crossover_intervals`` bounds the borders).

    References
    ----------
    Wojciechowski and Woźniak (2024), F-beta-plot, arXiv:2404.08709.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> ranges = nf.winner_ranges(nf.compute_rates(counts), metric="f_beta", over="beta", prevalence=0.01)
    >>> ranges.select(pl.col("start", "end").round(3), "model").rows()
    [(0.0, 2.355, 'a'), (2.355, inf, 'b')]
    """
    check_axis(over, prevalence)
    begin, stop = _range(over, start, end)
    curve = curve_asked(metric)
    frame = collect(rates, RATES) if curve is None else collect_counts(rates)
    keys, tables = frame.select(RATES.keys(frame.columns)), []
    if curve is not None:
        check_curve(curve, over)
        support = area_support(lowest_supported_prevalence(frame, metric=curve.name))
        along = curves_of(frame, curve)
        return WINNERS.joined((_ranges(*each, curve, (begin, stop), support) for each in along), keys)
    for points in Points.of_each(frame):
        asked = Contest.of_each(points, metric, over, prevalence, beta)
        if len(asked) > 1:
            fixed = "prevalence" if over == "beta" else "beta"
            msg = f"winner_ranges takes one {fixed}"
            raise ParameterError(msg, found=f"{len(asked)} of them", hint="call it for each")
        ends, rows = best_rows(asked[0], begin, stop)
        ranges = points.frame[rows].with_columns(
            metric=pl.lit(asked[0].metric.label),
            over=pl.lit(over),
            tied=asked[0].tied(rows),
            start=pl.Series(ends[:-1]),
            end=pl.Series(ends[1:]),
        )
        tables.append(_with_support(ranges, asked[0]))
    return WINNERS.joined(tables, keys)


def _range(over: Over, start: float | None, end: float | None) -> tuple[float, float]:
    begin = 0.0 if start is None else float(start)
    stop = _ENDS[over] if end is None else float(end)
    if not 0 <= begin < stop <= _ENDS[over]:
        msg, hint = f"start and end must be a range of {over}", f"0 <= start < end <= {_ENDS[over]:g}"
        raise ParameterError(msg, found=f"{begin:g} to {stop:g}", hint=hint)
    return begin, stop


def _with_support(ranges: pl.DataFrame, contest: Contest) -> pl.DataFrame:
    needs_fpr = contest.metric.needs_fpr is not False
    if contest.over == "beta":
        eta = pl.lit(contest.prevalence, pl.Float64).alias("prevalence")
        return ranges.with_columns(eta).with_columns(**point_flags(ranges.columns, needs_fpr=needs_fpr))
    lowest, why = lowest_supported(ranges.columns, needs_fpr=needs_fpr)
    return supported_prevalences(ranges.with_columns(lowest.alias(LOWEST), why.alias(WHY)))


def best_rows(contest: Contest, begin: float, stop: float) -> tuple[Floats, Places]:
    """Return the ends of the ranges, one more than ranges, and the best row in each."""
    everyone = np.arange(len(contest.points.frame))
    if contest.constant:
        return np.array([begin, stop]), contest.best(everyone, np.array([contest.inside]))[1]
    if contest.has_lines:
        lines = LineContest.of(contest)
        envelope = lines.envelope(everyone)
        borders, rows = lines.axis(envelope.starts[1:]), envelope.lines
        if not lines.ascending:
            borders, rows = borders[::-1], rows[::-1]
    else:
        over = contest.over

        def best_at(places: Floats) -> Places:
            return contest.best(everyone, axis_value(over, places))[1]

        places = places_along(over)
        changes = changes_of_best(best_at, places)
        borders = axis_value(over, changes)
        rows = best_at((np.append(places[0], changes) + np.append(changes, places[-1])) / 2)
    ends, kept = borders_within(borders, begin, stop)
    return ends, rows[kept]


def area_winners(areas: pl.DataFrame, support: pl.DataFrame, low: float, high: float) -> pl.DataFrame:
    """Return the ranges of prevalence in which each model has the largest PR-AUC.

    Parameters
    ----------
    areas
        PR-AUC of each model at the prevalences of ``area_nodes(low, high)``.
    support
        The table of ``lowest_supported_prevalence`` for PR-AUC.
    low, high
        Range of prevalence, within (0, 1).

    Returns
    -------
    The columns of ``winner_ranges``; the threshold is null. A model leads until another exceeds it by more
    than the error of the areas.
    """
    start, end = (float(np.log(eta) - np.log1p(-eta)) for eta in (low, high))
    # The rounding is relative to the areas; each of the two has an error of TOLERANCE.
    curves = AreaCurves.through(areas, start, end, rounding=2 * TOLERANCE)
    if not len(curves.models):
        return WINNERS.joined([], pl.DataFrame())
    return WINNERS.finish(_ranges(pl.DataFrame(), curves, PR_AUC, (low, high), area_support(support)))


def _ranges(
    keys: pl.DataFrame, areas: AreasAlong, metric: Metric, within: tuple[float, float], support: pl.DataFrame
) -> pl.DataFrame:
    """Return the ranges with the best model of each, split where its area begins to be supported."""
    models, tied, borders = areas.leaders()
    ends, kept = borders_within(borders, *within)
    columns = {"start": ends[:-1], "end": ends[1:], "model": models[kept], "tied": tied[kept]}
    table = pl.DataFrame(columns).with_columns(
        metric=pl.lit(metric.name), over=pl.lit("prevalence"), threshold=pl.lit(None, pl.Float64)
    )
    return supported_prevalences(beside(repeated_keys(table, keys), support, ["model", *keys.columns]))


#: Columns of ranges: the lowest supported prevalence of the model, and the reason why there is none.
LOWEST, WHY = "__lowest", "__why"


def area_support(lowest: pl.DataFrame) -> pl.DataFrame:
    """Return ``LOWEST`` and ``WHY`` of each model and key."""
    return lowest.drop("metric").rename({"prevalence": LOWEST, "reason": WHY})


def borders_within(borders: Floats, start: float, end: float) -> tuple[Floats, slice]:
    """Return the ends of the ranges between *start* and *end*, and the slice of all ranges that these are."""
    inside = borders[(borders > start) & (borders < end)]
    first = int((borders <= start).sum())
    return np.concatenate([[start], inside, [end]]), slice(first, first + len(inside) + 1)


def supported_prevalences(ranges: pl.DataFrame) -> pl.DataFrame:
    """Split ranges of prevalence where support begins, and add ``supported`` and ``reason``."""
    return _cut(ranges, "start", "end", pl.col(LOWEST), TOO_FEW_BELOW, below=False)


def _cut(ranges: pl.DataFrame, start: str, end: str, border: pl.Expr, said: str, below: bool) -> pl.DataFrame:
    """Split ranges at a border: supported *below* it, or else above it, and nowhere if it is null."""
    known = ranges.with_row_index("__row").with_columns(__border=border.cast(pl.Float64))
    at = pl.col("__border").map_elements("{:.2g}".format, return_dtype=pl.String)
    why = pl.coalesce(WHY, pl.format(said, at))
    # Without a border, the whole range is on the unsupported side.
    bottom = pl.col("__border").fill_null(float("-inf") if below else float("inf"))
    parts = (
        known.with_columns(pl.min_horizontal(end, bottom).alias(end), supported=pl.lit(below)),
        known.with_columns(pl.max_horizontal(start, bottom).alias(start), supported=pl.lit(not below)),
    )
    whole = pl.concat(parts).filter(pl.col(start) < pl.col(end)).sort("__row", start)
    told = pl.when(~pl.col("supported")).then(why)
    return whole.with_columns(reason=told).drop("__row", "__border", LOWEST, WHY)


@checked
def decision_map(rates: Frame, /, *, metric: str = "f_beta") -> pl.DataFrame:
    """Return the model and threshold with the highest F-beta for every prevalence and every beta.

    The best point at (eta, beta) depends only on lambda = k/beta² with k = (1-eta)/eta, so the whole plane is
    a list of ranges of lambda: from 0 (recall, or prevalence 1) to infinity (precision, or prevalence 0).
    Exact, over all models and thresholds, without a grid.

    Parameters
    ----------
    rates
        A rates frame with one or more operating points per model. Points without TPR or FPR are ignored.
    metric
        "f_beta", the only metric whose order depends on lambda alone. For others see ``winner_ranges``.

    Returns
    -------
    A row per range, sorted by keys and lambda; the first range begins at 0, the last ends at infinity:

    %(columns of decision map)s

    Keys are those of *rates*; each value of the keys has its own map.

    If several points are equally good over a whole range, the first by model and threshold is returned, and
    ``tied`` lists the models of all of them. A range is split where the log no longer supports the value of
    its model.

    Raises
    ------
    ParameterError
        If *metric* is not "f_beta".
    SchemaError
        If *rates* is not a rates frame.

    Notes
    -----
    (1+beta²)/F_beta - 1 = beta²·(1 + lambda·FPR)/TPR, so the best point has the lowest of the lines
    1/TPR + lambda·FPR/TPR: the map is their lower envelope. In (logit eta, log beta) the borders are straight
    lines of slope -1/2: a change of beta is equivalent to one of the prevalence.

    The map is exact for these counts. With several thresholds per model, the threshold of a winner is chosen
    on the same rows, so its F-beta is too high for new rows (``cross_fit`` returns an honest value), and
    another log may have other winners (``certify_decision_map`` returns where a model is certified as best).

    References
    ----------
    Flach and Kull (2015), Precision-Recall-Gain curves, for F-beta as harmonic mean, NIPS 28; Wojciechowski
    and Woźniak (2024), F-beta-plot, for the winners over beta, arXiv:2404.08709.

    Examples
    --------
    Model a has the lower TPR and FPR, so it wins if precision matters more; above lambda 24 it has too few
    negatives.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> whole = nf.decision_map(nf.compute_rates(counts))
    >>> whole.select(pl.col("lambda_start", "lambda_end").round(2), "model", "supported").rows()
    [(0.0, 17.86, 'b', True), (17.86, 24.0, 'a', True), (24.0, inf, 'a', False)]

    At prevalence 0.01 and beta 2, lambda is 99/4:

    >>> whole.filter(pl.col("lambda_start") <= 99 / 4, pl.col("lambda_end") > 99 / 4)["model"].item()
    'a'
    """
    if find_metric(metric).name != "f_beta":
        msg = f"a decision map of {metric!r} is not possible: its order does not depend on lambda alone"
        raise ParameterError(msg, hint="use metric='f_beta', or winner_ranges for other metrics")
    frame = collect(rates, RATES)
    maps, (lowest, why) = [], lowest_supported(frame.columns, needs_fpr=True)
    for points in Points.of_each(frame):
        (contest,) = Contest.of_each(points, metric, "prevalence", "observed", 1.0)
        envelope = f_beta_envelope(points.tpr, points.fpr)
        winners = points.frame[envelope.lines].with_columns(
            lowest.alias(LOWEST),
            why.alias(WHY),
            tied=contest.tied(envelope.lines),
            lambda_start=pl.Series(envelope.starts),
            lambda_end=pl.Series(np.append(envelope.starts[1:], np.inf)),
        )
        # At beta 1, lambda is (1-eta)/eta. At the same lambda, F-beta with another beta depends less on false
        # positives, so it is supported at least as far.
        border = (1 - pl.col(LOWEST)) / pl.col(LOWEST)
        maps.append(_cut(winners, "lambda_start", "lambda_end", border, TOO_FEW_ABOVE, below=True))
    return DECISION_MAP.joined(maps, frame.select(RATES.keys(frame.columns)))


def own_maps(rates: pl.DataFrame) -> pl.DataFrame:
    """Return the decision map of each model alone: its best threshold for every lambda."""
    return decision_map(rates.with_columns(pl.col("model").alias("alone"))).drop("alone")
