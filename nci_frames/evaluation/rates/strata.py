"""Counts of strata -> effective numbers of rows behind each rate, by linearisation.

The rows of one weight w are one sample of n rows of both classes. TPR is a quotient of weighted sums,
R = A/P, of hits and of positives. To first order its error is that of the sum of w·(hit - R) over positives,
whose variance is the sum over the strata of

    w²·(a·(1-R)² + (p-a)·R²) - w·(w-v)·(a - R·p)²/n

with a hits among p positives of a stratum. The second term is the reduction by the fixed number n of rows of
the stratum, over all segments of the log. But how many rows of the traffic are in the stratum is chance, of
n·w/v rows, if those of the lightest weight v are all that there were (Cochran, section 12.2). A rate of m
independent rows has the variance R·(1-R)/m; the effective number is that m, which any interval of a rate
takes.

If hits are few, hits of heavy rows may be missing by chance. So m is computed with one more hit, or one more
miss, of the heaviest row that may be one, whichever gives less. If all positives have one weight, and all
negatives have one, m is their number, since no row of the class can weigh more.
"""

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl

from nci_frames.base.normal import normal_quantile
from nci_frames.base.typing import Flags, FloatPair, Floats, Frame, Rows
from nci_frames.counts.strata import Strata, Wide
from nci_frames.evaluation.arrays.buckets import StrataCounts, strata_counts
from nci_frames.evaluation.rates.quotients import rates_of
from nci_frames.schemas import CELLS, COUNTS, LIGHTEST, NEGATIVES, POSITIVES, WEIGHT, collect, has_strata

#: Columns of rates with the effective numbers of rows of each class.
WORTH = ("effective_positives", "effective_negatives")

#: The squared normal quantile of a level of 0.95.
_Z2 = normal_quantile(0.95) ** 2

_Sums = Wide | Floats

#: In smaller strata the fixed number of rows is ignored, as if each row were drawn independently.
FEW_ROWS = 20
#: Strata of at least this many rows whose scores do not overlap are taken to be made by score.
_APART = 10
#: With probability 0.975 the scores of a stratum end within this many mean gaps of its extreme score.
_FEW_GAPS = 3.7


def of_strata(rates: pl.DataFrame) -> bool:
    """Return whether rates are those of strata: sums of weights with effective numbers of rows."""
    return WORTH[0] in rates.columns and not rates.schema["tp"].is_integer()


def bounded_rows(columns: Collection[str]) -> Sequence[pl.Expr]:
    """Return the numbers of positives and negatives for intervals of rates with these *columns*.

    Effective numbers of units are those of all thresholds together, while bounds allow for the variation at
    their own one, and for units that the log may lack. So numbers are at most those of which the bounds, if
    any, are Wilson's of level 0.95: a bound b is at the distance z·√(b(1-b)/rows) from the rate.
    """
    if WORTH[0] not in columns:
        return [pl.col("positives"), pl.col("negatives")]
    known = []
    for rate, worth in zip(("tpr", "fpr"), WORTH, strict=True):
        limits = [pl.col(f"{rate}_{side}") for side in ("lower", "upper") if f"{rate}_{side}" in columns]
        apart = [(_Z2 * bound * (1 - bound) / (bound - pl.col(rate)) ** 2).fill_nan(None) for bound in limits]
        there = pl.all_horizontal(bound.is_not_null() for bound in limits) if limits else pl.lit(value=True)
        known.append(pl.when(there).then(pl.min_horizontal(worth, *apart)))
    return known


def known_cells(rates: pl.DataFrame, *, bounded: bool = False) -> dict[str, pl.Expr]:
    """Return the effective number of rows behind each of the four counts of rates; see ``bounded_rows``."""
    if WORTH[0] not in rates.columns:
        return {cell: pl.col(cell) for cell in CELLS}
    positives, negatives = bounded_rows(rates.columns if bounded else WORTH)
    return {
        "tp": positives * pl.col("tpr"),
        "fp": negatives * pl.col("fpr"),
        "fn": positives * (1 - pl.col("tpr")),
        "tn": negatives * (1 - pl.col("fpr")),
    }


def collect_counts(counts: Frame) -> pl.DataFrame:
    """Return checked counts; for strata their rates, with sums of weights and effective numbers of rows.

    Raises
    ------
    ParameterError
        If the strata of a group have different threshold grids.
    SchemaError
        If *counts* is not a counts frame.
    """
    return summed_counts(collect(counts, COUNTS, strata=True))


def summed_counts(counts: pl.DataFrame) -> pl.DataFrame:
    """Return checked counts; for strata their rates, as ``collect_counts`` does."""
    return rates_of_strata(counts) if has_strata(counts) else counts


def rates_of_strata(counts: pl.DataFrame) -> pl.DataFrame:
    """Return the rates of counts with the key ``weight``, with effective numbers of rows.

    Parameters
    ----------
    counts
        Checked counts.

    Returns
    -------
    A row per group and threshold, sorted: rates with ``effective_positives`` and ``effective_negatives``,
    which are null without rows of the class; ``LIGHTEST``, the least weight of a positive of the group.

    Raises
    ------
    ParameterError
        If the strata of a group have different threshold grids.
    """
    strata = Strata.of(counts)
    groups = list(strata_counts(strata.counts))
    at = np.split(strata.together.threshold, strata.together.lowest[1:])
    rows = [heaviest_rows(*group) for group in zip(groups, at, strict=False)]
    heaviest = [np.concatenate(sides) for sides in zip(*rows, strict=True)] or [np.empty(0), np.empty(0)]
    same = np.array([group.same_within_classes for group in groups], np.bool_)
    lightest = np.array([group.lightest for group in groups], np.float64)
    worth = {name: _effective(strata, place, heaviest, lightest, same) for place, name in enumerate(WORTH)}
    known = np.where((strata.rows[0] > 0) & (strata.weight > 0), strata.weight, np.inf)
    worth[LIGHTEST] = np.minimum.reduceat(known, strata.begins)[strata.together.group]
    return rates_of(strata.sums()).hstack(pl.DataFrame(worth, nan_to_null=True))


def classes_of_strata(counts: pl.DataFrame) -> pl.DataFrame:
    """Return the sizes of the classes of each group of strata.

    Returns
    -------
    A row per group: model, keys; ``__positives`` and ``__negatives``, the effective numbers of rows
    (Σw)²/Σw² (Kish), null without rows; ``__drawn_positives`` and ``__drawn_negatives``, the unweighted
    numbers of rows that weigh something; ``__mixed``, whether a class has several weights.
    """
    keys = ["model", *(key for key in COUNTS.keys(counts.columns) if key != WEIGHT)]
    strata = counts.group_by(*keys, WEIGHT).agg(pl.col(CELLS).first())
    weight = pl.col(WEIGHT)
    columns: dict[str, pl.Expr] = {}
    several = []
    for name, rows in (("positives", POSITIVES), ("negatives", NEGATIVES)):
        total, squares = (weight * rows).sum(), (weight**2 * rows).sum()
        columns[f"__{name}"] = pl.when(squares > 0).then(total**2 / squares)
        columns[f"__drawn_{name}"] = rows.filter(weight > 0).sum()
        several.append(((rows > 0) & (weight > 0)).sum() > 1)
    columns["__mixed"] = pl.any_horizontal(several)
    return strata.sort(*keys, WEIGHT).group_by(keys, maintain_order=True).agg(**columns)


def _effective(
    strata: Strata, of_class: int, heaviest: Sequence[Floats], lightest: Floats, same: Flags
) -> Floats:
    """Return the effective number of rows behind each rate of a class; NaN without rows.

    *heaviest* are the weights of the heaviest possible hit and miss at each threshold, *lightest* the least
    weight of each group. *same* tells which groups have one weight per class.
    """
    cell, rows, weight = ("tp", "fp")[of_class], strata.rows[of_class], strata.weight.astype(np.longdouble)
    hits = strata.hits(cell)
    reached = strata.added(strata.each_row(weight) * hits)
    squares = strata.added(strata.each_row(weight**2) * hits)
    size = strata.total(weight * rows)
    sums = reached, strata.rest(reached, size)
    saved = _saved(strata, hits, rows, reached / size, lightest)
    found = effective_number(sums, (squares, strata.total(weight**2 * rows) - squares), heaviest, saved)
    every = strata.total(np.where(strata.weight > 0, rows, 0)).astype(np.float64)
    return np.where(same[strata.together.group], every, found)


def effective_number(
    sums: Sequence[_Sums], squares: Sequence[_Sums], heaviest: Sequence[Floats], saved: Wide | float = 0
) -> Floats:
    """Return the effective number of rows behind each rate of a class; NaN without rows.

    *sums* are those of the weights above and below each threshold, *squares* those of squared weights, and
    *heaviest* the largest weight that a row there may have, 0 if there can be none. *saved* is the reduction
    of the variance by the fixed number of rows in each stratum.
    """
    (reached, missed), (size, every) = sums, (sums[0] + sums[1], squares[0] + squares[1])
    rate = reached / size
    variance = np.maximum(squares[0] * (1 - rate) ** 2 + squares[1] * rate**2 - saved, 0)
    worth = []
    for few, many, more in ((reached, missed, heaviest[0]), (missed, reached, heaviest[1])):
        # With one more hit or miss, of the rarer kind.
        share = (few + more) / (size + more)
        spread = variance + more**2 * (many / size) * (1 - share)
        own = (few + more) * many * size / ((size + more) * spread)
        # Rounding of the variance must not tell a certain rate from no rows.
        worth.append(np.where((many > 0) & (few + more > 0), own, np.nan))
    found = np.fmin(*worth)
    # Behind a rate that no row can change are all rows of the class (Kish).
    return np.where(np.isnan(found), size**2 / every, found).astype(np.float64)


def _saved(strata: Strata, hits: Wide, rows: Rows, rate: Wide, lightest: Floats) -> Wide:
    """Return the reduction of the variance by the fixed number of rows in each stratum.

    The rows of a weight were drawn from all groups of the model together, so their number in one segment is
    random.
    """
    model = strata.groups["model"].gather(np.repeat(np.arange(len(strata.begins)), strata.sizes))
    rows_of = pl.DataFrame({"model": model, WEIGHT: strata.weight, "drawn": np.add(*strata.rows)})
    drawn = rows_of.select(pl.col("drawn").sum().over("model", WEIGHT)).to_series().to_numpy()
    weight = strata.weight.astype(np.longdouble)
    beyond = weight - np.repeat(lightest, strata.sizes)
    per_row = np.where(drawn >= FEW_ROWS, weight * beyond / np.maximum(drawn, 1), 0)
    return np.asarray(
        strata.added(strata.each_row(per_row) * hits**2)
        - 2 * rate * strata.added(strata.each_row(per_row * rows) * hits)
        + rate**2 * strata.total(per_row * rows.astype(np.longdouble) ** 2)
    )


def heaviest_rows(counts: StrataCounts, at: Floats) -> FloatPair:
    """Return the weights of the heaviest possible hit and miss at each ascending threshold.

    A row of any stratum may be of either class. But if the strata were made by score, rows of a lower stratum
    do not reach the scores of a higher one.
    """
    rows = counts.classes[0] + counts.classes[1]
    rows.sort_indices()
    drawn = np.asarray(rows.sum(axis=1))
    some = drawn > 0
    begins, ends = rows.indptr[:-1][some], rows.indptr[1:][some]
    floors = np.append(counts.histogram.thresholds, -np.inf)
    high, low = floors[rows.indices[begins]], floors[rows.indices[ends - 1]]
    known = at, counts.weights[some], low, high, drawn[some]
    return _reaching(*known, hit=True), _reaching(*known, hit=False)


def _reaching(at: Floats, weight: Floats, low: Floats, high: Floats, drawn: Rows, *, hit: bool) -> Floats:
    """Return the largest weight of a row that may lie above each threshold (*hit*), or below it.

    The scores of each stratum lie from *low* to *high*, and as far beyond as a sample of *drawn* rows is
    likely to miss. Lower strata have no rows in this range.
    """
    many = drawn >= _APART
    finite = np.isfinite(low) & np.isfinite(high)
    beyond = np.zeros(len(low))
    beyond[finite] = _FEW_GAPS * (high[finite] - low[finite]) / np.maximum(drawn[finite] - 1, 1)
    # above[i, j]: whether stratum j lies above stratum i.
    above = (low >= high[:, None]) & np.isfinite(low) & many & many[:, None] & ~np.eye(len(low), dtype=bool)
    heaviest = np.zeros(len(at) + 1)
    if hit:
        limit = np.where(above, low - beyond, np.inf).min(axis=1, initial=np.inf)
        end = np.maximum(np.searchsorted(at, limit, "left"), np.searchsorted(at, high, "right"))
        np.maximum.at(heaviest, np.maximum(end - 1, 0), np.where(end > 0, weight, 0.0))
        return np.maximum.accumulate(heaviest[:-1][::-1])[::-1]
    floor = np.where(above, (high + beyond)[:, None], -np.inf).max(axis=0, initial=-np.inf)
    np.maximum.at(heaviest, np.searchsorted(at, np.minimum(floor, low), "right"), weight)
    return np.maximum.accumulate(heaviest[:-1])
