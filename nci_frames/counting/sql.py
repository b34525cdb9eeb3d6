"""Counting where the rows are: one GROUP BY for a warehouse, whose result ``read_counts`` reads."""

import functools
import math
import re
from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np

from nci_frames.base.arguments import check_utf8
from nci_frames.base.errors import ParameterError
from nci_frames.base.extras import require
from nci_frames.base.messages import Option
from nci_frames.base.typing import Dialect
from nci_frames.counting.logs.rows import key_columns
from nci_frames.counting.thresholds.grids import check_thresholds
from nci_frames.schemas import checked

Label = str | float | bool

#: Stands for the table until it is put there as the dialect spells it.
_TABLE = "__table"
#: The columns of a query besides its keys.
_COUNTED = ("threshold", "positives", "negatives", "invalid")
_RENAME = "count a view of the table in which the column has another name"
#: Up to so many thresholds are searched in one step, which is a shorter query.
_FEW = 32
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

    %(columns of increments)s

    Keys are those of the table; null is a key of its own. Types are those of the database that are
    nearest.

    Raises
    ------
    MissingPackageError
        Without the package sqlglot (extra ``sql``).
    ParameterError
        If the thresholds are not finite and ascending, the dialect is unknown, *table* is not one table, or
        *negative* is missing.

    Notes
    -----
    Scores are cast to DOUBLE. Up to 32 thresholds are searched by nested CASE expressions; more are searched
    in two steps: which part of the thresholds, then, after a join with a table of the parts, which of it.
    PostgreSQL has a function for that, WIDTH_BUCKET. A plain lower-case column name is not quoted for
    Snowflake.

    Examples
    --------
    >>> import nci_frames as nf
    >>> sql = nf.counting_sql("read_parquet('logs/*.parquet')", thresholds=[0.25, 0.5], dialect="duckdb")
    >>> for line in sql.splitlines()[:6]:
    ...     print(line)
    SELECT
      "model",
      "threshold",
      SUM(CASE WHEN __class = 1 THEN 1 ELSE 0 END) AS "positives",
      SUM(CASE WHEN __class = 0 THEN 1 ELSE 0 END) AS "negatives",
      SUM(CASE WHEN __class IS NULL THEN 1 ELSE 0 END) AS "invalid"
    """
    sqlglot = cast("Any", require("sqlglot", extra="sql", what="SQL needs sqlglot"))
    grid = check_thresholds(thresholds)
    if not np.isfinite(grid).all():
        raise ParameterError.out_of_range("thresholds", thresholds, "finite numbers")
    keys = _apart(key_columns({"model": model, "fold": fold}, segments, _RENAME))
    source = _source(sqlglot, table, dialect)
    column = functools.partial(_column, dialect=dialect)
    positive, negative = _classes(positive, negative)
    # No key begins with two underscores.
    rows = [
        *(f"{column(of)} AS {_quoted(key)}" for key, of in keys.items()),
        f"CAST({column(score)} AS DOUBLE) AS __logged",
        f"CASE WHEN {column(label)} = {_literal(positive)} THEN 1 "
        f"WHEN {column(label)} = {_literal(negative)} THEN 0 END AS __label",
        *([f"CAST({column(weight)} AS DOUBLE) AS __weight"] if weight else []),
    ]
    names = ", ".join(map(_quoted, keys))
    valid = f"NOT __label IS NULL AND {_is_number('__logged')}"
    if weight:
        finite = f"__weight >= 0 AND __weight < {_double(math.inf)}"
        valid = f"{valid} AND {_is_number('__weight')} AND {finite}"
    kept, amount = (f"{names}, __weight", "__weight") if weight else (names, "1")
    part, join, threshold = _reached(grid, score_type, dialect)
    # Names and values are quoted, and the table is parsed alone.
    query = f"""
        SELECT {names}, "threshold",
            SUM(CASE WHEN __class = 1 THEN {amount} ELSE 0 END) AS "positives",
            SUM(CASE WHEN __class = 0 THEN {amount} ELSE 0 END) AS "negatives",
            SUM(CASE WHEN __class IS NULL THEN 1 ELSE 0 END) AS "invalid"
        FROM (
            SELECT {kept}, __class, {threshold} AS "threshold"
            FROM (
                SELECT {kept}, __class, __score{part}
                FROM (
                    SELECT {kept}, CASE WHEN {valid} THEN __label END AS __class,
                        CASE WHEN {valid} THEN __logged END AS __score
                    FROM (SELECT {", ".join(rows)} FROM {_TABLE}) AS logged
                ) AS checked
            ) AS parted{join}
        ) AS placed
        GROUP BY {names}, "threshold"
    """  # noqa: S608
    parsed = sqlglot.parse_one(query, read="duckdb")
    parsed.find(sqlglot.exp.Table).replace(source)
    text = cast("str", parsed.sql(dialect=dialect, pretty=True))
    check_utf8("the names and labels of a query", text)
    return text


def _apart(keys: dict[str, str]) -> dict[str, str]:
    """Return keys; raise ParameterError if one is another column of the result but for its case."""
    known = {name: f"the column {name!r} of the result" for name in _COUNTED}
    for key in keys:
        name = key.casefold()
        if name in known:
            msg = f"the key {key!r} and {known[name]} are one name in databases that ignore its case"
            raise ParameterError(msg, hint=_RENAME)
        known[name] = f"the key {key!r}"
    return keys


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
    source = parsed.args["from_"].this if parts == {"expressions", "from_"} and parsed is not None else None
    # sqlglot takes a query without parentheses, too; no database does.
    bare = isinstance(source, sqlglot.exp.Select | sqlglot.exp.SetOperation)
    if source is None or bare or not isinstance(parsed, sqlglot.exp.Select):
        allowed = f"a table or a function, as after FROM in {dialect}"
        raise ParameterError.out_of_range("table", table, allowed)
    return source


def _reached(
    grid: np.ndarray[Any, np.dtype[np.float64]], score_type: str, dialect: str
) -> tuple[str, str, str]:
    """Return how the highest threshold that a score reaches is found; it is null if there is none.

    A column that is needed for it, a join that needs this column, and the expression. A score that is null
    reaches none: each comparison with it takes the lower branch.
    """
    # What is reached in single precision is reached in double precision too, by the rounded threshold.
    with np.errstate(over="ignore"):
        rounded = grid.astype(np.float32) if score_type == "float32" else grid
    edges, leaves = [None, *rounded.tolist()], [None, *grid.tolist()]
    if dialect == "postgres":
        found = f"WIDTH_BUCKET(__score, [{_doubles(edges[1:])}])"
        return "", "", f"([{_doubles(leaves[1:])}])[{found}]"
    if len(grid) <= _FEW:
        return "", "", _search(list(map(_double, edges[1:])), list(map(_double, leaves)))
    # Each part begins with the threshold that all of its scores reach.
    width = math.isqrt(len(grid)) + 1
    begins = range(0, len(leaves), width)
    part = _search([_double(edges[begin]) for begin in begins[1:]], list(map(str, range(len(begins)))))
    table = {"__t": leaves} if rounded is grid else {"__t": leaves, "__e": edges}
    columns = [f"{name}{place}" for name in table for place in range(width)]

    def row(begin: int) -> str:
        # Nothing reaches a threshold that is null.
        return ", ".join(
            _doubles((column[begin : begin + width] + [None] * width)[:width]) for column in table.values()
        )

    values = ", ".join(f"({place}, {row(begin)})" for place, begin in enumerate(begins))
    join = f" JOIN (VALUES {values}) AS edges(__place, {', '.join(columns)}) ON __part = __place"
    found = _search(columns[-width + 1 :], columns[:width])
    return f", {part} AS __part", join, found


def _search(edges: list[str], leaves: list[str]) -> str:
    """Return nested CASE expressions: the leaf after the last of ascending edges that the score reaches."""
    if not edges:
        return leaves[0]
    middle = len(edges) // 2
    above = _search(edges[middle + 1 :], leaves[middle + 1 :])
    below = _search(edges[:middle], leaves[: middle + 1])
    return f"CASE WHEN __score >= {edges[middle]} THEN {above} ELSE {below} END"


def _is_number(column: str) -> str:
    # NaN differs from itself, or equals the constant NaN: engines disagree which.
    return f"NOT {column} IS NULL AND {column} = {column} AND {column} <> {_double(math.nan)}"


def _double(value: float | None) -> str:
    """Return a constant. Read from a text it is rounded once; a decimal number would be rounded twice."""
    if value is None:
        return "CAST(NULL AS DOUBLE)"
    words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    text = repr(float(value))
    return f"CAST('{words.get(text, text)}' AS DOUBLE)"


def _doubles(values: Sequence[float | None]) -> str:
    return ", ".join(map(_double, values))


def _column(name: str, *, dialect: str) -> str:
    return name if dialect == "snowflake" and _PLAIN.fullmatch(name) else _quoted(name)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: Label) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


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
