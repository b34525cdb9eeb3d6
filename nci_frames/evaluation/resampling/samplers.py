"""Counts -> resampled logs, by rows of each class or whole buckets of units; and random parts of strata."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Rows
from nci_frames.evaluation.arrays.buckets import (
    BucketCounts,
    Counted,
    StrataCounts,
    bucket_counts,
    sparse_rows,
    strata_counts,
)
from nci_frames.evaluation.arrays.histograms import Histogram, each_histogram
from nci_frames.evaluation.resampling import draws as drawing
from nci_frames.evaluation.resampling.draws import stream
from nci_frames.evaluation.resampling.point_metrics import unseen_shares
from nci_frames.evaluation.resampling.resampling import Resampling
from nci_frames.schemas import has_strata

_CELLS_AT_A_TIME = 1 << 21


class _Urn(NamedTuple):
    """Rows of one weight that are drawn together."""

    weight: float
    #: The positives, the negatives, or both, of shape (classes, bins); *classes* tells which.
    rows: Rows
    classes: slice
    #: Rows of other groups in the same sample.
    elsewhere: int
    #: Rows of the traffic that the sample stands for, whose number is chance; 0 if it does not matter.
    traffic: float = 0.0


def _urns(counts: Histogram | StrataCounts) -> list[_Urn]:
    """Return the sets of rows to draw from: the classes, or the strata if weights differ within a class.

    A stratum keeps its number of rows over both classes and all groups of the model; rows of the lightest
    weight are taken to be all that there were. If weights are constant within classes, each class is drawn
    separately, as without weights.
    """
    strata: list[tuple[float, Rows, Rows, int]]
    strata = [(1, *counts.classes, 0)] if isinstance(counts, Histogram) else [*counts.strata()]
    if isinstance(counts, StrataCounts) and not counts.same_within_classes:
        lightest, urns = counts.lightest, []
        for weight, *rows, elsewhere in strata:
            both = np.stack(rows)
            traffic = (both.sum() + elsewhere) * weight / lightest
            urns.append(_Urn(weight, both, slice(2), elsewhere, float(traffic)))
        return urns
    return [
        _Urn(weight, rows[of_class][np.newaxis], slice(of_class, of_class + 1), 0)
        for of_class in (0, 1)
        for weight, *rows, _ in strata
    ]


def draws(counts: Counted, logs: Resampling, *, smooth: bool = False) -> Iterator[Sequence[Rows]]:
    """Yield positives and negatives of resampled logs, some logs at a time, of shape (logs, bins).

    Rows are drawn with replacement, or by ``draw_smoothly`` if *smooth*: separately for positives and
    negatives, or stratum by stratum, each with as many rows of the traffic as another log might have. Buckets
    are the same for every model.
    """
    histogram = counts.histogram
    bins, kind = len(histogram.positives), histogram.positives.dtype
    # Some logs at a time, to limit the size of arrays.
    most = max(1, _CELLS_AT_A_TIME // bins)
    blocks = [min(most, logs.repeats - start) for start in range(0, logs.repeats, most)]
    if isinstance(counts, BucketCounts):
        # All at once: blocks depend on the bins, which may differ between models; the draws must not.
        times = drawing.times_drawn(logs.seed, _name_of_units(counts), counts.buckets, logs.repeats)
        yield from map(counts.taken, np.split(times, np.cumsum(blocks)[:-1]))
        return
    rng, urns = stream(logs.seed, histogram.group.row(0, named=True)), _urns(counts)
    draw: Callable[..., Any] = drawing.draw_smoothly if smooth else drawing.draw_with_replacement
    for some in blocks:
        drawn: Any = np.zeros((2, some, bins), kind)
        for urn in urns:
            rows = draw(rng, np.append(urn.rows, urn.elsewhere), some)[:, :-1]
            weight: Any = urn.weight
            if urn.traffic:
                weight = weight * rng.gamma(urn.traffic, size=(some, 1)) / urn.traffic
            drawn[urn.classes] += weight * np.moveaxis(rows.reshape(some, -1, bins), 1, 0)
        yield drawn


def with_unseen_positive(
    drawn: Iterator[Sequence[Rows]], counts: BucketCounts | StrataCounts, logs: Resampling
) -> Iterator[Sequence[Rows]]:
    """Add to each log a random part of a positive of the heaviest weight, which it may lack by chance.

    Each model may score such a row above or below all others. Of units, the part is the same for every model.
    """
    group = counts.histogram.group.row(0, named=True)
    of_rows = _name_of_units(counts) if isinstance(counts, BucketCounts) else group
    parts = counts.mixed * unseen_shares(stream(logs.seed, {"__part": True, **of_rows}), (logs.repeats,))
    last = len(counts.histogram.positives) - 1
    ends = last * stream(logs.seed, {"__end": True, **group}).integers(2, size=logs.repeats)
    done = 0
    for positives, negatives in drawn:
        some = slice(done, done := done + len(positives))
        more = positives.astype(np.float64)
        more[np.arange(len(more)), ends[some]] += parts[some]
        yield more, negatives  # type: ignore[misc]


def halves(counts: Counted, logs: Resampling) -> Iterator[Sequence[Rows]]:
    """Yield positives and negatives in each bin of a random half of the log, *repeats* times.

    The other half has the other rows. Identical models get the same halves; with buckets the halves of all
    models have the same units.
    """
    rng = stream(logs.seed, _name_of_units(counts))
    if isinstance(counts, BucketCounts):
        taken = (np.arange(counts.buckets) < counts.buckets // 2).astype(np.float64)
        for _ in range(logs.repeats):
            yield counts.taken(rng.permutation(taken))
        return
    urns, whole = _urns(counts), np.stack(counts.histogram.classes)
    for _ in range(logs.repeats):
        drawn: Any = np.zeros_like(whole)
        for urn in urns:
            size = int(urn.rows.sum())
            # A row with a weight of its own is in either half.
            half_size = int(rng.integers(2)) if size == 1 else size // 2
            half = drawing.draw_without_replacement(rng, urn.rows.ravel(), half_size)
            drawn[urn.classes] += urn.weight * half.reshape(urn.rows.shape)
        yield drawn


def _name_of_units(counts: Counted) -> dict[str, Any]:
    return counts.histogram.group.drop("model").row(0, named=True)


def counted_groups(frame: pl.DataFrame, logs: Resampling) -> Iterable[Counted]:
    """Return the rows of each group of whole counts, in the form to resample, in the order of the keys.

    The values of the key ``over`` follow each other under one group name, and so share the draws of
    ``units``.

    Raises
    ------
    ParameterError
        If there are too few buckets, rows without a bucket, or ``over`` without ``units``.
    """
    if logs.over is not None:
        return _of_repeats(frame, logs.units, logs.over)
    if logs.units is not None:
        return bucket_counts(frame, logs.units)
    return strata_counts(frame) if has_strata(frame) else each_histogram(frame)


def _of_repeats(frame: pl.DataFrame, units: str | None, over: str) -> Iterator[BucketCounts]:
    if units is None or units == over:
        msg = "over needs units: another log has other units, whose rows belong together in all repeats"
        hint = "count by unit_buckets(predictions), and pass units='bucket'"
        raise ParameterError(msg, found=f"over={over!r} with units={units!r}", hint=hint)
    last = [*(name for name in frame.columns if name not in (over, units)), over, units]

    for counts in bucket_counts(frame.select(last), units):
        histogram = counts.histogram._replace(group=counts.histogram.group.drop(over))
        yield counts._replace(histogram=histogram)


#: Seven halvings make 128 parts, whose variance has 127 degrees of freedom.
_HALVINGS = 7


def random_groups(counts: pl.DataFrame) -> list[BucketCounts]:
    """Return the rows of all groups of strata by random parts of the log, in the order of the keys.

    All rows of a model with one weight are one sample, over its groups and both classes; each part has
    equally many of them, or one more. So the parts vary as smaller logs of the same design do, and methods
    for buckets of units apply to them.

    References
    ----------
    Wolter (2007), Introduction to Variance Estimation, chapter 2 (random groups),
    doi:10.1007/978-0-387-35099-8.

    Raises
    ------
    ParameterError
        If the strata of a group have different threshold grids.
    """
    found = []
    for model, members in itertools.groupby(
        strata_counts(counts), key=lambda group: group.histogram.group["model"][0]
    ):
        found += _parts(list(members), stream(0, {"model": model}))
    return found


def _parts(members: Sequence[StrataCounts], rng: np.random.Generator) -> list[BucketCounts]:
    """Return the rows of the groups of one model by random parts."""
    cells = [of_class.tocoo() for member in members for of_class in member.classes]
    ends = np.cumsum([0, *(len(each.data) for each in cells)])
    rows = np.concatenate([each.data for each in cells]).astype(np.int64)
    stratum = np.concatenate([each.row for each in cells])
    parts = np.zeros((0, 3), np.int64)
    for weight in np.unique(stratum):
        own = np.flatnonzero(stratum == weight)
        parts = np.append(parts, _divided(rng, own, rows[own], _HALVINGS), axis=0)
    parts = parts[np.argsort(parts[:, 0], kind="stable")]
    borders = np.searchsorted(parts[:, 0], ends)
    found = []
    for place, member in enumerate(members):
        sides = []
        for number in (2 * place, 2 * place + 1):
            cell, part, drawn = parts[borders[number] : borders[number + 1]].T
            at = cell - ends[number]
            weighed, bins = member.weights[cells[number].row[at]] * drawn, cells[number].shape[1]
            sides.append(sparse_rows(weighed, (part, cells[number].col[at]), (1 << _HALVINGS, bins)))
        drawn = member.rows.histogram.sizes
        found.append(BucketCounts(member.histogram, sides, member.heaviest, member.sizes, drawn))
    return found


def _divided(rng: np.random.Generator, cell: Rows, rows: Rows, halvings: int, part: int = 0) -> Rows:
    """Divide the rows of cells into equal parts; return cell, part and rows as columns."""
    if not halvings:
        return np.stack([cell, np.full(len(cell), part), rows], axis=1)
    # With an odd number of rows, a random half has one more.
    size = (int(rows.sum()) + int(rng.integers(2))) // 2
    left = drawing.draw_without_replacement(rng, rows, size)
    found = []
    for side, half in enumerate((left, rows - left)):
        some = np.flatnonzero(half)
        found.append(_divided(rng, cell[some], half[some], halvings - 1, 2 * part + side))
    return np.concatenate(found)
