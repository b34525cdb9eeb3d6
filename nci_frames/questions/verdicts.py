"""Rankings -> plain answers: which model is best where, by how much, and whether the order changes.

Everything is read from the ranks and gaps of a ranking frame; nothing is recomputed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from nci_frames.base.arguments import LEAST_BUCKETS
from nci_frames.base.messages import quantity
from nci_frames.questions.known_order import known_order, some_models

__all__ = [
    "Lead",
    "Order",
    "Overtaking",
    "Verdict",
    "name_best",
    "read_assumption",
    "read_independence",
    "read_leads",
    "read_order",
    "read_verdict",
]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The best model at one prevalence; more than one name is a tie."""

    best: tuple[str, ...]
    value: float | None
    second: tuple[str, ...]
    #: Distance from the best to the second; None if there is no second.
    gap: float | None
    #: Models without a rank, because their value is undefined.
    unranked: tuple[str, ...]
    #: The threshold of the best model; None for an area, or if tied models have different thresholds.
    threshold: float | None = None
    #: The value on the rows that the threshold was chosen on; None if *value* is that, or is an area.
    optimistic: float | None = None
    #: Bounds of the value; None if unknown.
    bounds: tuple[float, float] | None = None
    #: Share of resampled logs in which one of *best* is the best; None if there are no resampled logs.
    probability: float | None = None
    #: Other models that are not distinguishable from the best, so they may be the best; the highest first.
    not_distinguishable: tuple[str, ...] = ()
    #: Other models that are significantly worse than the best, the highest first.
    distinguishable: tuple[str, ...] = ()
    #: Other models of which the log has too few rows to say either, the highest first.
    untold: tuple[str, ...] = ()
    #: Whether a best model has no false positives at all. No resampled log has any either, so the bounds are
    #: valid but the probability is too optimistic.
    no_false_positives: bool = False
    #: Why the log cannot tell the value of the best; None if it can.
    reason: str | None = None

    @property
    def doubt(self) -> str | None:
        """Why the log cannot tell the value of the best, and what it tells of the order; None if it can.

        >>> verdict = Verdict(("a",), 0.9, ("b",), 0.2, (), distinguishable=("b",), reason="it has no value")
        >>> verdict.doubt
        'it has no value; it can tell the order: a is significantly better than the other model'
        """
        if self.reason is None:
            return None
        order = known_order(
            self.best, worse=self.distinguishable, equal=self.not_distinguishable, untold=self.untold
        )
        return f"{self.reason}; {order}"


@dataclass(frozen=True, slots=True)
class Lead:
    """A range of prevalence or beta over which the same models are best; none where the log cannot tell."""

    models: tuple[str, ...]
    start: float
    end: float
    #: Where the start lies in 95 % of the resampled logs; None if unknown, or if it is that of the grid.
    start_bounds: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Overtaking:
    """Two models that change places between two values of the grid."""

    winner: str
    loser: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Order:
    """The order of the models over the whole grid."""

    leads: tuple[Lead, ...]
    overtakings: tuple[Overtaking, ...]
    #: Whether the borders of the leads are exact; otherwise a lead ends somewhere before the next start.
    exact: bool = False

    @property
    def known(self) -> tuple[Lead, ...]:
        """The leads that the log supports."""
        return tuple(lead for lead in self.leads if lead.models)

    @property
    def unknown(self) -> tuple[Lead, ...]:
        """The ranges over which the log cannot tell who leads."""
        return tuple(lead for lead in self.leads if not lead.models)


def read_verdict(
    ranking: pl.DataFrame, /, *, certainty: pl.DataFrame | None = None, contenders: pl.DataFrame | None = None
) -> Verdict:
    """Read which model is best from the rows of one metric at one prevalence and beta.

    Parameters
    ----------
    ranking
        The rows of a ranking frame. The column ``fp``, if present, shows which models have no false
        positives.
    certainty
        The rows of ``probability_best`` for the same metric, prevalence and beta.
    contenders
        The rows of ``compare_best`` for the same metric, prevalence and beta.

    Examples
    --------
    >>> ranking = pl.DataFrame({"model": ["a", "b"], "value": [0.7, 0.9], "rank": [2, 1], "gap": [0.2, 0.0]})
    >>> read_verdict(ranking).best, read_verdict(ranking).gap
    (('b',), 0.2)
    """
    ranked = ranking.filter(pl.col("rank").is_not_null()).sort("rank", "model")
    first = ranked.filter(pl.col("rank") == 1)
    rest = ranked.filter(pl.col("rank") > 1)
    second = rest.filter(pl.col("rank") == pl.col("rank").min())
    thresholds = first["threshold"].unique().to_list() if "threshold" in first.columns else []
    bounds = first.select("lower", "upper").head(1).rows() if "lower" in first.columns else []
    best = tuple(first["model"])
    sure = None if certainty is None else certainty.filter(pl.col("probability").is_not_null())
    leading = pl.col("model").is_in(best)
    others = None if contenders is None else _best_first(contenders.filter(~leading), ranked["model"])
    reason = _reason(first)
    if reason is not None:
        # Resampled logs lack the same negatives as the log itself.
        sure = None
    return Verdict(
        best=best,
        value=None if first.is_empty() else first["value"][0],
        second=tuple(second["model"]),
        gap=None if second.is_empty() else second["gap"][0],
        unranked=tuple(ranking.filter(pl.col("rank").is_null())["model"].sort()),
        threshold=thresholds[0] if len(thresholds) == 1 else None,
        optimistic=first["optimistic"][0] if "optimistic" in first.columns and len(first) else None,
        bounds=next((pair for pair in bounds if None not in pair and pair[0] < pair[1]), None),
        probability=None
        if sure is None or sure.is_empty() or not best
        else float(sure.filter(leading)["probability"].sum()),
        reason=reason,
        no_false_positives="fp" in first.columns and bool((first["fp"] == 0).any()),
        not_distinguishable=_others(others, ~pl.col("distinguishable")),
        distinguishable=_others(others, pl.col("distinguishable")),
        untold=_others(others, pl.col("distinguishable").is_null() & pl.col("value").is_not_null()),
    )


def _reason(first: pl.DataFrame) -> str | None:
    """Return why the log supports none of the best values."""
    if "supported" not in first.columns or first.is_empty() or first["supported"].any():
        return None
    reason = first["reason"].drop_nulls().first()
    return None if reason is None else str(reason)


def _best_first(contenders: pl.DataFrame, ranked: pl.Series) -> pl.DataFrame:
    """Return the rows in the order of the ranking; those that have no rank come last."""
    place = pl.DataFrame({"model": ranked, "__place": range(len(ranked))})
    joined = contenders.join(place, on="model", how="left", nulls_equal=True)
    return joined.sort("__place", "model", nulls_last=True)


def _others(contenders: pl.DataFrame | None, which: pl.Expr) -> tuple[str, ...]:
    return () if contenders is None else tuple(contenders.filter(which)["model"])


def name_best(verdict: Verdict, most: int = 3) -> str:
    """Name the best model and all that are not distinguishable from it.

    >>> name_best(Verdict(("mlp",), 0.9, (), None, (), not_distinguishable=("gbm", "rf")))
    'mlp; not distinguishable from it: gbm, rf'
    """
    if not verdict.best:
        return "no model has a defined value"
    if verdict.doubt is not None:
        return verdict.doubt
    words = [some_models(verdict.best, most) + (" (a tie)" if len(verdict.best) > 1 else "")]
    if verdict.not_distinguishable:
        words.append(f"not distinguishable from it: {some_models(verdict.not_distinguishable, most)}")
    if verdict.untold:
        words.append(f"too few rows to tell: {some_models(verdict.untold, most)}")
    return "; ".join(words)


def read_leads(winners: pl.DataFrame, /, *, low: float, high: float) -> tuple[Lead, ...]:
    """Read from winner ranges over prevalence the exact ranges in which each model leads.

    >>> winners = pl.DataFrame({
    ...     "start": [0.0, 0.01, 0.2], "end": [0.01, 0.2, 1.0], "model": ["a", "b", "b"],
    ... })
    >>> read_leads(winners, low=0.001, high=0.5)
    (Lead(models=('a',), start=0.001, end=0.01, start_bounds=None),
    Lead(models=('b',), start=0.01, end=0.5, start_bounds=None))
    """
    leads: list[Lead] = []
    optional = {"supported": pl.lit(value=True), "lower": pl.lit(None), "upper": pl.lit(None)}
    more = [pl.col(name) if name in winners.columns else none.alias(name) for name, none in optional.items()]
    ranges = winners.sort("start").select("start", "end", "model", *more)
    for start, end, model, supported, lower, upper in ranges.iter_rows():
        if end < low or start > high or (start == end and low < high):
            continue
        models = (model,) if supported else ()
        if leads and leads[-1].models == models:
            leads[-1] = replace(leads[-1], end=min(end, high))
            continue
        # The border of a range that begins before the lowest prevalence is not shown.
        known = supported and lower is not None and start > low
        leads.append(Lead(models, max(start, low), min(end, high), (lower, upper) if known else None))
    return tuple(lead for lead in leads if lead.start < lead.end or low == high)


def read_order(ranking: pl.DataFrame, /, *, over: str = "prevalence") -> Order:
    """Read from the rows of one metric where the best model and the order of models change.

    A tie at one value of the grid is not a change: two models change places if one is ahead before it and the
    other after it.

    >>> ranking = pl.DataFrame({
    ...     "model": ["a", "b", "a", "b"], "prevalence": [0.01, 0.01, 0.1, 0.1], "rank": [1, 2, 2, 1],
    ... })
    >>> read_order(ranking).overtakings
    (Overtaking(winner='b', loser='a', before=0.01, after=0.1),)
    """
    told = pl.col("supported") if "supported" in ranking.columns else pl.lit(value=True)
    table = ranking.select("model", over, "rank", told.alias("supported")).drop_nulls(["model", over, "rank"])
    columns = [
        (at[0], dict(rows.filter("supported").select("model", "rank").iter_rows()))
        for at, rows in _by_value(table.sort(over, "rank", "model"), over)
    ]
    return Order(_leads(columns), _overtakings(columns))


def _by_value(table: pl.DataFrame, over: str) -> list[tuple[tuple[float, ...], pl.DataFrame]]:
    return list(table.partition_by(over, as_dict=True, maintain_order=True).items())


def _leads(columns: Sequence[tuple[float, dict[str, int]]]) -> tuple[Lead, ...]:
    leads: list[Lead] = []
    for at, ranks in columns:
        best = tuple(sorted(model for model, rank in ranks.items() if rank == 1))
        start = leads.pop().start if leads and leads[-1].models == best else at
        leads.append(Lead(best, start, at))
    return tuple(leads)


def _overtakings(columns: Sequence[tuple[float, dict[str, int]]]) -> tuple[Overtaking, ...]:
    """Follow each pair from left to right, and note where its order reverses the last order without a tie."""
    last: dict[tuple[str, str], tuple[bool, float]] = {}
    found: list[Overtaking] = []
    for at, ranks in columns:
        models = sorted(ranks)
        for i, a in enumerate(models):
            for b in models[i + 1 :]:
                if ranks[a] == ranks[b]:
                    continue
                a_leads = ranks[a] < ranks[b]
                before = last.get((a, b))
                if before is not None and before[0] != a_leads:
                    found.append(Overtaking(*((a, b) if a_leads else (b, a)), before[1], at))
                last[a, b] = (a_leads, at)
    return tuple(found)


def read_independence(
    buckets: int | None,
    *,
    weighted: bool = False,
    repeats: int | None = None,
    unit_rows: int | None = None,
) -> str:
    """Return sentences on what intervals and tests draw, rows or whole units, and what repeats are.

    Parameters
    ----------
    buckets
        How many buckets of units there are; None where rows are taken as independent.
    weighted
        Whether the counts are sums of weights, which have neither intervals nor tests.
    repeats
        How many repeats of a cross-validation there are; None where the log has none.
    unit_rows
        How many rows every unit has under every model; None where they differ, or have one each.

    Examples
    --------
    >>> read_independence(256)
    'All rows of a unit are kept together: intervals and tests draw 256 buckets of units.'
    """
    drawn = _drawn(buckets, weighted=weighted)
    if repeats is not None:
        if buckets is None and not weighted:
            drawn = "No unit was named, so intervals are those of one repeat, and there are no tests."
        return (
            f"Rows are scored in {repeats:,} repeats: areas and own best thresholds are taken within each "
            f"repeat and averaged. {drawn}"
        )
    if unit_rows is not None:
        return (
            f"Every unit has {unit_rows:,} rows of each model, as in a repeated cross-validation: n is the "
            "number of units, not of rows. The scores of all its rows are pooled, since no column of repeats "
            f"was named (--repeat). {drawn}"
        )
    return drawn


def _drawn(buckets: int | None, *, weighted: bool) -> str:
    if weighted:
        return "The rows have weights, so there are no intervals and tests."
    if buckets is None:
        return (
            "No unit was named, so rows are taken as independent. If a user, host or patient has several "
            "rows, intervals are too narrow and tests find too much."
        )
    if buckets < LEAST_BUCKETS:
        there = f"There {'is' if buckets == 1 else 'are'} {quantity(buckets, 'bucket')} of units."
        return (
            f"{there} Intervals and tests need {LEAST_BUCKETS}, so there are none, and"
            " each own best threshold is judged on the rows that it was chosen on."
        )
    return f"All rows of a unit are kept together: intervals and tests draw {buckets:,} buckets of units."


def read_assumption(shifts: pl.DataFrame | None) -> str:
    """Return a sentence on whether the tests support the assumption behind every projected number."""
    same = "each class has the same score distribution in all segments"
    if shifts is None:
        return f"Projection assumes that {same}; this was not tested, since there are no segments."
    tested = shifts.filter(pl.col("distinguishable").is_not_null())
    if tested.is_empty():
        return f"Projection assumes that {same}; this was not tested, since the segments have too few rows."
    differing = tested.filter("distinguishable")
    if differing.is_empty():
        # A test that finds nothing is no proof that there is nothing.
        return f"No test speaks against projection: none of {len(tested):,} rejects that {same}."
    reject = f"of {quantity(len(tested), 'test')} {'rejects' if len(differing) == 1 else 'reject'}"
    size = f"the largest distance is {max(differing['effect'].to_list()):.2g}"
    return f"Projection is in doubt: {len(differing):,} {reject} that {same}; {size}."
