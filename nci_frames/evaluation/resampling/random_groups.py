"""Counts of strata -> random parts of the log, which are samples of the same design."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from nci_frames.base.typing import Rows
from nci_frames.evaluation.arrays.buckets import BucketCounts, sparse_rows
from nci_frames.evaluation.arrays.strata import StrataCounts, strata_counts
from nci_frames.evaluation.resampling.draws import draw_without_replacement, stream

#: The log is halved so many times: 128 parts tell a variance as 127 degrees of freedom do.
_HALVINGS = 7


def random_groups(counts: pl.DataFrame) -> list[BucketCounts]:
    """Return the rows of all groups of strata, in the order of the keys, by random parts of the log.

    The rows of one weight and model, of all its groups and of both classes, are one sample; each part has
    equally many of them, or one more. So the parts differ as whole logs of the same design do, each with so
    many fewer rows, and what is known of buckets of units holds for them.

    References
    ----------
    Wolter (2007), Introduction to Variance Estimation, chapter 2 (random groups),
    doi:10.1007/978-0-387-35099-8.

    Raises
    ------
    ParameterError
        If the strata of a group have different thresholds of a grid.
    """
    found = []
    for model, members in itertools.groupby(
        strata_counts(counts), key=lambda group: group.histogram.group["model"][0]
    ):
        found += _parts(list(members), stream(0, {"model": model}))
    return found


def _parts(members: Sequence[StrataCounts], rng: np.random.Generator) -> list[BucketCounts]:
    """Return the rows of the groups of one model by parts."""
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
        found.append(
            replace(
                member.rows,
                histogram=member.histogram,
                positives=sides[0],
                negatives=sides[1],
                heaviest=member.heaviest,
                even=member.sizes,
                drawn=member.rows.histogram.sizes,
            )
        )
    return found


def _divided(rng: np.random.Generator, cell: Rows, rows: Rows, halvings: int, part: int = 0) -> Rows:
    """Divide rows of some cells into equal parts; return cell, part and rows, of shape (some, 3)."""
    if not halvings:
        return np.stack([cell, np.full(len(cell), part), rows], axis=1)
    # Of an odd number of rows either half has one more.
    size = (int(rows.sum()) + int(rng.integers(2))) // 2
    left = draw_without_replacement(rng, rows, size)
    found = []
    for side, half in enumerate((left, rows - left)):
        some = np.flatnonzero(half)
        found.append(_divided(rng, cell[some], half[some], halvings - 1, 2 * part + side))
    return np.concatenate(found)
