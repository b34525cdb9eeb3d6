"""Counts -> the metrics of many resampled logs, without the log.

A resampled log is determined by the number of rows in each bin, so a replicate costs the same for a thousand
rows and for a billion. Rows are resampled within each class, or whole buckets of units.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from nci_frames.base.arguments import beta_values, check_allowed
from nci_frames.base.errors import ParameterError
from nci_frames.base.threads import map_in_threads
from nci_frames.base.typing import Floats, Rows
from nci_frames.counts.resolution import every_row_exact
from nci_frames.evaluation.areas.area import Area, Logs, area_of
from nci_frames.evaluation.areas.areas import areas_of
from nci_frames.evaluation.areas.lowest import supported_from
from nci_frames.evaluation.arrays.buckets import Counted, StrataCounts
from nci_frames.evaluation.arrays.histograms import Histogram
from nci_frames.evaluation.field.prevalences import group_prevalences, numbers_of
from nci_frames.evaluation.metrics import asked_metric, better_sign
from nci_frames.evaluation.rates.clusters import class_worth
from nci_frames.evaluation.rates.strata import heaviest_rows
from nci_frames.evaluation.resampling import few_rows
from nci_frames.evaluation.resampling.draws import stream
from nci_frames.evaluation.resampling.point_metrics import CASES, PointMetrics, WithinBudget, near_budget
from nci_frames.evaluation.resampling.resampling import Asked, Resampling
from nci_frames.evaluation.resampling.samplers import counted_groups, draws, with_unseen_positive
from nci_frames.schemas import beside

#: Columns that identify a comparison of models.
CASE = ("metric", "method", "prevalence", "beta")
#: So many negatives of a kind may exist for each time as many are in the log, if it has none (rule of three).
_UNSEEN = 3


class Replicates(NamedTuple):
    """The metrics of one group: of the log itself, and of each resampled log."""

    histogram: Histogram
    #: threshold, metric, method, prevalence and beta of each value.
    cases: pl.DataFrame
    #: Values in the log itself, one per case; NaN where undefined.
    value: Floats
    #: Values in the resampled logs, of shape (repeats, cases); NaN where undefined.
    values: Floats
    #: Largest change of each value by one positive (first row) or negative (second row) more or less; NaN if
    #: that makes it undefined.
    moved: Floats
    #: Numbers of positives and negatives to draw from, or of equal buckets that have them.
    sizes: Sequence[float]
    #: Returns how much of each value unseen rows may take; 0 unless models are compared by an area.
    risk: Callable[["Replicates"], Floats] = lambda one: np.zeros(len(one.value))
    #: Returns how much lower (first row) and higher (second row) each area of the log itself may be, since
    #: scores lie between the thresholds of a grid; 0 unless models are compared.
    unknown: Callable[["Replicates"], Floats] = lambda one: np.zeros((2, len(one.value)))

    @property
    def freedom(self) -> Floats:
        """Degrees of freedom of each value: the rows, or equal buckets, of the rarer class, minus one.

        Classes that do not affect the metric are ignored.
        """
        sizes = np.array(self.sizes, np.float64)[:, None]
        return np.asarray(np.where(self.moved != 0, sizes - 1, np.inf).min(axis=0))

    def at(self, prevalence: Sequence[float]) -> "Replicates":
        """Return the replicates of an area at some of its prevalences."""
        known = {eta: place for place, eta in enumerate(self.cases["prevalence"])}
        places = [known[eta] for eta in prevalence]
        value, values, moved = self.value[places], self.values[:, places], self.moved[:, places]
        return self._replace(cases=self.cases[places], value=value, values=values, moved=moved)

    def around(self, value: Floats) -> "Replicates":
        """Return the replicates shifted to *value*, which the merging of bins had changed."""
        moved = np.nan_to_num(value - self.value, nan=0.0, posinf=0.0, neginf=0.0)
        return self._replace(value=value, values=self.values + moved)


def resample(
    frame: pl.DataFrame, asked: Asked, logs: Resampling, *, prior: bool = False, unseen: bool = False
) -> Iterator[Replicates]:
    """Yield the replicates of each group of whole counts, in the order of the keys.

    With ``logs.over``, metrics are computed within each value of that key, such as the repeats of a
    cross-validation, and averaged; all of them use the same draws of ``logs.units``.

    With *prior*, resampled logs have about half a row more on either side of every threshold (Jeffreys), so
    that a rate of 0 may become positive.

    With *unseen*, metrics of rates of strata allow for rows that they lack (``with_unseen_rows``), and each
    resampled log has its own observed prevalence. Constant weights within classes need neither.

    Raises
    ------
    ParameterError
        If an option is out of range, a threshold was not counted, an area cannot be resampled, there are too
        few buckets, ``over`` is given without ``units``, or its values have different thresholds.
    SchemaError
        If the counts lack the key ``units``, or ``over``.
    """
    own, budget, fixed = asked.own, asked.pos_fraction, asked.fixed
    thresholds = None if fixed is None else np.unique(np.asarray(fixed, np.float64))
    if thresholds is not None and (not len(thresholds) or np.isnan(thresholds).any()):
        raise ParameterError.out_of_range("threshold", fixed, "at least one number")
    check_allowed(asked.metrics, "metric", asked.metric, "at least one metric")
    grid, betas = numbers_of(asked.prevalence), beta_values(asked.beta)
    found = [(one, area_of(one, "resampled")) for one in asked.metrics]
    areas = list(dict.fromkeys(area for _, area in found if area is not None))
    metrics = [one for one, area in found if area is None]
    of_scores = not metrics and all(area.of_scores for area in areas)
    etas_of = group_prevalences(asked.prevalence, frame, logs.keys(frame))

    def replicated(given: Counted) -> Replicates:
        chosen = own or budget is not None
        whole, never = _few_steps(given) if chosen else (given, False)
        points = whole.histogram.thresholds[::-1] if thresholds is None else thresholds
        observed = whole.histogram.observed_prevalence
        etas = np.ravel(etas_of(whole.histogram.group, np.array([observed]))).tolist()
        # Bins that no result distinguishes, or hardly, are merged before drawing: between thresholds, between
        # positives, or between many scores.
        counts, moved = whole, False
        if not areas:
            if budget is not None:
                points = near_budget(whole.histogram, budget, etas)
            counts = whole if own else whole.coarser(points)
        elif not metrics and not any(area.of_scores for area in areas):
            steps, moved = few_rows.steps_of_areas(whole.histogram)
            counts = whole.coarser(steps)
        elif of_scores and whole.histogram.every_score:
            counts = whole.coarser(few_rows.steps_of_score(whole.histogram), every_score=True)
            moved = True
        bins = counts.histogram
        smooth = bool(unseen and metrics and isinstance(whole, StrataCounts) and whole.mixed)
        drawn = draws(counts, logs, smooth=smooth)
        if prior:
            drawn = _with_rare_rows(drawn, counts, logs, areas=bool(areas))
        at_points: PointMetrics | WithinBudget | None = None
        if metrics and budget is not None:
            at_points = WithinBudget.of(bins, points, metrics[0], etas, betas[0], budget)
        elif metrics:
            itself = observed if grid is not None else etas[0]
            at_points = PointMetrics.of(bins, points, metrics, grid, itself, betas, own, never=never)
            if smooth and isinstance(whole, StrataCounts):
                rng = stream(logs.seed, {"__unseen": True, **whole.histogram.group.row(0, named=True)})
                unseen_rows = (*heaviest_rows(whole, points), rng)
                own_eta = isinstance(asked.prevalence, str)
                at_points = at_points._replace(unseen=unseen_rows, prevalence=None if own_eta else itself)
        found = _evaluated(areas, etas, at_points, counts, drawn)
        return found.around(_areas(areas, etas, whole.histogram)) if moved else found

    # Each group has a random stream of its own.
    every = map_in_threads(replicated, counted_groups(frame, logs))
    for _, same in itertools.groupby(every, key=lambda one: one.histogram.group.row(0)):
        each = [*same]
        yield each[0] if logs.over is None else _mean(each, logs.over)


def _with_rare_rows(
    drawn: Iterator[Sequence[Rows]], counts: Counted, logs: Resampling, *, areas: bool
) -> Iterator[Sequence[Rows]]:
    """Add rows that logs may lack by chance; for areas, which light rows would move too much, heavy ones."""
    if areas:
        if isinstance(counts, Histogram) or not counts.mixed:
            return drawn
        return with_unseen_positive(drawn, counts, logs)
    group = counts.histogram.group.row(0, named=True)
    # A separate stream, even if a key is called "prior": no key begins with two underscores.
    name = "__prior" if "prior" in group else "prior"
    return few_rows.with_prior(drawn, stream(logs.seed, {name: True, **group}), counts.heaviest)


def _few_steps(given: Counted) -> tuple[Counted, bool]:
    """Return counts at the steps of recall, and whether no row need be predicted positive."""
    steps, whole = few_rows.steps_of_recall(given.histogram), given.histogram
    # Whether no row reaches the highest threshold, which is infinite.
    empty = bool(len(steps)) and [side[0] for side in (*whole.classes, whole.thresholds)] == [0, 0, np.inf]
    return given.coarser(steps[:-1] if empty else steps), empty or given.histogram.every_score


def by_keys(found: Iterable[Replicates]) -> dict[tuple[object, ...], list[Replicates]]:
    """Return the replicates of all models by the values of the keys.

    Raises
    ------
    ParameterError
        If a model has several thresholds.
    """
    groups: dict[tuple[object, ...], list[Replicates]] = {}
    for replicates in found:
        thresholds = replicates.cases["threshold"].n_unique()
        if thresholds > 1:
            msg, where = "each model needs one operating point", replicates.histogram.where
            hint = "select one with threshold=, or keep one row of each model"
            raise ParameterError(msg, where=where, found=f"{thresholds} thresholds", hint=hint)
        groups.setdefault(replicates.histogram.group.row(0)[1:], []).append(replicates)
    return groups


def resample_models(
    frame: pl.DataFrame,
    asked: Asked,
    logs: Resampling,
    *,
    prior: bool = False,
    certified: Callable[[], pl.DataFrame] | None = None,
) -> list[list[Replicates]]:
    """Return the replicates of all models for each value of the keys; see ``resample``.

    *certified* returns the areas of the log with certified bounds; by default they are those of *frame* if it
    has a ``resolution``. They are computed if the frame lacks scores.
    """
    (metric,) = asked.metrics
    better_sign(asked_metric(metric))
    groups = list(by_keys(resample(frame, asked, logs, prior=prior)).values())
    area = area_of(metric, "resampled")
    if not groups or area is None:
        return groups
    by = groups[0][0].histogram.group.columns
    if (certified is not None or "resolution" in frame.columns) and not every_row_exact(frame):
        own = certified or (lambda: areas_of(logs.without_units(frame), asked.prevalence, [area]))
        unknown = partial(_unknown, _gaps(own(), by))
        groups = [[one._replace(unknown=unknown) for one in models] for models in groups]
    if area.support is None:
        return groups

    @cache
    def known() -> dict[Any, list[float]]:
        """Return the lowest prevalence that each model supports in every repeat; with units, its worth."""
        worth = None if logs.units is None else class_worth(frame, logs.units)
        told = supported_from(logs.without_units(frame), metric, worth=worth)
        told = told if worth is None else beside(told, worth, worth.columns[:-2])
        lowest, least = pl.col("prevalence").fill_null(math.inf).max(), pl.col("^negatives_worth$").min()
        rows = told.group_by(by).agg(lowest, least).iter_rows()
        return {row[: len(by)]: [*row[len(by) :]] for row in rows}

    def risk(one: Replicates) -> Floats:
        return _at_risk(one, area, *known()[one.histogram.group.row(0)])

    return [[one._replace(risk=risk) for one in models] for models in groups]


def _gaps(areas: pl.DataFrame, by: list[str]) -> dict[Any, list[float]]:
    """Return how far the certified bounds are below and above each area, by its group and prevalence.

    Those of the mean of several areas, such as of repeats, are the means of theirs.
    """
    below, above = pl.col("value") - pl.col("lower"), pl.col("upper") - pl.col("value")
    rows = areas.group_by(*by, "prevalence").agg(below.mean(), above.mean().alias("above")).iter_rows()
    # The value and a bound may both be infinite.
    return {row[:-2]: np.nan_to_num(np.array(row[-2:], np.float64), posinf=np.inf).tolist() for row in rows}


def _unknown(gaps: dict[Any, list[float]], one: Replicates) -> Floats:
    group = one.histogram.group.row(0)
    etas = one.cases["prevalence"].to_list()
    if len(etas) == 1 and (*group, etas[0]) not in gaps:
        # The observed prevalence is a quotient of sums of weights, which may be rounded in two ways.
        etas = [eta for *at, eta in gaps if tuple(at) == group]
    return np.array([gaps[*group, eta] for eta in etas]).T


def _at_risk(one: Replicates, area: Area, lowest: float, worth: float | None = None) -> Floats:
    """Return how much of each value unseen negatives may take; 0 at prevalences that the log supports.

    A kind of negatives that n independent negatives lack has a share of at most 3/n, with 95 % confidence. At
    worst, all of them have the highest score. With units, a negative counts as *worth* independent ones.
    """
    whole, etas = one.histogram, one.cases["prevalence"].to_list()
    unseen = np.zeros_like(whole.negatives)
    rows = whole.negatives.sum()
    independent = one.sizes[1] if worth is None else worth * rows
    most = _UNSEEN * rows / independent if independent else 0
    # Sums of weights may be below 1.
    unseen[0] = np.ceil(most) if np.issubdtype(unseen.dtype, np.integer) else most
    negatives = np.stack([whole.negatives, whole.negatives + unseen])
    value, worst = area.replicated(Logs(np.stack([whole.positives] * 2), negatives, whole), etas)
    supported = np.array([eta is None or eta >= lowest for eta in etas])
    return np.where(supported, 0.0, np.nan_to_num(np.maximum(value - worst, 0.0)))


def _areas(areas: Sequence[Area], etas: list[float], histogram: Histogram) -> Floats:
    log = Logs(histogram.positives[np.newaxis], histogram.negatives[np.newaxis], histogram)
    return np.concatenate([area.replicated(log, etas)[0] for area in areas])


def _evaluated(
    areas: Sequence[Area],
    etas: list[float],
    points: PointMetrics | WithinBudget | None,
    counts: Counted,
    drawn: Iterator[Sequence[Rows]],
) -> Replicates:
    """Return the values of a log and of its resampled logs, and the effect of one row more or less."""
    histogram = counts.histogram

    def values_of(positives: Rows, negatives: Rows) -> Floats:
        logs = Logs(positives, negatives, histogram)
        values = [area.replicated(logs, etas) for area in areas]
        return np.hstack(values if points is None else [*values, points.values(positives, negatives)])

    near = few_rows.one_row_apart(histogram, unseen=not areas, row=counts.heaviest)
    # The log itself and those one row apart are evaluated together with the first resampled logs.
    known = [np.concatenate([rows[None], apart]) for rows, apart in zip(histogram.classes, near, strict=True)]
    first = (np.concatenate(rows) for rows in zip(known, next(drawn), strict=True))
    values = np.concatenate([values_of(*first), *(values_of(*rows) for rows in drawn)])
    cases = [
        (None, area.name, area.method, None if math.isnan(eta) else eta, None)
        for area in areas
        for eta in (etas if area.depends_on_prevalence else [math.nan])
    ]
    table = pl.DataFrame(cases, schema=CASES, orient="row")
    if points is not None:
        table = pl.concat([table, points.cases])
        values[0, len(cases) :] = points.value
    ends = 1 + len(near[0])
    moved = np.stack([np.abs(part - values[0]).max(axis=0) for part in np.split(values[1:ends], 2)])
    return Replicates(histogram, table, values[0], values[ends:], moved, counts.sizes)


def _mean(each: list[Replicates], over: str) -> Replicates:
    """Return the means of defined values over groups, draw by draw.

    Raises
    ------
    ParameterError
        If the groups have different thresholds or prevalences.
    """
    first = each[0]
    if any(not one.cases.equals(first.cases) for one in each):
        msg = f"values of different thresholds or prevalences cannot be averaged over {over!r}"
        hint = "select one operating point of each model, and name the prevalence"
        raise ParameterError(msg, where=first.histogram.where, hint=hint)
    value, values = _nanmean([one.value for one in each]), _nanmean([one.values for one in each])
    # One unit more or less is one row more or less in each of them.
    moved, sizes = np.mean([one.moved for one in each], axis=0), np.min([one.sizes for one in each], axis=0)
    return first._replace(value=value, values=values, moved=moved, sizes=sizes.tolist())


def _nanmean(each: Sequence[Floats]) -> Floats:
    return np.asarray(np.nansum(each, axis=0) / (~np.isnan(each)).sum(axis=0))


def labelled_cases(
    groups: Sequence[Replicates], *columns: pl.Expr | pl.Series, **named: pl.Expr | pl.Series | str
) -> pl.DataFrame:
    """Return the cases of all groups with model, keys and more columns.

    A prevalence that differs between the groups is null.
    """
    cases = pl.concat(replicates.cases for replicates in groups).with_columns(*columns, **named)
    etas = np.array([replicates.cases["prevalence"].fill_null(np.nan).to_numpy() for replicates in groups])
    one_eta = pl.Series(np.tile((etas == etas[0]).all(axis=0), len(groups)))
    of_case = np.repeat(np.arange(len(groups)), [len(replicates.cases) for replicates in groups])
    heads = pl.concat(replicates.histogram.group for replicates in groups)[of_case]
    return heads.hstack(cases.with_columns(prevalence=pl.when(one_eta).then("prevalence")))
