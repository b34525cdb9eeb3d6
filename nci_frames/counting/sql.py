"""SQL that counts in a data warehouse with one GROUP BY; ``read_counts`` reads its result."""

import functools
import math
import re
from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np

from nci_frames.base.arguments import check_allowed, check_utf8
from nci_frames.base.errors import ParameterError
from nci_frames.base.extras import require
from nci_frames.base.messages import Option
from nci_frames.base.typing import Dialect
from nci_frames.counting.logs.rows import key_columns
from nci_frames.counting.thresholds.grids import check_thresholds
from nci_frames.schemas import checked

Label = str | float | bool

#: Placeholder for the table.
_TABLE = "__table"
#: The columns of a query besides its keys.
_COUNTED = ("threshold", "positives", "negatives", "invalid")
_RENAME = "count a view of the table in which the column has another name"
#: Up to this many thresholds are searched in one step, which makes a shorter query.
_FEW = 32
#: Names to leave unquoted in Snowflake, which reads them in upper case, as its tables have them.
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
    """Return a SQL query that counts predictions in a database with one GROUP BY.

    Its small result has increments: the numbers of positives and negatives of each group with a score from
    one threshold to below the next. Pass them to ``read_counts``.

    Parameters
    ----------
    table
        The table, as written after FROM in the dialect; or a function such as
        ``read_parquet('logs/*.parquet')``.
    thresholds
        Finite numbers, strictly ascending.
    dialect
        "bigquery", "clickhouse", "databricks", "duckdb", "postgres", "redshift", "snowflake", "spark" or
        "trino".
    model, label, score, fold, weight
        Columns of the table, as in ``scan_predictions``. The fold becomes the key ``fold``.
    segments
        Columns that split the traffic; each becomes a key under its own name.
    positive, negative
        Label values. *negative* may be omitted for 1 and 0, or True and False; other labels need both values,
        since a query cannot inspect the log before it counts.
    score_type
        "float32" if the score column has single precision; thresholds are then compared in that precision, as
        ``count_confusion`` does.

    Returns
    -------
    A SELECT with these columns:

    %(columns of increments)s

    The keys of the table are kept; null is a key value of its own. Each type is the nearest of the database.

    Raises
    ------
    MissingPackageError
        If the package sqlglot is not installed (extra ``sql``).
    ParameterError
        If the thresholds are not finite and ascending, the dialect is unknown, *table* is not a single table,
        or *negative* is missing.

    Notes
    -----
    Scores are cast to DOUBLE. Nested CASE expressions find one of up to 32 thresholds. With more, one search
    finds a part of the thresholds, and a second one, after a join with a table of the parts, the threshold in
    it. PostgreSQL uses its function WIDTH_BUCKET. Plain lower-case column names are not quoted for Snowflake.

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
    check_allowed(np.isfinite(grid).all(), "thresholds", thresholds, "finite numbers")
    keys = _apart(key_columns({"model": model, "fold": fold}, segments, _RENAME))
    source = _source(sqlglot, table, dialect)
    column = functools.partial(_column, dialect=dialect)
    positive, negative = _classes(positive, negative)
    # These names are free: no key begins with two underscores.
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
    # No injection: names and values are quoted, and the table is parsed separately.
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
    """Return the keys; raise ParameterError if one equals another column of the result up to case."""
    known = {name: f"the column {name!r} of the result" for name in _COUNTED}
    for key in keys:
        name = key.casefold()
        if name in known:
            msg = f"the key {key!r} and {known[name]} are one name in databases that ignore its case"
            raise ParameterError(msg, hint=_RENAME)
        known[name] = f"the key {key!r}"
    return keys


def _source(sqlglot: Any, table: str, dialect: str) -> Any:
    """Return the parsed table of the FROM clause.

    Raises
    ------
    ParameterError
        If it is not a single table, subquery or function.
    """
    try:
        statements = sqlglot.parse(f"SELECT * FROM {table}", read=dialect)  # noqa: S608
    except sqlglot.errors.SqlglotError:
        statements = []
    parsed = statements[0] if len(statements) == 1 else None
    parts = {} if parsed is None else {name for name, part in parsed.args.items() if part}
    source = parsed.args["from_"].this if parts == {"expressions", "from_"} and parsed is not None else None
    # sqlglot accepts a subquery without parentheses; no database does.
    bare = isinstance(source, sqlglot.exp.Select | sqlglot.exp.SetOperation)
    if source is None or bare or not isinstance(parsed, sqlglot.exp.Select):
        allowed = f"a table or a function, as after FROM in {dialect}"
        raise ParameterError.out_of_range("table", table, allowed)
    return source


def _reached(
    grid: np.ndarray[Any, np.dtype[np.float64]], score_type: str, dialect: str
) -> tuple[str, str, str]:
    """Return SQL for the highest threshold that a score reaches, null if it reaches none.

    The three parts are: a helper column, a join that uses it, and the expression. A null score reaches no
    threshold: each comparison with it takes the lower branch.
    """
    # Rounding the thresholds to single precision lets DOUBLE comparisons give the single-precision result.
    with np.errstate(over="ignore"):
        rounded = grid.astype(np.float32) if score_type == "float32" else grid
    edges, leaves = [None, *rounded.tolist()], [None, *grid.tolist()]
    if dialect == "postgres":
        found = f"WIDTH_BUCKET(__score, [{_doubles(edges[1:])}])"
        return "", "", f"([{_doubles(leaves[1:])}])[{found}]"
    if len(grid) <= _FEW:
        return "", "", _search(list(map(_double, edges[1:])), list(map(_double, leaves)))
    # Each part begins with the threshold that all its scores reach.
    width = math.isqrt(len(grid)) + 1
    begins = range(0, len(leaves), width)
    part = _search([_double(edges[begin]) for begin in begins[1:]], list(map(str, range(len(begins)))))
    table = {"__t": leaves} if rounded is grid else {"__t": leaves, "__e": edges}
    columns = [f"{name}{place}" for name in table for place in range(width)]

    def row(begin: int) -> str:
        # No score reaches a null threshold.
        return ", ".join(
            _doubles((column[begin : begin + width] + [None] * width)[:width]) for column in table.values()
        )

    values = ", ".join(f"({place}, {row(begin)})" for place, begin in enumerate(begins))
    join = f" JOIN (VALUES {values}) AS edges(__place, {', '.join(columns)}) ON __part = __place"
    found = _search(columns[-width + 1 :], columns[:width])
    return f", {part} AS __part", join, found


def _search(edges: list[str], leaves: list[str]) -> str:
    """Return nested CASE expressions for the leaf after the last ascending edge that a score reaches."""
    if not edges:
        return leaves[0]
    middle = len(edges) // 2
    above = _search(edges[middle + 1 :], leaves[middle + 1 :])
    below = _search(edges[:middle], leaves[: middle + 1])
    return f"CASE WHEN __score >= {edges[middle]} THEN {above} ELSE {below} END"


def _is_number(column: str) -> str:
    # Engines disagree whether NaN differs from itself or equals the constant NaN.
    return f"NOT {column} IS NULL AND {column} = {column} AND {column} <> {_double(math.nan)}"


def _double(value: float | None) -> str:
    """Return a constant, as a string: that is rounded once, a decimal literal would be rounded twice."""
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
    for name, value in (("positive", positive), ("negative", negative)):
        if isinstance(value, float) and not math.isfinite(value):
            raise ParameterError.out_of_range(name, value, "a text, a truth value or a finite number")
    if type(positive) is not type(negative) and (
        isinstance(positive, str | bool) or isinstance(negative, str | bool)
    ):
        raise ParameterError.out_of_range("negative", negative, f"of the type of positive, {positive!r}")
    if positive == negative:
        raise ParameterError.out_of_range("negative", negative, f"another value than positive, {positive!r}")
    return positive, negative
