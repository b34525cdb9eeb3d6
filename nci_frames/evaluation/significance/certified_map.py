"""Counts -> where one model is certified to have the best F-beta, several may, or it is unknown."""

from typing import Any

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats, Frame
from nci_frames.evaluation.areas.lowest import supported_from
from nci_frames.evaluation.arrays.few_thresholds import at_thresholds
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.crossovers.winners import decision_map, own_maps
from nci_frames.evaluation.rates.clusters import class_worth
from nci_frames.evaluation.rates.quotients import rates_of
from nci_frames.evaluation.resampling.resampling import Resampling
from nci_frames.evaluation.significance.best import compare_best
from nci_frames.evaluation.support.reasons import TOO_FEW_ABOVE
from nci_frames.schemas import CELLS, CERTIFIED_MAP, COUNTS, WEIGHT, beside, checked

#: Number of tested values of lambda, from the first change of the best point to the end of support.
_TESTED = 32
#: Smallest tested value above 0; and the factor beyond the last border, if support never ends.
_SMALLEST, _FAR = 1e-6, 1e6
#: Reason where the best model of the log was left out.
_NOT_COMPARED = "the best model here was not compared, since it does not lead at any prevalence asked for"


#: The models that may be the best at a value of lambda, and the reason why it is unknown.
_Place = tuple[tuple[str | None, ...], str | None]


@checked
def certify_decision_map(
    counts: Frame, /, *, units: str | None = None, level: float = 0.95, repeats: int = 1000, seed: int = 0
) -> pl.DataFrame:
    """Return which models may have the highest F-beta at every prevalence and beta, at own thresholds.

    ``decision_map`` returns the best model of this log; another log might have another one. Here a model is
    certified only where all others are significantly worse.

    Parameters
    ----------
    counts
        A counts frame of whole rows, with the thresholds that models may choose from. With the key
        ``weight``, each weight is resampled separately.
    units
        None resamples the rows of each model separately, as if the models had scored different rows. A key,
        such as the ``bucket`` of ``unit_buckets``, resamples the same units for all models: a paired
        comparison.
    level
        Confidence of the whole map, in (0, 1).
    repeats
        Number of resampled logs, 100 to 1,000,000.
    seed
        Seed of the draws.

    Returns
    -------
    A row per range of lambda = (1-eta)/(eta·beta²) and model that may be the best there, sorted by these; the
    first range begins at 0, the last ends at infinity:

    %(columns of certified map)s

    Keys are those of *counts*, without *units*. ``verdict`` "certified": only this model may be the best;
    "several": it is one of several; "unknown": the log does not support the comparison.

    Raises
    ------
    ParameterError
        If an option is out of range, the counts are sums of weights, or *units* has too few values.
    SchemaError
        If *counts* is not a counts frame, or lacks the key *units*.

    Notes
    -----
    ``compare_best`` (the model confidence set) compares the models at up to 33 values of lambda at once,
    where the log supports its best model. In every resampled log, each model has its best threshold among
    those that are best somewhere in the log. The probability that a certified model is not the best one
    at any of these values is at most 1 - *level*. A range between two values has the models of both ends.
    F-beta changes little between them, so a model that is the best only in between is hardly worse at the
    ends, and is kept.

    "unknown" begins where the log has too few negatives for the best threshold of its best model
    (``lowest_supported_prevalence``, with the same *units*). docs/honesty.md gives the error rate in
    simulated logs.

    References
    ----------
    Hansen, Lunde and Nason (2011), The model confidence set, doi:10.3982/ECTA5771.

    Examples
    --------
    Model a has fewer false positives, b more true positives. They cross at lambda 17.9 in this log.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [600, 800], "fp": [10, 200], "fn": [400, 200], "tn": [9990, 9800],
    ... })
    >>> ranges = nf.certify_decision_map(counts)
    >>> for row in ranges.select(pl.col("lambda_start", "lambda_end").round(1), "verdict", "model").rows():
    ...     print(row)
    (0.0, 12.9, 'certified', 'b')
    (12.9, 26.8, 'several', 'a')
    (12.9, 26.8, 'several', 'b')
    (26.8, 240.0, 'certified', 'a')
    (240.0, inf, 'unknown', None)
    """
    logs = Resampling(units, repeats=repeats, seed=seed, level=level, least_repeats=100)
    frame = whole_counts(counts)
    total = logs.without_units(frame)
    rates = rates_of(total)
    maps = own_maps(rates)
    if maps.is_empty():
        return CERTIFIED_MAP.empty(total.select(COUNTS.keys(total.columns)))
    at = ["model", *COUNTS.keys(total.columns), "threshold"]
    points = total.join(maps.select(at).unique(), on=at, how="semi", nulls_equal=True).select(*at, *CELLS)
    apart = [key for key in COUNTS.keys(frame.columns) if key in (units, WEIGHT)]
    few = at_thresholds(frame, points, *apart) if apart else points
    worth = None if units is None else class_worth(frame, units)
    return certified_ranges(few, total, decision_map(rates), logs, worth)


def certified_ranges(
    points: pl.DataFrame,
    total: pl.DataFrame,
    decisions: pl.DataFrame,
    logs: Resampling,
    worth: pl.DataFrame | None,
) -> pl.DataFrame:
    """Return the certified map from counts at the few thresholds that are best somewhere.

    Parameters
    ----------
    points
        Counts at these thresholds, by the units of *logs* if any.
    total
        Counts at all thresholds, pooled over units; for strata, their rates.
    decisions
        Decision map of *total*.
    logs
        As for ``certify_decision_map``.
    worth
        The ``class_worth`` of the units, if any.
    """
    keys = COUNTS.keys(total.columns)
    support = supported_from(total, "f_beta", worth=worth).select(
        "model", *keys, reach=(1 - pl.col("prevalence")) / pl.col("prevalence"), why="reason"
    )
    # Of very many models, only those that lead somewhere are compared.
    unknown = pl.when(pl.col("reach").is_null()).then(pl.lit(_NOT_COMPARED))
    ranges = beside(decisions, support, ["model", *keys]).with_columns(why=pl.coalesce("why", unknown))
    tested = _tested(ranges)
    best = (
        ranges.join(pl.DataFrame({"at": tested}), how="cross", maintain_order="left_right")
        .filter(pl.col("at").is_between("lambda_start", "lambda_end", closed="left"))
        .with_columns(within=(pl.col("at") <= pl.col("reach") * (1 + 1e-9)).fill_null(value=False))
    )
    # Nothing is claimed where the best model is not supported: a test there would only weaken the others.
    told = best.filter("within")["at"].unique().sort().to_list() or [0.0]
    found = compare_best(
        points, metric="f_beta", prevalence=[1 / (1 + at) for at in told], threshold="own", units=logs.units,
        level=logs.level, simultaneous=True, repeats=logs.repeats, seed=logs.seed,
    )  # fmt: skip
    tables = []
    for group in best.partition_by(keys) if keys else [best]:
        models = found.join(group, on=keys, how="semi", nulls_equal=True) if keys else found
        places = [_place(row, models) for row in group.iter_rows(named=True)]
        table = _merged(places, tested.tolist())
        tables.append(group.head(1).select(keys).join(table, how="cross") if keys else table)
    return CERTIFIED_MAP.joined(tables, total.select(keys)).sort(*keys, "lambda_start", "model")


def _tested(ranges: pl.DataFrame) -> Floats:
    """Return the values of lambda at which models are compared: 0, and from the first border to the last.

    *ranges* are a decision map with the largest lambda, ``reach``, that the log supports for each best model.
    """
    borders = ranges["lambda_start"].to_numpy()
    borders = borders[borders > 0]
    begin = max(float(borders.min(initial=1.0)), _SMALLEST)
    told = ranges.filter(pl.col("reach") > pl.col("lambda_start"))
    reaches = told.select(end=pl.min_horizontal("reach", "lambda_end"))["end"].to_numpy()
    finite = reaches[np.isfinite(reaches)]
    end = float(finite.max(initial=0.0))
    beyond = []
    if len(finite) < len(reaches):
        end = max(end, 10 * float(borders.max(initial=1.0)))
        # From here on, F-beta depends only on FPR/TPR.
        beyond = [end * _FAR]
    inner = np.geomspace(begin, end, _TESTED - 1) if end > begin else np.array([end] if end > 0 else [])
    return np.concatenate([[0.0], inner, beyond])


def _place(best: dict[str, Any], models: pl.DataFrame) -> _Place:
    """Return the models that may be the best, by the tests in *models*, where *best* is that of the log."""
    if not best["within"]:
        return (), best["why"] or TOO_FEW_ABOVE.format(f"{best['reach']:.2g}")
    here = models.filter(prevalence=1 / (1 + best["at"]))
    named = here.filter(~pl.col("distinguishable").fill_null(value=False))["model"].to_list()
    return tuple(named), here.filter(pl.col("model").eq_missing(best["model"]))["reason"].item()


def _merged(places: list[_Place], tested: list[float]) -> pl.DataFrame:
    """Return the ranges between the tested values, with the models of both ends."""
    ends = [*places[1:], places[-1]]
    rows: list[tuple[float, float, _Place]] = []
    for start, end, left, right in zip(tested, [*tested[1:], np.inf], places, ends, strict=True):
        # Beyond the last value, support has ended, unless it has no end.
        untold = left[1] or right[1]
        if end == np.inf and untold is None and len(tested) > 1 and start < _FAR * tested[-2]:
            untold = TOO_FEW_ABOVE.format(f"{start:.2g}")
        models = () if untold else tuple(sorted({*left[0], *right[0]}, key=str))
        # Merged unknown ranges keep the first reason.
        if rows and rows[-1][2][0] == models and (rows[-1][2][1] is None) == (untold is None):
            rows[-1] = (rows[-1][0], end, rows[-1][2])
        else:
            rows.append((start, end, (models, untold)))
    listed = [
        (start, end, "unknown" if untold else "certified" if len(models) == 1 else "several", model, untold)
        for start, end, (models, untold) in rows
        for model in (models or (None,))
    ]
    return pl.DataFrame(listed, schema=CERTIFIED_MAP.dtypes(), orient="row")
