"""Segments: why they differ, and their averages."""

from collections.abc import Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Literal, cast

import polars as pl

from nci_frames.arguments import Prevalences
from nci_frames.checked import checked
from nci_frames.counts.pooling import add_cells
from nci_frames.errors import ParameterError, SchemaError
from nci_frames.evaluation.field.prevalences import Field, field_of, is_field, numbers_of, with_prevalence
from nci_frames.evaluation.projection.projection import Metrics, project_checked, require_selected
from nci_frames.evaluation.projection.traffic import mixed_rates
from nci_frames.evaluation.rates.rates import rates_of
from nci_frames.schemas import DECOMPOSITION, RATES, ROLL_UP, collect

__all__ = ["KeyValue", "decompose_difference", "roll_up"]

KeyValue = str | bytes | float | bool | Decimal | date | time | timedelta


@checked
def decompose_difference(
    rates: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    metric: str | pl.Expr,
    over: str,
    reference: KeyValue | None = None,
    prevalence: Literal["observed", "selected"] | Field = "observed",
    beta: float = 1.0,
) -> pl.DataFrame:
    """Split the difference of a metric between segments or periods into prevalence and rates.

    A metric differs between two countries, or between two months, because positives are rarer there or
    because the model separates them less well. The two parts are exact and symmetric, and sum to the
    difference.

    Parameters
    ----------
    rates
        A rates frame with the key *over*. Segments are compared at equal thresholds; if each has only one
        operating point, those are compared.
    metric
        Name or alias of a metric, or a called metric.
    over
        The key whose values are compared, e.g. "country" or "month".
    reference
        The value of *over* that the others are compared with; by default the first in order.
    prevalence
        "observed": each segment's own in the log; "selected": the one in the column ``prevalence``, which
        ``select_operating_points`` adds; or the prevalence of each segment, as in ``project_rates``.
    beta
        Weight of recall in [0, inf], for a metric that has one.

    Returns
    -------
    A row per operating point outside the reference, sorted by all columns up to ``metric``:

    ==================== ======= ============================================ ===========================
    column               dtype   meaning                                      null where
    ==================== ======= ============================================ ===========================
    model, keys                  as in *rates*                                as in *rates*
    threshold            Float64 as in *rates*                                as in *rates*
    metric               String  name of the metric, or label                 never
    beta                 Float64 weight of recall                             it plays no part
    reference            String  value of *over* compared with                that value is null
    prevalence           Float64 of the segment, as asked for                 there are no rows
    reference_prevalence Float64 of the reference                             no such operating point
    value                Float64 metric in the segment, at its own            undefined
    reference_value      Float64 metric in the reference, at its own          undefined
    difference           Float64 value - reference_value                      either is undefined
    due_to_prevalence    Float64 part of it due to the class balance          see reason
    due_to_rates         Float64 part of it due to TPR and FPR                see reason
    reason               String  why there is no decomposition                there is one
    ==================== ======= ============================================ ===========================

    Raises
    ------
    ParameterError
        If *reference* is not a value of *over*, or beta is out of range.
    UnknownMetricError
        If *metric* is neither a metric nor an alias.
    SchemaError
        If *rates* is not a rates frame, or has no such key.

    Notes
    -----
    With the metric m(prevalence, rates), and 1 for here, 0 for the reference, the part of the prevalence is
    ½·[m(1,0) - m(0,0) + m(1,1) - m(0,1)], the part of the rates ½·[m(0,1) - m(0,0) + m(1,1) - m(1,0)]: the
    Shapley values of the two factors.

    References
    ----------
    Kitagawa (1955), Components of a difference between two rates, doi:10.1080/01621459.1955.10501299;
    Shapley (1953), A value for n-person games, doi:10.1515/9781400881970-018.

    Examples
    --------
    In February precision fell from 0.90 to 0.64, though the model is the same: positives became rarer.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "a"], "month": ["1", "2"], "threshold": [0.5, 0.5],
    ...     "tp": [90, 18], "fp": [10, 10], "fn": [10, 2], "tn": [90, 90],
    ... })
    >>> parts = nf.decompose_difference(nf.compute_rates(counts), metric="precision", over="month")
    >>> parts.select(pl.col("difference", "due_to_prevalence", "due_to_rates").round(4)).row(0)
    (-0.2571, -0.2571, 0.0)
    """
    frame = collect(rates, RATES)
    keys = _require_keys(frame, [over])
    if is_field(prevalence):
        frame, _ = with_prevalence(frame, prevalence, keys)
        frame = frame.with_columns(observed_prevalence="prevalence")
    elif prevalence == "selected":
        frame = _at_selected(frame, keys)
    elif prevalence != "observed":
        raise ParameterError.unknown_choice("prevalence", prevalence, ("observed", "selected"))
    known = frame[over].unique().sort().to_list()
    if reference is not None and reference not in known:
        raise ParameterError.unknown_choice("reference", reference, [str(value) for value in known])
    base_value = reference if reference is not None else next(iter(known), None)
    in_base = pl.col(over).eq_missing(pl.lit(base_value, frame.schema[over]))

    same = ["model", *(key for key in keys if key != over), *_threshold(frame, keys)]
    base = frame.filter(in_base).select(
        *same, __eta="observed_prevalence", __tpr="tpr", __fpr="fpr", __met=pl.lit(value=True)
    )
    pairs = (
        frame.drop("reason", strict=False)
        .filter(~in_base)
        .sort("model", *keys, "threshold")
        .join(base, on=same, how="left", nulls_equal=True, maintain_order="left")
        .with_row_index("__pair")
    )
    parts = pairs.join(_mixed(pairs, metric, beta), on="__pair", how="left", maintain_order="left")
    here, there = pl.col("value"), pl.col("reference_value")
    eta_moved, rates_moved = pl.col("__eta_moved"), pl.col("__rates_moved")
    reason = (
        pl.when(pl.col("__met").is_null())
        .then(pl.lit("the reference has no such operating point"))
        .when(here.is_null())
        .then(pl.lit("the metric is undefined in the segment"))
        .when(there.is_null())
        .then(pl.lit("the metric is undefined in the reference"))
        .when(eta_moved.is_null() | rates_moved.is_null())
        .then(pl.lit("the metric is undefined for the rates of one at the prevalence of the other"))
        .when(pl.any_horizontal(value.is_infinite() for value in (here, there, eta_moved, rates_moved)))
        .then(pl.lit("the metric is infinite"))
    )
    table = parts.select(
        "model",
        *keys,
        "threshold",
        "metric",
        "beta",
        reference=pl.lit(None if base_value is None else str(base_value), pl.String),
        prevalence="observed_prevalence",
        reference_prevalence="__eta",
        value=here,
        reference_value=there,
        difference=(here - there).fill_nan(None),
        due_to_prevalence=pl.when(reason.is_null()).then((eta_moved - there + here - rates_moved) / 2),
        due_to_rates=pl.when(reason.is_null()).then((rates_moved - there + here - eta_moved) / 2),
        reason=reason,
    )
    return DECOMPOSITION.finish(table)


def _at_selected(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return rates in which the prevalence of each point is the one that it was selected for."""
    require_selected(frame)
    place = pl.struct("model", *keys, "threshold")
    twice = frame.filter(place.is_duplicated())
    if len(twice):
        raise ParameterError(
            "an operating point was selected for several prevalences",
            where=f"model {twice['model'][0]!r}, threshold {twice['threshold'][0]}",
            hint="keep the rows of one prevalence in each segment",
        )
    return frame.with_columns(observed_prevalence="prevalence")


def _mixed(pairs: pl.DataFrame, metric: str | pl.Expr, beta: float) -> pl.DataFrame:
    """Return the metric of each pair's rates at each pair's prevalences: four values."""
    of_reference = {"tpr": pl.col("__tpr"), "fpr": pl.col("__fpr")}
    eta_of_reference = {"observed_prevalence": pl.col("__eta")}
    cases: dict[str, dict[str, pl.Expr]] = {
        "value": {},
        "reference_value": of_reference | eta_of_reference,
        "__eta_moved": of_reference,
        "__rates_moved": eta_of_reference,
    }
    columns = ["__pair", *(name for name in RATES.fixed if name in pairs.columns)]
    first, *others = (
        project_checked(
            pairs.with_columns(**taken).select(columns), metrics=metric, prevalence="observed", beta=beta
        ).select("__pair", "metric", "beta", pl.col("value").alias(name))
        for name, taken in cases.items()
    )
    for other in others:
        first = first.join(other.drop("metric", "beta"), on="__pair")
    return first


@checked
def roll_up(
    rates: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    over: str | Sequence[str],
    metrics: Metrics,
    prevalence: Prevalences | Field = "observed",
    beta: float | Sequence[float] = (1.0,),
) -> pl.DataFrame:
    """Summarise metrics over segments: macro, micro and weighted averages side by side.

    Parameters
    ----------
    rates
        A rates frame. All segments need the same thresholds, or one operating point each.
    over
        The key or keys whose values are the segments.
    metrics
        As in ``project_rates``.
    prevalence
        P(y=1) in [0, 1]: every segment at this common class balance; or "observed": each at its own, the
        pool at that of the pool; or the prevalence of each segment, as in ``project_rates``, perhaps with the
        column ``share``, its rows among all traffic in any unit.
    beta
        As in ``project_rates``.

    Returns
    -------
    A row per operating point, metric, average, prevalence and beta, sorted by all columns left of ``value``:

    =========== ======= ================================================== =============================
    column      dtype   meaning                                            null where
    =========== ======= ================================================== =============================
    model, keys          as in *rates*, without *over*                     as in *rates*
    threshold   Float64 as in *rates*                                      it differs between segments
    metric      String  name of the metric, or label                       never
    average     String  "macro": mean of the segments; "micro": metric of  never
                        their summed counts, or of the traffic;
                        "weighted": mean weighted by positives
    prevalence  Float64 P(y=1) the value belongs to                        it differs between segments
    beta        Float64 weight of recall                                   it plays no part
    value       Float64 average of the metric                              undefined in every segment, or
                                                                           the shares are unknown
    segments    Int64   segments that the value is made of                 never
    skipped     Int64   segments skipped, as the metric is undefined       never
    supported   Boolean whether the log can tell the values of all         the prevalence is unknown
                        segments, or of the pool
    reason      String  why not                                            supported
    =========== ======= ================================================== =============================

    Raises
    ------
    ParameterError
        If the segments have different thresholds; if a segment has no prevalence or several; or as in
        ``project_rates``.
    SchemaError
        If *rates* is not a rates frame, or lacks a key of *over*.

    Notes
    -----
    With prevalences and shares of the segments, "micro" is the metric of the traffic: with shares w, its
    prevalence is Σw·eta, its TPR Σw·eta·TPR/Σw·eta, its FPR Σw·(1-eta)·FPR/Σw·(1-eta); and the weights of
    "weighted" are w·eta. Without shares both are null.

    "weighted" has the meaning of scikit-learn: each segment is weighted by its positives, hence weighted
    recall is micro recall. At one common prevalence, macro averages do not depend on the class balances of
    the segments.

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
    segments = [over] if isinstance(over, str) else list(over)
    keys = _require_keys(frame, segments)
    groups = ["model", *(key for key in keys if key not in segments)]
    same = _threshold(frame, keys)
    _require_equal_thresholds(frame, groups, segments, same)

    at: Prevalences | Literal["selected"] = (
        "selected" if is_field(prevalence) else cast("Prevalences", prevalence)
    )
    positives = pl.col("positives").cast(pl.Float64)
    if is_field(prevalence):
        field = field_of(cast("Field", prevalence), frame, keys)
        frame = _beside(frame, field)
        positives = pl.col("share") * pl.col("prevalence")

    def project(of: pl.DataFrame) -> pl.DataFrame:
        return project_checked(of, metrics=metrics, prevalence=at, beta=beta)

    point = [*groups, "threshold"]
    weights = frame.select("model", *keys, "threshold", __weight=positives)
    each = (
        project(frame.drop("share", strict=False))
        .join(weights, on=["model", *keys, "threshold"], nulls_equal=True)
        .with_columns(__weight=pl.when(pl.col("value").is_not_null()).then("__weight"))
        .sort("model", *keys, "threshold")
    )
    grid = [*groups, *same, "metric", "beta", *([] if own else ["prevalence"])]
    weight = pl.col("__weight").sum()
    means = each.group_by(grid, maintain_order=True).agg(
        *(_common(name) for name in ("threshold", "prevalence") if name not in grid),
        pl.col("value").mean().alias("macro"),
        pl.when(weight > 0).then((pl.col("value") * pl.col("__weight")).sum() / weight).alias("weighted"),
        segments=pl.col("value").count().cast(pl.Int64),
        skipped=pl.col("value").null_count().cast(pl.Int64),
        supported=pl.col("supported").all(),
        reason=pl.col("reason").drop_nulls().first(),
    )
    averaged = [
        means.with_columns(average=pl.lit(name), value=name).drop("macro", "weighted")
        for name in ("macro", "weighted")
    ]
    if is_field(prevalence):
        told = ["supported", "reason"]
        pooled = mixed_rates(frame, [*groups, *same], threshold=None if same else _common("threshold"))
        whole = project(pooled.drop("segments", "skipped")).drop(told)
        on = [*groups, *same, "metric", "beta"]
        whole = whole.join(means.select(*on, *told), on=on, how="left", nulls_equal=True)
    else:
        pooled = add_cells(
            frame,
            [*groups, *same],
            *([] if same else [_common("threshold")]),
            pl.col("tp").count().cast(pl.Int64).alias("segments"),
            pl.col("tp").null_count().cast(pl.Int64).alias("skipped"),
        )
        whole = project(rates_of(pooled.drop("segments", "skipped")))
    whole = whole.with_columns(average=pl.lit("micro"))
    micro = whole.join(pooled.select(*point, "segments", "skipped"), on=point, nulls_equal=True)
    names = [*point, "metric", "average", "prevalence", "beta"]
    results = ["value", "segments", "skipped", "supported", "reason"]
    table = pl.concat([part.select(*names, *results) for part in [*averaged, micro]]).sort(names)
    return ROLL_UP.finish(table)


def _beside(frame: pl.DataFrame, field: pl.DataFrame) -> pl.DataFrame:
    """Return rates with the prevalence and the share of their segments; null if the shares are unknown."""
    if "share" not in field.columns:
        field = field.with_columns(share=pl.lit(None, pl.Float64))
    on = [name for name in field.columns if name not in ("prevalence", "share")]
    bare = frame.drop("prevalence", strict=False)
    return bare.join(field, on=on, how="left", nulls_equal=True, maintain_order="left")


def _common(name: str) -> pl.Expr:
    """Return what all rows of a group share, or null."""
    return pl.when(pl.col(name).n_unique() == 1).then(pl.col(name).first()).alias(name)


def _require_keys(frame: pl.DataFrame, wanted: Sequence[str]) -> list[str]:
    """Return the keys of rates; *wanted*, at least one, must be among them."""
    if not wanted:
        raise ParameterError.out_of_range("over", wanted, "at least one key")
    keys = RATES.keys(frame.columns)
    for key in wanted:
        if key not in keys:
            raise SchemaError.missing_column(key, "key", "the keys of the rates frame", keys)
    return keys


def _threshold(frame: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """Return the threshold if it must be equal; a group's only operating point stands for the group."""
    several = frame.select(pl.struct("model", *keys).is_duplicated().any()).item()
    return ["threshold"] if several else []


def _require_equal_thresholds(
    frame: pl.DataFrame, groups: Sequence[str], segments: Sequence[str], same: Sequence[str]
) -> None:
    members = frame.group_by(groups).agg(__all=pl.struct(segments).n_unique())
    rows = frame.group_by(*groups, *same).agg(__rows=pl.len())
    uneven = rows.join(members, on=groups, nulls_equal=True).filter(pl.col("__rows") != pl.col("__all"))
    if len(uneven):
        msg = "segments with different thresholds cannot be rolled up"
        raise ParameterError(
            msg,
            where=f"model {uneven['model'].sort()[0]!r}",
            hint="count with the same thresholds, or take one operating point of each with "
            "select_operating_points",
        )
