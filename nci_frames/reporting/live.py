"""A comparison -> the numbers from which the page computes other prevalences and betas by itself."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from nci_frames.questions.comparison import Comparison
from nci_frames.questions.ranked_tables import own_threshold_words
from nci_frames.tables.names import drawable

__all__ = ["live_numbers"]

#: At most so many ratios of all models are sent; of a larger grid every few.
_MOST_RATIOS = 1 << 16
_BOUNDS = ["tpr_lower", "tpr_upper", "fpr_lower", "fpr_upper"]


def live_numbers(comparison: Comparison, /, *, start: float | None = None) -> dict[str, Any]:
    """Return counts, areas and ranges of a comparison, as values that JSON has; the page opens at *start*.

    =========== ==================================================================================
    key         value
    =========== ==================================================================================
    models      the names, sorted; everything below names a model by its place here
    drawn       the names as charts have them
    threshold   the threshold of ``points``
    prevalence  ``[lowest, highest, first]`` that the page offers
    beta        the same of beta, all above 0 and finite
    points      of each model ``[tp, fp, positives, negatives]`` and, where there are any, the bounds
                ``[tpr lower, upper, fpr lower, upper]``; null without rates
    best        of each model the operating points that are its best somewhere: ``[threshold, tp, fp]``
                and, where there are any, the bounds as for ``points``; by threshold; null is infinity
    classes     of each model ``[positives, negatives]``
    judged      ``prevalence`` and ``beta``, ascending, and of each model the ``ratios``, row by row, of
                F-beta judged on other rows to that of the rows that the own best threshold was chosen on;
                null if there is none
    own         the words for that threshold
    tested      ``beta``, the ``prevalence`` tested, ascending, and for each of these the models that
                are not ``distinguishable`` from the best at their own best thresholds, and of each model
                the ``probability`` of being the best, null if unknown, and by ``own``, ``f_beta`` and
                ``pr_auc`` the group of each model, null if unknown; null without intervals
    lowest      of each model the lowest prevalence at which the log supports PR-AUC; null without
    areas       of each model PR-AUC at Chebyshev's points of the logit of the prevalence; null without
    decisions   ``[lambda start, lambda end, model, threshold]``; null is infinity
    =========== ==================================================================================

    Rates are sent as counts: a quotient of whole numbers is the same here and there, to the last bit.
    """
    models = comparison.points["model"].unique().sort().to_list()
    place = {model: number for number, model in enumerate(models)}
    low, high = comparison.prevalence_range
    first = _within(low, comparison.middle_prevalence if start is None else start, high)
    least, most = comparison.beta_range
    points = _with_bounds(comparison.points, models, ["tp", "fp", "positives", "negatives"])
    best = _with_bounds(comparison.best_points, models, ["threshold", "tp", "fp"])
    classes = _by_model(comparison.best_points, models, ["positives", "negatives"])
    areas = _by_model(comparison.area_nodes.sort("prevalence"), models, ["value"])
    lowest = _by_model(comparison.support, models, ["prevalence"])
    ranges = comparison.decisions.select("lambda_start", "lambda_end", "model", "threshold")
    return {
        "models": models,
        "drawn": [drawable(model) for model in models],
        "threshold": _number(comparison.threshold),
        "prevalence": [low, high, first],
        "beta": [least, most, _within(least, comparison.main_beta, most)],
        "points": [None if not rows or None in rows[0] else rows[0] for rows in points.values()],
        "best": list(best.values()),
        "classes": [rows[0] if rows else None for rows in classes.values()],
        "judged": _judged(comparison, models),
        "tested": _tested(comparison, place),
        "own": own_threshold_words(comparison),
        "lowest": [rows[0][0] if rows else None for rows in lowest.values()],
        "areas": [
            None if not rows or [None] in rows else [value for (value,) in rows] for rows in areas.values()
        ],
        "decisions": [
            [_number(start), _number(end), place[model], _number(threshold)]
            for start, end, model, threshold in ranges.iter_rows()
        ],
    }


def _within(low: float, value: float, high: float) -> float:
    return min(max(value, low), high)


def _judged(comparison: Comparison, models: list[str]) -> dict[str, Any] | None:
    """Return how much lower F-beta is on other rows, at prevalences in (0, 1) and betas in (0, inf)."""
    if "optimistic" not in comparison.best.columns:
        return None
    etas = [eta for eta in comparison.prevalence if 0 < eta < 1]
    betas = [beta for beta in comparison.beta if 0 < beta < math.inf]
    while len(models) * len(etas) * len(betas) > _MOST_RATIOS and max(len(etas), len(betas)) > 2:
        etas, betas = (axis if len(axis) < 3 else [*axis[:-1:2], axis[-1]] for axis in (etas, betas))
    if not (etas and betas):
        return None
    ratio = pl.when(pl.col("optimistic") > 0).then(pl.col("value") / pl.col("optimistic")).otherwise("value")
    rows = comparison.best.filter(pl.col("prevalence").is_in(etas), pl.col("beta").is_in(betas))
    ordered = rows.sort("model", "prevalence", "beta").with_columns(ratio=ratio.round_sig_figs(6))
    ratios = _by_model(ordered, models, ["ratio"])
    return {
        "prevalence": etas,
        "beta": betas,
        "ratios": [[value for (value,) in values] or None for values in ratios.values()],
    }


def _tested(comparison: Comparison, place: Mapping[str, int]) -> dict[str, Any] | None:
    """Return which models may be the best at their own thresholds, and how often each is."""
    possible, sure = comparison.contenders, comparison.best_certainty
    if possible is None or sure is None:
        return None
    own = possible.filter(pl.col("measure") == "own")
    etas = own["prevalence"].unique().sort().to_list()
    # A model that is not resampled is the best in no log.
    shares: list[list[float | None]] = [[0.0] * len(place) for _ in etas]
    at = {eta: number for number, eta in enumerate(etas)}
    for model, eta, share in sure.select("model", "prevalence", "probability").iter_rows():
        if eta in at:
            shares[at[eta]][place[model]] = _number(share)
    equal: list[list[int]] = [[] for _ in etas]
    for model, eta in own.filter(~pl.col("distinguishable")).select("model", "prevalence").iter_rows():
        equal[at[eta]].append(place[model])
    groups: dict[str, list[list[int | None]]] = {
        measure: [[None] * len(place) for _ in etas] for measure in ("own", "f_beta", "pr_auc")
    }
    for measure, model, eta, group in possible.select("measure", "model", "prevalence", "group").iter_rows():
        groups[measure][at[eta]][place[model]] = group
    return {
        **groups,
        "beta": _number(comparison.main_beta),
        "prevalence": etas,
        "equal": [sorted(models) for models in equal],
        "probability": shares,
    }


def _with_bounds(
    frame: pl.DataFrame, models: Iterable[str], columns: list[str]
) -> dict[str, list[list[Any]]]:
    """Return the rows of each model, and behind each the bounds of its rates, if all four are known."""
    rows, bounds = _by_model(frame, models, columns), _by_model(frame, models, _BOUNDS)
    return {
        model: [
            row + (known if None not in known else [])
            for row, known in zip(rows[model], bounds[model] or [[]] * len(rows[model]), strict=True)
        ]
        for model in rows
    }


def _by_model(frame: pl.DataFrame, models: Iterable[str], columns: list[str]) -> dict[str, list[list[Any]]]:
    """Return the rows of each model as lists; none where the frame lacks the columns."""
    rows: dict[str, list[list[Any]]] = {model: [] for model in models}
    if set(columns) <= set(frame.columns):
        for model, *values in frame.select("model", *columns).iter_rows():
            rows[model].append([_number(value) for value in values])
    return rows


def _number(value: float | None) -> float | None:
    """Return what JSON can say: infinity and what is undefined are null."""
    return value if value is not None and math.isfinite(value) else None
