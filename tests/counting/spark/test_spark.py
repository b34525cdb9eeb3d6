"""Spark counts what one process counts, bit for bit, and tells the same of rows that are not valid."""

import shutil
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.counting.spark.rows import remote_schema
from tests import sql_logs as of_sql
from tests.logs import GRID, odd_log, random_log
from tests.spark_cluster import MISSING, Cluster, running_cluster

if MISSING:
    pytest.skip(MISSING, allow_module_level=True)

pytestmark = [pytest.mark.spark, pytest.mark.thorough]
KEYS = ["country", "day", "old", "date", "time"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def spark(cluster: Cluster) -> Iterator[Any]:
    settings = {
        # Timestamps are points of time, whatever the session calls them.
        "spark.sql.session.timeZone": "Europe/Berlin",
        # A count that cannot succeed is tried twice, not four times.
        "spark.task.maxFailures": "2",
    }
    session = cluster.session(**settings)
    yield session
    session.stop()


def written(log: pl.DataFrame, folder: Path, files: int = 3) -> str:
    """Write a log as several files."""
    folder.mkdir(exist_ok=True)
    for place in range(files):
        log[place::files].write_parquet(folder / f"part-{place}.parquet")
    return str(folder)


def outcome(source: Any, *, thresholds: Any, **options: Any) -> tuple[pl.DataFrame, list[str]]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        counts = nf.count_confusion(nf.scan_predictions(source, **options), thresholds=thresholds)
    return counts, [str(warning.message) for warning in told]


@pytest.mark.parametrize("thresholds", [GRID, "exact", "auto"])
def test_keys_of_every_kind_and_dropped_rows(spark: Any, tmp_path: Path, thresholds: Any) -> None:
    log = odd_log()
    frame = spark.read.parquet(written(log, tmp_path / "log")).repartition(3)
    options: dict[str, Any] = {"segments": KEYS, "on_invalid": "drop", "thresholds": thresholds}
    counts, told = outcome(frame, **options)
    expected, here = outcome(log, **options)
    assert_frame_equal(counts, expected, check_exact=True)
    assert told == [message.replace("the DataFrame", "the Spark DataFrame") for message in here]


def test_rows_that_are_not_valid_are_refused_with_their_files(spark: Any, tmp_path: Path) -> None:
    log = odd_log()
    good, bad = log[:200].with_columns(label=1, score=pl.lit(0.5, pl.Float32)), log[200:]
    good.write_parquet(tmp_path / "good.parquet")
    bad.write_parquet(tmp_path / "bad one.parquet")
    with pytest.raises(nf.InvalidRowsError) as here:
        nf.count_confusion(nf.scan_predictions(tmp_path, segments=KEYS), thresholds=GRID)
    with pytest.raises(nf.InvalidRowsError) as there:
        nf.count_confusion(
            nf.scan_predictions(spark.read.parquet(str(tmp_path)), segments=KEYS), thresholds=GRID
        )
    lines = [str(error.value).splitlines() for error in (here, there)]
    assert lines[0][0] == lines[1][0]
    assert lines[0][2:] == lines[1][2:]
    assert "1 file of the Spark DataFrame: 'file:" in lines[1][1]
    assert "bad%20one.parquet" in lines[1][1] or "bad one.parquet" in lines[1][1]


def test_a_frame_of_predictions_needs_no_scan(spark: Any, tmp_path: Path) -> None:
    log = random_log(300, dtype=np.float32)
    frame = spark.read.parquet(written(log, tmp_path / "log"))
    assert_frame_equal(
        nf.count_confusion(frame, thresholds=GRID, by="country"),
        nf.count_confusion(log, thresholds=GRID, by="country"),
        check_exact=True,
    )
    # Filters and joins of Spark come before the count.
    assert_frame_equal(
        nf.count_confusion(frame.where("country = 'de'"), thresholds="exact"),
        nf.count_confusion(log.filter(country="de"), thresholds="exact"),
        check_exact=True,
    )


@pytest.mark.parametrize("thresholds", [GRID, "exact"])
def test_weights_are_summed_in_one_order(spark: Any, tmp_path: Path, thresholds: Any) -> None:
    log = random_log(2000).with_columns(weight=np.random.default_rng(0).random(2000))
    frame = spark.read.parquet(written(log, tmp_path / "log", files=5))
    counts = nf.count_confusion(frame, thresholds=thresholds)
    assert_frame_equal(counts, nf.count_confusion(log, thresholds=thresholds), rel_tol=1e-12, abs_tol=1e-9)
    assert_frame_equal(counts, nf.count_confusion(frame, thresholds=thresholds), check_exact=True)
    assert counts.select(pl.min_horizontal(pl.col("tp", "fp", "fn", "tn").min())).item() >= 0


def test_weights_without_a_finite_sum(spark: Any, tmp_path: Path) -> None:
    log = random_log(40).with_columns(weight=pl.lit(1e308))
    with pytest.raises(nf.InvalidRowsError, match="the weights add up to more than Float64 holds"):
        nf.count_confusion(spark.read.parquet(written(log, tmp_path / "log")), thresholds=GRID)


def test_other_names_labels_and_a_score_column_for_each_model(spark: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    log = pl.DataFrame(
        {
            "a.b": rng.random(200),
            "`c`": rng.random(200),
            "is it?": rng.choice(["spam", "ham"], 200),
            "Land": rng.choice(["at", "de"], 200),
        }
    )
    log.write_parquet(tmp_path / "log.parquet")
    options: dict[str, Any] = {
        "scores": {"one": "a.b", "two": "`c`"},
        "label": "is it?",
        "positive": "spam",
        "segments": "Land",
        "thresholds": GRID,
    }
    frame = spark.read.parquet(str(tmp_path / "log.parquet"))
    counts, _ = outcome(frame, **options)
    assert_frame_equal(counts, outcome(log, **options)[0], check_exact=True)
    with pytest.raises(nf.InvalidRowsError, match="no row has the positive label 'spma'"):
        outcome(frame, **{**options, "positive": "spma"})
    with pytest.raises(nf.SchemaError, match="missing column 'land'"):
        outcome(frame, **{**options, "segments": "land"})
    twice = frame.select("*", frame["Land"])
    with pytest.raises(nf.SchemaError, match="there are several columns 'Land'"):
        outcome(twice, **options)


def test_other_functions_that_count(spark: Any, tmp_path: Path) -> None:
    log = random_log(1000).with_columns(unit=pl.Series(range(1000)) // 3)
    frame = spark.read.parquet(written(log, tmp_path / "log"))
    scores = nf.count_scores(frame, thresholds=GRID)
    assert_frame_equal(scores, nf.count_scores(log, thresholds=GRID), check_exact=True)
    buckets = nf.count_confusion(nf.unit_buckets(frame, buckets=5), thresholds=GRID)
    assert_frame_equal(
        buckets, nf.count_confusion(nf.unit_buckets(log, buckets=5), thresholds=GRID), check_exact=True
    )


def test_rows_stay_in_spark(spark: Any, tmp_path: Path) -> None:
    log = random_log(30).with_columns(unit=pl.Series(range(30)))
    frame = spark.read.parquet(written(log, tmp_path / "log"))
    predictions = nf.scan_predictions(frame, segments="country", unit="unit")
    schema = nf.scan_predictions(log, segments="country", unit="unit").collect_schema()
    assert predictions.collect_schema() == schema
    for use in (
        predictions.collect,
        lambda: nf.count_confusion(predictions.filter(country="de")),
        lambda: nf.compare_auc(frame),
        lambda: nf.sink_exact_counts(frame, tmp_path / "exact.parquet"),
        lambda: nf.count_pairs(predictions, thresholds=0.5),
    ):
        with pytest.raises(nf.SourceError, match="these rows are in Spark, where they can only be counted"):
            use()


def test_a_column_that_a_file_lacks_is_an_error_and_not_null(spark: Any, tmp_path: Path) -> None:
    log = random_log(90)
    folder = written(log, tmp_path / "log")
    log.drop("country").write_parquet(tmp_path / "log" / "part-1.parquet")
    frame = spark.read.parquet(folder)
    # The schema that Spark takes may be that of any file.
    frame = spark.read.schema("model string, country string, label boolean, score double").parquet(folder)
    assert frame.where("country is null").count() > log["country"].null_count()
    with pytest.raises(nf.SchemaError, match="missing column 'country'") as error:
        nf.scan_predictions(frame, segments="country")
    assert f"1 of 3 files: '{folder}/part-1.parquet'" in str(error.value)
    with pytest.raises(nf.SchemaError, match="missing column 'country'"):
        nf.scan_predictions(frame.withColumnRenamed("country", "land"), segments="land")
    kept = frame.persist()
    try:
        kept.count()
        with pytest.raises(nf.SchemaError, match="missing column 'country'"):
            nf.scan_predictions(kept, segments="country")
    finally:
        kept.unpersist()
    # What is not read need not be there; what is joined comes from other files.
    assert nf.count_confusion(nf.scan_predictions(frame, segments=()), thresholds=GRID)["tp"].max() > 0
    lands = spark.createDataFrame([("forest", "x"), ("linear", "y")], "model string, land string")
    joined = frame.select("model", "label", "score").join(lands, "model")
    assert nf.count_confusion(joined, thresholds=GRID)["land"].unique().sort().to_list() == ["x", "y"]


def test_a_column_inside_of_a_struct_that_a_file_lacks(spark: Any, tmp_path: Path) -> None:
    log = random_log(20).select("model", "label", of=pl.struct("score", "country"))
    log.write_parquet(tmp_path / "0.parquet")
    lacking = log.select("model", "label", of=pl.struct(pl.col("of").struct.field("score")))
    lacking.write_parquet(tmp_path / "1.parquet")
    schema = "model string, label boolean, of struct<score: double, country: string>"
    frame = spark.read.schema(schema).parquet(str(tmp_path))
    flat = frame.select("model", "label", "of.score", "of.country")
    with pytest.raises(nf.SchemaError, match=r"missing column 'of\.country'"):
        nf.count_confusion(flat, thresholds=GRID)
    assert len(nf.count_confusion(flat.drop("country"), thresholds=GRID))


def test_a_damaged_file_is_named_before_the_count(spark: Any, tmp_path: Path) -> None:
    folder = written(random_log(300), tmp_path / "log")
    frame = spark.read.parquet(folder)
    damaged = Path(folder, "part-1.parquet")
    damaged.write_bytes(damaged.read_bytes()[:-9])
    with pytest.raises(nf.SourceError, match="1 of the source's files cannot be read"):
        nf.count_confusion(frame, thresholds=GRID)


def test_footers_in_a_store_are_read_as_those_of_local_files(spark: Any, tmp_path: Path) -> None:
    log = random_log(10)
    few, many = tmp_path / "few columns.parquet", tmp_path / "many.parquet"
    log.write_parquet(few)
    # Its footer is longer than what is read at first.
    log.with_columns(pl.lit(1).alias(f"column {place:0200}") for place in range(500)).write_parquet(many)
    for file in (few, many):
        assert remote_schema(spark, file.as_uri()) == pl.read_parquet_schema(file)
    (tmp_path / "text").write_text("no Parquet")
    assert remote_schema(spark, (tmp_path / "text").as_uri()) is None


def test_a_source_that_gives_other_rows_each_time_is_refused(spark: Any) -> None:
    frame = spark.range(100_000, numPartitions=4).selectExpr(
        "'a' model", "rand() < 0.5 label", "rand() score"
    )

    def some(batches: Any) -> Any:
        for batch in batches:
            yield batch.slice(time.time_ns() // 1000 % 1000)

    with pytest.raises(nf.SourceError, match="the rows that were read are not the rows that the log has"):
        nf.count_confusion(frame.mapInArrow(some, frame.schema), thresholds=GRID)


def test_what_goes_wrong_in_spark_is_told(spark: Any, tmp_path: Path) -> None:
    folder = written(random_log(30), tmp_path / "log")
    frame = spark.read.parquet(folder)
    with pytest.raises(nf.ParameterError, match=r"the counts take [^\0]*hint:  take fewer thresholds"):
        nf.count_confusion(frame, thresholds=GRID, memory_limit=1000)
    broken = frame.selectExpr("model", "label", "cast(raise_error('no such score') AS double) score")
    with pytest.raises(nf.SourceError, match="Spark could not count the rows"):
        nf.count_confusion(broken, thresholds=GRID)
    predictions = nf.scan_predictions(frame)
    shutil.rmtree(folder)
    with pytest.raises(nf.SourceError, match="Spark could not count the rows"):
        nf.count_confusion(predictions, thresholds=GRID)


@pytest.mark.parametrize("more", [0, 40], ids=["one step", "two steps"])
@pytest.mark.parametrize(("dtype", "words"), [(np.float32, "float32"), (np.float64, "float64")])
def test_the_query_for_spark_counts_the_same(
    spark: Any, tmp_path: Path, dtype: type[np.floating], words: Any, more: int
) -> None:
    # Scores at, just below and just above thresholds, infinite, subnormal and -0.0; odd keys, and null ones.
    grid = sorted([*of_sql.GRID, *np.linspace(-5, -3, more).tolist()])
    good = of_sql.log_of(of_sql.near(grid, dtype))
    log = pl.concat([good, of_sql.BAD.cast({"score": good.schema["score"]})])
    options: dict[str, Any] = {"segments": "country", "weight": "weight", "positive": "bad"}
    log = log.with_columns(
        # Quarters add up without rounding, in any order.
        weight=pl.Series(np.random.default_rng(2).integers(0, 9, len(log)) / 4),
        label=pl.col("label").replace_strict({1: "bad", 0: "it's \\ good", 2: "neither"}),
    )
    spark.read.parquet(written(log, tmp_path / "log")).createOrReplaceTempView("predictions")
    query = nf.counting_sql("predictions", thresholds=grid, dialect="spark", score_type=words,
                            negative="it's \\ good", **options)  # fmt: skip
    increments = pl.DataFrame(spark.sql(query).toArrow())
    with pytest.raises(nf.InvalidRowsError, match="5 rows"):
        nf.read_counts(increments, thresholds=grid)
    with pytest.warns(nf.InvalidRowsWarning, match="5 "):
        counts = nf.read_counts(increments, thresholds=grid, on_invalid="drop")
    # Of the rows that are not valid the first two are.
    valid = log.head(len(good) + 2)
    strata = nf.count_confusion(nf.scan_predictions(valid, **options), thresholds=grid)
    assert_frame_equal(counts, nf.pool_counts(strata, over="weight"), check_exact=True)


def test_a_ledger_counts_a_named_frame_once(spark: Any, tmp_path: Path) -> None:
    pytest.importorskip("deltalake", reason="no deltalake: pip install 'nci_frames[delta]'")
    ledger = nf.CountsLedger(tmp_path / "ledger")
    logs = [random_log(200, seed=seed, dtype=np.float32) for seed in range(3)]
    frames = [spark.read.parquet(written(log, tmp_path / f"log-{place}")) for place, log in enumerate(logs)]
    options: dict[str, Any] = {"thresholds": GRID, "segments": "country"}

    def append(source: Any, **more: Any) -> list[str]:
        return ledger.append(source, **options, **more)["event"].to_list()

    assert append(frames[0], name="monday") == ["counted"]
    assert append(frames[0], name="monday") == ["known"]
    assert append(frames[1], name="tuesday") == ["counted"]
    # Beside files, in the same counts.
    logs[2].write_parquet(tmp_path / "wednesday.parquet")
    assert append(tmp_path / "wednesday.parquet") == ["counted"]
    expected = nf.count_confusion(nf.scan_predictions(pl.concat(logs), segments="country"), thresholds=GRID)
    assert_frame_equal(ledger.read(), expected, check_exact=True)
    sources = ledger.sources()
    assert sources["path"].head(2).to_list() == ["frame:monday", "frame:tuesday"]
    assert sources["rows"].to_list() == [200, 200, 200]
    assert ledger.verify(files=True).is_empty()
    assert ledger.rebuild()["path"].to_list() == [str(tmp_path / "wednesday.parquet")]
    assert_frame_equal(ledger.read(), expected, check_exact=True)
    ledger.retire(sources["source"][0])
    assert append(frames[0], name="monday") == ["counted"]
    assert_frame_equal(ledger.read(), expected, check_exact=True)
    with pytest.raises(nf.ParameterError, match="a Spark DataFrame needs a name"):
        append(frames[0])
    with pytest.raises(nf.ParameterError, match="only a Spark DataFrame has a name"):
        append(tmp_path / "wednesday.parquet", name="monday")


def test_what_is_shuffled_does_not_grow_with_the_rows(cluster: Cluster, spark: Any, tmp_path: Path) -> None:
    moved = []
    # One partition for each of four files.
    spark.conf.set("spark.sql.files.openCostInBytes", "1g")
    try:
        for rows in (20_000, 400_000):
            frame = spark.read.parquet(written(random_log(rows), tmp_path / str(rows), files=4))
            assert frame.rdd.getNumPartitions() == 4
            predictions = nf.scan_predictions(frame, fold="fold", segments="country")
            before = {what: cluster.shuffled(what) for what in ("Bytes", "Records")}
            # 18 groups, of which each has scores in each of the 6 bins.
            nf.count_confusion(predictions, thresholds=[-0.1, 0.0, 0.1, 0.2, 0.3])
            moved.append({what: cluster.shuffled(what) - before[what] for what in before})
    finally:
        spark.conf.unset("spark.sql.files.openCostInBytes")
    assert moved[1]["Records"] == moved[0]["Records"] >= 4 * 18 * 6
    # Greater numbers are compressed less.
    assert 0 < moved[1]["Bytes"] < 1.5 * moved[0]["Bytes"]
