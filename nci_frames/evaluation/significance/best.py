"""Counts -> which models may be the best, and how far each is from the best of the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import beta_values
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Betas, Flags, Floats, Frame, Prevalences
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.metrics import Metric, asked_metric, better_sign
from nci_frames.evaluation.resampling.replicates import Replicates, labelled_cases, resample_models
from nci_frames.evaluation.resampling.resampling import Asked, Resampling
from nci_frames.evaluation.significance.best_sets import Contenders, confidence_set, pairwise_limit
from nci_frames.schemas import BEST_COMPARISONS, checked

_UNDEFINED = "the metric is undefined"
_INFINITE = "the metric is infinite"
_OFTEN_UNDEFINED = "the metric is undefined or infinite in many resampled logs"
_SMALL = "fewer than 10 rows of a class, or buckets of equal size that have it"
FEW_ROWS = "too few rows: one more or less could decide whether another model is better"
#: A class needs so many rows or buckets, so that resampling shows how much they vary.
_LEAST = 10
#: A value must be defined and finite in this share of the resampled logs.
_DEFINED = 0.99
_CASE = ("metric", "method", "prevalence", "beta")


@checked
def compare_best(
    counts: Frame,
    /,
    *,
    metric: str | pl.Expr = "f_beta",
    prevalence: Prevalences = "observed",
    beta: Betas = (1.0,),
    threshold: float | Literal["own"] | None = None,
    pos_fraction: float | None = None,
    units: str | None = None,
    over: str | None = None,
    level: float = 0.95,
    simultaneous: bool = False,
    repeats: int = 2000,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare every model with the best of the others, and return which models may be the best.

    With ten equal models, some pair of them differs "significantly" in most logs, if each pair is tested for
    itself. Here all models are compared at once, so that equal models are rarely told apart.

    Parameters
    ----------
    counts
        A counts frame of whole rows, or rates. For a metric each model needs one operating point:
        *threshold*, or a frame with one row of each model.
    metric
        A name or alias of a metric or of an area, such as "pr_auc" (average precision), or a called metric.
    prevalence
        P(y=1), each in [0, 1]; or "observed": each group's own, held fixed.
    beta
        Weights of recall, each in [0, inf], if the metric has one.
    threshold
        The threshold of the metric; or "own": each model's best one, chosen anew in every resampled log.
        Areas do not depend on it.
    pos_fraction
        In place of a threshold, the share of rows in [0, 1] that may be predicted positive: each model is at
        its lowest threshold that keeps it, chosen anew in every resampled log. So a difference is one between
        models, not one between the lucky thresholds of a log. It takes one *beta*.
    units
        None resamples the rows of each model separately, as if the models had scored different rows, which
        hides differences between models of one log. A key such as the ``bucket`` of ``unit_buckets``
        resamples the same units for all models: the paired comparison.
    over
        None, or a key whose values score the same units again, such as the repeats of a cross-validation: the
        metric is taken within each of them and averaged, in the log and in every resampled log. It needs
        *units*.
    level
        Confidence, in (0, 1); a model is distinguishable from the best if its p-value is below 1 - level.
    simultaneous
        Whether the level holds for all prevalences and betas together, and not for each of them.
    repeats
        Number of resampled logs, 100 to 1,000,000.
    seed
        Seed of the draws.

    Returns
    -------
    A row per key, metric, prevalence, beta and model, sorted by these:

    %(columns of best comparisons)s

    Keys are those of *counts*, without *over* and *units*. Bounds are null also where they rest on too
    few rows.

    The models with ``distinguishable`` false are those that may be the best. A model with a null may be the
    best as well: the log cannot tell.

    Raises
    ------
    ParameterError
        As for ``bootstrap``, or if a model has several operating points, or if the metric cannot be ranked;
        if *over* is given without *units*.
    UnknownMetricError
        If the direction of a metric is unknown.
    SchemaError
        If *counts* is not a counts frame, or lacks the key *units*, or *over*.

    Notes
    -----
    Differences between two models are divided by their standard errors in the resampled logs, and compared
    with the largest of them that resampled logs have if all models are equal. With *units* all models get the
    same draws, so that correlation between models counts.

    The model confidence set of Hansen, Lunde and Nason: the model that is farthest behind is removed, and the
    test repeated with those that are left (statistic T_R). The set holds all models that are the best with
    probability *level*; of equal models, any is distinguishable with probability 1 - *level* at most. The
    bounds are those of all pairs at once.

    The models of group 1 may be the best. Each later group holds the best model that is left, and those that
    are not behind it by more than the simultaneous bounds of all pairs allow.

    Where rows are few, resampling shows too little of the spread: a rate that is 0 has none. So half a row is
    added on either side of a threshold (Jeffreys' prior); standard errors are taken as those of Student's
    distribution, with the rows of the rarer class less one as its degrees of freedom, or with so many buckets
    of equal size (Σn)²/Σn², for n rows of the class in each. At a
    threshold, a difference counts only if its standard error is at least twice what a row more or less moves
    either value. Nor does one by which PR-AUC is higher at a prevalence that the log does not support
    (``lowest_supported_prevalence``): negatives that it lacks may take all of it. If a model is excluded only
    without these rules, ``reason`` says so; models with fewer than 10 rows of a class, or such buckets, are
    not compared.

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
    keys = logs.keys(frame)
    if not groups:
        return BEST_COMPARISONS.empty(frame.select(keys))
    return best_among(groups, asked_metric(metric), keys, level=level, simultaneous=simultaneous)


def _check_budget(pos_fraction: float, threshold: object, metric: Metric, betas: Sequence[float]) -> None:
    if not 0 <= pos_fraction <= 1:
        raise ParameterError.out_of_range("pos_fraction", pos_fraction, "within [0, 1]")
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
    keys: Sequence[str] = (),
    *,
    level: float = 0.95,
    simultaneous: bool = False,
) -> pl.DataFrame:
    """Return the table of ``compare_best`` from resampled logs, by the values of *keys*."""
    tables = [_compared(models, metric, level, simultaneous=simultaneous) for models in groups]
    return BEST_COMPARISONS.finish(pl.concat(tables).drop("threshold").sort(*keys, *_CASE, "model"))


@dataclass(frozen=True, slots=True)
class Candidates:
    """The models of one group of keys, by model and case; higher values are better."""

    #: Divided by *scale*; NaN where undefined or infinite.
    value: Floats
    scale: Floats
    #: Whether the model is compared, and otherwise why it is not.
    told: Flags
    why: NDArray[np.str_]
    #: The models that are compared in each case.
    cases: list[Contenders]

    @classmethod
    def of(cls, models: list[Replicates], metric: Metric) -> "Candidates":
        """Read the values of a log and of resampled ones."""
        sign = better_sign(metric)
        given = np.stack([m.value for m in models])
        # Infinite values have no distance.
        value = _finite(sign * given)
        drawn = _finite(sign * np.stack([m.values for m in models]))  # model, log, case
        defined = ~np.isnan(value)
        often = (~np.isnan(drawn)).mean(axis=1) >= _DEFINED
        moved, freedom = _moved(models, metric), np.stack([m.freedom for m in models])
        large = freedom >= _LEAST - 1
        told = defined & often & large
        scale = _scale(value)
        value, moved = value / scale, moved / scale
        supported = np.stack([(m.cases["prevalence"] >= m.lowest).fill_null(value=True) for m in models])
        drawn /= scale
        # A value that is undefined in a few logs tells nothing there.
        known = np.where(np.isnan(drawn), value[:, None], drawn)
        why = np.select(
            [np.isinf(given), ~defined, ~large, ~often], [_INFINITE, _UNDEFINED, _SMALL, _OFTEN_UNDEFINED], ""
        )
        cases = [
            Contenders.of(
                value[some, c], known[some, :, c], moved[some, c], freedom[some, c], supported[some, c]
            )
            for c, some in enumerate(told.T)
        ]
        return cls(value, scale, told, why, cases)

    def lead(self, one: int, level: float) -> tuple[float, float]:
        """Return bounds of the lead of one model over the best of the others, of all others at once.

        NaN where the model is not compared, or the bounds rest on too few rows.
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
    results = {name: np.full(value.shape, np.nan) for name in ("difference", "lower", "upper", "p_value")}
    doubtful = np.zeros(value.shape, np.bool_)
    groups = np.zeros(value.shape, np.int64)
    some = [place for place in range(len(cases)) if told[:, place].any()]
    for together in [some] if simultaneous and some else [[place] for place in some]:
        group = [cases[place] for place in together]
        limit = pairwise_limit(group, level)
        for place, (p, doubt) in zip(together, _p_values(group, level), strict=True):
            mine = told[:, place], place
            results["p_value"][mine], doubtful[mine] = p, doubt
            results["lower"][mine], results["upper"][mine] = cases[place].bounds(limit)
            groups[mine] = cases[place].ranked_groups(p >= 1 - level, limit)
    results["difference"] = _ahead(value)
    for name in ("difference", "lower", "upper"):
        # A bound may lie beyond the largest double.
        with np.errstate(over="ignore"):
            results[name] *= all_models.scale
    if better_sign(metric) < 0:
        results["difference"] *= -1
        # Zero has no sign.
        results["lower"], results["upper"] = 0.0 - results["upper"], 0.0 - results["lower"]
    results["value"] = np.stack([m.value for m in models])
    why = np.where((all_models.why == "") & doubtful, FEW_ROWS, all_models.why)
    p_value = np.where(doubtful, np.nan, results.pop("p_value"))
    tested = pl.Series(p_value.ravel(), nan_to_null=True)
    return labelled_cases(
        models,
        *(pl.Series(name, found.ravel(), nan_to_null=True) for name, found in results.items()),
        tested.alias("p_value"),
        (tested < 1 - level).alias("distinguishable"),
        pl.when(tested.is_not_null()).then(pl.Series(groups.ravel())).alias("group"),
        pl.Series("reason", [reason or None for reason in why.ravel().tolist()], pl.String),
    )


def _finite(values: Floats) -> Floats:
    return np.where(np.isinf(values), np.nan, values)


def _scale(value: Floats) -> Floats:
    """Return a power of two for each case, near its values: their squares must be numbers, and not 0."""
    largest = np.abs(np.where(np.isnan(value), 0.0, value)).max(axis=0)
    return np.asarray(np.ldexp(1.0, np.frexp(largest)[1] - 1))


def _moved(models: list[Replicates], metric: Metric) -> Floats:
    """Return by how much one row moves each value of each model; 0 for an area, which has no threshold."""
    moved = np.stack([m.moved.max(axis=0) for m in models])
    if metric.kind == "curve":
        return np.zeros(moved.shape)
    return np.where(np.isnan(moved), np.inf, moved)


def _ahead(value: Floats) -> Floats:
    """Return by how much each model is ahead of the best of the others, case by case; NaN if undefined."""
    known = np.where(np.isnan(value), -np.inf, value)
    # Of equal ones the second is as good as the first.
    second, first = np.sort(np.vstack([np.full_like(known[:1], -np.inf), known]), axis=0)[-2:]
    best = np.where(known == first, second, first)
    return np.where(np.isneginf(best), np.nan, value - best)


def _p_values(cases: list[Contenders], level: float) -> list[tuple[Floats, Flags]]:
    """Return the p-values of each case, and where they are doubtful: where only few rows speak against it."""
    careful = confidence_set(cases, steady=True)
    same = all(np.array_equal(case.lead(steady=True), case.lead(steady=False)) for case in cases)
    careless = careful if same else confidence_set(cases, steady=False)
    alpha = 1 - level
    return [(p, (p >= alpha) & (q < alpha)) for p, q in zip(careful, careless, strict=True)]
