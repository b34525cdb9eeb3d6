"""A log and a label plan -> the rows to label, lazily."""

import functools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import Option, listed
from nci_frames.base.typing import Frame
from nci_frames.counting.drawing.model_rows import Draw, ModelRows
from nci_frames.counting.drawing.rows import drawn_rows
from nci_frames.counting.drawing.units import drawn_units
from nci_frames.counting.logs.opening import Predictions
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.rows import REASON
from nci_frames.counting.logs.scan import scan_of_rows
from nci_frames.schemas import LABEL_PLAN, checked, collect

_ADDED: dict[str, Any] = {"stratum": pl.Int64, "weight": pl.Float64}


@checked
def draw_labels(
    log: Predictions,
    plan: Frame,
    /,
    *,
    seed: int = 0,
    model: str | None = None,
    units: bool = False,
) -> pl.LazyFrame:
    """Draw the rows to label, by a label plan.

    Parameters
    ----------
    log
        The log of the plan: the result of ``scan_predictions``, whose columns are all kept, including those
        that were not named; or a frame with ``model`` and ``score``.
    plan
        The result of ``plan_labels`` for this log.
    seed
        Seed of the draw, 0 to 2³²-1. The drawn rows do not depend on the files or the order of the log.
    model
        Model whose scores the plan is based on, if the log has several models.
    units
        Whether to draw whole units, for a plan of ``plan_labels(..., units=True)``: all rows of a drawn unit
        are drawn, for every model.

    Returns
    -------
    A LazyFrame with the columns of the log, and:

    ======= ======= ============================================== ==========
    column  dtype   meaning                                        null where
    ======= ======= ============================================== ==========
    stratum Int64   row number in the plan, from 0                 never
    weight  Float64 number of rows that one drawn row represents:  never
                    1 / share of the stratum
    ======= ======= ============================================== ==========

    Rows are sorted by stratum. Each stratum has exactly ``labels`` rows in random order, so that its first
    rows are also a random sample. A plan that compares two models draws units, each with the rows of both
    models.

    Raises
    ------
    ParameterError
        If the numbers of rows in plan and log differ, the log has weights, or it has several models and
        *model* is None.
    SchemaError
        If *plan* is not a plan, or the log lacks a column or already has ``stratum`` or ``weight``.
    InvalidRowsError
        When the frame is read, if a row is not valid.
    SourceError
        When the frame is read, if the log changes meanwhile.

    Notes
    -----
    Collecting the result reads the log twice. The rows of each stratum are numbered in the order of hashes of
    their scores and columns, and ``labels`` numbers are drawn without replacement. Equal rows have different
    numbers and are drawn separately. Memory holds counts of some thousand cells per stratum, and the rows of
    the cells with a drawn number: a few rows per label.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "score": [i / 1000 for i in range(1000)], "id": range(1000)})
    >>> plan = nf.plan_labels(log, budget=100, metric="precision", threshold=0.95)
    >>> drawn = nf.draw_labels(log, plan, seed=1).collect()
    >>> drawn.columns, len(drawn), drawn.filter(pl.col("score") >= 0.95)["weight"].unique().to_list()
    (['model', 'score', 'id', 'stratum', 'weight'], 100, [1.0])
    """
    strata = _checked_plan(collect(plan, LABEL_PLAN))
    scan = scan_of_rows(log)
    if scan.source.elsewhere is not None:
        raise scan.source.elsewhere.refusal()
    rows = _whole(scan)
    draw = Draw(ModelRows(scan, rows, model), strata, seed, units or "flagged_by" in strata.columns)
    schema = rows.drop(REASON).collect_schema() | _ADDED
    return register_io_source(
        functools.partial(_read, draw), schema=schema, explain_name=f"labels drawn from {scan.source.where}"
    )


def _checked_plan(plan: pl.DataFrame) -> pl.DataFrame:
    wrong = plan.filter(~pl.col("labels").is_between(1, pl.col("rows")))
    if plan.is_empty() or len(wrong):
        found = "no rows" if plan.is_empty() else str(wrong.select("rows", "labels").row(0, named=True))
        raise ParameterError("a plan must label at least one row of each range, and at most all", found=found)
    off = plan.filter((pl.col("share") - pl.col("labels") / pl.col("rows")).abs() > 1e-9)
    if len(off):
        raise ParameterError("the shares of the plan must be labels / rows", found=str(off.row(0)))
    lower = plan["score_lower"].to_numpy()
    if "flagged_by" not in plan.columns and (lower[0] != -np.inf or (np.diff(lower) <= 0).any()):
        found = str(lower.tolist()[:5])
        raise ParameterError("the ranges of a plan must ascend from -inf on", found=found)
    return plan


def _whole(scan: Scan) -> pl.LazyFrame:
    """Return the predictions with all other columns of the log."""
    rows = scan.whole()
    names = rows.drop(REASON).collect_schema()
    for name, dtype in names.items():
        if dtype == pl.Object:
            wanted = "of a type that Polars can compare"
            raise SchemaError.wrong_type(name, scan.source.where, "Object", wanted)
    for name in _ADDED:
        if name in names:
            hint = "rename the column in the log"
            if scan.weighted and name == "weight":
                hint = f"rows that have weights are a sample already: omit {Option('weight')}"
            msg = f"drawn rows get a column {name!r}, which the log has already"
            raise SchemaError(msg, where=scan.source.where, found=listed(map(repr, names), 20), hint=hint)
    return rows


def _read(
    draw: Draw,
    with_columns: list[str] | None,
    predicate: pl.Expr | None,
    n_rows: int | None,
    _batch_size: int | None,
) -> Iterator[pl.DataFrame]:
    """Yield the drawn rows; Polars calls this to execute a query plan."""
    told: dict[int, int] = {}
    drawn = drawn_units(draw, told) if draw.whole_units else drawn_rows(draw, told)
    scan = draw.log.scan
    dropped = scan.dropped(told)
    for warning in (*scan.source.warnings, *([dropped] if dropped else [])):
        warnings.warn(warning, stacklevel=2)
    share = draw.plan["share"].gather(drawn["stratum"])
    found = drawn.with_columns(weight=1 / share)
    found = found if n_rows is None else found.head(n_rows)
    found = found if predicate is None else found.filter(predicate)
    yield found if with_columns is None else found.select(with_columns)
