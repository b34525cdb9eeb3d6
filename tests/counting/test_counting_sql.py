"""A database counts what ``count_confusion`` counts, bit for bit."""

import contextlib
import io
from typing import Any, get_args

import duckdb
import numpy as np
import polars as pl
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.base.typing import Dialect
from nci_frames.counting import sql as sql_module
from tests.cases import first_quick
from tests.logs import random_log
from tests.postgres import MISSING, Server, running_server
from tests.small_jobs import ended
from tests.sql_logs import BAD, GRID, counted, log_of, near


def asked(log: pl.DataFrame, grid: list[float] = GRID, **options: Any) -> pl.DataFrame:
    """Return what DuckDB says to the query."""
    options = {"segments": "country", **options}
    sql = nf.counting_sql("log", thresholds=grid, dialect="duckdb", **options)
    with duckdb.connect() as connection:
        connection.register("log", log.to_arrow())
        return connection.sql(sql).pl()


def check(log: pl.DataFrame, expected: pl.DataFrame, grid: list[float] = GRID, **options: Any) -> None:
    """Check that DuckDB counts what is expected."""
    counts = nf.read_counts(asked(log, grid, **options), thresholds=grid)
    assert_frame_equal(counts, expected, check_exact=True, check_dtypes=False)


LOG = log_of(near(GRID, np.float64))


@pytest.fixture(params=[32, 0], ids=["one step", "two steps"])
def steps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thresholds searched in one step, and in two as many thresholds are."""
    monkeypatch.setattr(sql_module, "_FEW", request.param)


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize(("dtype", "words"), first_quick([(np.float32, "float32"), (np.float64, "float64")]))
def test_duckdb_counts_the_same(dtype: type[np.floating], words: Any) -> None:
    log = log_of(near(GRID, dtype))
    check(log, counted(log), score_type=words)


# A grid that is drawn may well lie elsewhere than the scores.
@pytest.mark.filterwarnings("ignore::nci_frames.OutsideGridWarning")
@pytest.mark.long
@given(
    scores=st.lists(st.floats(allow_nan=False), min_size=1, max_size=40),
    grid=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=19, unique=True),
    few=st.sampled_from([0, 32]),
)
def test_duckdb_counts_any_scores_at_any_thresholds(scores: list[float], grid: list[float], few: int) -> None:
    grid = sorted(set(grid))
    log = log_of(np.array([*scores, *grid]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sql_module, "_FEW", few)
        check(log, counted(log, grid), grid)


WORDS = ("model", "label", "score", "threshold", "invalid", "tp", "key", "country", "count", "fold", "null")
#: Names that a database takes for one where they differ by case alone.
WRITTEN = st.sampled_from(WORDS).flatmap(lambda word: st.sampled_from([word, word.upper(), word.title()]))


@pytest.mark.thorough
@given(names=st.lists(WRITTEN, min_size=3, max_size=5, unique_by=str.lower))
def test_names_in_any_case_are_counted_rightly_or_refused(names: list[str]) -> None:
    log = random_log(60).select("model", "label", "score", "fold", "country")[:, : len(names)]
    log = log.rename(dict(zip(log.columns, names, strict=True)))
    options: Any = dict(zip(("model", "label", "score"), names, strict=False), segments=names[3:])
    with contextlib.suppress(nf.NciFramesError):
        increments = asked(log, [0.0, 0.5], **options)
        expected = nf.count_confusion(nf.scan_predictions(log, **options), thresholds=[0.0, 0.5])
        found = nf.read_counts(increments, thresholds=[0.0, 0.5])
        assert_frame_equal(found, expected, check_exact=True, check_dtypes=False)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::nci_frames.OutsideGridWarning")
def test_many_thresholds_that_are_one_in_single_precision() -> None:
    grid = [0.3 + 3e-9 * place for place in range(60)]
    log = log_of(near(grid[::20], np.float32))
    check(log, counted(log, grid), grid, score_type="float32")


@pytest.mark.usefixtures("steps")
def test_keys_may_have_the_names_of_what_is_in_the_query() -> None:
    keys = {"placed": "a", "part": 1, "edges": "b", "t0": 2, "logged": "c"}
    log = LOG.with_columns(pl.lit(value).alias(key) for key, value in keys.items())
    expected = nf.count_confusion(nf.scan_predictions(log, segments=list(keys)), thresholds=GRID)
    check(log, expected, segments=list(keys))


@pytest.mark.thorough
def test_results_of_several_nights_add_up() -> None:
    parts = [asked(part) for part in (LOG[:300], LOG[300:])]
    assert_frame_equal(nf.read_counts(pl.concat(parts), thresholds=GRID), counted(LOG), check_exact=True)
    merged = nf.merge_counts(*(nf.read_counts(part, thresholds=GRID) for part in parts))
    assert_frame_equal(merged, counted(LOG), check_exact=True)


def test_weights_are_summed() -> None:
    # Quarters add up without rounding, in any order.
    log = LOG.with_columns(weight=pl.Series(np.random.default_rng(2).integers(0, 9, len(LOG)) / 4))
    scan = nf.scan_predictions(log, segments="country", weight="weight")
    strata = nf.count_confusion(scan, thresholds=GRID)
    check(log, nf.pool_counts(strata, over="weight"), weight="weight")
    # A query of one's own may group by the weight: then they are whole rows of each.
    grouped = asked(log.rename({"weight": "w"}), segments=["country", "w"]).rename({"w": "weight"})
    assert_frame_equal(nf.read_counts(grouped, thresholds=GRID), strata, check_exact=True)


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        ([True, False], {"positive": True}),
        (["bad", "it's good"], {"positive": "bad", "negative": "it's good"}),
        ([2, 7], {"positive": 2, "negative": 7}),
        ([0, 1], {"positive": 0}),
    ],
)
def test_labels_of_any_type(labels: list[Any], options: dict[str, Any]) -> None:
    named = LOG.with_columns(label=pl.Series([labels[value] for value in 1 - LOG["label"]]))
    check(named, counted(LOG), **options)


@pytest.mark.usefixtures("steps")
def test_rows_that_are_not_valid_are_an_error_or_a_warning() -> None:
    increments = asked(BAD, [0.5])
    with pytest.raises(nf.InvalidRowsError, match="5 rows: no valid label"):
        nf.read_counts(increments, thresholds=[0.5])
    with pytest.warns(nf.InvalidRowsWarning, match="not counted in the increments: 5 "):
        counts = nf.read_counts(increments, thresholds=[0.5], on_invalid="drop")
    assert counts.select("tp", "fp", "fn", "tn").row(0) == (1, 0, 0, 1)


def test_a_group_of_rows_that_are_not_valid_is_none() -> None:
    log = log_of(np.array([0.3, 0.7, 0.5, np.nan])).with_columns(model=pl.Series(["a", "a", "a", "b"]))
    with pytest.warns(nf.InvalidRowsWarning):
        counts = nf.read_counts(asked(log, [0.5]), thresholds=[0.5], on_invalid="drop")
    with pytest.warns(nf.InvalidRowsWarning):
        expected = nf.count_confusion(
            nf.scan_predictions(log, segments=["country"], on_invalid="drop"), thresholds=[0.5]
        )
    assert_frame_equal(counts, expected, check_dtypes=False)


@pytest.fixture(scope="module")
def server() -> Any:
    if MISSING:
        pytest.skip(MISSING)
    with running_server() as server:
        yield server


def in_postgres(server: Server, log: pl.DataFrame, sql: str, types: str) -> pl.DataFrame:
    server.run(f"DROP TABLE IF EXISTS log; CREATE TABLE log ({types});")
    rows = (
        log.write_csv(include_header=False, null_value="NULL")
        .replace("inf", "Infinity")
        .replace("nan", "NaN")
    )
    server.run(f"COPY log FROM STDIN WITH (FORMAT csv, NULL 'NULL');\n{rows}\\.\n")
    table = server.run(f"{sql};")
    kinds = {"model": pl.String, "country": pl.String, "threshold": pl.Float64}
    return pl.read_csv(io.StringIO(table), schema_overrides=kinds)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("dtype", "words", "kind"), [(np.float32, "float32", "real"), (np.float64, "float64", "double precision")]
)
def test_postgres_counts_the_same(server: Server, dtype: type[np.floating], words: Any, kind: str) -> None:
    scores = near(GRID, dtype)
    # PostgreSQL refuses what underflows in its type.
    log = log_of(scores[(scores == 0) | (np.abs(scores) >= np.finfo(dtype).tiny)])
    sql = nf.counting_sql("log", thresholds=GRID, dialect="postgres", segments="country", score_type=words)
    increments = in_postgres(server, log, sql, f"model text, country text, label int, score {kind}")
    assert_frame_equal(nf.read_counts(increments, thresholds=GRID), counted(log), check_exact=True)


@pytest.mark.thorough
def test_postgres_finds_the_rows_that_are_not_valid(server: Server) -> None:
    sql = nf.counting_sql("log", thresholds=[0.5], dialect="postgres", segments="country")
    types = "model text, country text, label int, score double precision"
    assert in_postgres(server, BAD, sql, types)["invalid"].sum() == 5


@pytest.mark.thorough
@pytest.mark.parametrize("dialect", first_quick(get_args(Dialect)))
def test_every_dialect_can_read_its_query(dialect: Any) -> None:
    sql = nf.counting_sql(
        "db.log",
        thresholds=[i / 63 for i in range(64)],
        dialect=dialect,
        segments='odd "name`',
        positive="a'b\\",
        negative="c",
    )
    parsed = sqlglot.parse_one(sql, read=dialect)
    assert [column.alias_or_name for column in parsed.expressions] == [
        "model", 'odd "name`', "threshold", "positives", "negatives", "invalid",
    ]  # fmt: skip
    literals = {node.this for node in parsed.find_all(sqlglot.exp.Literal) if node.is_string}
    assert "a'b\\" in literals


INCREMENTS = pl.DataFrame(
    {"model": ["a", "a"], "threshold": [None, 0.5], "positives": [1, 2], "negatives": [3, 4]}
)


def test_types_of_other_engines_are_read() -> None:
    expected = nf.read_counts(INCREMENTS)
    numbers = pl.col("positives", "negatives")
    for dtype in (pl.Int32, pl.UInt8, pl.Decimal(38, 0)):
        other = INCREMENTS.with_columns(numbers.cast(dtype), pl.col("model").cast(pl.Categorical))
        assert_frame_equal(nf.read_counts(other), expected)
    assert nf.read_counts(INCREMENTS.with_columns(numbers.cast(pl.Float64))).schema["tp"] == pl.Float64
    assert_frame_equal(nf.read_counts(INCREMENTS.lazy()), expected)


@pytest.mark.parametrize("thresholds", ["uniform:5", "0:1:lin:5", "0,0.25,0.5,0.75,1"])
def test_the_command_prints_the_query(thresholds: str) -> None:
    command = ["sql", "log", "--dialect", "duckdb", "--thresholds", thresholds, "--segments", "country"]
    expected = nf.counting_sql(
        "log", thresholds=nf.uniform_thresholds(5), dialect="duckdb", segments="country"
    )
    assert ended(0, *command).output == f"{expected}\n"
