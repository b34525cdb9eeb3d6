"""Rates of segments or periods -> the parts of a difference due to prevalence and due to rates."""

from datetime import date, time, timedelta
from decimal import Decimal
from typing import Literal

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Field, Frame
from nci_frames.evaluation.field.prevalences import with_prevalence
from nci_frames.evaluation.projection.grids import require_selected
from nci_frames.evaluation.projection.projection import project_checked
from nci_frames.evaluation.projection.roll_up import need_points_once, shared_threshold
from nci_frames.evaluation.support.reasons import first_reason
from nci_frames.schemas import DECOMPOSITION, RATES, beside, checked, collect

KeyValue = str | bytes | float | bool | Decimal | date | time | timedelta


#: The metric of the segment; of the reference; of the reference's rates at the segment's prevalence; and of
#: the segment's rates at the reference's prevalence.
_VALUES = ("value", "reference_value", "__eta_moved", "__rates_moved")


@checked
def decompose_difference(
    rates: Frame,
    /,
    *,
    metric: str | pl.Expr,
    over: str,
    reference: KeyValue | None = None,
    prevalence: Literal["observed", "selected"] | Field = "observed",
    beta: float = 1.0,
) -> pl.DataFrame:
    """Split the difference of a metric between segments or periods into prevalence and rates.

    A metric differs between countries or months because positives are rarer, or because the model separates
    the classes less well. The two parts are symmetric and sum exactly to the difference.

    Parameters
    ----------
    rates
        A rates frame with the key *over*. Segments are compared at equal thresholds, or at their only
        operating points if each has one.
    metric
        Name or alias of a metric, or a called metric.
    over
        Key whose values are compared, e.g. "country" or "month".
    reference
        Value of *over* that the others are compared with; by default the first in order.
    prevalence
        "observed": each segment's own in the log; "selected": the column ``prevalence`` that
        ``select_operating_points`` adds; or a prevalence per segment, as in ``project_rates``.
    beta
        Weight of recall in [0, inf], for a metric that has one.

    Returns
    -------
    A row per operating point outside the reference, sorted by all columns up to ``metric``:

    %(columns of decomposition)s

    Keys are those of *rates*.

    Raises
    ------
    ParameterError
        If *reference* is not a value of *over*, or beta is out of range.
    UnknownMetricError
        If *metric* is unknown.
    SchemaError
        If *rates* is not a rates frame, or lacks the key *over*.

    Notes
    -----
    Let m(prevalence, rates) be the metric, with 1 for the segment and 0 for the reference. The part of the
    prevalence is ½·[m(1,0) - m(0,0) + m(1,1) - m(0,1)], that of the rates
    ½·[m(0,1) - m(0,0) + m(1,1) - m(1,0)]: the Shapley values of the two factors.

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
    keys = RATES.need_keys(frame, [over], "over")
    frame, own = with_prevalence(frame, prevalence, keys)
    if own == "selected":
        require_selected(frame)
        frame = frame.with_columns(observed_prevalence="prevalence")
    need_points_once(frame.drop_nulls("threshold"), keys)
    known = frame[over].unique().sort().to_list()
    if reference is not None and reference not in known:
        raise ParameterError.unknown_choice("reference", reference, known)
    base_value = reference if reference is not None else next(iter(known), None)
    in_base = pl.col(over).eq_missing(pl.lit(base_value, frame.schema[over]))

    same = ["model", *(key for key in keys if key != over), *shared_threshold(frame, keys)]
    base = frame.filter(in_base).select(
        *same, __eta="observed_prevalence", __tpr="tpr", __fpr="fpr", __met=pl.lit(value=True)
    )
    pairs = (
        frame.drop("reason", "supported", strict=False)
        .filter(~in_base)
        .sort("model", *keys, "threshold")
        .pipe(beside, base, same)
        .with_row_index("__pair")
    )
    parts = pairs.join(_mixed(pairs, metric, beta), on="__pair", how="left", maintain_order="left")
    here, there, eta_moved, rates_moved = map(pl.col, _VALUES)
    told = pl.col("reason").is_null()
    table = parts.with_columns(reason=_reason(here, there, eta_moved, rates_moved)).with_columns(
        reference=pl.lit(None if base_value is None else str(base_value), pl.String),
        prevalence="observed_prevalence",
        reference_prevalence="__eta",
        difference=(here - there).fill_nan(None),
        due_to_prevalence=pl.when(told).then((eta_moved - there + here - rates_moved) / 2),
        due_to_rates=pl.when(told).then((rates_moved - there + here - eta_moved) / 2),
    )
    return DECOMPOSITION.joined([table], frame.select("model", *keys))


def _reason(here: pl.Expr, there: pl.Expr, eta_moved: pl.Expr, rates_moved: pl.Expr) -> pl.Expr:
    """Return the reason why a difference cannot be split; null where it can."""
    infinite = pl.any_horizontal(value.is_infinite() for value in (here, there, eta_moved, rates_moved))
    crossed = eta_moved.is_null() | rates_moved.is_null()
    return first_reason(
        (pl.col("__met").is_null(), "the reference has no such operating point"),
        (here.is_null() & there.is_null(), "the metric is undefined in the segment and in the reference"),
        (here.is_null(), "the metric is undefined in the segment"),
        (there.is_null(), "the metric is undefined in the reference"),
        (crossed, "the metric is undefined for the rates of one at the prevalence of the other"),
        (infinite, "the metric is infinite"),
    )


def _mixed(pairs: pl.DataFrame, metric: str | pl.Expr, beta: float) -> pl.DataFrame:
    """Return the metric of each pair for all four combinations of rates and prevalence."""
    of_reference = {"tpr": pl.col("__tpr"), "fpr": pl.col("__fpr")}
    eta_of_reference = {"observed_prevalence": pl.col("__eta")}
    taken_from_it: list[dict[str, pl.Expr]] = [
        {}, of_reference | eta_of_reference, of_reference, eta_of_reference
    ]  # fmt: skip
    columns = ["__pair", *(name for name in RATES.fixed if name in pairs.columns)]
    # All four have the same rows in the same order.
    moved = (pairs.with_columns(**taken).select(columns) for taken in taken_from_it)
    tables = [project_checked(each, metrics=metric, prevalence="observed", beta=beta) for each in moved]
    values = (table["value"].alias(name) for name, table in zip(_VALUES, tables, strict=True))
    return tables[0].select("__pair", "metric", "beta").with_columns(*values)
