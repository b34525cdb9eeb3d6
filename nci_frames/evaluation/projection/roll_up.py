"""Segments -> one value: macro, micro and weighted averages."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import polars.selectors as cs

from nci_frames.base.arguments import check_allowed, name_list
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Betas, Field, Frame, Metrics, Names, Prevalences
from nci_frames.counts.pooling import add_cells
from nci_frames.evaluation.field.prevalences import field_of, is_field, numbers_of
from nci_frames.evaluation.projection.projection import project_checked
from nci_frames.evaluation.rates.quotients import rates_of
from nci_frames.evaluation.support.rule import where_defined
from nci_frames.schemas import RATES, ROLL_UP, beside, checked, collect, need_each_once


@checked
def roll_up(
    rates: Frame,
    /,
    *,
    over: Names,
    metrics: Metrics,
    prevalence: Prevalences | Field = "observed",
    beta: Betas = (1.0,),
) -> pl.DataFrame:
    """Summarise metrics over segments: macro, micro and weighted averages side by side.

    Parameters
    ----------
    rates
        A rates frame. All segments need the same thresholds, or one operating point each.
    over
        Key or keys whose values are the segments.
    metrics
        As in ``project_rates``.
    prevalence
        P(y=1), each in [0, 1], common to all segments; or "observed": each segment's own, and that of the
        pooled counts for "micro"; or a prevalence per segment, as in ``project_rates``, optionally with a
        column ``share``: the rows of the segment in the traffic, in any unit.
    beta
        As in ``project_rates``.

    Returns
    -------
    A row per operating point, metric, average, prevalence and beta, sorted by all columns left of ``value``:

    %(columns of roll-up)s

    Keys are those of *rates*, without *over*. "macro" is the mean over the segments, "weighted" the mean
    weighted by positives, "micro" the metric of the summed counts, or of the traffic. The value is null if it
    is undefined in every segment, the shares are unknown, or there are no positives to weight by.

    Raises
    ------
    ParameterError
        If the segments have different thresholds, or a point was selected several times; if a segment has no
        prevalence or several; or as in
        ``project_rates``.
    SchemaError
        If *rates* is not a rates frame, or lacks a key of *over*.

    Notes
    -----
    With a prevalence per segment and shares w, "micro" is the metric of the traffic, which has the prevalence
    Σw·eta, the TPR Σw·eta·TPR/Σw·eta and the FPR Σw·(1-eta)·FPR/Σw·(1-eta); "weighted" has the weights w·eta.
    Without shares both are null.

    "weighted" is defined as in scikit-learn: each segment is weighted by its positives, so weighted recall
    equals micro recall. At a common prevalence, macro averages do not depend on the class balances of the
    segments.

    Examples
    --------
    Recall is 0.9 in a segment with 100 positives and 0.5 in one with 10.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "a"], "country": ["at", "de"], "threshold": [0.5, 0.5],
    ...     "tp": [90, 5], "fp": [10, 10], "fn": [10, 5], "tn": [90, 90],
    ... })
    >>> averages = nf.roll_up(nf.compute_rates(counts), over="country", metrics="recall")
    >>> averages.select("average", pl.col("value").round(4)).rows()
    [('macro', 0.7), ('micro', 0.8636), ('weighted', 0.8636)]
    """
    own = numbers_of(prevalence) is None
    frame = collect(rates, RATES)
    segments = name_list(over)
    check_allowed(segments, "over", segments, "at least one key")
    keys = RATES.need_keys(frame, segments, "over")
    groups = ["model", *(key for key in keys if key not in segments)]
    need_points_once(frame, keys)
    same = shared_threshold(frame, keys)
    _require_equal_thresholds(frame, groups, segments, same)
    at: Any = "selected" if is_field(prevalence) else prevalence
    positives = pl.col("positives").cast(pl.Float64)
    if is_field(prevalence):
        field = field_of(prevalence, frame, keys)
        # Without shares the mix of the traffic is unknown.
        known = field if "share" in field.columns else field.with_columns(share=pl.lit(None, pl.Float64))
        on = [name for name in field.columns if name not in ("prevalence", "share")]
        frame = beside(frame.drop("prevalence", strict=False), known, on)
        positives = pl.col("share") * pl.col("prevalence")

    def project(of: pl.DataFrame) -> pl.DataFrame:
        return project_checked(of, metrics=metrics, prevalence=at, beta=beta)

    point, member = [*groups, "threshold"], ["model", *keys, "threshold"]
    weights = frame.select(*member, __weight=positives)
    each = project(frame.drop("share", strict=False)).join(weights, on=member, nulls_equal=True)
    grid = [*groups, *same, "metric", "beta", *([] if own else ["prevalence"])]
    means = _means(each.sort(member), grid)
    both = ["macro", "weighted"]
    averaged = means.unpivot(both, index=cs.exclude(both), variable_name="average", value_name="value")
    by, common = [*groups, *same], [] if same else [_common("threshold")]
    if is_field(prevalence):
        pooled = _mixed_rates(frame, by, common)
    else:
        counted = pl.col("tp").count().cast(pl.Int64), pl.col("tp").null_count().cast(pl.Int64)
        sizes = (size.alias(name) for size, name in zip(counted, ("segments", "skipped"), strict=True))
        pooled = rates_of(add_cells(frame, by, *common, *sizes, *_worth(frame)))
    whole = project(pooled.drop("segments", "skipped")).with_columns(average=pl.lit("micro"))
    if is_field(prevalence):
        on, told = [*groups, *same, "metric", "beta"], ["supported", "reason"]
        whole = beside(whole.drop(told), means.select(*on, *told), on)
    micro = whole.join(pooled.select(*point, "segments", "skipped"), on=point, nulls_equal=True)
    table = ROLL_UP.joined([averaged, micro], frame.select(groups))
    flags = where_defined({name: pl.col(name) for name in ("supported", "reason")}, pl.col("value"))
    return table.with_columns(**flags).sort(*point, "metric", "average", "prevalence", "beta")


def need_points_once(frame: pl.DataFrame, keys: Sequence[str]) -> None:
    """Raise ParameterError if an operating point was selected several times."""
    hint = "keep one row of each; of points selected for several prevalences, those of one"
    need_each_once(frame, ["model", *keys, "threshold"], "an operating point stands in several rows", hint)


def shared_threshold(frame: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """Return ["threshold"] if segments must be matched by threshold; [] if each has one operating point."""
    several = frame.select(pl.struct("model", *keys).is_duplicated().any()).item()
    return ["threshold"] if several else []


def _means(each: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Average the values of segments: unweighted as ``macro``, and by ``__weight`` as ``weighted``."""
    value = pl.col("value")
    weight = pl.col("__weight").filter(value.is_not_null())
    weighted = (value * pl.col("__weight")).sum() / weight.sum()
    return each.group_by(by, maintain_order=True).agg(
        *(_common(name) for name in ("threshold", "prevalence") if name not in by),
        value.mean().alias("macro"),
        pl.when(weight.sum() > 0).then(weighted).alias("weighted"),
        segments=value.count().cast(pl.Int64),
        skipped=value.null_count().cast(pl.Int64),
        supported=pl.col("supported").all(ignore_nulls=False),
        reason=pl.col("reason").drop_nulls().first(),
    )


def _worth(rates: pl.DataFrame) -> list[pl.Expr]:
    """Return the effective number of negatives of all segments together, if it is known of each (Kish)."""
    if "effective_negatives" not in rates.columns:
        return []
    rows = pl.col("negatives")
    squares = (rows**2 / pl.col("effective_negatives")).sort().sum()
    return [pl.when(squares > 0).then(rows.sum() ** 2 / squares).alias("effective_negatives")]


def _common(name: str) -> pl.Expr:
    """Return the value that all rows of a group share, or null."""
    return pl.when(pl.col(name).n_unique() == 1).then(pl.col(name).first()).alias(name)


def _require_equal_thresholds(
    frame: pl.DataFrame, groups: Sequence[str], segments: Sequence[str], same: Sequence[str]
) -> None:
    members = frame.group_by(groups).agg(__all=pl.struct(segments).n_unique())
    rows = frame.group_by(*groups, *same).agg(__rows=pl.len())
    uneven = rows.join(members, on=groups, nulls_equal=True).filter(pl.col("__rows") != pl.col("__all"))
    if len(uneven):
        msg = "segments with different thresholds cannot be rolled up"
        hint = "count with the same thresholds, or take one point of each with select_operating_points"
        raise ParameterError(msg, where=f"model {uneven['model'].sort()[0]!r}", hint=hint)


def _mixed_rates(rates: pl.DataFrame, groups: Sequence[str], common: Sequence[pl.Expr]) -> pl.DataFrame:
    """Return the rates and the prevalence of the mix of segments in each group.

    With shares w of the traffic and prevalences eta, the mix has the prevalence sum(w·eta), the TPR
    sum(w·eta·TPR)/sum(w·eta), and the FPR sum(w·(1-eta)·FPR)/sum(w·(1-eta)).

    Parameters
    ----------
    rates
        Rates of the segments, with their ``prevalence`` and ``share``.
    groups
        The columns to group by, with the threshold if the segments share it.
    threshold
        The threshold of the mix, if it is not one of *groups*.

    Returns
    -------
    A row per group with the columns that metrics may read: ``prevalence``, the rates (null if the rate of a
    segment in the mix is), and the four cells, ``positives`` and ``negatives`` per row of traffic; and the
    numbers of ``segments`` (with both rates) and ``skipped`` (without one).
    """
    eta = pl.col("prevalence")
    share = pl.col("share") / pl.col("share").sum().over(groups)
    parts = rates.with_columns(__positive=share * eta, __negative=share * (1 - eta))

    def mean(rate: str, part: str) -> pl.Expr:
        inside = pl.col(part) > 0
        unknown = (inside & pl.col(rate).is_null()).any()
        weighted = (pl.col(rate) * pl.col(part)).filter(inside).sum() / pl.col(part).sum()
        return pl.when(~unknown & inside.any()).then(weighted).alias(rate)

    known = pl.col("tpr").is_not_null() & pl.col("fpr").is_not_null()
    mixed = parts.group_by(groups, maintain_order=True).agg(
        *common,
        mean("tpr", "__positive"),
        mean("fpr", "__negative"),
        # Null if a share is unknown.
        prevalence=pl.when(pl.col("__positive").is_not_null().all()).then(pl.col("__positive").sum()),
        negatives=pl.when(pl.col("__negative").is_not_null().all()).then(pl.col("__negative").sum()),
        segments=known.sum().cast(pl.Int64),
        skipped=(~known).sum().cast(pl.Int64),
    )
    positives, negatives = pl.col("prevalence"), pl.col("negatives")
    return mixed.with_columns(
        positives=positives,
        observed_prevalence=positives,
        tp=positives * pl.col("tpr"),
        fn=positives * (1 - pl.col("tpr")),
        fp=negatives * pl.col("fpr"),
        tn=negatives * (1 - pl.col("fpr")),
    )
