"""Rates -> intervals of the two predictive values at a prevalence."""

from typing import Literal

import numpy as np
import polars as pl

from nci_frames.base.arguments import prevalence_values
from nci_frames.base.normal import normal_quantile
from nci_frames.base.typing import FloatPair, Floats, Frame, Prevalences
from nci_frames.evaluation.rates.intervals import require_row_counts
from nci_frames.evaluation.rates.strata import known_cells, of_strata
from nci_frames.evaluation.support.rule import point_flags, where_defined
from nci_frames.schemas import PROJECTION, RATES, checked, collect

Method = Literal["score", "logit"]


@checked
def predictive_value_interval(
    rates: Frame, /, *, prevalence: Prevalences, method: Method = "score", level: float = 0.95
) -> pl.DataFrame:
    """Return precision (PPV) and NPV at a prevalence, each with its own interval.

    The intervals are pointwise, and narrower than the precision band, which holds at all prevalences at once.

    Parameters
    ----------
    rates
        A rates frame, with or without bounds. Effective numbers of rows, of units or weights, are used if
        present; reduced where the bounds beside them are wider than those of so many rows at level 0.95. Of
        units, compute the bounds with this level, or a higher one.
    prevalence
        P(y=1), each in [0, 1], known without error; or "observed", which is taken as known, too.
    method
        "score": an inverted score test of the ratio of the two rates, defined even without false positives.
        "logit": a normal interval of the log odds, by the delta method.
    level
        Confidence of each interval, in (0, 1).

    Returns
    -------
    A projection frame with the metrics "npv" and "precision", sorted by all columns left of ``value``:

    %(columns of projection)s

    Keys are those of *rates*. Bounds are null where the value is, e.g. without a positive decision; for
    "logit" also where the variance is undefined: precision needs a true and a false positive, NPV a true and
    a false negative.

    Raises
    ------
    ParameterError
        If a prevalence or the level is out of range, the method is unknown, or counts are sums of weights.
    SchemaError
        If *rates* is not a rates frame.

    Notes
    -----
    Precision is a function of the ratio TPR/FPR, NPV of TNR/FNR. So bounds of a ratio (Koopman's, with the
    variance of Miettinen and Nurminen) are bounds of the predictive value, with the same coverage at every
    prevalence. docs/honesty.md gives the coverage of both methods.

    For "logit": logit PPV = ln(o·TPR/FPR), with variance (1-TPR)/(n₊·TPR) + (1-FPR)/(n₋·FPR), where o are the
    odds of the prevalence; logit NPV = ln((1-FPR)/(o·(1-TPR))), with variance TPR/(n₊·(1-TPR)) +
    FPR/(n₋·(1-FPR)).

    References
    ----------
    Koopman (1984), Biometrics 40(2), 513-517, doi:10.2307/2531405; Miettinen and Nurminen (1985),
    doi:10.1002/sim.4780040211; Mercaldo, Lau and Zhou (2007), Confidence intervals for predictive values
    with an emphasis to case-control studies, doi:10.1002/sim.2677.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a"], "threshold": [0.5], "tp": [60], "fp": [10], "fn": [40], "tn": [9990]
    ... })
    >>> rates = nf.compute_rates(counts)
    >>> found = nf.predictive_value_interval(rates, prevalence=0.001)
    >>> found.filter(metric="precision").select(pl.col("value", "lower", "upper").round(4)).row(0)
    (0.3752, 0.2422, 0.5297)
    """
    frame = collect(rates, RATES)
    if not of_strata(frame):
        require_row_counts(frame)
    grid = prevalence_values(prevalence)
    identity = ["model", *RATES.keys(frame.columns), "threshold"]
    bounded = _with_ratios(frame, method, level)
    if grid is None:
        points = bounded.with_columns(prevalence="observed_prevalence")
    else:
        points = bounded.join(pl.DataFrame({"prevalence": grid}), how="cross")

    eta, tpr, fpr = pl.col("prevalence"), pl.col("tpr"), pl.col("fpr")
    tables = []
    for metric, odds, right, wrong in (
        ("npv", (1 - eta, eta), 1 - fpr, 1 - tpr),
        ("precision", (eta, 1 - eta), tpr, fpr),
    ):
        ends = [pl.col(f"__{metric}_{end}") for end in ("lower", "upper")]
        lower, upper = (odds[0] * end / (odds[0] * end + odds[1]) for end in ends)
        speaking_for = odds[0] * right
        total = speaking_for + odds[1] * wrong
        value = pl.when(total > 0).then(speaking_for / total)
        tables.append(
            points.select(
                *identity,
                metric=pl.lit(metric),
                prevalence=eta,
                beta=pl.lit(None, pl.Float64),
                value=value,
                lower=pl.when(total > 0).then(lower),
                # If the ratio may be infinite, the predictive value may be 1 at any prevalence.
                upper=pl.when(total > 0).then(pl.when(ends[1].is_infinite()).then(1.0).otherwise(upper)),
                **where_defined(point_flags(points.columns, needs_fpr=metric == "precision"), value),
            )
        )
    return PROJECTION.finish(pl.concat(tables).sort(*identity, "metric", "prevalence"))


def _with_ratios(frame: pl.DataFrame, method: Method, level: float) -> pl.DataFrame:
    """Add the bounds of TPR/FPR and of TNR/FNR; null where they are undefined."""
    tp, fp, fn, tn = frame.select(**known_cells(frame, bounded=True)).cast(pl.Float64).to_numpy().T
    bounds = _ratio_interval if method == "score" else _logit
    columns = {}
    for metric, (right, rights, wrong, wrongs) in {
        "npv": (tn, fp + tn, fn, tp + fn),
        "precision": (tp, tp + fn, fp, fp + tn),
    }.items():
        for end, values in zip(("lower", "upper"), bounds(right, rights, wrong, wrongs, level), strict=True):
            columns[f"__{metric}_{end}"] = pl.Series(values, dtype=pl.Float64, nan_to_null=True)
    return frame.with_columns(**columns)


def _logit(right: Floats, rights: Floats, wrong: Floats, wrongs: Floats, level: float) -> FloatPair:
    variance = (rights - right) / (right * rights) + (wrongs - wrong) / (wrong * wrongs)
    factor = np.exp(normal_quantile(level) * np.sqrt(variance))
    ratio = (right / rights) / (wrong / wrongs)
    there = (right > 0) & (wrong > 0)
    return np.where(there, ratio / factor, np.nan), np.where(there, ratio * factor, np.nan)


#: Natural logarithm of the largest ratio in the search; the smallest is its reciprocal.
_FARTHEST = 80.0
_HALVINGS = 64


def _ratio_interval(
    hits: Floats, trials: Floats, other_hits: Floats, other_trials: Floats, level: float
) -> FloatPair:
    """Return the bounds of (hits/trials) / (other_hits/other_trials), within [0, inf]; NaN without trials.

    The interval holds every ratio r for which the score statistic is at most z:

        |p - r·q| / √(p̃(1-p̃)/m + r²·q̃(1-q̃)/n),

    where p̃ = r·q̃ and q̃ are the maximum likelihood rates with this ratio. It is defined for any outcome:
    without hits the lower bound is 0, without other hits the upper bound is inf.

    References
    ----------
    Koopman (1984), Biometrics 40(2), 513-517, doi:10.2307/2531405; Miettinen and Nurminen (1985),
    doi:10.1002/sim.4780040211.
    """
    z = normal_quantile(level)
    rate, other = hits / trials, other_hits / other_trials
    bounds = []
    for side in (1.0, -1.0):
        low, high = np.full(np.shape(hits), -_FARTHEST), np.full(np.shape(hits), _FARTHEST)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            ratio = np.exp(middle)
            beyond = _statistic(ratio, rate, other, trials, other_trials) > side * z
            low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
        bounds.append(np.exp((low + high) / 2))
    lower = np.where(hits > 0, bounds[0], 0.0)
    upper = np.where(other_hits > 0, bounds[1], np.inf)
    known = (trials > 0) & (other_trials > 0)
    return np.where(known, lower, np.nan), np.where(known, upper, np.nan)


def _statistic(ratio: Floats, rate: Floats, other: Floats, m: Floats, n: Floats) -> Floats:
    """Return the score statistic, which falls as the ratio grows."""
    # The maximum likelihood q solves a·q² - b·q + c = 0: the smaller root, in a form without cancellation.
    a = (m + n) * ratio
    b = m * (ratio + rate) + n * (1 + other * ratio)
    c = m * rate + n * other
    likely_other = 2 * c / (b + np.sqrt(np.maximum(b * b - 4 * a * c, 0)))
    likely = ratio * likely_other
    variance = likely * np.maximum(1 - likely, 0) / m
    variance = variance + ratio * likely * np.maximum(1 - likely_other, 0) / n
    difference = rate - ratio * other
    return np.asarray(np.where(difference == 0, 0.0, difference / np.sqrt(variance)))
