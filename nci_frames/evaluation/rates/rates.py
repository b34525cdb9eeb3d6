"""Counts -> TPR and FPR, which do not depend on the class balance, and their intervals."""

from collections.abc import Sequence
from typing import Literal

import polars as pl

from nci_frames.base.arguments import check_allowed
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Frame
from nci_frames.counts.pooling import pooled_counts
from nci_frames.evaluation.arrays.buckets import bucket_counts
from nci_frames.evaluation.rates.clusters import EFFECTIVE, class_worth, effective_rows
from nci_frames.evaluation.rates.intervals import Interval, rate_interval, require_row_counts
from nci_frames.evaluation.rates.quotients import rates_of
from nci_frames.evaluation.rates.simultaneous import local_alpha, simultaneous_interval
from nci_frames.evaluation.rates.strata import WORTH, classes_of_strata, rates_of_strata
from nci_frames.schemas import COUNTS, RATES, beside, checked, collect, has_strata, in_runs

RateInterval = Interval | Literal["simultaneous"]

_CLASSES = ("positives", "negatives")
#: Unweighted rows of each class.
_DRAWN = ("__drawn_positives", "__drawn_negatives")
#: The bounds of the rates.
BOUNDS = ("tpr_lower", "tpr_upper", "fpr_lower", "fpr_upper")
#: Columns of an earlier call that may no longer fit the counts; they are dropped.
_OF_OLDER_RATES = (*BOUNDS, *WORTH)


@checked
def compute_rates(
    counts: Frame,
    /,
    *,
    interval: RateInterval | None = None,
    level: float = 0.95,
    half_width: tuple[float, float] | None = None,
    units: str | None = None,
) -> pl.DataFrame:
    """Return the true- and false-positive rate of every row of counts.

    Parameters
    ----------
    counts
        A counts frame.
    interval
        Interval method for TPR and FPR: "wilson" (used in reports; near its level on average),
        "clopper_pearson" (never below its level), "jeffreys", "agresti_coull", or "hoeffding" (loose).
        "simultaneous" is a band of the ROC curve: it holds at all thresholds at once, even at a threshold
        chosen on the same rows. None for no bounds.
    level
        Confidence of each rate's interval, in (0, 1). With "simultaneous" it is that of TPR at all thresholds
        together, and of FPR at all thresholds together.
    half_width
        Known half-widths of TPR and of FPR, each >= 0, instead of *interval*.
    units
        None takes rows as independent; bounds are then too narrow if a unit has several rows. A key with at
        least 20 values, such as the ``bucket`` of ``unit_buckets``, takes its values as independent instead,
        and is summed away.

    Returns
    -------
    The rows of *counts*, in the same order (with *units*, those of ``pool_counts``):

    %(columns of rates)s

    Bounds are present with *interval* or *half_width*, effective numbers with *units*. With *units*, bounds
    are also null if all buckets are alike at all thresholds, or one has all rows of the class.

    Raises
    ------
    ParameterError
        If the interval is unknown, the level outside (0, 1), a half-width negative, both are given, or
        counts are sums of weights, which are not binomial; if *units* has too few values, or is given without
        *interval*.
    SchemaError
        If *counts* is not a counts frame, or lacks the key *units*.

    Notes
    -----
    Rates of 0 and 1 also have bounds: without a false positive among 100,000 negatives, FPR is below 3.9e-5
    (Wilson). The lower bound is 0 if the rate is 0, the upper bound 1 if it is 1. TPR and FPR come from
    different rows, so both are within their bounds with the product of the two confidences.

    With *units*, the interval is that of fewer independent rows: the rows divided by the design effect and by
    (t/z)². The design effect is the variance of the rate, by a jackknife that leaves out one bucket at a
    time, over that of independent rows; it is at least 1, and with fewer than ten hits or misses at least
    that of all thresholds together. Student's t has (Σn)²/Σn² - 1 degrees of freedom for n rows of the class
    in each bucket: the number of buckets minus one if all are equal. The interval is widened for kinds of
    units that the log may lack by chance, by the rate of its most extreme bucket. The effective numbers,
    which ``supported`` uses in projections, are the rows divided by the design effect of all thresholds
    together.

    "simultaneous" is Clopper and Pearson's interval at every threshold, at a local level such that the
    intervals of all possible thresholds hold at once with probability *level*: exact for up to 64 rows of a
    class, within 1 % of 1 - *level* for up to 100,000. With 1,000 rows and level 0.95 the local level is
    0.9989. It assumes only independent rows; ties and few thresholds make it wider than needed. Both rates
    hold together with probability level²: for a 95 % band of the curve use level √0.95.

    References
    ----------
    Korn and Graubard (1998), Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data, Survey Methodology 24, 193-201; Efron and Stein (1981), The jackknife
    estimate of variance, doi:10.1214/aos/1176345462; Carter, Schnepel and Steigerwald (2017), Asymptotic
    behavior of a t-test robust to cluster heterogeneity, doi:10.1162/REST_a_00639.

    Brabec et al. (2020), eqs. 5-7, 9, doi:10.1007/978-3-030-50423-6_6; Brown, Cai and DasGupta (2001),
    Interval estimation for a binomial proportion, doi:10.1214/ss/1009213286.

    Berk and Jones (1979), Goodness-of-fit test statistics that dominate the Kolmogorov statistics,
    doi:10.1007/BF00533250; Owen (1995), Nonparametric likelihood confidence bands for a distribution
    function, doi:10.1080/01621459.1995.10476543; Weine, McPeek and Abney (2023), Application of equal local
    levels to improve Q-Q plot testing bands with R package qqconf, doi:10.18637/jss.v106.i10.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a"], "threshold": [0.5], "tp": [60], "fp": [1], "fn": [40], "tn": [999]
    ... })
    >>> nf.compute_rates(counts).select("tpr", "fpr", "observed_prevalence").row(0)
    (0.6, 0.001, 0.09090909090909091)

    Ten times as many negatives as positives, but FPR is the less certain of the two.

    >>> rates = nf.compute_rates(counts, interval="wilson")
    >>> [round(bound, 4) for bound in rates.select("tpr_lower", "tpr_upper", "fpr_lower", "fpr_upper").row(0)]
    [0.502, 0.6906, 0.0002, 0.0056]

    If the threshold was chosen because it does well on these rows, it needs the bounds of all thresholds.

    >>> rates = nf.compute_rates(counts, interval="simultaneous")
    >>> [round(bound, 4) for bound in rates.select("tpr_lower", "tpr_upper", "fpr_lower", "fpr_upper").row(0)]
    [0.4423, 0.7443, 0.0, 0.0099]
    """
    frame = collect(counts, COUNTS, strata=True)
    older = [name for name in _OF_OLDER_RATES if name in frame.columns]
    # Do not copy the frame needlessly: its groups are cached by frame.
    frame = frame.drop(older) if older else frame
    if interval is not None and half_width is not None:
        msg = "interval and half_width cannot be combined"
        raise ParameterError(msg, found=f"{interval!r} and {half_width!r}", hint="pass only one of them")
    if units is not None:
        return _clustered(frame, units, interval, level)
    if not has_strata(frame) and "reason" not in frame.columns:
        # Operating points, which have a reason, keep their order.
        frame, _ = in_runs(frame, ["model", *COUNTS.keys(frame.columns)])
    rates = rates_of_strata(frame) if has_strata(frame) else rates_of(frame)
    if half_width is not None:
        return RATES.finish(rates.with_columns(**_given(*half_width)))
    if interval is None:
        return RATES.finish_right(rates)
    if interval == "simultaneous" and has_strata(frame):
        return _at_once(_with_drawn(rates, frame), WORTH, level)
    return with_bounds(rates, interval=interval, level=level)


def _with_drawn(rates: pl.DataFrame, counts: pl.DataFrame) -> pl.DataFrame:
    """Add the unweighted number of rows of each class to the rates of counts."""
    if not has_strata(counts):
        return rates.with_columns(**dict(zip(_DRAWN, map(pl.col, _CLASSES), strict=True)))
    keys = ["model", *RATES.keys(rates.columns)]
    return beside(rates, classes_of_strata(counts).select(*keys, *_DRAWN), keys)


def _at_once(drawn: pl.DataFrame, worth: tuple[str, str], level: float) -> pl.DataFrame:
    """Return rates with bounds that hold at all thresholds, by the effective numbers in columns *worth*."""
    # The number of intervals that hold at once is the unweighted number of rows.
    bounds = _bounds("simultaneous", level, worth, _DRAWN)
    bounded = drawn.with_columns(**bounds).drop(*_DRAWN, *EFFECTIVE, strict=False)
    # Rates fall as the threshold rises, so the bounds at other thresholds are bounds here, too.
    keys = ["model", *RATES.keys(bounded.columns)]
    lower = pl.col("tpr_lower", "fpr_lower").cum_max(reverse=True).over(keys, order_by="threshold")
    upper = pl.col("tpr_upper", "fpr_upper").cum_min().over(keys, order_by="threshold")
    return RATES.finish(bounded.with_columns(lower, upper))


def clustered_bounds(
    rates: pl.DataFrame, effective: pl.DataFrame, *, interval: RateInterval, level: float
) -> pl.DataFrame:
    """Add bounds to rates, such as operating points, from the ``effective_rows`` of the same log."""
    joined = _joined(rates, effective)
    return RATES.finish(joined.with_columns(**_bounds(interval, level, EFFECTIVE)).drop(*EFFECTIVE))


def _joined(rates: pl.DataFrame, effective: pl.DataFrame) -> pl.DataFrame:
    return beside(rates, effective, [name for name in effective.columns if name not in EFFECTIVE])


def with_bounds(rates: pl.DataFrame, *, interval: RateInterval, level: float) -> pl.DataFrame:
    """Add bounds to rates of whole rows, or of effective numbers if the rates have them."""
    if "effective_positives" not in rates.columns:
        require_row_counts(rates)
    worth = [name if f"effective_{name}" not in rates.columns else f"effective_{name}" for name in _CLASSES]
    return RATES.finish(rates.with_columns(**_bounds(interval, level, worth)))


def with_worth(rates: pl.DataFrame, worth: pl.DataFrame | None) -> pl.DataFrame:
    """Add effective numbers of rows to rates, from a table of ``class_worth`` if there are units."""
    if worth is None:
        return rates
    joined = beside(rates, worth, ["model", *RATES.keys(rates.columns)])
    known = "effective_" if WORTH[0] in rates.columns else ""
    effective = {f"effective_{name}": pl.col(f"{known}{name}") * pl.col(f"{name}_worth") for name in _CLASSES}
    return RATES.finish(joined.with_columns(**effective).drop("positives_worth", "negatives_worth"))


def _clustered(frame: pl.DataFrame, units: str, interval: RateInterval | None, level: float) -> pl.DataFrame:
    if interval is None:
        msg = "units only changes the bounds of the rates"
        raise ParameterError(msg, found=f"units={units!r} without interval", hint='pass interval="wilson"')
    require_row_counts(frame)
    COUNTS.need_keys(frame, [units], "units")
    groups = bucket_counts(frame, units)
    pooled = pooled_counts(frame, over=units)
    alone = rates_of_strata(pooled) if has_strata(frame) else rates_of(pooled)
    rates = with_worth(alone, class_worth(frame, units, groups))
    if interval != "simultaneous":
        known = effective_rows(frame, units, groups, level=level)
        return clustered_bounds(rates, known, interval=interval, level=level)
    drawn = _with_drawn(rates, pooled)
    # The uncertainty of the variance is taken at the strictest local level of all classes.
    most = int(max(drawn.select(pl.max(*_DRAWN).fill_null(0)).row(0), default=1))
    known = effective_rows(frame, units, groups, level=1 - local_alpha(max(most, 1), level))
    return _at_once(_joined(drawn, known), EFFECTIVE, level)


def _bounds(
    interval: RateInterval, level: float, worth: Sequence[str], rows: Sequence[str] = _CLASSES
) -> dict[str, pl.Expr]:
    """Return the bounds of TPR and FPR, by columns of effective (*worth*) and unweighted (*rows*) numbers."""
    bounds: dict[str, pl.Expr] = {}
    for rate, hits, size, known in zip(("tpr", "fpr"), ("tp", "fp"), rows, worth, strict=True):
        trials = pl.col(known)
        # Unweighted hits stay whole numbers.
        independent = pl.col(hits) if known == size else pl.col(rate) * trials
        if interval == "simultaneous":
            sides = simultaneous_interval(independent, trials, pl.col(size), level=level)
        else:
            sides = rate_interval(interval, independent, trials, level=level)
        bounds |= dict(zip((f"{rate}_lower", f"{rate}_upper"), sides, strict=True))
    return bounds


def _given(of_tpr: float, of_fpr: float) -> dict[str, pl.Expr]:
    """Return bounds at given distances from the rates."""
    bounds = {}
    for rate, half in (("tpr", of_tpr), ("fpr", of_fpr)):
        check_allowed(half >= 0, "half_width", half, f"a number >= 0 (of {rate})")
        bounds[f"{rate}_lower"] = (pl.col(rate) - half).clip(0, 1)
        bounds[f"{rate}_upper"] = (pl.col(rate) + half).clip(0, 1)
    return bounds
