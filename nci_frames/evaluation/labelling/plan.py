"""A budget and a goal -> ranges of scores, or kinds of decisions, and the number of labels of each.

Plans are compared by simulation. A value that depends on few positives is not linear in them: its linearised
variance may be half of the true one, and the best division of labels by that variance may be far from the
best. The interval of ``bootstrap`` is wider than the error, since it must hold even if a heavy row that was
not drawn is a positive.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.normal import normal_quantile
from nci_frames.base.threads import map_in_threads
from nci_frames.base.typing import Floats, Rows
from nci_frames.evaluation.labelling.goals import Cells, Logs, moves, values
from nci_frames.evaluation.labelling.positives import prudent
from nci_frames.evaluation.labelling.ranges import cut, joined, labels_of, spread_of
from nci_frames.evaluation.metrics import called_metric
from nci_frames.evaluation.resampling.bootstrap import bootstrap
from nci_frames.evaluation.resampling.point_metrics import unseen_shares
from nci_frames.schemas import LABEL_GAINS, LABEL_PLAN

#: Divisions to try, with Neyman's: powers of the effect of a positive and of the variance of a row; and the
#: least density of labels, relative to a uniform sample.
_DIVISIONS = tuple(itertools.product((1.0, 0.5, 0.0), (0.5, 0.75, 1.0), (0.05, 0.35)))
#: This number of samples gives the error to about 2 %. The fixed seed makes it reproducible.
_SAMPLES, _SEED = 2000, 0
#: Number of resampled logs; of simulated logs of random rows, and of resampled logs of each.
_RESAMPLED, _LOGS, _REPEATS = 1000, 40, 100
_NO_INTERVAL = "most such samples have no positive, or too few rows for the metric"
#: Parts of the expected positives that a plan is judged with: if their number is known; and if ranges of
#: scores tell it, where a pilot may find too many, but hardly too few.
CERTAIN: tuple[float, ...] = (1.0,)
DOUBTFUL = (1.0, 0.125)
#: Labels per positive that a plan in doubt is judged with at most.
_LABELS_EACH = 20

#: Cells, and the labels of each.
Sample = tuple[Cells, Rows]
#: Takes samples, a metric and beta; returns a number for each sample.
Measure = Callable[[Sequence[Sample], str | pl.Expr, float], list[float]]


class Goal(NamedTuple):
    """The metric to estimate, and the budget of labels."""

    metric: str | pl.Expr
    beta: float
    budget: int
    #: How many times the expected positives there may be.
    parts: tuple[float, ...] = CERTAIN

    def plan_of_scores(self, borders: Floats, rows: Floats, positive: Floats, threshold: float) -> "Plan":
        """Return the plan for rows between *borders* of scores, which begin with -inf and end with inf."""
        flagged = borders[None, :-1] >= threshold
        narrow = Cells(rows, prudent(rows, positive), flagged)
        if not rows[flagged[0]].any():
            msg = "no row reaches the threshold, so that there is nothing to label"
            raise ParameterError(msg, found=f"threshold {threshold:g}")
        weight = moves(narrow, self.metric, self.beta).positive
        found = []
        for division in _DIVISIONS:
            first = cut(narrow, spread_of(narrow, weight, division), self.budget)
            wide = joined(narrow, first)
            kept = wide.rows > 0
            cells = Cells(wide.rows[kept], wide.positive[kept], wide.flagged[:, kept])
            begins = np.append(-np.inf, borders[first][kept][1:])
            strata = pl.DataFrame({"score_lower": begins, "score_upper": np.append(begins[1:], np.inf)})
            found.append(self._plan(cells, strata, division))
        # The plan with the smallest error may have a wide interval, since it allows for unseen heavy rows.
        return self._best(found, simulated_errors, planned_half_widths)

    def plan_of_flags(self, models: dict[str, float], units: Floats, positive: Floats) -> "Plan":
        """Return the plan for units flagged by both, the first, the second or none of two models."""
        (model_a, threshold_a), (model_b, threshold_b) = models.items()
        if not units[1:3].any():
            msg = "the models decide alike about every unit, so that no label can tell them apart"
            raise ParameterError(msg, found=f"{model_a!r} and {model_b!r}", hint="choose other thresholds")
        flagged = np.array([[True, True, False, False], [True, False, True, False]])
        kept = units > 0
        cells = Cells(units[kept], prudent(units, positive)[kept], flagged[:, kept])
        names = pl.Series("flagged_by", ["both", model_a, model_b, "none"]).filter(pl.Series(kept))
        strata = pl.DataFrame({"flagged_by": names}).with_columns(
            score_lower=pl.lit(-np.inf), score_upper=pl.lit(np.inf), model_a=pl.lit(model_a),
            model_b=pl.lit(model_b), threshold_a=pl.lit(threshold_a), threshold_b=pl.lit(threshold_b),
        )  # fmt: skip
        return self._best([self._plan(cells, strata, division) for division in _DIVISIONS], simulated_errors)

    def _plan(self, cells: Cells, strata: pl.DataFrame, division: tuple[float, float, float]) -> "Plan":
        moved = moves(cells, self.metric, self.beta)
        labels = labels_of(cells, spread_of(cells, moved.positive, division), self.budget)
        return Plan(self, cells, moved.value, labels, strata)

    def _best(self, plans: list["Plan"], *measures: Measure) -> "Plan":
        """Return the plan with the smallest product of the measures."""
        # Many divisions give the same plan.
        plans = [*{(plan.cells.rows.tobytes(), plan.labels.tobytes()): plan for plan in plans}.values()]
        samples = [(plan.cells, plan.labels) for plan in plans]
        product = np.prod([self.judged(samples, measure) for measure in measures], axis=0)
        return plans[int(np.nan_to_num(product, nan=np.inf).argmin())]

    def judged(self, samples: Sequence[Sample], measure: Measure) -> Floats:
        """Return a measure of each sample: the geometric mean over the possible numbers of positives."""
        each = [self.possible(*sample) for sample in samples]
        found = measure([*itertools.chain(*each)], self.metric, self.beta)
        by_sample = np.reshape(found, (len(samples), -1))
        return np.asarray(by_sample.prod(axis=1) ** (1 / by_sample.shape[1]))

    def possible(self, cells: Cells, labels: Rows) -> list[Sample]:
        """Return the sample with each possible number of positives."""
        if self.parts == CERTAIN:
            return [(cells, labels)]
        least = labels.sum() / _LABELS_EACH / (cells.rows @ cells.positive)
        shares = [np.minimum(max(part, least) * cells.positive, 1.0) for part in self.parts]
        return [(cells._replace(positive=share), labels) for share in shares]


class Plan(NamedTuple):
    """Strata, and the number of labels of each."""

    goal: Goal
    cells: Cells
    #: Expected value of the metric.
    value: float
    labels: Rows
    #: Columns that describe the strata.
    strata: pl.DataFrame

    def error(self) -> float:
        """Return the root mean squared error of the metric, simulated: the largest that is possible."""
        samples = self.goal.possible(self.cells, self.labels)
        return max(simulated_errors(samples, self.goal.metric, self.goal.beta))

    def table(self) -> pl.DataFrame:
        """Return the plan as a frame."""
        rows = pl.Series("rows", self.cells.rows).cast(pl.Int64)
        counted = self.strata.with_columns(rows, pl.Series("labels", self.labels))
        return LABEL_PLAN.finish(counted.with_columns(share=pl.col("labels") / pl.col("rows")))

    def expected(self, twice: "Plan", level: float) -> pl.DataFrame:
        """Return the expected half-widths of this plan, a uniform sample, and a plan of twice the budget."""
        labels, more = int(self.labels.sum()), int(twice.labels.sum())
        halves = self._half_widths(twice, labels, level)
        designs = ("plan", "uniform", "plan of twice the budget")
        columns = {"design": designs, "labels": (labels, labels, more), "value": (self.value,) * 3}
        told = [None if half is not None else _NO_INTERVAL for half in halves]
        found = {**columns, "half_width": halves, "reason": told}
        return LABEL_GAINS.finish(pl.DataFrame(found, schema=LABEL_GAINS.dtypes()))

    def _half_widths(self, twice: "Plan", labels: int, level: float) -> list[float | None]:
        metric, beta = self.goal.metric, self.goal.beta
        if "flagged_by" in self.strata.columns:
            possible = self.goal.possible(self.cells, self.labels)
            at_random = max(uniform_error(cells, labels, metric, beta) for cells, _ in possible)
            return [normal_quantile(level) * error for error in (self.error(), at_random, twice.error())]
        samples = [(plan.cells, plan.labels) for plan in (self, twice)]
        planned = planned_half_widths(samples, metric, beta, level)
        uniform = uniform_half_width(self.cells, labels, metric, beta, level)
        if uniform is not None and called_metric(metric).metric.linear_in_prevalence:
            # ``bootstrap`` holds the prevalence of random rows fixed, but that of the traffic is not known.
            uniform = max(uniform, normal_quantile(level) * uniform_error(self.cells, labels, metric, beta))
        return [planned[0], uniform, planned[1]]


def simulated_errors(samples: Sequence[Sample], metric: str | pl.Expr, beta: float) -> list[float]:
    """Return the root mean squared error of the value of each sample."""

    def sampled(cells: Cells, labels: Rows) -> Logs:
        rng = np.random.default_rng(_SEED)
        found = rng.binomial(labels, cells.positive, (_SAMPLES, len(labels))) * (cells.rows / labels)
        return Logs(cells, found, cells.rows)

    return _errors(_drawn(sampled, samples), metric, beta)


def uniform_error(cells: Cells, labels: int, metric: str | pl.Expr, beta: float) -> float:
    """Return the root mean squared error of the value with labels of a uniform sample."""
    rng = np.random.default_rng(_SEED)
    every = cells.rows.sum()
    rows = rng.multinomial(labels, cells.rows / every, _SAMPLES)
    found = rng.binomial(rows, cells.positive)
    return _errors([Logs(cells, found * (every / labels), rows * (every / labels))], metric, beta)[0]


def _drawn(draw: Callable[[Cells, Rows], Logs], samples: Sequence[Sample]) -> list[Logs]:
    """Draw the logs of each sample."""
    return [*map_in_threads(draw, *zip(*samples, strict=True))]


def _errors(logs: Sequence[Logs], metric: str | pl.Expr, beta: float) -> list[float]:
    every = [some.cells for some in logs]
    expected = [Logs(cells, (cells.rows * cells.positive)[None], cells.rows) for cells in every]
    both = zip(values(logs, metric, beta), values(expected, metric, beta), strict=True)
    return [float(np.sqrt(np.nanmean((found - truth) ** 2))) for found, truth in both]


def planned_half_widths(
    samples: Sequence[Sample], metric: str | pl.Expr, beta: float, level: float = 0.95
) -> list[float]:
    """Return the half-width with these labels of each range, if the positives are as expected."""
    resampled = values(_drawn(_resampled, samples), metric, beta)
    ends = [np.nanquantile(some, [(1 - level) / 2, (1 + level) / 2]) for some in resampled]
    return [float(upper - lower) / 2 for lower, upper in ends]


def _resampled(cells: Cells, labels: Rows) -> Logs:
    """Resample a log as strata are (``draws``, ``with_unseen_rows``), at one threshold."""
    rng, size = np.random.default_rng(_SEED), (_RESAMPLED, len(labels))
    found = rng.standard_gamma(labels * cells.positive, size=size)
    rest = rng.standard_gamma(labels * (1 - cells.positive), size=size)
    weight = cells.rows / labels
    # How many rows of the traffic a range stands for is chance.
    traffic = cells.rows / weight.min()
    rows = cells.rows * rng.standard_gamma(traffic, size=size) / traffic
    found *= rows / (found + rest)
    for flagged in (True, False):
        heaviest = np.where(cells.flagged[0] == flagged, weight, 0.0).argmax()
        more = weight[heaviest] * unseen_shares(rng, (2, _RESAMPLED))
        found[:, heaviest] += more[0]
        rows[:, heaviest] += more.sum(axis=0)
    return Logs(cells, found, rows)


def uniform_half_width(
    cells: Cells, labels: int, metric: str | pl.Expr, beta: float, level: float
) -> float | None:
    """Return the median half-width with labels of random rows; None if most logs have no interval."""
    rng, flagged = np.random.default_rng(_SEED), cells.flagged[0]
    drawn = rng.multinomial(labels, cells.rows / cells.rows.sum(), _LOGS)
    found = rng.binomial(drawn, cells.positive)
    classes = found, drawn - found
    tp, fp = (rows[:, flagged].sum(axis=1) for rows in classes)
    fn, tn = (rows[:, ~flagged].sum(axis=1) for rows in classes)
    counts = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    logs = pl.DataFrame({"model": np.arange(_LOGS).astype(str), "threshold": np.zeros(_LOGS), **counts})
    told = bootstrap(logs, metric=metric, beta=(beta,), repeats=_REPEATS, level=level)
    width: float = told.select((pl.col("upper") - pl.col("lower")).fill_null(np.inf).median()).item()
    return width / 2 if np.isfinite(width) else None
