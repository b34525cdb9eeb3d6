"""A log and a plan of labels -> the rows to label, lazily."""

import functools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from nci_frames.base.arguments import check_seed
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import Option, listed
from nci_frames.counting.drawing.draw import Draw
from nci_frames.counting.drawing.model_rows import ModelRows
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
    plan: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    seed: int = 0,
    model: str | None = None,
    units: bool = False,
) -> pl.LazyFrame:
    """Draw the rows that a plan says to label.

    Parameters
    ----------
    log
        The log that was planned for: what ``scan_predictions`` returned, of which all columns are kept, also
        those that it was not told of; or a frame with ``model`` and ``score``.
    plan
        What ``plan_labels`` returned for this log.
    seed
        Fixes which rows are drawn, 0 to 2³²-1. They are the same for the same rows, in whatever files and
        order these are.
    model
        The model whose scores were planned by, if the log has several.
    units
        Whether the plan is of whole units, ``plan_labels(..., units=True)``: all rows of a drawn unit are
        drawn, under every model.

    Returns
    -------
    A LazyFrame with the columns of the log, and:

    ======= ======= ========================================================== ==========
    column  dtype   meaning                                                    null where
    ======= ======= ========================================================== ==========
    stratum Int64   the row of the plan, from 0 on                             never
    weight  Float64 1 / share of the stratum: how many rows a drawn one is for never
    ======= ======= ========================================================== ==========

    It is sorted by the stratum, of which it has exactly ``labels`` rows, in random order: the first ones of
    each stratum are a sample, too. With a plan to compare two models these are units, in the order of their
    numbers, with the rows of both models.

    Raises
    ------
    ParameterError
        If the plan has other numbers of rows than the log, or the log has weights or several models.
    SchemaError
        If *plan* is no plan, or the log lacks a column or has ``stratum`` or ``weight`` already.
    InvalidRowsError
        When the frame is read, if a row is not valid.
    SourceError
        When the frame is read, if the log changes meanwhile.

    Notes
    -----
    When it is collected, the log is read twice. Of each stratum the rows are numbered in the order of hashes
    of their scores and columns, and ``labels`` of the numbers are drawn without replacement. Equal rows have
    different numbers, and are drawn each on its own. Memory holds the counts of some thousand cells of each
    stratum, and the rows of the cells in which a drawn number lies: a few rows for each label.

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
    check_seed(seed)
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
    """Return all columns of the log, beside those of predictions."""
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
    """Yield the drawn rows; Polars calls this when a plan is run."""
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
