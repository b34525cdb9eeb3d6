"""Counts -> tests of the assumption of projection: each class has the same score distribution everywhere.

A projection to another prevalence assumes that only the class balance changes, while the score distributions
of positives and of negatives stay the same (prior probability shift).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats, Frame, Rows
from nci_frames.counts.pooling import alike_counts, pooled_counts
from nci_frames.evaluation.arrays.buckets import bucket_counts, even_buckets, sums_of_weights
from nci_frames.evaluation.arrays.histograms import Histogram, whole_counts
from nci_frames.evaluation.arrays.members import Members, by_cell, stacked, sum_of_some
from nci_frames.evaluation.resampling.samplers import random_groups
from nci_frames.evaluation.significance.corrections import holm
from nci_frames.evaluation.significance.quadratic import bridge_weights, exceedances
from nci_frames.schemas import COUNTS, SHIFTS, WEIGHT, checked, has_strata, in_runs, key_text

#: Least rows of a class in a segment to be compared.
LEAST_ROWS = 10
_MOST_CELLS = 64
#: Where the variance of the statistic exceeds that of normal shares by this factor, a small p-value is
#: compared with random tables.
_SPARSE, _SMALL = 1.1, 0.1
#: Number of cells of all random tables.
_MOST_DRAWN = 1 << 25


@checked
def check_projection(
    counts: Frame, /, *, over: str, units: str | None = None, level: float = 0.95
) -> pl.DataFrame:
    """Test whether each class has the same score distribution in all segments or periods.

    One test for the positives and one for the negatives of each group compares all values of a key at once.

    Parameters
    ----------
    counts
        A counts frame of whole rows with the key *over*.
    over
        Key whose values are compared, such as the country or the month.
    units
        None takes rows as independent; if a unit has several rows, as in a repeated cross-validation, this
        gives false findings. A key with at least 20 values, such as the ``bucket`` of ``unit_buckets``, takes
        its values as independent instead.
    level
        Confidence, in (0, 1). A class is distinguishable if the adjusted p-value is below 1 - level.

    Returns
    -------
    A row per group and class, sorted by model, keys and class:

    %(columns of shifts)s

    Keys are those of *counts*, without *over* and *units*. ``effect`` compares the shares of scores >= a
    threshold: TPRs for positives, FPRs for negatives. Without a difference, ``statistic`` is near
    segments - 1. The probability of any false finding in the whole table is at most 1 - level.

    Raises
    ------
    ParameterError
        If the level is outside (0, 1), the counts are sums of weights, *over* has only one value or different
        thresholds, or *units* has too few values.
    SchemaError
        If *counts* is not a counts frame, or lacks the key *over* or *units*.

    Notes
    -----
    With F_s the shares of segment s up to each threshold, n_s its rows and H the shares of all, the statistic
    is the sum of n_s·(F_s - H)²/(H·(1-H)) over segments and thresholds, weighted by the rows between
    thresholds. Bins are merged into at most 64 of about equal size. Without a difference the statistic is a
    weighted sum of squared normal variables; the weights follow from H if rows are independent, otherwise
    from the variation between buckets, which in a segment is at least that of independent rows, and of as
    many units of all segments. The tail probability is a saddlepoint approximation. Where some
    segments have few rows, with the larger variance of the statistic; a p-value below 0.1 is then at least
    the share of up to 999 random tables with the same sums that have as large a statistic.

    If weights differ within a class, shares are weighted and n_s is the effective number of rows (Kish). The
    variation comes from 128 random parts of the log, each with its share of the rows of every weight, as from
    buckets of units.

    "Not distinguishable" does not prove that the distributions are equal: tests on few rows have little
    power. With many rows a tiny difference is significant; ``effect`` shows its size.

    References
    ----------
    Scholz and Stephens (1987), K-sample Anderson-Darling tests, doi:10.1080/01621459.1987.10478517; Rao and
    Scott (1984), doi:10.1214/aos/1176346391; Kuonen (1999), doi:10.1093/biomet/86.4.929; Moreno-Torres et al.
    (2012), section 4 (prior probability shift), doi:10.1016/j.patcog.2011.06.019.

    Examples
    --------
    In May more negatives reach the threshold than in April; the positives may be unchanged.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": "a", "month": ["April", "May"], "threshold": 0.5,
    ...     "tp": [60, 55], "fp": [10, 40], "fn": [40, 45], "tn": [990, 960],
    ... })
    >>> found = nf.check_projection(counts, over="month")
    >>> found.select("class", pl.col("effect", "adjusted").round(4), "distinguishable").rows()
    [('negative', 0.03, 0.0, True), ('positive', 0.05, 0.4745, False)]
    """
    return corrected_shifts(shift_tests(counts, over=over, units=units), level=level)


def corrected_shifts(tests: pl.DataFrame, *, level: float) -> pl.DataFrame:
    """Correct the p-values for the number of tests, and add the decisions."""
    adjusted = pl.Series(holm(tests["p_value"].fill_null(np.nan).to_numpy()), nan_to_null=True)
    return SHIFTS.finish(tests.with_columns(adjusted=adjusted, distinguishable=adjusted < 1 - level))


def shift_tests(
    counts: Frame, /, *, over: str, units: str | None = None, together: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return the table of ``check_projection`` without correction and decision.

    *together* are the same counts pooled over *over* and *units*, if known.
    """
    frame, _ = alike_counts(whole_counts(counts))
    rows = frame.drop(WEIGHT, strict=False)
    COUNTS.need_keys(rows, [over], "over")
    rest = [key for key in COUNTS.need_keys(rows, [units], "units") if key not in (over, units)]
    if frame[over].n_unique() == 1:
        msg = f"all rows have the same {over}, so there is nothing to compare"
        raise ParameterError(msg, found=repr(frame[over][0]))
    empty = SHIFTS.empty(frame.select("model", *rest)).drop("adjusted", "distinguishable")
    if frame.is_empty():
        return empty
    if together is None:
        together = pooled_counts(frame, over=[key for key in (over, units) if key is not None])
    group = ["model", *rest]
    heads, members = _members(frame, group, over, units)
    of_group: dict[tuple[object, ...], list[int]] = {}
    for place, key in enumerate(heads.select(group).iter_rows()):
        of_group.setdefault(key, []).append(place)
    # One group at a time, since the members of all groups take as much memory as the counts.
    tables = []
    for pooled in sums_of_weights(together):
        mine = of_group[pooled.group.row(0)]
        tables.append(_tested(pooled, members(mine, pooled), heads[over][mine]))
    return pl.concat(tables).select(empty.columns).sort(*group, "class")


def _members(
    frame: pl.DataFrame, group: list[str], over: str, units: str | None
) -> tuple[pl.DataFrame, Callable[[list[int], Histogram], Members]]:
    """Return the keys of all segments, sorted, and a function that reads the segments of one group."""
    if units is not None or has_strata(frame):
        counted = random_groups(frame) if units is None else bucket_counts(frame, units)
        heads = pl.concat(counts.histogram.group for counts in counted)
        return heads, lambda mine, pooled: Members.of_buckets([counted[place] for place in mine], pooled)
    frame, first = in_runs(frame, [*group, over])
    ends = np.append(first, len(frame))

    def of_counts(mine: list[int], pooled: Histogram) -> Members:
        start, stop = ends[mine[0]], ends[mine[-1] + 1]
        return Members.of_counts(frame[start:stop], first[mine] - start, pooled)

    return frame[first].select(*group, over), of_counts


def _tested(pooled: Histogram, members: Members, segments: pl.Series) -> pl.DataFrame:
    """Test the positives and the negatives of one group, whose members are the segments."""
    names = segments.to_frame().select(key_text(segments.name, segments.dtype)).to_series()
    found = []
    for of_class, name in ((1, "negatives"), (0, "positives")):
        drawn, worth = members.drawn[of_class], members.even[of_class]
        compared = np.flatnonzero(worth >= LEAST_ROWS)
        size = int(drawn[compared].sum())
        row: dict[str, object] = {"class": name[:-1], "segments": len(compared), "rows": size}
        if len(compared) < 2:
            row["reason"] = f"fewer than two values of {segments.name!r} have {LEAST_ROWS} {name}"
        else:
            cell = joined_cells(pooled.classes[of_class])
            rows = members.classes[of_class][compared]
            in_cells = by_cell(rows, cell, int(cell[-1]) + 1).toarray()
            row_weighs = in_cells.sum() / worth[compared].sum()
            by_bucket = [each / row_weighs for each in members.by_bucket(of_class, cell, compared)]
            statistic, p_value = _anderson_darling(in_cells / row_weighs, by_bucket)
            effect, place = _largest_distance(rows)
            farthest = names[int(compared[place])]
            row |= {"statistic": statistic, "effect": effect, "farthest": farthest, "p_value": p_value}
        found.append(row)
    decided = ("model", "adjusted", "distinguishable")
    dtypes = {name: dtype for name, dtype in SHIFTS.dtypes().items() if name not in decided}
    return pooled.labelled(pl.DataFrame(found, schema=dtypes))


def joined_cells(whole: Rows) -> Rows:
    """Return the cell of each bin, with at most ``_MOST_CELLS`` cells of about equal size."""
    total = whole.sum() or 1
    middle = whole.cumsum() - whole / 2
    cell = np.minimum(middle * _MOST_CELLS / total, _MOST_CELLS - 1).astype(np.int64)
    # Renumber the cells without gaps.
    return np.append(0, np.cumsum(cell[1:] != cell[:-1]))


def _anderson_darling(in_cells: Floats, by_bucket: Sequence[Any]) -> tuple[float, float]:
    """Return the statistic of the rows of segments by cell, and its p-value.

    *by_bucket* has the rows of each segment by bucket and cell, sparse; it is empty if rows are independent.
    """
    rows = in_cells.sum(axis=1)
    size = rows.sum()
    pooled = in_cells.sum(axis=0) / size
    # Drop cells without rows of a compared segment.
    occupied = pooled > 0
    pooled, in_cells = pooled[occupied], in_cells[:, occupied]
    if len(pooled) < 2:
        return 0.0, 1.0
    below = pooled.cumsum()[:-1]
    weight = (pooled[:-1] + pooled[1:]) / 2 / (below * (1 - below))

    def squares(table: Floats) -> float:
        """Return the statistic of rows by segment and cell."""
        apart = table.cumsum(axis=1)[:, :-1] / rows[:, None] - below
        return float((rows[:, None] * apart**2 * weight).sum())

    statistic = squares(in_cells)
    if not by_bucket:
        weights, freedom = bridge_weights(below, weight), len(rows) - 1.0
        wider = _wider(rows, pooled, below, weight, weights)
        p_value = exceedances(np.array([statistic]), wider * weights, freedom / wider).item()
        if wider > 1 and p_value < _SMALL:
            p_value = max(p_value, _share_of_tables(in_cells, lambda table: squares(table) >= statistic))
        return statistic, p_value

    def moved(counted: Floats) -> Floats:
        """Return the contribution of each bucket to the shares of rows below each border, times all rows."""
        here = counted[:, occupied]
        return np.asarray(here.cumsum(axis=1)[:, :-1] - here.sum(axis=1, keepdims=True) * below)

    together = sum_of_some(stacked(by_bucket), np.ones(len(rows), np.bool_))
    every, alone = moved(together) / size, below * (1 - below) @ weight
    spread = float((every**2 @ weight).sum())
    buckets, units = len(every), even_buckets(together.sum(axis=1))
    product = np.zeros((buckets, buckets))
    # Segments are read one by one, as all of them by bucket and cell may take gigabytes.
    for own, of_segment in zip(by_bucket, rows, strict=True):
        counted = own.toarray()
        mine = moved(counted) / of_segment
        # A segment may lack rare scores by chance: it varies no less than independent rows, or as many units.
        least = max(spread * units / even_buckets(counted.sum(axis=1)), alone / of_segment)
        found = float((mine**2 @ weight).sum())
        if found < least:
            mine = (mine if found else every) * np.sqrt(least / (found or spread or 1.0))
        apart = (mine - every) * np.sqrt(of_segment * weight)
        product += apart @ apart.T
    weights = np.linalg.eigvalsh(product) * buckets / (buckets - 1)
    return statistic, exceedances(np.array([statistic]), weights).item()


def _wider(rows: Floats, pooled: Floats, below: Floats, weight: Floats, weights: Floats) -> float:
    """Return the variance of the statistic over that of normal shares, 1 unless it is clearly larger.

    It is large where a small segment is expected to have less than one row beyond some border.
    """
    of_row = (np.triu(np.ones((len(pooled), len(pooled))))[:, :-1] - below) ** 2 @ weight
    excess = pooled @ of_row**2 - 2 * weights @ weights - weights.sum() ** 2
    small = rows @ (1 / rows - 1 / rows.sum()) ** 2
    wider = float(1 + excess * small / (2 * (len(rows) - 1) * (weights @ weights)))
    return wider if wider > _SPARSE else 1.0


def _share_of_tables(in_cells: Floats, found: Callable[[Floats], bool]) -> float:
    """Return the share of random tables with the sums of *in_cells* for which *found* is true."""
    from scipy.stats import random_table  # noqa: PLC0415  (slow to import, and seldom needed)

    sums = (in_cells.sum(axis=axis).astype(np.int64) for axis in (1, 0))
    tables, rng = random_table(*sums), np.random.default_rng(0)
    number = int(np.clip(_MOST_DRAWN // in_cells.size, 99, 999))
    drawn = (tables.rvs(1, method="patefield", random_state=rng)[0] for _ in range(number))
    return sum(map(found, drawn)) / (1 + number)


def _largest_distance(rows: Any) -> tuple[float, int]:
    """Return the largest distance of the most significant member from the others, and its index.

    *rows* are those of each member by bin, sparse. Every member has rows.
    """
    together = np.append(0.0, np.bincount(rows.indices, rows.data, rows.shape[1]).cumsum())
    first, length = rows.indptr[:-1], np.diff(rows.indptr)
    size = rows.sum(axis=1)
    others = size.sum() - size
    reached = rows.data.cumsum()
    reached -= np.repeat(reached[first] - rows.data[first], length)
    mine, rest = np.repeat(size, length), np.repeat(others, length)
    apart = np.zeros(len(reached))
    # Between its own bins the share of a member is constant and that of the others rises, so the extremes are
    # just before and at its bins.
    for own, every in ((reached, together[rows.indices + 1]), (reached - rows.data, together[rows.indices])):
        np.maximum(apart, np.abs(own / mine - (every - own) / rest), out=apart)
    distance = np.maximum.reduceat(apart, first)
    farthest = int(np.argmax(distance * np.sqrt(size * others / size.sum())))
    return float(distance[farthest]), farthest
