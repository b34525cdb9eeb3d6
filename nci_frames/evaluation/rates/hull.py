"""Rates -> the operating points on the ROC convex hull, which are the best for some costs."""

import numpy as np
import polars as pl

from nci_frames.base.typing import Flags, Floats, Frame, Rows
from nci_frames.counts.resolution import every_row_exact, without_claims
from nci_frames.schemas import COUNTS, RATES, checked, collect, group_starts

#: With fewer exact counts, removing rows would take longer than using them.
_MANY = 1 << 16
#: Rounding error of a difference of rates, which are rounded quotients.
_ROUNDING = 2 * np.finfo(np.float64).eps


@checked
def roc_convex_hull(rates: Frame, /) -> pl.DataFrame:
    """Return the operating points that are corners of the ROC convex hull of their group.

    Only these are the best for some prevalence and costs; a mixture of two of them beats every other point.
    (0, 0) and (1, 1) are corners of every hull and are returned if they were counted.

    Parameters
    ----------
    rates
        A rates frame; groups without positives or without negatives have no hull.

    Returns
    -------
    Rows of *rates*, sorted by model, keys and threshold; equal points once. ``resolution``, if present, is
    "grid", since the rows between are missing.

    Raises
    ------
    SchemaError
        If *rates* is not a rates frame.

    References
    ----------
    Provost and Fawcett (2001), Robust classification for imprecise environments, doi:10.1023/A:1007601015854.

    Examples
    --------
    >>> import nci_frames as nf
    >>> from nci_frames.evaluation.rates.hull import roc_convex_hull
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> hull = roc_convex_hull(nf.compute_rates(nf.count_confusion(log)))
    >>> hull.select("threshold", "fpr", "tpr").rows()
    [(0.1, 1.0, 1.0), (0.35, 0.5, 1.0), (0.8, 0.0, 0.5)]
    """
    frame = collect(rates, RATES)
    group = ["model", *RATES.keys(frame.columns)]
    defined = frame.filter(pl.col("tpr").is_not_null() & pl.col("fpr").is_not_null())
    outer = pl.Series(~between_others(defined, group_starts(defined, group)))
    ordered = defined.filter(outer).sort(*group, "fpr", "tpr", "threshold", maintain_order=True)
    starts = group_starts(ordered, group)
    # Add the corners (0, 0) and (1, 1) of every hull. They are not rows of the frame and get the index -1.
    groups = np.arange(len(starts))
    of = np.concatenate([np.repeat(groups, np.diff(starts, append=len(ordered))), groups, groups])
    fpr = np.concatenate([ordered["fpr"].to_numpy(), 0.0 * groups, 0.0 * groups + 1])
    tpr = np.concatenate([ordered["tpr"].to_numpy(), 0.0 * groups, 0.0 * groups + 1])
    place = np.concatenate([np.arange(len(ordered)), -1 - 0 * groups, -1 - 0 * groups])
    # A counted point sorts after an equal corner, so that the corner is dropped and the point is kept.
    line = np.lexsort((place, tpr, fpr, of))
    line = line[upper_hull(of[line], fpr[line], tpr[line])]
    corners = np.sort(place[line])
    on_hull = ordered[corners[corners >= 0]].sort(*group, "threshold", maintain_order=True)
    return RATES.finish(without_claims(on_hull))


def upper_hull(of: Rows, fpr: Floats, tpr: Floats) -> Rows:
    """Return the indices of the points that are corners of the upper convex hull of their group.

    Parameters
    ----------
    of
        Group number of each point, ascending.
    fpr, tpr
        Rates of each point, ascending within a group by FPR, then by TPR. The last of equal points is kept.
    """
    line = np.arange(len(of))
    while True:
        same = of[line[1:]] == of[line[:-1]]
        across, up = np.diff(fpr[line]), np.diff(tpr[line])
        equal = same & (across == 0) & (up == 0)
        turn = across[:-1] * up[1:] - up[:-1] * across[1:]
        # Each difference of rates is rounded.
        size = np.abs(across) + np.abs(up)
        # Without a right turn, a point is on or below the line between its neighbours.
        under = same[1:] & same[:-1] & (turn >= -_ROUNDING * (size[:-1] + size[1:]))
        gone = np.append(equal, False)
        if not equal.any():
            gone[1:-1] = under
        if not gone.any():
            return line
        line = line[~gone]


def between_others(rates: pl.DataFrame, start: Rows) -> Flags:
    """Return a mask of points that have the TPR of both neighbours in their group and an FPR between theirs.

    They are never on the hull, and a metric that is monotone in FPR is at least as good at a neighbour.
    """
    tpr, fpr = rates["tpr"].to_numpy(), rates["fpr"].to_numpy()
    falls = (tpr[1:] == tpr[:-1]) & (fpr[1:] < fpr[:-1])
    falls[start[1:] - 1] = False
    between = np.zeros(len(rates), bool)
    between[1:-1] = falls[:-1] & falls[1:]
    return between


def highest_of_each_tpr(counts: pl.DataFrame) -> pl.DataFrame:
    """Return the highest threshold of each TPR, and the lowest threshold, of many exact counts of whole rows.

    A metric that rises with TPR and falls with FPR is best at one of them, in this log and in all logs
    resampled from it. Where positives are rare, most thresholds are dropped, and ``resolution`` becomes
    "grid". Few counts, sums of weights and counts on a grid are returned unchanged.

    Parameters
    ----------
    counts
        Counts or rates by model, keys and threshold, sorted by them.
    """
    whole = counts.schema["tp"].is_integer() and counts.schema["fp"].is_integer()
    if len(counts) <= _MANY or not whole or not every_row_exact(counts):
        return counts
    first = group_starts(counts, ["model", *COUNTS.keys(counts.columns)])
    true = counts["tp"].to_numpy()
    kept = np.append(true[:-1] != true[1:], True)
    kept[first[1:] - 1] = True
    kept[first] = True
    return without_claims(counts.filter(kept))
