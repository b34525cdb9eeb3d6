"""Counts -> the value of a threshold chosen on one half of a log, judged on the other half."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from nci_frames.base.arguments import beta_values, prevalence_values
from nci_frames.base.typing import Floats, Frame, Places, Prevalences, Rows
from nci_frames.evaluation.arrays.buckets import Counted, StrataCounts
from nci_frames.evaluation.arrays.histograms import Histogram, whole_counts
from nci_frames.evaluation.crossovers.lines import f_beta_envelope
from nci_frames.evaluation.metrics import CalledMetric, better_sign, called_metric
from nci_frames.evaluation.projection.grids import require_columns
from nci_frames.evaluation.resampling.few_rows import steps_of_positives, steps_of_recall
from nci_frames.evaluation.resampling.resampling import Resampling
from nci_frames.evaluation.resampling.samplers import counted_groups, halves
from nci_frames.schemas import CROSS_FITS, checked

_TOO_FEW = "a class has fewer than two rows"
_UNDEFINED = "undefined in every half"


@checked
def cross_fit(
    counts: Frame,
    /,
    *,
    metric: str | pl.Expr = "f_beta",
    prevalence: Prevalences = "observed",
    beta: float | Sequence[float] = (1.0,),
    repeats: int = 10,
    seed: int = 0,
    units: str | None = None,
) -> pl.DataFrame:
    """Return the value of a metric at each model's own best threshold, judged on other rows.

    The threshold with the highest value on a log looks better there than it is. So the log is split at random
    into halves, and the best threshold of each half is judged on the other half.

    Parameters
    ----------
    counts
        A counts frame of whole rows. With the key ``weight``, each weight is split separately.
    metric
        Name or alias of a metric of operating points, or a called metric.
    prevalence
        P(y=1), each in [0, 1]; or "observed": each group's own.
    beta
        Weights of recall, each in [0, inf], if the metric has one.
    repeats
        Number of random splits, 1 to 1,000,000, over which values are averaged.
    seed
        Seed of the splits. The splits of a group depend on its keys, not on the other groups.
    units
        None splits rows, separately for positives and negatives. A key with at least 20 values, such as the
        ``bucket`` of ``unit_buckets``, splits its values, so that all rows of a unit are in the same half for
        all models.

    Returns
    -------
    A row per group, prevalence and beta, sorted by model, keys, prevalence and beta:

    %(columns of cross-fits)s

    Keys are those of *counts*, without *units*. Of equally good thresholds, ``threshold`` is the one with
    the fewest positive decisions.

    Raises
    ------
    ParameterError
        If an option is out of range, the metric cannot be ranked, the counts are sums of weights, or *units*
        has too few values.
    UnknownMetricError
        If the metric is unknown.
    SchemaError
        If *counts* is not a counts frame, or lacks the key *units*.

    Notes
    -----
    Each half chooses a threshold at which the rows of the other half are counted. The counts of both halves
    are added before the metric is computed, since the mean of two values of a metric such as F-beta is biased
    if few false positives are expected. With 100 positives and 10,000 negatives the bias is below 0.01 at
    prevalences down to 0.0001 (docs/honesty.md), while ``optimistic`` is 0.06 to 0.16 too high.

    Candidates are the counted thresholds; of exact counts also one above all scores. Of more than about a
    thousand, they are those at which recall grows by one row at first, then by about half a percent.

    References
    ----------
    Efron (1983), Estimating the error rate of a prediction rule, doi:10.1080/01621459.1983.10477973;
    Leeflang et al. (2008), Bias in sensitivity and specificity caused by data-driven selection of optimal
    cutoff values, doi:10.1373/clinchem.2007.096032.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({
    ...     "model": "a", "label": [0] * 8 + [1] * 4,
    ...     "score": [0.1, 0.2, 0.3, 0.3, 0.4, 0.5, 0.6, 0.7, 0.4, 0.6, 0.8, 0.9],
    ... })
    >>> counts = nf.count_confusion(log)
    >>> nf.cross_fit(counts, prevalence=0.01).select(
    ...     "threshold", pl.col("value", "optimistic").round(2)
    ... ).row(0)
    (0.8, 0.33, 0.67)
    """
    logs = Resampling(units, repeats=repeats, seed=seed, least_repeats=1)
    called = called_metric(metric)
    better_sign(called.metric)
    require_columns(called, ("tpr", "fpr", "prevalence", "beta"), "the rates of a half")
    grid, betas = prevalence_values(prevalence), beta_values(beta)
    return _tables(whole_counts(counts), lambda own: _Wanted.of(called, grid, betas, own), logs)


def cross_fit_f_beta(counts: pl.DataFrame, places: pl.DataFrame, *, units: str | None) -> pl.DataFrame:
    """Return the table of ``cross_fit`` from checked counts, at given pairs of prevalence and beta."""
    wanted = _Wanted(called_metric("f_beta"), places["prevalence"].to_numpy(), places["beta"].to_numpy())
    return _tables(counts, lambda _: wanted, Resampling(units, repeats=10, least_repeats=1))


def _tables(frame: pl.DataFrame, wanted_of: Callable[[float], "_Wanted"], logs: Resampling) -> pl.DataFrame:
    """Return the table of all groups; *wanted_of* takes the observed prevalence of a group."""
    tables = []
    for counts in counted_groups(frame, logs):
        wanted = wanted_of(counts.histogram.observed_prevalence)
        few = counts.coarser(steps_of_positives(counts.histogram)) if wanted.by_lines else counts
        steps = steps_of_recall(few.histogram)
        # F-beta is 0 without positive decisions.
        if counts.histogram.every_score and not wanted.by_lines and np.inf not in steps:
            steps = np.append(steps, np.inf)
        few = few.coarser(steps)
        tables.append(_fitted(few, wanted, logs))
    keys = logs.keys(frame)
    return CROSS_FITS.joined(tables, frame.select("model", *keys)).sort("model", *keys, "prevalence", "beta")


class _Wanted(NamedTuple):
    """A metric, and the prevalence and beta of each of its values; NaN if it does not depend on them."""

    metric: CalledMetric
    prevalence: Floats
    beta: Floats

    @classmethod
    def of(
        cls, metric: CalledMetric, grid: Sequence[float] | None, betas: Sequence[float], observed: float
    ) -> "_Wanted":
        reads = metric.meta.root_names()
        etas = [observed] if grid is None else grid
        axes = ("prevalence", etas, metric.prevalence), ("beta", betas, metric.beta)
        given = [axis if name in reads else [np.nan if own is None else own] for name, axis, own in axes]
        prevalence, beta = np.meshgrid(*(np.array(axis, np.float64) for axis in given), indexing="ij")
        return cls(metric, prevalence.ravel(), beta.ravel())

    @property
    def by_lines(self) -> bool:
        """Whether the best point depends only on lambda = (1-prevalence)/(prevalence beta^2)."""
        return self.metric.metric.name == "f_beta"

    def best(self, tpr: Floats, fpr: Floats) -> Places:
        """Return the best point for each case, the first of equal ones."""
        if self.by_lines:
            ratio = (1 - self.prevalence) / self.prevalence / self.beta**2
            # At prevalence 1 precision is 1, for any beta.
            envelope = f_beta_envelope(tpr, fpr)
            return envelope.lines[envelope.at(np.nan_to_num(ratio, nan=0.0, posinf=np.inf))]
        # A dense array suffices: ``steps_of_recall`` leaves at most a few thousand thresholds.
        rates = np.broadcast_to(np.stack([tpr, fpr])[:, :, None], (2, len(tpr), len(self.prevalence)))
        values = better_sign(self.metric.metric) * self.metric.at(rates, self.prevalence, self.beta)
        return np.asarray(np.where(np.isnan(values), -np.inf, values).argmax(axis=0))


def _fitted(counts: Counted, wanted: _Wanted, logs: Resampling) -> pl.DataFrame:
    """Return the table of one group."""
    histogram, cases = counts.histogram, len(wanted.prevalence)
    positives, negatives = histogram.sizes
    thresholds = histogram.thresholds
    log = counts.rows if isinstance(counts, StrataCounts) else counts
    enough = min(log.sizes if isinstance(log, Histogram) else log.drawn) >= 2
    optimistic, threshold = np.full((2, cases), np.nan)
    honest = np.empty((0, cases))
    if len(thresholds) and positives and negatives:
        tpr, fpr = _reached(histogram.positives, positives), _reached(histogram.negatives, negatives)
        chosen = wanted.best(tpr, fpr)
        # Evaluate the rates of the log and of its halves together.
        rates = [np.stack([tpr[chosen], fpr[chosen]])]
        if enough:
            sizes = np.array([positives, negatives])[:, None]
            rates += [judged / sizes for judged in _judged(counts, wanted, logs)]
        values = wanted.metric.at(np.stack(rates, axis=1), wanted.prevalence, wanted.beta)
        optimistic, honest = values[0], values[1:]
        threshold = np.where(np.isnan(optimistic), np.nan, thresholds[chosen])
    defined = ~np.isnan(honest)
    total = defined.sum(axis=0)
    value = np.where(defined, honest, 0.0).sum(axis=0) / total
    places = {"threshold": threshold, "prevalence": wanted.prevalence, "beta": wanted.beta}
    found = {"value": value, "optimistic": optimistic, "repeats": total}
    table = pl.DataFrame(places | found, nan_to_null=True)
    why = pl.when(pl.col("value").is_null()).then(pl.lit(_UNDEFINED if enough else _TOO_FEW))
    return histogram.labelled(table.with_columns(metric=pl.lit(wanted.metric.label), reason=why))


def _judged(counts: Counted, wanted: _Wanted, logs: Resampling) -> Iterator[Floats]:
    """Yield tp and fp of both halves at each other's thresholds, summed; NaN if a half lacks a class."""
    whole: Histogram = counts.histogram
    for positives, negatives in halves(counts, logs):
        sides = [(positives, negatives), (whole.positives - positives, whole.negatives - negatives)]
        found = np.zeros((2, len(wanted.prevalence)))
        for one, other in (sides, sides[::-1]):
            rows = [of_class.sum().item() for of_class in one]
            if not all(rows):
                found[:] = np.nan
                break
            chosen = wanted.best(*(_reached(bins, size) for bins, size in zip(one, rows, strict=True)))
            found += [np.cumsum(bins)[chosen] for bins in other]
        yield found


def _reached(bins: Rows, size: float) -> Floats:
    """Return the share of rows that reach each threshold; the last bin reaches none."""
    return np.cumsum(bins)[:-1] / size
