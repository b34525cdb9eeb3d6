"""Counts -> the models that may be the best, and the difference of each from the best of the others."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import beta_values, check_allowed
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Betas, Flags, Floats, Frame, Prevalences
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.metrics import Metric, asked_metric, better_sign
from nci_frames.evaluation.resampling.replicates import CASE, Replicates, labelled_cases, resample_models
from nci_frames.evaluation.resampling.resampling import Asked, OwnThreshold, Resampling
from nci_frames.evaluation.significance.best_sets import Contenders, confidence_set, pairwise_limit
from nci_frames.schemas import BEST_COMPARISONS, checked

_UNDEFINED = "the metric is undefined"
_INFINITE = "the metric is infinite"
_OFTEN_UNDEFINED = "the metric is undefined or infinite in many resampled logs"
_SMALL = "fewer than 10 rows of a class, or buckets of equal size that have it"
FEW_ROWS = "too few rows: one more or less could decide whether another model is better"
#: Least rows or buckets of a class; with fewer, resampling shows too little variation.
_LEAST = 10
#: Least share of the resampled logs in which a value must be defined and finite.
_DEFINED = 0.99


@checked
def compare_best(
    counts: Frame,
    /,
    *,
    metric: str | pl.Expr = "f_beta",
    prevalence: Prevalences = "observed",
    beta: Betas = (1.0,),
    threshold: OwnThreshold = None,
    pos_fraction: float | None = None,
    units: str | None = None,
    over: str | None = None,
    level: float = 0.95,
    simultaneous: bool = False,
    repeats: int = 2000,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare every model with the best of the others, and return which models may be the best.

    If pairs are tested separately, some pair of ten equal models differs "significantly" in most logs. Here
    all models are compared at once, so equal models are rarely distinguished.

    Parameters
    ----------
    counts
        A counts frame of whole rows, or rates. A metric of rates needs one operating point per model: give
        *threshold* or *pos_fraction*, or one row per model.
    metric
        Name or alias of a metric or an area, such as "pr_auc" (average precision), or a called metric.
    prevalence
        P(y=1), each in [0, 1]; or "observed": each group's own, held fixed.
    beta
        Weights of recall, each in [0, inf], if the metric has one.
    threshold
        Threshold of the metric; or "own": each model's best one, chosen anew in every resampled log. Areas do
        not depend on it.
    pos_fraction
        Instead of a threshold, the largest share of rows predicted positive, in [0, 1]. Each model has its
        lowest threshold within it, chosen anew in every resampled log, so that differences are between models
        and not between lucky thresholds of a log. Needs a single *beta*.
    units
        None resamples the rows of each model separately, as if the models had scored different rows; this
        hides differences between models of one log. A key, such as the ``bucket`` of ``unit_buckets``,
        resamples the same units for all models: a paired comparison.
    over
        None, or a key whose values score the same units again, such as the repeats of a cross-validation. The
        metric is computed within each value and averaged, in the log and in every resampled log. Needs
        *units*.
    level
        Confidence, in (0, 1). A model is distinguishable from the best if its p-value is below 1 - level.
    simultaneous
        Whether the level holds for all prevalences and betas together, instead of each.
    repeats
        Number of resampled logs, 100 to 1,000,000.
    seed
        Seed of the draws.

    Returns
    -------
    A row per key, metric, prevalence, beta and model, sorted by these:

    %(columns of best comparisons)s

    Keys are those of *counts*, without *over* and *units*. Bounds are also null if they depend on too few
    rows. If ``resolution`` says that scores lie between thresholds, bounds of areas are wider by what the
    certified bounds of ``compute_areas`` leave open, and only a lead beyond that is tested.

    Models with ``distinguishable`` false or null may be the best; null means that the log has too few rows to
    decide.

    Raises
    ------
    ParameterError
        As for ``bootstrap``; if a model has several operating points, the metric cannot be ranked, or *over*
        is given without *units*.
    UnknownMetricError
        If the direction of a metric is unknown.
    SchemaError
        If *counts* is not a counts frame, or lacks the key *units*, or *over*.

    Notes
    -----
    Differences between two models are divided by their bootstrap standard errors, and compared with the
    largest such ratio in resampled logs if all models were equal. With *units* all models get the same draws,
    which accounts for the correlation between models.

    This is the model confidence set of Hansen, Lunde and Nason: the model that is farthest behind is removed,
    and the test repeated with the others (statistic T_R). The set contains all best models with probability
    *level*; if models are equal, any is distinguishable with probability at most 1 - *level*. The bounds hold
    for all pairs at once.

    Models of group 1 may be the best. Each later group has the best model that is left, and those that are
    not behind it by more than the simultaneous bounds of all pairs.

    With few rows, resampling shows too little variation; a rate of 0 shows none. So half a row is added on
    either side of a threshold (Jeffreys' prior). Where weights differ within a class, areas get a random part
    of a positive of the heaviest weight, above or below all other scores. Leads are corrected by Student's t,
    whose degrees of freedom are the rows of the rarer class minus one, or the buckets of equal size
    (Σn)²/Σn², for n rows of the class in each, minus one. At a threshold, a difference counts only if its
    standard error is at least twice the effect of one row more or less on either value, or if it is six times
    these effects together. At a prevalence that the log does not support (``lowest_supported_prevalence``), a
    lead by PR-AUC counts only if it is larger than what three unseen independent negatives above all scores
    would take from it. If a model is excluded only without these rules, ``reason`` tells so. Models with
    fewer than 10 rows of a class, or such buckets, are not compared.

    docs/honesty.md gives error rates and power in simulated logs.

    References
    ----------
    Hansen, Lunde and Nason (2011), The model confidence set, doi:10.3982/ECTA5771.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b", "c"], "threshold": 0.5,
    ...     "tp": [60, 62, 30], "fp": [20, 21, 25], "fn": [40, 38, 70], "tn": [980, 979, 975],
    ... })
    >>> nf.compare_best(counts).select("model", pl.col("difference").round(2), "distinguishable").rows()
    [('a', -0.01, False), ('b', 0.01, False), ('c', -0.29, True)]
    """
    logs = Resampling(units, over, repeats=repeats, seed=seed, level=level, least_repeats=100)
    if pos_fraction is not None:
        _check_budget(pos_fraction, threshold, asked_metric(metric), beta_values(beta))
    frame = whole_counts(counts)
    asked = Asked(metric, prevalence, beta, threshold, pos_fraction)
    groups = resample_models(frame, asked, logs, prior=True)
    keys = frame.select(logs.keys(frame))
    return best_among(groups, asked_metric(metric), keys, level=level, simultaneous=simultaneous)


def _check_budget(pos_fraction: float, threshold: object, metric: Metric, betas: Sequence[float]) -> None:
    check_allowed(0 <= pos_fraction <= 1, "pos_fraction", pos_fraction, "within [0, 1]")
    if len(betas) > 1:
        msg = "models are compared within a budget at one beta"
        raise ParameterError(msg, found=f"{len(betas)} of them", hint="call it for each")
    if threshold is not None or metric.kind == "curve":
        msg = "a budget of positive decisions chooses the threshold of a metric"
        found = f"threshold={threshold!r}" if threshold is not None else f"the area {metric.name!r}"
        raise ParameterError(msg, found=found, hint="omit one of them")


def best_among(
    groups: Sequence[list[Replicates]],
    metric: Metric,
    keys: pl.DataFrame,
    *,
    level: float = 0.95,
    simultaneous: bool = False,
) -> pl.DataFrame:
    """Return the table of ``compare_best`` from resampled logs, by the values of *keys* (columns)."""
    tables = [_compared(models, metric, level, simultaneous=simultaneous) for models in groups]
    return BEST_COMPARISONS.joined(tables, keys).sort(*keys.columns, *CASE, "model")


class Candidates(NamedTuple):
    """The models of one group of keys, by model and case; higher values are better."""

    #: Values divided by *scale*; NaN where undefined or infinite.
    value: Floats
    scale: Floats
    #: Whether the model is compared, and the reason if not.
    told: Flags
    why: NDArray[np.str_]
    #: The compared models of each case.
    cases: list[Contenders]

    @classmethod
    def of(cls, models: list[Replicates], metric: Metric) -> "Candidates":
        """Return the candidates from values in the log and in resampled logs."""
        sign = better_sign(metric)
        given = np.stack([m.value for m in models])
        # The values in resampled logs, by model, log and case. Infinite ones have no distance.
        drawn = np.stack([m.values for m in models])
        value, drawn = (np.where(np.isinf(each), np.nan, sign * each) for each in (given, drawn))
        defined = ~np.isnan(value)
        often = (~np.isnan(drawn)).mean(axis=1) >= _DEFINED
        moved, freedom = _moved(models, metric), np.stack([m.freedom for m in models])
        large = freedom >= _LEAST - 1
        told = defined & often & large
        scale = _scale(value)
        value, moved = value / scale, moved / scale
        lost = np.stack([m.risk(m) for m in models]) / scale
        unknown = np.stack([m.unknown(m) for m in models], axis=1) / scale
        # Where lower is better, a lower value is ahead.
        unknown = unknown[::sign]
        drawn /= scale
        # Replace values that are undefined in a few resampled logs by the value in the log.
        known = np.where(np.isnan(drawn), value[:, None], drawn)
        why = np.select(
            [np.isinf(given), ~defined, ~large, ~often], [_INFINITE, _UNDEFINED, _SMALL, _OFTEN_UNDEFINED], ""
        )
        cases = [
            Contenders.of(
                value[some, c],
                known[some, :, c],
                moved[some, c],
                freedom[some, c],
                lost[some, c],
                unknown[:, some, c],
            )
            for c, some in enumerate(told.T)
        ]
        return cls(value, scale, told, why, cases)

    def lead(self, one: int, level: float) -> tuple[float, float]:
        """Return bounds of the lead of one model over the best of the others, simultaneous over the others.

        They are NaN if the model is not compared, or the bounds depend on too few rows.
        """
        if not self.told[one, 0] or self.told[:, 0].sum() < 2:
            return np.nan, np.nan
        (case,), place = self.cases, int(self.told[:one, 0].sum())
        limit = case.limit_of_one(place, level)
        lower, upper = (bound[place] * self.scale[0] for bound in case.bounds(limit))
        return float(lower), float(upper)


def _compared(models: list[Replicates], metric: Metric, level: float, *, simultaneous: bool) -> pl.DataFrame:
    """Compare the models of one group of keys."""
    all_models = Candidates.of(models, metric)
    value, told, cases = all_models.value, all_models.told, all_models.cases
    lower, upper, p_value = np.full((3, *value.shape), np.nan)
    doubtful = np.zeros(value.shape, np.bool_)
    groups = np.zeros(value.shape, np.int64)
    some = [place for place in range(len(cases)) if told[:, place].any()]
    for together in [some] if simultaneous and some else [[place] for place in some]:
        group = [cases[place] for place in together]
        limit = pairwise_limit(group, level)
        for place, (p, doubt) in zip(together, _p_values(group, level), strict=True):
            mine = told[:, place], place
            p_value[mine], doubtful[mine] = p, doubt
            lower[mine], upper[mine] = cases[place].bounds(limit)
            groups[mine] = cases[place].ranked_groups(p >= 1 - level, limit)
    # A bound may exceed the largest double.
    difference, lower, upper = (each * all_models.scale for each in (_ahead(value), lower, upper))
    if better_sign(metric) < 0:
        # Subtract from 0.0 to avoid -0.0.
        difference, lower, upper = -difference, 0.0 - upper, 0.0 - lower
    given = np.stack([m.value for m in models])
    numbers = {"value": given, "difference": difference, "lower": lower, "upper": upper}
    why = np.where((all_models.why == "") & doubtful, FEW_ROWS, all_models.why)
    tested = pl.Series(np.where(doubtful, np.nan, p_value).ravel(), nan_to_null=True)
    return labelled_cases(
        models,
        *(pl.Series(name, found.ravel(), nan_to_null=True) for name, found in numbers.items()),
        tested.alias("p_value"),
        (tested < 1 - level).alias("distinguishable"),
        pl.when(tested.is_not_null()).then(pl.Series(groups.ravel())).alias("group"),
        pl.Series("reason", [reason or None for reason in why.ravel().tolist()], pl.String),
    )


def _scale(value: Floats) -> Floats:
    """Return a power of two for each case, near its values, so that squares neither over- nor underflow."""
    largest = np.abs(np.where(np.isnan(value), 0.0, value)).max(axis=0)
    return np.asarray(np.ldexp(1.0, np.frexp(largest)[1] - 1))


def _moved(models: list[Replicates], metric: Metric) -> Floats:
    """Return the effect of one row on each value of each model; 0 for areas, which have no threshold."""
    moved = np.stack([m.moved.max(axis=0) for m in models])
    if metric.kind == "curve":
        return np.zeros(moved.shape)
    return np.where(np.isnan(moved), np.inf, moved)


def _ahead(value: Floats) -> Floats:
    """Return the lead of each model over the best of the others, case by case; NaN if undefined."""
    known = np.where(np.isnan(value), -np.inf, value)
    # If several models tie for the best, second equals first.
    second, first = np.sort(np.vstack([np.full_like(known[:1], -np.inf), known]), axis=0)[-2:]
    best = np.where(known == first, second, first)
    return np.where(np.isneginf(best), np.nan, value - best)


def _p_values(cases: list[Contenders], level: float) -> list[tuple[Floats, Flags]]:
    """Return the p-values of each case, and a mask of models that only the ``steady`` rule keeps."""
    careful = confidence_set(cases, steady=True)
    same = all(np.array_equal(case.lead(steady=True), case.lead(steady=False)) for case in cases)
    careless = careful if same else confidence_set(cases, steady=False)
    alpha = 1 - level
    return [(p, (p >= alpha) & (q < alpha)) for p, q in zip(careful, careless, strict=True)]
