"""Counts -> ROC-AUC with its standard error and interval."""

from typing import Literal

import numpy as np
import polars as pl

from nci_frames.base.normal import normal_quantile, on_logit
from nci_frames.base.typing import Floats, Frame
from nci_frames.counts.resolution import every_row_exact
from nci_frames.evaluation.areas.areas import areas_of
from nci_frames.evaluation.areas.roc import ROC_AUC, newcombe_variance, score_bounds, score_interval
from nci_frames.evaluation.arrays.buckets import StrataCounts, strata_counts
from nci_frames.evaluation.arrays.histograms import Histogram, each_histogram, whole_counts
from nci_frames.evaluation.rates.strata import FEW_ROWS, summed_counts
from nci_frames.schemas import AUC_INTERVALS, COUNTS, WEIGHT, checked, has_strata

Method = Literal["score", "newcombe", "delong", "delong_logit"]

#: With fewer rows of a class the interval is returned with a reason for doubt.
_FEW = 50


@checked
def auc_interval(counts: Frame, /, *, method: Method = "score", level: float = 0.95) -> pl.DataFrame:
    """Return ROC-AUC of every group of counts, with its standard error and interval.

    Parameters
    ----------
    counts
        A counts frame of whole rows. On a grid, the rows between two thresholds are taken as tied; if
        ``resolution`` says so, the interval is wider by the distances from the value to the certified bounds
        of ``compute_areas``.
    method
        "score": Newcombe's interval, with DeLong's variance if that is larger, and widened for kinds of rows
        that the log may lack. "newcombe": Newcombe's "Method 5", which assumes that the scores of both
        classes have the same spread. "delong": the normal interval. "delong_logit": the normal interval of
        the logit of the area.
    level
        Confidence level, in (0, 1).

    Returns
    -------
    A row per group, sorted by model and keys:

    %(columns of auc intervals)s

    Keys are those of *counts*. ``std_error`` of "score" is the larger one of Newcombe's and DeLong's.
    "delong" and "delong_logit" have no interval if a class has only one row; "delong_logit" also has none if
    the classes are separated completely.

    Raises
    ------
    ParameterError
        If the method is unknown, the level is outside (0, 1), or the counts are sums of weights.
    SchemaError
        If *counts* is not a counts frame.

    Notes
    -----
    The interval has every area t with abs(t - value) <= z·√V(t), where, for m positives and n negatives and
    N = (m+n)/2 - 1, Newcombe's V(t) = t·(1-t)/(m·n)·(1 + N·(1-t)/(2-t) + N·t/(1+t)). For "score", V is
    multiplied by the ratio of DeLong's variance to V(value) if that is above 1: if the scores of the rarer
    class are spread much more than those of the other, V alone is too small for any number of rows.

    A kind of row that a log of n rows lacks may be a share -log((1 - level) / 2) / n of the population, 3.7/n
    at 95 %. In the rarer class such rows might score below or above all others. "score" adds this distance to
    the one from V, as squares: 100 positives may lack the 1 in 100 on which a model fails.

    DeLong: the placement of a positive is the share of negatives below it, ties as half; that of a negative
    is the share of positives above it. The variance of the area is the variance of the former over the number
    of positives, plus that of the latter over the number of negatives. All rows of a bin have one placement,
    so counts give it exactly. If the classes are separated completely, the standard error is 0, which is too
    optimistic.

    docs/honesty.md gives the coverage of all four. With fewer than 50 rows of a class it may be below the
    level.

    References
    ----------
    Newcombe (2006), Statistics in Medicine 25(4), 559-573, doi:10.1002/sim.2324; DeLong, DeLong and
    Clarke-Pearson (1988), doi:10.2307/2531595; Qin and Hotilovac (2008), doi:10.1177/0962280207087173.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1] * 10, "score": [0.1, 0.4, 0.35, 0.8] * 10})
    >>> counts = nf.count_confusion(log)
    >>> for method in ("newcombe", "score"):
    ...     table = nf.auc_interval(counts, method=method)
    ...     print(table.select(pl.col("value", "std_error", "lower", "upper").round(3)).row(0))
    (0.75, 0.078, 0.571, 0.866)
    (0.75, 0.081, 0.518, 0.878)
    """
    frame = whole_counts(counts)
    keys = [key for key in COUNTS.keys(frame.columns) if key != WEIGHT]
    counted = strata_counts(frame) if has_strata(frame) else each_histogram(frame)
    found = [(each.histogram.group, *_delong(each), *each.sizes) for each in counted]
    groups = pl.concat([frame.clear().select("model", *keys), *(group for group, *_ in found)])
    value, error, m, n = np.array([numbers for _, *numbers in found], np.float64).reshape(-1, 4).T
    z = normal_quantile(level)
    if method in ("score", "newcombe"):
        expected = newcombe_variance(value, m, n)
        if method == "score":
            lower, upper = score_interval(value, error, m, n, level)
            expected *= np.fmax(1.0, error**2 / expected)
        else:
            lower, upper = score_bounds(value, m, n, z**2)
        error = np.sqrt(expected)
    elif method == "delong":
        lower, upper = np.clip(value - z * error, 0, 1), np.clip(value + z * error, 0, 1)
    else:
        lower, upper = on_logit(value, z * error)
        error = np.where(np.isnan(lower), np.nan, error)
    if "resolution" in frame.columns and not every_row_exact(frame):
        # Between two thresholds of a grid, the area of the log itself is not known exactly.
        certified = areas_of(summed_counts(frame), "observed", [ROC_AUC])
        own = certified["value"].to_numpy()
        lower, upper = (
            np.clip(bound + certified[side].to_numpy() - own, 0, 1)
            for side, bound in (("lower", lower), ("upper", upper))
        )
    numbers = {"value": value, "std_error": error, "lower": lower, "upper": upper}
    least = 2 if method.startswith("delong") else 1
    reasons = [
        _reason(pair, least, separated=gone, certain=equal)
        for pair, gone, equal in zip(np.stack([m, n], axis=1), np.isnan(lower), lower == upper, strict=True)
    ]
    columns = pl.DataFrame({**numbers, "reason": pl.Series(reasons, dtype=pl.String)}, nan_to_null=True)
    return AUC_INTERVALS.finish(groups.hstack(columns).with_columns(method=pl.lit(method)))


def _reason(rows: Floats, least: int, *, separated: bool, certain: bool) -> str | None:
    """Return the reason why there is no interval, or why it is doubtful."""
    for fewest, meaning in ((least, ""), (_FEW, ": the interval may cover less than its level")):
        for number, name in zip(rows, ("positives", "negatives"), strict=True):
            if number < fewest:
                few = f"fewer than {'two' if fewest == 2 else fewest} {name}{meaning}"
                return f"no {name}" if fewest == 1 else few
        if separated:
            return "the classes are separated completely: there is no interval on the logit scale"
    if certain:
        return "the classes are separated completely, or all scores are equal: the interval has no width"
    return None


def _placements(histogram: Histogram) -> tuple[float, Floats, Floats]:
    """Return the area, and the placements of positives and negatives in each bin; NaN without a class."""
    positives, negatives = histogram.classes
    m, n = np.array(histogram.sizes, np.float64)
    of_positives = 1 - (negatives.cumsum() - negatives / 2) / n
    of_negatives = (positives.cumsum() - positives / 2) / m
    # A sum of weights may round to more than 1.
    return float(np.clip(negatives @ of_negatives / n, 0, 1)), of_positives, of_negatives


def _delong(histogram: Histogram | StrataCounts) -> tuple[float, float]:
    """Return the area and its standard error; NaN where undefined."""
    if isinstance(histogram, StrataCounts):
        return _delong_of_strata(histogram)
    (positives, negatives), (m, n) = histogram.classes, histogram.sizes
    area, of_positives, of_negatives = _placements(histogram)
    if min(m, n) < 2:
        return area, float("nan")
    variance = (positives @ (of_positives - area) ** 2) / (m - 1) / m
    variance += (negatives @ (of_negatives - area) ** 2) / (n - 1) / n
    return area, float(np.sqrt(variance))


def _delong_of_strata(strata: StrataCounts) -> tuple[float, float]:
    """Return the area of weighted rows and its standard error, by linearisation; NaN where undefined."""
    m, n = strata.histogram.sizes
    drawn = [rows[strata.weights > 0].sum() for rows in strata.rows.rows]
    area, of_positives, of_negatives = _placements(strata.histogram)
    if not (m and n and min(drawn) >= 2):
        return area, float("nan")
    variance = 0.0
    for weight, mine, others, elsewhere in strata.strata():
        moved = weight * (of_positives - area) / m, weight * (of_negatives - area) / n
        for rows, of_row, size in zip((mine, others), moved, drawn, strict=True):
            variance += float(rows @ of_row**2) * size / (size - 1)
        size = mine.sum() + others.sum() + elsewhere
        if size >= FEW_ROWS:
            # A stratum has a fixed number of rows over all groups, which reduces the variance, though not the
            # chance in how many rows of the traffic it stands for.
            fixed = 1 - strata.lightest / weight
            variance -= fixed * float(mine @ moved[0] + others @ moved[1]) ** 2 / size
    return area, float(np.sqrt(max(variance, 0.0)))
