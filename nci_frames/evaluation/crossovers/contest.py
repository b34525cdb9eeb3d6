"""A contest: the comparison of operating points by a metric along an axis, prevalence or beta."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from nci_frames.base.arguments import beta_values, prevalence_values
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import listed, named_values
from nci_frames.base.typing import Betas, Floats, Over, Places, Prevalences
from nci_frames.evaluation.metrics import CalledMetric, better_sign, called_metric, rounding
from nci_frames.evaluation.projection.grids import require_columns
from nci_frames.schemas import RATES, rows_of_runs

_VALUES_AT_A_TIME = 1 << 22

#: Largest number of pairs of models; more would take many minutes.
_MOST_PAIRS = 1_000_000

#: Places of each axis at which points differ that differ anywhere.
_PLACES = {"prevalence": (1e-9, 0.5, 1 - 1e-9), "beta": (1e-3, 1.0, 1e3)}


class Points(NamedTuple):
    """The operating points of one comparison that have both rates, by model and threshold."""

    keys: pl.DataFrame  # one row
    frame: pl.DataFrame
    tpr: Floats
    fpr: Floats

    @classmethod
    def of_each(cls, frame: pl.DataFrame) -> Iterator[Self]:
        """Yield the points for each value of the keys (without the model)."""
        keys = RATES.keys(frame.columns)
        ordered = frame.sort(*keys, "model", "threshold", maintain_order=True)
        for part in ordered.partition_by(keys, maintain_order=True) if keys else [ordered]:
            defined = part.filter(pl.col("tpr").is_not_null() & pl.col("fpr").is_not_null())
            if len(defined):
                rates = (defined[rate].cast(pl.Float64).to_numpy() for rate in ("tpr", "fpr"))
                yield cls(part[:1].select(keys), defined, *rates)

    @property
    def observed(self) -> float:
        """The observed prevalence, which must be that of all models."""
        observed = self.frame["observed_prevalence"].unique()
        if len(observed) > 1:
            msg, hint = "the models have different observed prevalences", "pass prevalence= as a number"
            where = named_values(self.keys.row(0, named=True)) if self.keys.width else None
            found = f"prevalences {listed(f'{eta:.6g}' for eta in observed.sort())}"
            raise ParameterError(msg, where=where, found=found, hint=hint)
        return float(observed.item())


def repeated_keys(table: pl.DataFrame, keys: pl.DataFrame) -> pl.DataFrame:
    """Return *table* with the keys (one row) repeated in each row."""
    return table.hstack(keys[np.zeros(len(table), np.intp)]) if keys.width else table


def check_axis(over: Over, prevalence: Prevalences) -> None:
    """Raise ParameterError if a prevalence is given although the axis is the prevalence."""
    if over == "prevalence" and prevalence_values(prevalence) is not None:
        msg = "prevalence cannot be fixed with over='prevalence'"
        raise ParameterError(msg, found=repr(prevalence), hint="omit it, or use over='beta'")


class Contest(NamedTuple):
    """A metric of points along one axis, with the other axis fixed."""

    points: Points
    metric: CalledMetric
    over: Over
    #: The fixed value of the other axis; None if the metric does not depend on it.
    prevalence: float | None
    beta: float | None

    @classmethod
    def of_each(
        cls, points: Points, metric: str | pl.Expr, over: Over, prevalence: Prevalences, beta: Betas
    ) -> list[Self]:
        """Return a contest for every value of the fixed axis.

        Raises
        ------
        ParameterError
            If the metric cannot be ranked, does not depend on *over*, or an option is out of range.
        UnknownMetricError
            If the metric is unknown.
        """
        called = called_metric(metric)
        better_sign(called.metric)
        reads = called.meta.root_names()
        if over == "beta" and "beta" not in reads:
            msg = f"the metric {called.label!r} does not depend on beta"
            hint = "omit beta from the call" if called.beta is not None else "use over='prevalence'"
            raise ParameterError(msg, found="over='beta'", hint=hint)
        require_columns(called, ("tpr", "fpr", "prevalence", "beta"), "the points that compete")
        if over == "prevalence" and called.prevalence is not None:
            msg = f"the metric {called.label!r} was called with a prevalence, so nothing changes over it"
            raise ParameterError(msg, hint="omit the prevalence from the call")
        several = "beta" in reads and over == "prevalence"
        betas: Sequence[float | None] = beta_values(beta) if several else [called.beta]
        etas: Sequence[float | None] = [None]
        if over == "beta":
            given = prevalence_values(prevalence)
            etas = [points.observed] if given is None else given
        return [cls(points, called, over, eta, b) for eta in etas for b in betas]

    @property
    def name(self) -> str:
        """Name of the metric, without settings."""
        return self.metric.metric.name

    @property
    def sign(self) -> int:
        """1 if higher is better, -1 if lower is."""
        return better_sign(self.metric.metric)

    @property
    def fixed(self) -> pl.Expr:
        """The fixed axis, as a column."""
        name = "beta" if self.over == "prevalence" else "prevalence"
        return pl.lit(self.beta if name == "beta" else self.prevalence, pl.Float64).alias(name)

    @property
    def has_lines(self) -> bool:
        """Whether points are ordered by lines: F-beta, and metrics that are linear along the axis."""
        linear = self.metric.metric.linear_in_prevalence and self.over == "prevalence"
        return linear or self.name == "f_beta"

    @property
    def constant(self) -> bool:
        """Whether the order of points is the same all along the axis."""
        # Precision orders points by TPR/FPR and NPV by (1-FPR)/(1-TPR), at any prevalence; F-beta is
        # precision at beta = 0 and recall at infinity.
        return (
            self.over not in self.metric.meta.root_names()
            or self.name in ("precision", "npv")
            or (self.name == "f_beta" and self.over == "prevalence" and self.beta in (0.0, np.inf))
            or (self.over == "beta" and self.prevalence in (0.0, 1.0))
        )

    @property
    def inside(self) -> float:
        """A value inside the axis."""
        return 0.5 if self.over == "prevalence" else 1.0

    def values(self, points: pl.DataFrame, x: Floats) -> Floats:
        """Return the value of each row of *points* (tpr, fpr) at the corresponding x; NaN for null."""
        return self.metric.evaluated(points.select("tpr", "fpr", pl.Series(self.over, x), self.fixed))

    def best_of(self, first: Places, size: Places, x: Floats) -> tuple[Floats, Places]:
        """Return the best value among the rows of each x, and its row.

        The rows of an x are *size* consecutive rows from *first* on. Values are signed so that higher is
        better.
        """
        value, row = np.empty(len(x)), np.empty(len(x), np.intp)
        for some in np.split(
            np.arange(len(x)), np.flatnonzero(np.diff(np.cumsum(size) // _VALUES_AT_A_TIME)) + 1
        ):
            start = np.cumsum(size[some]) - size[some]
            mine = rows_of_runs(first[some], size[some])
            rates = self.points.frame.select("tpr", "fpr")[mine]
            values = self.sign * self.values(rates, np.repeat(x[some], size[some]))
            values = np.where(np.isnan(values), -np.inf, values)
            value[some] = np.maximum.reduceat(values, start) if len(start) else start
            # Of equal values, take the first row.
            has = np.flatnonzero(values == np.repeat(value[some], size[some]))
            row[some] = mine[has[np.searchsorted(has, start)]]
        return np.where(np.isneginf(value), np.nan, value), row

    def best(self, rows: Places, x: Floats) -> tuple[Floats, Places]:
        """Return the best value among consecutive rows at each x, and its row; see ``best_of``.

        The value is NaN if all are undefined; of equal values the first row is returned.
        """
        return self.best_of(np.full(len(x), rows[0]), np.full(len(x), len(rows)), x)

    def tied(self, rows: Places) -> pl.Series:
        """Return, for the best row of each range, all models that are equally good everywhere in it.

        If the order of points changes along the axis, those are equal whose values are the same at each of
        three places: they have the same rates, or the metric does not tell their rates apart, as F-beta does
        not where no positive is found. Otherwise a single x decides.
        """
        frame, on = self.points.frame, list[str]()
        if not self.constant:
            same = frame.select("model", "tpr", "fpr")
            best = same[rows]
            for x in _PLACES[self.over]:
                on.append(f"at {x}")
                best, same = (
                    points.with_columns(pl.Series(on[-1], self.values(points, np.full(len(points), x))))
                    for points in (best, same)
                )
                # Few points are left, so that the other places take hardly any time.
                same = same.join(best, on=on, how="semi")
            names = same.group_by(on).agg(tied=pl.col("model").unique().sort())
            return best.join(names, on=on, how="left", maintain_order="left")["tied"]
        value = self.values(frame, np.full(len(frame), self.inside))
        best = value[rows[0]]
        # Infinite values are equal, though their difference is NaN.
        equal = (value == best) | (np.abs(value - best) <= rounding(self.metric.metric, best))
        return pl.Series([frame.filter(equal)["model"].unique().sort()] * len(rows), dtype=pl.List(pl.String))


def check_pairs(models: int) -> None:
    """Raise ParameterError if there are too many models to compare all pairs."""
    pairs = models * (models - 1) // 2
    if pairs > _MOST_PAIRS:
        msg = f"find_crossovers compares at most {_MOST_PAIRS:,} pairs of models"
        hint = "take fewer models, or winner_ranges, which compares each model with the best one only"
        raise ParameterError(msg, found=f"{models:,} models, which are {pairs:,} pairs", hint=hint)
