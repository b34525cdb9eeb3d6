"""Rates -> the operating points that meet a criterion."""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Field, Frame, Prevalences
from nci_frames.counts.resolution import without_claims
from nci_frames.evaluation.field.prevalences import is_field, numbers_of, with_prevalence
from nci_frames.evaluation.rates.criteria import SURE_FPR, SURE_TPR, Wish, wish_for
from nci_frames.evaluation.rates.intervals import rate_interval, require_row_counts
from nci_frames.evaluation.rates.selection import Eta, Runs, interpolated_points, picked_points
from nci_frames.evaluation.rates.simultaneous import simultaneous_interval
from nci_frames.evaluation.rates.strata import bounded_rows, of_strata
from nci_frames.evaluation.support.rule import point_flags
from nci_frames.schemas import RATES, checked, collect


@checked
def select_operating_points(
    rates: Frame,
    /,
    *,
    tpr: float | None = None,
    fpr: float | None = None,
    precision: float | None = None,
    pos_fraction: float | None = None,
    alerts: float | None = None,
    volume: float | None = None,
    threshold: float | Mapping[str, float] | None = None,
    metric: str | pl.Expr | None = None,
    prevalence: Prevalences | Field | None = None,
    beta: float = 1.0,
    interpolate: bool = False,
    confidence: float | None = None,
) -> pl.DataFrame:
    """Return one row of rates per group: the operating point selected by one criterion.

    Parameters
    ----------
    rates
        A rates frame.
    tpr
        Select the lowest FPR with at least this TPR, in [0, 1].
    fpr
        Select the highest TPR with at most this FPR, in [0, 1].
    precision
        Select the highest TPR with at least this precision, in [0, 1], at *prevalence*.
    pos_fraction
        Select the highest TPR with at most this share of rows predicted positive, in [0, 1], at *prevalence*.
    alerts, volume
        Select the highest TPR with at most *alerts* alerts in *volume* rows, e.g. per day; the same as
        *pos_fraction* at their ratio.
    threshold
        Select the decision ``score >= threshold``: any threshold if the rates are exact, one of its
        thresholds if they are on a grid. A dict gives one threshold per model.
    metric
        Select the best value of a metric: a name, an alias, or a called metric. "distance" is the distance to
        (0, 1).
    prevalence
        P(y=1), each in [0, 1]; or "observed", or a prevalence per segment, as in ``project_rates``. For
        criteria that depend on it.
    beta
        Weight of recall in [0, inf], if *metric* has one.
    interpolate
        Whether to meet a target exactly, on the ROC segment between two neighbouring points (attained by a
        random choice between the two thresholds). For *tpr*, *fpr*, *precision*, *pos_fraction*, *alerts*.
    confidence
        Confidence that new rows also meet the target, in (0.5, 1); for the same criteria. None requires it of
        these rows only: such a threshold misses the target on new rows about half of the time, and nearly
        always if it depends on few of these rows, as for precision at a low prevalence.

    Returns
    -------
    A row per group (and prevalence, if the criterion depends on it), sorted by model, keys and prevalence:
    the columns of *rates*, and

    %(columns of rates: prevalence, supported, reason)s

    ``prevalence`` and ``supported`` are present if the criterion depends on the prevalence. If no point meets
    the criterion, counts, rates and threshold are null. An unsupported point meets a target of precision or
    alerts on these rows, but seldom on new ones: use *confidence*.

    ``resolution``, if present, is "grid", since the other rows are missing. An interpolated point has no
    threshold and no counts. Of equally good points the one with the highest threshold is selected. A point
    that misses a target by rounding only (8 units in the last place) meets it: 3 alerts among 10 rows are a
    share of 0.3.

    With *confidence*, a group without a point has too few rows for the target. Rows are taken as independent;
    ``effective_positives`` and ``effective_negatives`` of the rates are used instead, if present, as in
    ``predictive_value_interval``; their bounds are taken for those of the level 0.95.

    Raises
    ------
    ParameterError
        If there is not exactly one criterion, a model has no threshold, a prevalence is missing or not used,
        a segment has no prevalence or several, or a number is out of range; with *confidence*, if counts are
        sums of weights.
    UnknownMetricError
        If the metric is unknown.
    SchemaError
        If *rates* is not a rates frame.

    References
    ----------
    Landgrebe et al. (2004), Cost-based classifier evaluation for imbalanced problems, who fix TPR at 80 %,
    doi:10.1007/978-3-540-27868-9_83; Angelopoulos et al. (2021), Learn then Test,
    doi:10.48550/arXiv.2110.01052; Clopper and Pearson (1934), doi:10.1093/biomet/26.4.404.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> rates = nf.compute_rates(nf.count_confusion(nf.scan_predictions(log), thresholds="exact"))
    >>> nf.select_operating_points(rates, threshold=0.5).select("threshold", "tp", "fp").row(0)
    (0.5, 1, 0)
    >>> nf.select_operating_points(rates, tpr=0.8).select("threshold", "tpr", "fpr").row(0)
    (0.35, 1.0, 0.5)
    >>> point = nf.select_operating_points(rates, metric="f_beta", prevalence=0.01)
    >>> point.select("threshold", "supported").row(0)
    (0.8, False)

    Without a false positive among 1,000 negatives FPR need not be 0: it is below 0.003 with confidence 0.95.

    >>> counts = pl.DataFrame({
    ...     "model": "a", "threshold": [0.2, 0.8], "tp": [90, 60], "fp": [9, 0], "fn": [10, 40],
    ...     "tn": [991, 1000],
    ... })
    >>> rates = nf.compute_rates(counts)
    >>> nf.select_operating_points(rates, fpr=0.003, confidence=0.95)["threshold"].item()
    0.8
    >>> nf.select_operating_points(rates, fpr=0.002, confidence=0.95)["reason"].item()
    'no counted threshold is known to have a fpr of at most 0.002 with this confidence'
    """
    frame = collect(rates, RATES)
    frame = frame.drop("prevalence", "supported", "reason", strict=False)
    asked = {
        "tpr": tpr, "fpr": fpr, "precision": precision, "pos_fraction": pos_fraction, "alerts": alerts,
        "threshold": threshold, "metric": metric,
    }  # fmt: skip
    wish = wish_for(asked, volume=volume, beta=beta, interpolate=interpolate, confidence=confidence)
    etas = _prevalences(wish, prevalence)
    keys = RATES.keys(frame.columns)
    columns = frame.columns
    if prevalence is not None:
        frame, _ = with_prevalence(frame, prevalence, keys)
    runs = Runs.of(frame, wish)
    runs = runs._replace(frame=_with_sure_rates(runs.frame, wish))

    if not len(runs.frame):
        points = runs.frame.with_columns(reason=pl.lit(None, pl.String))
    elif interpolate:
        points = pl.concat(interpolated_points(runs, wish, eta) for eta in etas)
    else:
        points = picked_points(runs, wish, etas)
    if wish.needs_prevalence:
        first, eta = runs.frame[runs.start], etas[0]
        # Groups without a selected point have a prevalence, too.
        own = first[eta] if isinstance(eta, str) else np.repeat(np.asarray(etas, np.float64), len(first))
        points = points.with_columns(prevalence=pl.Series(own))
        told = point_flags(columns, needs_fpr=True)["supported"]
        points = points.with_columns(supported=pl.when(pl.col("tpr").is_not_null()).then(told))
    axis = ["prevalence", "supported"] if wish.needs_prevalence else []
    ordered = points.sort("model", *keys, *axis[:1], maintain_order=True)
    return RATES.finish(without_claims(ordered.select(*columns, *axis, "reason")))


def _prevalences(wish: Wish, prevalence: Prevalences | Field | None) -> Sequence[Eta]:
    """Return the prevalence of each selection, or its column; None if the criterion does not use it."""
    if not wish.needs_prevalence:
        if prevalence is not None:
            msg = f"the criterion {wish.name!r} does not use the prevalence"
            raise ParameterError(msg, found=f"prevalence={prevalence!r}", hint="omit prevalence")
        return [None]
    if prevalence is None:
        msg = f"the criterion {wish.name!r} depends on the prevalence"
        raise ParameterError(msg, hint="pass prevalence=, one or several, or 'observed'")
    etas = numbers_of(prevalence)
    if etas is None:
        return ["prevalence" if is_field(prevalence) else "observed_prevalence"]
    return etas


#: Share of the error assigned to TPR if both rates are bounded; small, since positives are rare in the field.
_OF_TPR = 0.1
#: The bounds of TPR and of FPR at which a target is hardest to meet: 0 is the lower one, 1 the upper one.
_HARDEST = {"tpr": (0, None), "fpr": (None, 1), "pos_fraction": (1, 1), "precision": (0, 1)}


def _with_sure_rates(rates: pl.DataFrame, wish: Wish) -> pl.DataFrame:
    """Add the bounds of the rates that must meet the target, if it has a confidence.

    TPR, FPR and the share of positive decisions fall as the threshold rises. So testing the thresholds in
    this order, up to the first that fails, needs no correction for their number (Learn then Test with a fixed
    sequence): each bound is Clopper and Pearson's at a single threshold. Precision is not monotone in the
    threshold, so its bounds hold at all thresholds at once.

    Raises
    ------
    ParameterError
        If counts are sums of weights.
    """
    if wish.confidence is None:
        return rates
    if not of_strata(rates):
        require_row_counts(rates)
    sides = _HARDEST[wish.name]
    target = cast("float", wish.target)
    # Bounds are slow, so skip points that miss the target in the log itself. A share of all rows is at least
    # half of TPR or half of FPR, at any prevalence.
    possible = {
        "tpr": pl.col("tpr") >= target,
        "fpr": pl.col("fpr") <= target,
        "pos_fraction": pl.min_horizontal("tpr", "fpr") <= 2 * target,
        "precision": pl.lit(value=True),
    }[wish.name]
    error = 1 - wish.confidence
    parts = (error * _OF_TPR, error * (1 - _OF_TPR)) if None not in sides else (error, error)
    sure = {}
    columns = (SURE_TPR, "tpr", "tp", "positives"), (SURE_FPR, "fpr", "fp", "negatives")
    known, keys = bounded_rows(rates.columns), RATES.keys(rates.columns)
    for (name, rate, hits, rows), trials, side, part in zip(columns, known, sides, parts, strict=True):
        if side is None:
            continue
        counted = f"effective_{rows}" not in rates.columns
        hit = pl.when(possible).then(hits if counted else pl.col(rate) * trials)
        if wish.name == "precision":
            # A sum of weights is no number of rows.
            known_rows = pl.col(f"effective_{rows}").max().over("model", *keys)
            every = known_rows if of_strata(rates) else pl.col(rows)
            bounds = simultaneous_interval(hit, trials, every, level=wish.confidence)
        else:
            bounds = rate_interval("clopper_pearson", hit, trials, level=1 - 2 * part)
        sure[name] = bounds[side]
    return rates.with_columns(**sure)
