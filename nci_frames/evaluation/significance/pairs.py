"""Joint counts -> the difference of two models on the same units, at any prevalence."""

import numpy as np
import polars as pl

from nci_frames.base.typing import Betas, Floats, Frame, Prevalences
from nci_frames.evaluation.projection.projection import project_checked
from nci_frames.evaluation.resampling.draws import stream
from nci_frames.evaluation.resampling.resampling import Resampling
from nci_frames.schemas import PAIR_COMPARISONS, PAIRS, checked, collect

_CELLS = ("both", "a", "b", "none")
#: Jeffreys' prior of a multinomial: half a unit in each cell.
_PRIOR = 0.5
#: With fewer true or false positives of a model, the score test of precision rejects too often: in up to 13 %
#: of logs with two or three false positives at a low prevalence.
_LEAST_OF_SCORE = 20
_UNDEFINED = "the metric is undefined for one of the models"


@checked
def compare_pairs(
    pairs: Frame,
    /,
    *,
    metric: str | pl.Expr = "f_beta",
    prevalence: Prevalences = "observed",
    beta: Betas = (1.0,),
    level: float = 0.95,
    repeats: int = 4000,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare two models on the units that both scored: the difference of a metric, its interval, a test.

    Both models scored the same units, so most variation between logs affects both alike. This paired
    comparison detects much smaller differences than two separate intervals.

    Parameters
    ----------
    pairs
        A pairs frame: ``count_pairs(predictions, thresholds=...)``.
    metric
        Name or alias of a metric, or a called metric.
    prevalence
        P(y=1), each in [0, 1]; or "observed": that of the units of each group.
    beta
        Weights of recall, each in [0, inf], if the metric has one.
    level
        Confidence level of the interval, in (0, 1).
    repeats
        Number of draws for the interval, 100 to 1,000,000.
    seed
        Seed of the draws.

    Returns
    -------
    A row per pair, group, prevalence and beta, sorted by model_a, model_b, keys, prevalence and beta:

    %(columns of pair comparisons)s

    Keys are those of *pairs*.

    Raises
    ------
    ParameterError
        If an option is out of range.
    UnknownMetricError
        If the metric is unknown.
    SchemaError
        If *pairs* is not a pairs frame.

    Notes
    -----
    The four cells of each class are multinomial. The interval has the central share *level* of the difference
    over draws from their posterior with Jeffreys' prior; docs/honesty.md gives its simulated coverage.
    The p-value is McNemar's mid-p for metrics of a single rate; for precision, if both models have 20 true
    and 20 false positives, that of the weighted generalised score (Kosinski), with the units of each class
    weighted to the prevalence; otherwise twice the share of draws on the other side of 0. P-values are not
    corrected for the number of pairs.

    References
    ----------
    Kosinski (2013), A weighted generalized score statistic for comparison of predictive values of diagnostic
    tests, doi:10.1002/sim.5587; Fagerland, Lydersen and Laake (2013), The McNemar test for binary
    matched-pairs data, doi:10.1186/1471-2288-13-91.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> pairs = pl.DataFrame({
    ...     "model_a": ["new"], "model_b": ["old"], "threshold_a": [0.5], "threshold_b": [0.5],
    ...     "tp_both": [319], "tp_a": [78], "tp_b": [22], "tp_none": [32],
    ...     "fp_both": [31], "fp_a": [53], "fp_b": [22], "fp_none": [155],
    ... })
    >>> found = nf.compare_pairs(pairs, metric="precision")
    >>> found.select(pl.col("value_a", "value_b", "p_value").round(4)).row(0)
    (0.8254, 0.8655, 0.0194)
    """
    logs = Resampling(repeats=repeats, seed=seed, level=level, least_repeats=100)
    frame = collect(pairs, PAIRS)
    names = [f"{kind}_{cell}" for kind in ("tp", "fp") for cell in _CELLS]
    identity = ["model_a", "model_b", *PAIRS.keys(frame.columns), "threshold_a", "threshold_b"]
    columns = [*identity, *(name for name in PAIR_COMPARISONS.fixed if name not in identity)]
    tables = []
    for row in frame.iter_slices(1):
        group = row.select(identity)
        rng = stream(logs.seed, group.row(0, named=True))
        classes = row.select(names).to_numpy().astype(np.float64).reshape(2, 4)
        shares = [_drawn(cells, logs.repeats, rng) for cells in classes]
        # Model a flags the cells "both" and "a", model b "both" and "b".
        (cases, a), (_, b) = (
            _values([share[:, [0, own]].sum(axis=1) for share in shares], classes, metric, prevalence, beta)
            for own in (1, 2)
        )
        table = _compared(cases, a, b, classes, logs.tails)
        tables.append(group[np.zeros(len(table), np.int64)].hstack(table))
    found = PAIR_COMPARISONS.joined(tables, frame.select(identity)).select(columns)
    return found.sort(*identity[:-2], "prevalence", "beta", maintain_order=True)


def _drawn(cells: Floats, repeats: int, rng: np.random.Generator) -> Floats:
    """Return the shares of the cells of a class: in the log itself first, then in the draws."""
    return np.vstack([cells / cells.sum(), rng.dirichlet(cells + _PRIOR, repeats)])


def _compared(cases: pl.DataFrame, a: Floats, b: Floats, classes: Floats, tails: list[float]) -> pl.DataFrame:
    """Compare the values of the two models of one pair, of shape (1 + draws, cases)."""
    sizes, difference = classes.sum(axis=1), a - b
    # At FPR 0 and prevalence 0 a metric may be undefined in every draw.
    undefined = np.isnan(difference).any(axis=0) | (sizes.min() == 0)
    lower, upper = np.quantile(np.where(undefined, 0, difference[1:]), tails, axis=0)
    # An infinite difference of the log itself, as of lr_plus without false positives, lies within its bounds.
    endless = np.where(np.isinf(difference[0]), difference[0], np.nan)
    lower, upper = np.fmin(lower, endless), np.fmax(upper, endless)
    p_value = _p_values(difference, cases, *classes)
    both = np.isinf(a[0]) & np.isinf(b[0])
    why = np.where(both, "the metric is infinite for both models", _UNDEFINED)
    if sizes.min() == 0:
        why = np.full(both.shape, f"the group has no {'positives' if sizes[0] == 0 else 'negatives'}")
    shown = {"value_a": a[0], "value_b": b[0], "difference": difference[0]}
    bounds = {"lower": lower, "upper": upper, "p_value": p_value}
    shown |= {name: np.where(undefined, np.nan, values) for name, values in bounds.items()}
    return cases.with_columns(
        *(pl.Series(name, values, nan_to_null=True) for name, values in shown.items()),
        supported=pl.Series(~undefined),
        reason=pl.when(pl.Series(undefined)).then(pl.Series(why, dtype=pl.String)),
    )


def _values(
    rates_of: list[Floats], classes: Floats, metric: str | pl.Expr, prevalence: Prevalences, beta: Betas
) -> tuple[pl.DataFrame, Floats]:
    """Return the cases, and the metric at each draw of TPR and FPR, of shape (draws, cases)."""
    (tpr, fpr), sizes = rates_of, classes.sum(axis=1)
    rates = pl.DataFrame({"model": "", "draw": np.arange(len(tpr)), "tpr": tpr, "fpr": fpr}).with_columns(
        pl.col("tpr", "fpr").fill_nan(None),
        threshold=pl.lit(0.0),
        observed_prevalence=pl.lit(sizes[0] / sizes.sum() if sizes.any() else None, pl.Float64),
    )
    table = project_checked(rates, metrics=metric, prevalence=prevalence, beta=beta, flagged=False)
    values = table["value"].fill_null(np.nan).to_numpy().reshape(len(tpr), -1)
    return table.head(values.shape[1]).select("metric", "prevalence", "beta"), values


def _p_values(difference: Floats, cases: pl.DataFrame, positives: Floats, negatives: Floats) -> Floats:
    """Return the p-value of each case."""
    below, above = ((side).sum(axis=0) for side in (difference[1:] <= 0, difference[1:] >= 0))
    values: Floats = np.minimum(1, 2 * (1 + np.minimum(below, above)) / len(difference))
    flagged = np.array([cells[0] + cells[1:3] for cells in (positives, negatives)])
    for place, (metric, eta) in enumerate(cases.select("metric", "prevalence").iter_rows()):
        if metric in ("recall", "fnr"):
            values[place] = _mcnemar(positives[1], positives[2])
        elif metric in ("fpr", "specificity"):
            values[place] = _mcnemar(negatives[1], negatives[2])
        elif metric == "precision" and 0 < (eta or 0) < 1 and flagged.min() >= _LEAST_OF_SCORE:
            values[place] = _weighted_score(positives, negatives, eta)
    return values


def _mcnemar(one: float, other: float) -> float:
    """Return McNemar's mid-p value from the numbers of units flagged by one model only."""
    from scipy.stats import binom  # noqa: PLC0415  (SciPy is slow to import)

    fewer, units = min(one, other), one + other
    if one == other:
        return float(1 - binom.pmf(fewer, units, 0.5) / 2) if units else 1.0
    return float(2 * binom.cdf(fewer, units, 0.5) - binom.pmf(fewer, units, 0.5))


def _weighted_score(positives: Floats, negatives: Floats, eta: float) -> float:
    """Return the p-value of Kosinski's score for equal precision, with classes weighted to a prevalence.

    At the observed prevalence all weights are 1, and the statistic is the published one.
    """
    from scipy.stats import chi2  # noqa: PLC0415  (as above)

    size = positives.sum() + negatives.sum()
    weights = eta * size / positives.sum(), (1 - eta) * size / negatives.sum()
    tp, fp = (np.array([cells[0] + cells[1], cells[0] + cells[2]]) for cells in (positives, negatives))
    flagged = weights[0] * tp + weights[1] * fp
    precision = weights[0] * tp / flagged
    pooled = weights[0] * tp.sum() / flagged.sum()
    squares = (weights[0] * (1 - pooled)) ** 2, (weights[1] * pooled) ** 2
    of_each = (squares[0] * tp.sum() + squares[1] * fp.sum()) / flagged.sum()
    of_both = (squares[0] * positives[0] + squares[1] * negatives[0]) / flagged.sum()
    variance = (of_each - 2 * of_both) * (1 / flagged).sum()
    difference = precision[0] - precision[1]
    if variance <= 0:
        return 1.0 if difference == 0 else np.nan
    return float(chi2.sf(difference**2 / variance, 1))
