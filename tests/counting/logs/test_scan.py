"""What a log and its labels may look like, and what is said about a log that cannot be used."""

import re
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.base.folders import check_apart
from tests.cases import first_quick
from tests.forks import CALLS
from tests.logs import COUNTS, random_log
from tests.processes import in_python
from tests.small_jobs import ended

LOG = random_log(60)
COLUMNS: dict[str, Any] = {"fold": "fold", "segments": ["country"]}
BIG = 2**53  # beyond which Float64 misses whole numbers


def log_of(labels: Any) -> pl.DataFrame:
    return pl.DataFrame({"model": "a", "label": labels, "score": 0.5})


def sources(folder: Path) -> dict[str, Any]:
    LOG[:20].with_columns(extra=1).write_parquet(folder / "b.parquet")
    LOG[20:].select(reversed(LOG.columns)).write_parquet(folder / "c.parquet")
    arrow_log = LOG.to_arrow()
    return {
        "folder": folder,
        "text": str(folder),
        "glob": f"{folder}/*.parquet",
        "list of paths": [folder / "b.parquet", folder / "c.parquet"],
        "URL": f"file://{folder}/",
        "list of URLs": [f"file://{folder}/b.parquet", f"file://{folder}/c.parquet"],
        "DataFrame": LOG,
        "LazyFrame": LOG.lazy(),
        "list of frames": [LOG[:30], LOG[30:].lazy()],
        "list of all": [folder / "b.parquet", arrow_log[20:], LOG.clear().to_arrow()],
        "pyarrow": arrow_log,
        "pandas": pd.DataFrame(LOG.to_dict(as_series=False)),
    }


@pytest.mark.parametrize("kind", [
    "folder", "text", "glob", "list of paths", "URL", "list of URLs", "DataFrame", "LazyFrame",
    "list of frames", "list of all", "pyarrow", "pandas",
])  # fmt: skip
def test_every_kind_of_source_gives_the_same_predictions(tmp_path: Path, kind: str) -> None:
    scanned = nf.scan_predictions(sources(tmp_path)[kind], **COLUMNS).collect()
    assert scanned.schema == {
        "model": pl.String, "fold": pl.String, "country": pl.String, "label": pl.Boolean, "score": pl.Float64,
    }  # fmt: skip
    assert_frame_equal(scanned, LOG)


def test_a_list_has_the_rows_of_its_frames_if_its_files_have_none(tmp_path: Path) -> None:
    LOG.clear().write_parquet(tmp_path / "empty.parquet")
    assert_frame_equal(nf.scan_predictions([tmp_path, LOG], **COLUMNS).collect(), LOG)


def test_a_delta_table_is_what_its_log_says(tmp_path: Path) -> None:
    table = tmp_path / "table"
    LOG[:20].write_delta(table, delta_write_options={"partition_by": ["fold"]})
    LOG[20:].write_delta(table, mode="append")
    expected = nf.count_confusion(nf.scan_predictions(LOG, **COLUMNS), thresholds=[0.1, 0.5])
    found = nf.count_confusion(nf.scan_predictions(table, **COLUMNS), thresholds=[0.1, 0.5])
    assert_frame_equal(found, expected)
    # A row that was overwritten is still in a file of the folder, but no longer in the table.
    LOG[:30].write_delta(table, mode="overwrite")
    found = nf.count_confusion(nf.scan_predictions([table], **COLUMNS), thresholds=[0.5])
    assert found.select("tp", "fp", "fn", "tn").sum().sum_horizontal().item() == 30
    with pytest.raises(nf.SchemaError, match=r"missing column 'clf' \(the model\)") as error:
        nf.scan_predictions(table, model="clf")
    assert "the Delta table" in str(error.value)


def test_the_files_of_a_delta_table_are_not_read_without_its_log(tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    table = tmp_path / "lake" / "log"
    LOG.write_delta(table, delta_write_options={"partition_by": ["fold"]})
    LOG.head(5).write_delta(table, mode="overwrite", delta_write_options={"partition_by": ["fold"]})
    globs = (f"{table}/*/*.parquet", f"{table}/**", f"{tmp_path}/*")
    for source in (table.parent, *globs, table / "fold=1", [table.parent]):
        with pytest.raises(nf.SourceError, match="the files of a Delta table") as error:
            nf.scan_predictions(source)
        assert error.value.where == repr(str(table))
    with pytest.raises(nf.SourceError, match="the files of a Delta table"):
        nf.CountsLedger(tmp_path / "ledger").append(table)
    for source in ([table, table], [str(table), table.as_uri()], table.as_uri()):
        assert len(nf.scan_predictions(source).collect()) == 5
    for path in table.rglob("*.parquet"):
        path.unlink()
    with pytest.raises(nf.SourceError, match="cannot be read") as error:
        nf.count_confusion(nf.scan_predictions(table), thresholds=[0.5])
    assert error.value.where == repr(str(table))


def test_the_url_of_a_file_of_this_machine_is_its_path(tmp_path: Path) -> None:
    folder = tmp_path / "a b%c[1]"
    folder.mkdir()
    LOG.write_csv(folder / "x.csv")
    for url in (folder.as_uri(), f"{folder.as_uri()}/x.csv", f"FILE://localhost{folder.as_uri()[7:]}"):
        assert len(nf.scan_predictions(url).collect()) == len(LOG)
    assert len(nf.scan_predictions([folder.as_uri(), folder / "x.csv"]).collect()) == len(LOG)
    ledger = nf.CountsLedger(tmp_path / "ledger")
    ledger.append(folder.as_uri(), thresholds=[0.5])
    assert ledger.sources()["path"].to_list() == [f"{folder}/x.csv"]
    with pytest.raises(nf.ParameterError, match="the output lies among the sources"):
        check_apart([f"{folder.as_uri()}/x.csv"], folder)


def test_files_beside_frames_are_checked_as_files_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    table = LOG.select("model", "label", "score").to_arrow()
    pq.write_table(table, path, write_page_checksum=True, compression="none", use_dictionary=False)
    assert len(nf.scan_predictions([path, LOG, tmp_path, path]).collect()) == 2 * len(LOG)
    column = pq.read_metadata(path).row_group(0).column(2)
    whole = bytearray(path.read_bytes())
    whole[column.data_page_offset + column.total_compressed_size - 9] ^= 1
    path.write_bytes(whole)
    scan = nf.scan_predictions([LOG.lazy(), path])
    with pytest.raises(nf.SourceError, match="damaged") as error:
        nf.count_confusion(scan, thresholds=[0.5])
    assert error.value.where == repr(str(path))
    LOG.write_parquet(path)
    with pytest.raises(nf.SourceError, match="changed while it was read") as error:
        nf.count_confusion(scan, thresholds=[0.5])
    assert error.value.where == repr(str(path))
    # Without checksums: the first bytes of what zstd compressed.
    LOG.write_parquet(path)
    path.write_bytes(path.read_bytes().replace(b"\x28\xb5\x2f\xfd", b"\xff" * 4))
    with pytest.raises(nf.SourceError, match="cannot be read") as error:
        nf.count_confusion(nf.scan_predictions([LOG, path]), thresholds=[0.5])
    assert error.value.where == repr(str(path))


@pytest.mark.parametrize("options", [{}, {"thresholds": "auto"}, {"thresholds": "exact"}], ids=str)
def test_a_stream_that_the_labels_used_up_is_noticed_beside_other_rows(options: dict[str, Any]) -> None:
    def scan() -> pl.LazyFrame:
        stream = pl.scan_arrow_c_stream(pa.RecordBatchReader.from_stream(LOG.to_arrow()))
        return nf.scan_predictions([stream, LOG], positive=1)

    with pytest.raises(nf.SourceError, match="60 rows after 120"):
        nf.count_confusion(scan(), **({"thresholds": [0.5]} | options))
    with pytest.raises(nf.SourceError, match="60 of 120 rows"):
        scan().collect()


def test_a_decimal_of_more_digits_than_polars_has_is_an_error(tmp_path: Path) -> None:
    wide = pa.array([1, 0], pa.decimal256(50, 3))
    pq.write_table(pa.table({"model": ["a", "a"], "label": [1, 0], "score": wide}), tmp_path / "x.parquet")
    with pytest.raises(nf.SourceError, match="precision") as error:
        nf.scan_predictions(tmp_path)
    assert error.value.where == repr(str(tmp_path / "x.parquet"))


def test_an_error_of_a_frame_is_its_own(tmp_path: Path) -> None:
    LOG.write_parquet(tmp_path / "x.parquet")
    odd = LOG.lazy().with_columns(score=pl.lit("odd").cast(pl.Float64))
    with pytest.raises(pl.exceptions.InvalidOperationError):
        nf.count_confusion(nf.scan_predictions([tmp_path, odd]), thresholds=[0.5])


def test_a_broken_delta_table_and_one_without_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(nf.SourceError, match="the Delta table cannot be read"):
        nf.scan_predictions(tmp_path)
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(nf.MissingPackageError, match="needs deltalake") as error:
        nf.scan_predictions(tmp_path)
    assert "pip install 'nci_frames[delta]'" in str(error.value)


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        ([True, False], None),
        ([1, 0], None),
        ([1.0, 0.0], None),
        (["spam", "ham"], "spam"),
        (pl.Series(["spam", "ham"], dtype=pl.Categorical), "spam"),
        ([2, 1], 2),
        ([2, 1], "2"),
        ([-1, 1], -1),
        ([True, False], "True"),
        ([False, True], "false"),
        *(
            (pl.Series([BIG + 1, BIG], dtype=dtype), positive)
            for dtype in (pl.Int64, pl.UInt64, pl.Int128)
            for positive in (BIG + 1, str(BIG + 1))
        ),
        *(
            (pl.Series(ends, dtype=dtype), ends[0])
            for dtype, low, high in (
                (pl.Int8, -128, 127),
                (pl.Int64, -(2**63), 2**63 - 1),
                (pl.UInt64, 0, 2**64 - 1),
            )
            for ends in ([low, high], [high, low])
        ),
        *((pl.Series([1, 0], dtype=dtype), True) for dtype in (pl.Int8, pl.Float32, pl.Decimal(5, 1))),
    ],
    ids=str,
)
def test_labels(labels: Any, positive: Any) -> None:
    found = nf.scan_predictions(log_of(labels), positive=positive).collect()
    assert found["label"].to_list() == [True, False]


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Decimal(10, 2), pl.Float32])
def test_scores_of_any_number(dtype: Any) -> None:
    log = pl.DataFrame({"model": "a", "label": [1, 0], "score": pl.Series([1, 0]).cast(dtype)})
    kept = pl.Float32 if dtype == pl.Float32 else pl.Float64
    assert nf.scan_predictions(log).collect().schema["score"] == kept


def test_score_columns_of_different_types_are_compared_as_float64() -> None:
    values = [0.1, 0.5, 0.75, 3.0]
    types = {"f32": pl.Float32, "f64": pl.Float64, "i16": pl.Int16, "dec": pl.Decimal(9, 3)}
    wide = pl.DataFrame({name: pl.Series(values).cast(dtype) for name, dtype in types.items()})
    scan = nf.scan_predictions(wide.with_columns(label=pl.Series([0, 1, 1, 0])), scores={c: c for c in types})
    with pytest.warns(nf.MixedTypesWarning, match="all are compared as Float64"):
        found = scan.collect()
    assert found.schema["score"] == pl.Float64
    assert found.filter(model="f32")["score"].to_list() == pl.Series(values, dtype=pl.Float32).to_list()
    for name in ("f64", "dec"):
        assert found.filter(model=name)["score"].to_list() == values
    assert found.filter(model="i16")["score"].to_list() == [0, 0, 0, 3]


def test_a_column_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    LOG.with_columns(id=pl.lit(1, pl.Int128)).write_parquet(path)
    with pytest.raises(nf.SourceError, match="that pyarrow cannot read: Integers with more"):
        nf.scan_predictions(path)
    duckdb.sql(f"COPY (SELECT 1 AS label, 0.5 AS score, 'a' AS model, INTERVAL 3 DAYS AS age) TO '{path}'")
    with pytest.raises(nf.SourceError, match="that Polars cannot read: 'age', of intervals"):
        nf.scan_predictions(path)


@pytest.mark.filterwarnings("ignore::nci_frames.IgnoredUnitsWarning")
@pytest.mark.parametrize("claim", first_quick(["label", "day", "weight", "unit", "score", "model"], 2))
def test_a_file_that_claims_falsely_to_be_sorted_is_counted_rightly(tmp_path: Path, claim: str) -> None:
    """Polars believes it: of whole numbers it compares only some, where a search would find the others."""
    rng, roles = np.random.default_rng(0), {"segments": "day", "weight": "weight", "unit": "unit"}
    whole = {name: rng.integers(0, most, 600) for name, most in (("label", 2), ("day", 3), ("unit", 50))}
    log = pl.DataFrame(whole | {"weight": rng.integers(0, 9, 600), "score": rng.random(600), "model": "a"})
    table = log.to_arrow()
    place = pq.SortingColumn(table.column_names.index(claim))
    pq.write_table(table, tmp_path / "log.parquet", sorting_columns=[place])
    expected = nf.count_confusion(nf.scan_predictions(log, **roles), thresholds=[0.2, 0.5])
    flagged = log.with_columns(pl.col(claim).set_sorted())
    for source in (tmp_path / "log.parquet", flagged, flagged.lazy()):
        found = nf.count_confusion(nf.scan_predictions(source, **roles), thresholds=[0.2, 0.5])
        assert_frame_equal(found, expected)


def test_a_word_as_a_score_can_be_dropped(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("model,label,score\na,1,0.5\na,0,high\na,0,0.25\n")
    scan = nf.scan_predictions(tmp_path / "log.csv", on_invalid="drop")
    with pytest.warns(nf.InvalidRowsWarning, match=r"1 \(score is null\)"):
        assert scan.collect()["score"].to_list() == [0.5, 0.25]


@pytest.mark.parametrize("name", ["", "*", "^sc.*$"])
def test_a_name_that_cannot_be_read_does_no_harm_beside_others(name: str) -> None:
    log = LOG.with_columns(pl.lit("x").alias(name))
    assert_frame_equal(nf.scan_predictions(log, **COLUMNS).collect(), LOG)


@pytest.mark.parametrize("positive", [float("inf"), "-inf", "1e999", float("nan"), 2**127, "9" * 400])
@pytest.mark.parametrize("dtype", [pl.Int64, pl.Float64, pl.Decimal(5, 1)])
def test_a_label_that_no_number_equals_is_refused(positive: Any, dtype: Any) -> None:
    with pytest.raises(nf.ParameterError, match="positive must be a"):
        nf.scan_predictions(log_of(pl.Series([1, 0], dtype=dtype)), positive=positive)


@pytest.mark.parametrize("positive", [None, 1, 1.0, "1"])
@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
def test_a_label_that_is_nan_is_no_negative(positive: Any, dtype: Any) -> None:
    log = log_of(pl.Series([1.0, 0.0, float("nan")], dtype=dtype))
    with pytest.raises(nf.InvalidRowsError, match="1 row: label is NaN"):
        nf.count_confusion(nf.scan_predictions(log, positive=positive), thresholds=[0.5])
    scan = nf.scan_predictions(log, positive=positive, on_invalid="drop")
    with pytest.warns(nf.InvalidRowsWarning, match=r"1 \(label is NaN\)"):
        assert nf.count_confusion(scan, thresholds=[0.5]).select(COUNTS).row(0) == (1, 1, 0, 0)


@pytest.mark.parametrize("on_invalid", ["raise", "drop"])
@pytest.mark.parametrize(("labels", "told"), [([-1, 1, -1], "-1 and 1"), ([1.0, 2.0, 2.0], "1 and 2")])
def test_two_other_labels_need_a_word_and_are_never_dropped(on_invalid: Any, labels: Any, told: str) -> None:
    log = log_of(labels)
    for frame in (log, log.lazy()):
        scan = nf.scan_predictions(frame, on_invalid=on_invalid)
        for read in (lambda: nf.count_confusion(scan, thresholds=[0.5]), scan.collect):  # noqa: B023
            with pytest.raises(nf.InvalidRowsError, match="label is neither 0 nor 1") as error:
                read()
            high = told.rsplit(maxsplit=1)[-1]
            assert error.value.hint == f"the labels are {told}: say which is positive, e.g. positive={high}"


@pytest.mark.long
def test_the_hint_of_the_command_names_its_own_option(tmp_path: Path) -> None:
    log_of([-1, 1, -1]).write_parquet(tmp_path / "log.parquet")
    for options in ([], ["--on-invalid", "drop"]):
        arguments = ["report", tmp_path / "log.parquet", "--out", tmp_path / "out", *options]
        told = ended(3, *arguments).output
        assert "the labels are -1 and 1: say which is positive, e.g. --positive 1" in told
    ended(0, *arguments, "--positive", 1, "-p", 0.1, "-b", 1, "--format", "json")


@pytest.mark.long
@pytest.mark.parametrize(("method", "told"), [("fork", "would hang"), ("spawn", "done")])
def test_a_forked_process_says_so_and_does_not_hang(method: str, told: str, tmp_path: Path) -> None:
    code = (
        "import multiprocessing, sys\n"
        "import nci_frames as nf\n"
        "from tests.forks import CALLS, LOG, in_child\n"
        "if __name__ == '__main__':\n"
        "    LOG.write_parquet(f'{sys.argv[2]}/log.parquet')\n"
        "    log = f'{sys.argv[2]}/log.parquet'\n"
        "    nf.CountsLedger(f'{sys.argv[2]}/ledger').append(log, thresholds=[0.5])\n"
        "    context = multiprocessing.get_context(sys.argv[1])\n"
        "    queue = context.SimpleQueue()\n"
        "    child = context.Process(target=in_child, args=(queue, sys.argv[2]))\n"
        "    child.start()\n"
        "    for _ in CALLS: print(queue.get())\n"
        "    child.join()\n"
    )
    done = in_python(code, method, str(tmp_path))
    assert done.stdout.count(told) == len(CALLS), done.stdout + done.stderr
    if method == "fork":
        assert "get_context('spawn')" in done.stdout


def drawn(name: str = "weight") -> pl.DataFrame:
    """Rows as ``draw_labels`` returns them, with labels."""
    return log_of([0, 1, 0]).with_columns(pl.lit(0).alias("stratum"), pl.lit(2.0).alias(name))


@pytest.mark.parametrize("kind", ["frame", "parquet", "csv", "list"])
def test_drawn_rows_without_their_weights_are_told(kind: str, tmp_path: Path) -> None:
    path = str(tmp_path / f"log.{kind}")
    drawn().write_csv(path) if kind == "csv" else drawn().write_parquet(path)
    source = {"frame": drawn(), "list": [drawn(), path]}.get(kind, path)
    for label in ("label", None):
        scan = nf.scan_predictions(source, label=label)
        with pytest.warns(nf.IgnoredWeightsWarning, match=re.escape("name the column: weight='weight'")):
            nf.count_scores(scan, thresholds=[0.5])
        with pytest.warns(nf.IgnoredWeightsWarning, match="so all shares are those of the sample"):
            scan.collect()
    nf.count_confusion(nf.scan_predictions(source, weight="weight"), thresholds=[0.5])
    # A weight of another log is no weight of a plan.
    nf.count_confusion(nf.scan_predictions(drawn("kilograms")), thresholds=[0.5])
    nf.count_confusion(nf.scan_predictions(drawn().drop("stratum")), thresholds=[0.5])
