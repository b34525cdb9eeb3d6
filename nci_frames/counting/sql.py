"""Counting where the rows are: one GROUP BY for a warehouse, whose result ``read_counts`` reads."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import numpy as np

from nci_frames.checked import checked
from nci_frames.counting.logs.key_names import check_key
from nci_frames.counting.thresholds.grids import check_thresholds
from nci_frames.errors import ParameterError
from nci_frames.extras import require
from nci_frames.messages import Option
from nci_frames.typing import Dialect

__all__ = ["counting_sql"]

Label = str | float | bool

#: Stands for the table until it is put there as the dialect spells it.
_TABLE = "__table"
#: Names that Snowflake reads in upper case where they are not quoted, which is how its tables have them.
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


@checked
def counting_sql(
    table: str,
    *,
    thresholds: Sequence[float],
    dialect: Dialect,
    model: str = "model",
    label: str = "label",
    score: str = "score",
    fold: str | None = None,
    segments: str | Sequence[str] = (),
    weight: str | None = None,
    positive: Label = 1,
    negative: Label | None = None,
    score_type: Literal["float32", "float64"] = "float64",
) -> str:
    """Return a query that counts predictions in a database: one GROUP BY, whose result is small.

    Its rows are increments: for each group, how many positives and negatives have a score from one threshold
    to before the next. Pass them to ``read_counts``.

    Parameters
    ----------
    table
        What stands after FROM, in the words of the dialect: a table, or a function such as
        ``read_parquet('logs/*.parquet')``.
    thresholds
        Finite thresholds, strictly ascending.
    dialect
        "bigquery", "clickhouse", "databricks", "duckdb", "postgres", "redshift", "snowflake", "spark" or
        "trino".
    model, label, score, fold, weight
        Columns of the table, as in ``scan_predictions``. The fold becomes the key ``fold``.
    segments
        Columns that split the traffic; each is a key under its own name.
    positive, negative
        The values of the label. Without *negative*, 1 and 0, or True and False; other values need both, since
        a query cannot look at the log before it counts.
    score_type
        "float32" if the column has single precision: thresholds are then compared in that precision, as
        ``count_confusion`` does.

    Returns
    -------
    A SELECT with these columns:

    ========= ======= =================================================== =======================
    column    type    meaning                                             null means
    ========= ======= =================================================== =======================
    model     text    name of the model                                   a model of its own
    keys      any     as in the table                                     a key of its own
    threshold double  the highest threshold that the scores reach         below every threshold
    positives integer rows, or the sum of their weights                   never
    negatives integer rows, or the sum of their weights                   never
    invalid   integer rows without a valid label, score or weight, which  never
                      are not counted
    ========= ======= =================================================== =======================

    Raises
    ------
    MissingPackageError
        Without the package sqlglot (extra ``sql``).
    ParameterError
        If the thresholds are not finite and ascending, the dialect is unknown, *table* is not one table, or
        *negative* is missing.

    Notes
    -----
    Scores are cast to DOUBLE, and their threshold is found by nested CASE expressions: functions that search
    an array differ from engine to engine. A plain lower-case column name is not quoted for Snowflake.

    Examples
    --------
    >>> import nci_frames as nf
    >>> sql = nf.counting_sql("read_parquet('logs/*.parquet')", thresholds=[0.25, 0.5], dialect="duckdb")
    >>> for line in sql.splitlines()[:6]:
    ...     print(line)
    SELECT
      "model",
      "threshold",
      SUM(CASE WHEN class = 1 THEN 1 ELSE 0 END) AS "positives",
      SUM(CASE WHEN class = 0 THEN 1 ELSE 0 END) AS "negatives",
      SUM(CASE WHEN class IS NULL THEN 1 ELSE 0 END) AS "invalid"
    """
    sqlglot = cast("Any", require("sqlglot", extra="sql", what="SQL needs sqlglot"))
    grid = check_thresholds(thresholds)
    if not np.isfinite(grid).all():
        raise ParameterError.out_of_range("thresholds", thresholds, "finite numbers")
    keys = _keys(model, fold, segments)
    source = _source(sqlglot, table, dialect)

    def column(name: str) -> str:
        return name if dialect == "snowflake" and _PLAIN.fullmatch(name) else _quoted(name)

    positive, negative = _classes(positive, negative)
    rows = [
        *(f"{column(of)} AS {_quoted(key)}" for key, of in keys.items()),
        f"CAST({column(score)} AS DOUBLE) AS score",
        f"CASE WHEN {column(label)} = {_literal(positive)} THEN 1 "
        f"WHEN {column(label)} = {_literal(negative)} THEN 0 END AS class",
        *([f"CAST({column(weight)} AS DOUBLE) AS weight"] if weight else []),
    ]
    names = ", ".join(map(_quoted, keys))
    weighed = (
        " AND " + _is_number("weight") + " AND weight >= 0 AND weight < " + _double(math.inf)
        if weight
        else ""
    )
    valid = f"NOT class IS NULL AND {_is_number('score')}{weighed}"
    amount = "weight" if weight else "1"
    # Names and values are quoted, and the table is parsed alone.
    query = f"""
        SELECT {names}, "threshold",
            SUM(CASE WHEN class = 1 THEN {amount} ELSE 0 END) AS "positives",
            SUM(CASE WHEN class = 0 THEN {amount} ELSE 0 END) AS "negatives",
            SUM(CASE WHEN class IS NULL THEN 1 ELSE 0 END) AS "invalid"
        FROM (
            SELECT {names}, CASE WHEN {valid} THEN class END AS class{", weight" if weight else ""},
                CASE WHEN {valid} THEN {_reached(grid, score_type)} END AS "threshold"
            FROM (SELECT {", ".join(rows)} FROM {_TABLE}) AS logged
        ) AS placed
        GROUP BY {names}, "threshold"
    """  # noqa: S608
    parsed = sqlglot.parse_one(query, read="duckdb")
    parsed.find(sqlglot.exp.Table).replace(source)
    return cast("str", parsed.sql(dialect=dialect, pretty=True))


def _source(sqlglot: Any, table: str, dialect: str) -> Any:
    """Return what stands after FROM.

    Raises
    ------
    ParameterError
        If it is not one table, subquery or function.
    """
    try:
        statements = sqlglot.parse(f"SELECT * FROM {table}", read=dialect)  # noqa: S608
    except sqlglot.errors.SqlglotError:
        statements = []
    parsed = statements[0] if len(statements) == 1 else None
    parts = {} if parsed is None else {name for name, part in parsed.args.items() if part}
    if not isinstance(parsed, sqlglot.exp.Select) or parts != {"expressions", "from_"}:
        allowed = f"a table or a function, as after FROM in {dialect}"
        raise ParameterError.out_of_range("table", table, allowed)
    return parsed.args["from_"].this


def _reached(grid: np.ndarray[Any, np.dtype[np.float64]], score_type: str) -> str:
    """Return the highest threshold that a score reaches, null if it reaches none: a binary search."""
    # What is reached in single precision is reached in double precision too, by the rounded threshold.
    with np.errstate(over="ignore"):
        edges = grid.astype(np.float32) if score_type == "float32" else grid

    def tree(low: int, high: int) -> str:
        if low == high:
            return _double(grid[low - 1]) if low else "NULL"
        middle = (low + high) // 2
        below, above = tree(low, middle), tree(middle + 1, high)
        return f"CASE WHEN score < {_double(edges[middle])} THEN {below} ELSE {above} END"

    return tree(0, len(grid))


def _is_number(column: str) -> str:
    # NaN differs from itself, or equals the constant NaN: engines disagree which.
    return f"NOT {column} IS NULL AND {column} = {column} AND {column} <> {_double(math.nan)}"


def _double(value: float) -> str:
    """Return a constant. Read from a text it is rounded once; a decimal number would be rounded twice."""
    words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    text = repr(float(value))
    return f"CAST('{words.get(text, text)}' AS DOUBLE)"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: Label) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def _keys(model: str, fold: str | None, segments: str | Sequence[str]) -> Mapping[str, str]:
    """Return the columns of the result and the columns of the table that they are."""
    keys = {"model": model, **({} if fold is None else {"fold": fold})}
    for segment in [segments] if isinstance(segments, str) else segments:
        check_key(segment, "count a view of the table in which the column has another name")
        if segment in keys:
            hint = f"name it once, as {Option('fold')} or among {Option('segments')}"
            raise ParameterError(f"the key {segment!r} is asked for twice", hint=hint)
        keys[segment] = segment
    return keys


def _classes(positive: Label, negative: Label | None) -> tuple[Label, Label]:
    if negative is None:
        if isinstance(positive, str) or positive not in (0, 1):
            msg = "a label other than 0/1 and Boolean needs both of its values"
            raise ParameterError(msg, found=f"{Option('positive', positive)} alone",
                                 hint=f"add {Option('negative')}, the other label")  # fmt: skip
        negative = (not positive) if isinstance(positive, bool) else 1 - positive
    if type(positive) is not type(negative) and (
        isinstance(positive, str | bool) or isinstance(negative, str | bool)
    ):
        raise ParameterError.out_of_range("negative", negative, f"of the type of positive, {positive!r}")
    if positive == negative:
        raise ParameterError.out_of_range("negative", negative, f"another value than positive, {positive!r}")
    return positive, negative
