"""Counts -> precision at another class balance, by sub-sampling a log and by adjusting the precision."""

from typing import NamedTuple, Self

import numpy as np
import polars as pl

from nci_frames.base.arguments import check_repeats, value_inside
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.base.typing import Floats, Frame, Rows
from nci_frames.evaluation.arrays.buckets import StrataCounts, strata_counts
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.resampling.draws import draw_without_replacement, stream
from nci_frames.schemas import COUNTS, SUBSAMPLES, WEIGHT, checked

_SPREAD = ("mean", "min", "q25", "q75", "max")


@checked
def subsample_study(counts: Frame, /, *, prevalence: float, repeats: int = 30, seed: int = 0) -> pl.DataFrame:
    """Sub-sample a log to a class balance repeatedly, and compare the PR curves with the adjusted one.

    Precision at another prevalence is usually estimated by removing rows of one class. The alternative is to
    keep all rows and adjust the precision by its formula. This function shows the error of the former.

    Parameters
    ----------
    counts
        A counts frame of whole rows. Weights are kept, divided by the mean weight of their class.
    prevalence
        P(y=1) to sub-sample to, in (0, 1). Above the observed prevalence, as in the paper, negatives are
        removed and all positives kept; below it, positives are removed.
    repeats
        Number of sub-samples, 1 to 1,000,000.
    seed
        Seed of the sub-samples. The draws of a group depend on its keys, not on the other groups.

    Returns
    -------
    A row per group and threshold, sorted by model, keys and threshold:

    %(columns of subsamples)s

    Keys are those of *counts*.

    Raises
    ------
    ParameterError
        If an option is out of range, the counts are sums of weights, a group lacks a class, or a class would
        lose all of its rows.
    SchemaError
        If *counts* is not a counts frame.

    Notes
    -----
    The rows left in each bin follow the multivariate hypergeometric distribution, so rows with the same score
    are interchangeable, and the cost does not depend on the number of rows. The thinned class keeps
    round(rows of the other class × odds) rows.

    References
    ----------
    Brabec et al. (2020), section 5.1 and Fig. 6, doi:10.1007/978-3-030-50423-6_6.

    Examples
    --------
    At one positive in a thousand a classifier has TPR 0.6 and FPR 0.001. Adjusted to one in a hundred its
    precision is 0.86; that of ten sub-samples ranges from 0.75 to 0.94.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a"], "threshold": [0.5], "tp": [30], "fp": [50], "fn": [20], "tn": [49950]
    ... })
    >>> nf.subsample_study(counts, prevalence=0.01, repeats=10).select(
    ...     pl.col("adjusted", "min", "max").round(2)
    ... ).row(0)
    (0.86, 0.75, 0.94)
    """
    prevalence = value_inside("prevalence", prevalence)
    check_repeats(repeats, 1)
    frame = whole_counts(counts)
    # The rows of a group descend by threshold, as its histogram does.
    tables = (_study(each, prevalence, repeats, seed).reverse() for each in strata_counts(frame))
    keys = [key for key in COUNTS.keys(frame.columns) if key != WEIGHT]
    return SUBSAMPLES.joined(tables, frame.select("model", *keys))


def _study(counts: StrataCounts, prevalence: float, repeats: int, seed: int) -> pl.DataFrame:
    histogram = counts.histogram
    positives, negatives = (_Rows.of(counts, of_class) for of_class in (0, 1))
    m, n = positives.size, negatives.size
    odds = prevalence / (1 - prevalence)
    # The class with too few rows is kept whole.
    kept_positives, kept_negatives = round(min(m, n * odds)), round(min(n, m / odds))
    if not (kept_positives and kept_negatives):
        msg = f"no log with prevalence {prevalence:g} can be drawn from these rows"
        found = f"{quantity(m, 'positive')} and {quantity(n, 'negative')}"
        raise ParameterError(msg, where=histogram.where, found=found)
    rng = stream(seed, histogram.group.row(0, named=True))
    tp = positives.drawn(rng, kept_positives, repeats)
    fp = negatives.drawn(rng, kept_negatives, repeats)
    tpr, fpr = positives.shares, negatives.shares
    precision = tp / (tp + fp)
    adjusted = prevalence * tpr / (prevalence * tpr + (1 - prevalence) * fpr)
    defined = (~np.isnan(precision)).sum(axis=0)
    some = defined > 0
    spread = np.full((len(_SPREAD), len(defined)), np.nan)
    if some.any():
        spread[0, some] = np.nanmean(precision[:, some], axis=0)
        spread[1:, some] = np.nanquantile(precision[:, some], [0, 0.25, 0.75, 1], axis=0)
    shown = {"threshold": histogram.thresholds, "tpr": tpr, "adjusted": adjusted, "repeats": defined}
    shown |= dict(zip(_SPREAD, spread, strict=True))
    table = pl.DataFrame(shown, nan_to_null=True).with_columns(prevalence=pl.lit(prevalence))
    return histogram.labelled(table)


class _Rows(NamedTuple):
    """The rows of a class by cell (one weight and one bin), highest scores first."""

    rows: Rows
    #: Weight and bin of the rows of each cell.
    weights: Floats
    place: Rows
    bins: int

    @classmethod
    def of(cls, counts: StrataCounts, of_class: int) -> Self:
        """Return the rows with positive weights, scaled to mean 1."""
        cells = counts.classes[of_class].tocoo()
        rows, weights = cells.data.astype(np.int64), counts.weights[cells.row]
        kept = weights > 0
        rows, weights = rows[kept], weights[kept]
        mean = np.average(weights, weights=rows) if len(rows) else 1.0
        return cls(rows, weights / mean, cells.col[kept], cells.shape[1])

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.rows.sum())

    @property
    def shares(self) -> Floats:
        """Share of the class that reaches each threshold."""
        reached = self._reached(self.rows)
        return np.asarray(reached[:-1] / reached[-1])

    def drawn(self, rng: np.random.Generator, size: int, repeats: int) -> Floats:
        """Return the sum of weights that reaches each threshold, in *repeats* sub-samples."""
        if size == self.size:
            return np.broadcast_to(self._reached(self.rows)[:-1], (repeats, self.bins - 1))
        kept = (draw_without_replacement(rng, self.rows, size) for _ in range(repeats))
        return np.stack([self._reached(rows)[:-1] for rows in kept])

    def _reached(self, rows: Rows) -> Floats:
        return np.bincount(self.place, self.weights * rows, self.bins).cumsum()
