"""Keys of frames: names that no table needs, values that can be told apart, and their texts."""

import re
from datetime import datetime, timedelta

import duckdb
import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.questions.segments import segment_labels
from tests.cases import first_quick
from tests.fuzz.calls import calls

TAKE_FRAMES = [
    calls()["read_counts"],
    *(c for c in calls().values() if c.takes in ("counts", "rates", "pairs")),
]


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    label = rng.random(200) < 0.4
    days = np.arange(200) % 2
    return pl.DataFrame({"model": "a", "day": days, "label": label, "score": np.round(rng.normal(label), 1)})


@pytest.mark.parametrize("names", first_quick([["metric", "rank"], ["__group", "*", "^day$", ""]]))
@pytest.mark.parametrize("call", TAKE_FRAMES, ids=lambda call: call.name)
def test_no_key_has_a_name_that_a_table_needs(call, names):
    for name in names:
        frame = call.frames[0].with_columns(pl.lit("x").alias(name))
        with pytest.raises(nf.SchemaError, match=f"(?s)the key.*{re.escape(repr(name))}"):
            call.function(frame, *call.frames[1:], **call.options)


@pytest.mark.parametrize(
    "key",
    first_quick(["decision", "scenario", "prior", "scores", "labels", "len", "rows_", "count", "value_"]),
)
def test_other_names_are_free(log, key):
    """Also those that only frames of classes or of plans need."""
    pair = pl.concat([log, log.with_columns(model=pl.lit("b"), score=-pl.col("score"))])
    counts = [
        nf.count_confusion(nf.scan_predictions(pair.rename({"day": name}), segments=name), thresholds="exact")
        for name in ("day", key)
    ]
    for change in (
        lambda counts, _: counts,
        lambda counts, _: nf.find_crossovers(counts, metric="pr_auc", over="prevalence"),
        lambda counts, _: nf.decision_map(nf.compute_rates(counts)),
        lambda counts, name: nf.rank_models(nf.compute_areas(counts, prevalence=0.1), by=[name]),
    ):
        usual, other = map(change, counts, ("day", key))
        assert other.equals(usual.rename({"day": key}))
    pooled = [nf.pool_counts(each, over=name) for each, name in zip(counts, ("day", key), strict=True)]
    assert pooled[0].equals(pooled[1])


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([b"\x00", b"\xff"], ["0x00", "0xff"]),
        ([b"at", b"de"], ["at", "de"]),
        ([timedelta(1), timedelta(hours=2)], ["P1D", "PT2H"]),
    ],
    ids=["bytes", "text", "duration"],
)  # fmt: skip
def test_keys_of_every_type_have_a_text(log, values, texts):
    rows = log.with_columns(pl.Series("day", values)[log["day"]])
    rows = rows.with_columns(score=(pl.col("score") / 8 + 0.5).clip(0, 1))
    counts = nf.count_confusion(rows, thresholds="exact")
    assert nf.check_projection(counts, over="day")["farthest"].is_in(texts).all()
    points = nf.project_rates(
        nf.compute_rates(counts).filter(threshold=0.5), metrics="precision", prevalence=[0.01, 0.1]
    )
    spec = str(nf.chart_segments(points, segments="day").to_dict())
    assert all(repr(text) in spec for text in texts)
    assert segment_labels(counts, ["day"]).unique().sort().to_list() == texts


@pytest.mark.parametrize("dtype", [pl.Int128, pl.UInt128])
def test_keys_of_types_that_arrow_lacks(log, dtype):
    """Every function that took the counts ended in an error of Arrow."""
    counts = nf.count_confusion(log.with_columns(pl.col("day").cast(dtype)), thresholds=[0.5])
    whole = nf.count_confusion(log.drop("day"), thresholds=[0.5])
    assert nf.pool_counts(counts, over="day").equals(whole)


@pytest.mark.parametrize("kind", ["clock", "nanoseconds"])
def test_times_that_python_takes_for_equal_are_refused(log, kind):
    """One group of two was lost."""
    hours = pl.Series([datetime(2026, 10, 25, 0), datetime(2026, 10, 25, 1)]).dt.replace_time_zone("UTC")
    times = hours.dt.convert_time_zone("Europe/Berlin")
    if kind == "nanoseconds":
        times = pl.Series([1, 2], dtype=pl.Datetime("ns"))
    rows = log.with_columns(times[log["day"]].alias("day"))
    counts = nf.count_confusion(rows, thresholds=[0.5])
    assert len(counts) == 2
    with pytest.raises(nf.SchemaError, match=r"dt\.convert_time_zone"):
        nf.bootstrap(counts, metric="recall", repeats=20)
    told = counts.with_columns(pl.col("day").cast(pl.String))
    assert len(nf.bootstrap(told, metric="recall", repeats=20)) == 2
    if kind == "clock":
        told = counts.with_columns(pl.col("day").dt.convert_time_zone("UTC"))
        assert len(nf.bootstrap(told, metric="recall", repeats=20)) == 2


def test_a_column_that_makes_polars_panic_is_an_error():
    relation = duckdb.sql("SELECT 'a' AS model, 1 AS label, 0.5 AS score, INTERVAL 1 MONTH AS took")
    with pytest.raises(nf.SourceError, match="Polars cannot read a column"):
        nf.scan_predictions(relation)
