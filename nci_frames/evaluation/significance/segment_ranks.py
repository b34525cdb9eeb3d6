"""Counts by segment -> in which segments a model is worse than elsewhere, and why."""

from collections.abc import Mapping, Sequence
from typing import Literal

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.counts.pooling import pooled_counts
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.significance.segment_order import segments_in_order
from nci_frames.schemas import COUNTS
from nci_frames.schemas.checked import checked


@checked
def rank_segments(
    counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    segments: str | Sequence[str],
    threshold: float | Mapping[str, float],
    metric: str | pl.Expr = "f_beta",
    prevalence: float | Literal["observed"] = "observed",
    beta: float = 1.0,
    model: str | None = None,
    min_positives: int = 20,
    units: str | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Rank segments by how much worse a model is there than in the rest, and say why it differs.

    A metric is low in a segment because positives are rare there, or because the model separates them less
    well, or by chance. The table tells which, for every segment at once.

    Parameters
    ----------
    counts
        A counts frame of whole rows. Keys besides *segments* are pooled.
    segments
        The key or keys that split the rows, e.g. ["country", "tier"].
    threshold
        The decision threshold of all models, or of each: {"model": threshold}.
    metric
        Name or alias of a metric of operating points, or a called metric.
    prevalence
        The common P(y=1), in [0, 1], at which segments and models are compared; "observed": that of all rows.
    beta
        Weight of recall in [0, inf], if the metric has one.
    model
        The model to look at; None takes the best one of all segments together.
    min_positives
        Segments with fewer positives, at least 1, are listed last, without numbers; with *units*, those whose
        positives are worth fewer independent ones.
    units
        None takes the rows as independent. A key, such as the ``bucket`` of ``unit_buckets``, takes its
        values as independent instead, at least 20 of them: intervals, tests and *min_positives* then count
        whole units.
    level
        Confidence of each interval, in (0, 1); of the findings in the table, a share of 1 - level at most is
        false on average.

    Returns
    -------
    A row per segment. First those where the rates make the metric significantly worse, the largest part
    first, then the others from the worst part to the best, then those with fewer than *min_positives*
    positives:

    %(columns of segment ranks)s

    The other columns are *segments*. Rows of the rest are those of all other segments.

    Raises
    ------
    ParameterError
        If there is only one segment, a number is out of range, a threshold was not counted, the metric cannot
        be ranked, there is no such model, counts are sums of weights, or there are too few values of *units*.
    UnknownMetricError
        If *metric* is neither a metric nor an alias.
    SchemaError
        If *counts* is not a counts frame, or lacks a key of *segments* or *units*.

    Notes
    -----
    The rest of a segment are all other segments but for those that are ``shifted``: otherwise a few bad
    segments would make each good one differ from a rest that contains them. At most half of the segments are
    left out of it. The test of the scores is that of Anderson and Darling for two samples, with at most 64
    cells of scores; the smaller p-value of the two classes is adjusted for being the smaller of two.

    The parts of the difference are those of ``decompose_difference``. Bounds come from Wilson's of TPR, FPR
    and prevalence, of the segment and of the rest, each moved alone and the changes added as squares; the
    p-value is 1 minus the highest confidence at which the bounds exclude 0. Intervals hold for one segment
    each, not for all together.

    With *units*, rows are divided by their design effect, as in ``compute_rates(units=...)``: that of each
    rate at the operating point for the bounds, of all thresholds together for *min_positives*. These bounds
    take a segment and its rest as independent, also where a unit has rows in both. The test of the scores
    does not: it compares the statistic with the distribution that the buckets tell (Rao and Scott's
    correction of second order), and allows for what few buckets know of it, as an F test does.

    References
    ----------
    Benjamini and Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x; Zou and Donner (2008),
    doi:10.1002/sim.3095; Kitagawa (1955), doi:10.1080/01621459.1955.10501299; Scholz and Stephens (1987),
    doi:10.1080/01621459.1987.10478517; Rao and Scott (1984), doi:10.1214/aos/1176346391.

    Examples
    --------
    Precision is low in Austria because positives are rare there, and in Denmark because of the model.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": "a", "country": ["at", "be", "ch", "de", "dk"], "threshold": 0.5,
    ...     "tp": [80, 800, 800, 800, 500], "fp": [100, 100, 100, 100, 400],
    ...     "fn": [20, 200, 200, 200, 500], "tn": [9900, 9900, 9900, 9900, 9600],
    ... })
    >>> ranks = nf.rank_segments(counts, segments="country", threshold=0.5, metric="precision")
    >>> parts = pl.col("due_to_prevalence", "due_to_rates").round(2)
    >>> ranks.select("country", "distinguishable", parts).head(2).rows()
    [('dk', True, 0.05, -0.35), ('at', False, -0.44, 0.0)]
    """
    by_unit, keys = _of_segments(whole_counts(counts), segments, units)
    frame = by_unit if units is None else pooled_counts(by_unit, over=units)
    return segments_in_order(
        frame,
        keys,
        threshold=threshold,
        metric=metric,
        prevalence=prevalence,
        beta=beta,
        model=model,
        min_positives=min_positives,
        units=units,
        by_unit=None if units is None else by_unit,
        level=level,
    )


def _of_segments(
    counts: pl.DataFrame, segments: str | Sequence[str], units: str | None
) -> tuple[pl.DataFrame, list[str]]:
    """Return counts whose only keys are the segments, of which there must be two, and the units."""
    keys = [segments] if isinstance(segments, str) else list(dict.fromkeys(segments))
    if not keys:
        raise ParameterError.out_of_range("segments", segments, "at least one key")
    COUNTS.need_keys(counts, keys, "segments")
    known = COUNTS.need_keys(counts, [units], "units")
    if units in keys:
        raise ParameterError("segments cannot be the units, too", found=repr(units))
    others = [key for key in known if key not in (*keys, units)]
    frame = pooled_counts(counts, over=others) if others else counts
    if len(frame) and frame.select(keys).n_unique() < 2:
        msg = f"all rows have the same {' and '.join(keys)}, so there is nothing to compare"
        raise ParameterError(msg, found=repr(frame.row(0, named=True)[keys[0]]))
    return frame, keys
