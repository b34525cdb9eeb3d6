"""Which files a log is: one rule for folders, globs and lists; an error names what cannot be read."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nci_frames as nf
from nci_frames.counting.engine.batches import read_batches
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.logs.opening import open_source
from nci_frames.counting.logs.paths import find_files
from nci_frames.counting.logs.scan import scan_behind
from tests.logs import COUNTS
from tests.processes import in_python

ONE = pl.DataFrame({"model": ["a"], "label": [1], "score": [0.5]})


def write(path: Path, rows: int = 1, **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.concat([ONE] * rows).with_columns(**columns).write_parquet(path)
    return path


def rows_of(source: Any, **options: Any) -> int:
    counts = nf.count_confusion(nf.scan_predictions(source, segments=(), **options), thresholds=[0.5])
    return int(counts.select(pl.sum_horizontal(COUNTS).sum()).item())


@pytest.mark.parametrize("name", ["x[1].parquet", "x*.parquet", "x?.parquet", "x{1}.parquet"])
def test_a_path_is_never_taken_for_a_glob(tmp_path: Path, name: str) -> None:
    write(tmp_path / "x1.parquet", 1)
    write(tmp_path / name, 10)
    assert rows_of(tmp_path / name) == 10
    assert rows_of([tmp_path / name]) == 10
    assert rows_of(tmp_path) == 11
    assert len(nf.scan_predictions(tmp_path / name).collect()) == 10


@pytest.mark.parametrize("folder", ["a[1]", "a*", "a?"])
def test_folders_and_values_of_keys_are_never_taken_for_globs(tmp_path: Path, folder: str) -> None:
    write(tmp_path / "a1" / "x.parquet", 1)
    write(tmp_path / folder / "country=[ab]" / "x.parquet", 10)
    write(tmp_path / folder / "country=a" / "x.parquet", 100)
    scan = nf.scan_predictions(tmp_path / folder, segments="country")
    counts = nf.count_confusion(scan, thresholds=[0.5])
    assert counts.select("country", "tp").rows() == [("[ab]", 10), ("a", 100)]


@pytest.mark.parametrize(
    "folders",
    [
        ["country=a=b", "country=x", "country==", "country=c==d"],
        ["country=a*", "country=[b]", "country=?", "country={a,b}"],
        ["country=100%", "country=%C3%A9", "country=x"],
        ["country=a\nb", "country=\t", "country="],
        ["coun%74ry=x", "coun%74ry=y"],
        [f"country={number}=" for number in range(70)],
        ["country=01", "country=2", "country=__HIVE_DEFAULT_PARTITION__"],
    ],
    ids=["equals", "globs", "percents", "lines", "name", "many", "Hive"],
)
def test_keys_are_read_in_one_way(tmp_path: Path, folders: list[str]) -> None:
    for rows, folder in enumerate(folders, 1):
        write(tmp_path / folder / "x.parquet", rows)
    (tmp_path / "_SUCCESS").touch()
    values = [unquote(folder).partition("=")[2] for folder in folders]
    expected = {
        None if value == "__HIVE_DEFAULT_PARTITION__" else value: rows for rows, value in enumerate(values, 1)
    }
    for source in (tmp_path, f"{tmp_path}/**/*.parquet", sorted(tmp_path.rglob("*.parquet"))):
        scan = nf.scan_predictions(source, segments="country")
        counts = nf.count_confusion(scan, thresholds=[0.5])
        assert dict(counts.select("country", "tp").iter_rows()) == expected


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_many_folders_of_keys_are_few_scans(tmp_path: Path, ending: str) -> None:
    # Polars hangs with some thousands of scans.
    logs = tmp_path / "model=x"
    four = pl.concat([ONE] * 4)
    for day in range(80):
        folder = logs / f"day={day}"
        folder.mkdir(parents=True)
        getattr(four, f"write_{ending}")(folder / f"a.{ending}")
    opened = open_source(logs, {"label": "label", "score": "score", "model": "model", "day": "segments"})
    assert opened.frame.explain().count(" SCAN ") == 1
    counts = nf.count_confusion(nf.scan_predictions(logs, segments="day"), thresholds=[0.5])
    assert counts["day"].to_list() == sorted(map(str, range(80)))
    assert counts["tp"].unique().to_list() == [4]
    bad = logs / "day=7" / f"a.{ending}"
    getattr(four.with_columns(label=2), f"write_{ending}")(bad)
    with pytest.raises(nf.InvalidRowsError, match=r"4 rows: .*neither 0 nor 1") as error:
        nf.count_confusion(nf.scan_predictions(logs, segments="day"), thresholds=[0.5])
    assert error.value.where == f"1 of 80 files: {str(bad)!r}"


@pytest.mark.thorough
def test_small_files_are_read_as_one_batch(tmp_path: Path) -> None:
    for number in range(40):
        write(tmp_path / f"{number}.parquet", 2)
    groups = GroupNumbers({"model": pl.String()})
    batches = list(read_batches(scan_behind(nf.scan_predictions(tmp_path)), groups, {}))
    assert [len(batch.scores) for batch in batches] == [80]


def test_keys_begin_below_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = tmp_path / "model=prod" / "day=9" / "logs"
    for day in ("1", "2"):
        write(logs / f"day={day}" / "x.parquet")
    monkeypatch.chdir(logs)
    for source in (logs, "../logs", ".", f"{logs}/**/*.parquet", f"{logs}/day=*/*.parquet", f"{logs}/*"):
        counts = nf.count_confusion(nf.scan_predictions(source, segments="day"), thresholds=[0.5])
        assert counts.select("model", "day", "tp").rows() == [("a", "1", 1), ("a", "2", 1)]
    files = [logs / "day=1" / "x.parquet", logs / "day=2" / "x.parquet"]
    assert nf.scan_predictions(files, segments="day").collect()["day"].to_list() == ["1", "2"]
    assert rows_of(files[0]) == 1


def sources(folder: Path) -> dict[str, Any]:
    return {
        "folder": folder,
        "glob": f"{folder}/**/*.parquet",
        "glob of all": f"{folder}/**",
        "glob of folders": f"{folder}/../{folder.name}*",
        "list": [folder],
        "list twice": [folder, f"{folder}/*.parquet", folder],
    }


@pytest.mark.parametrize("kind", sources(Path()))
def test_every_real_file_counts_once(tmp_path: Path, kind: str) -> None:
    folder, elsewhere = tmp_path / "logs", tmp_path / "elsewhere"
    write(folder / "a.parquet", 1)
    write(folder / "deep" / "deeper" / "b.parquet", 10)
    write(elsewhere / "c.parquet", 100)
    (folder / "deep" / "hard.parquet").hardlink_to(folder / "deep" / "deeper" / "b.parquet")  # a real name
    (folder / "linked").symlink_to(elsewhere)  # a link to another folder: its rows count
    (folder / "again.parquet").symlink_to(folder / "a.parquet")  # a second name
    (folder / "deep" / "loop").symlink_to(folder)  # a folder that contains itself
    (folder / "_SUCCESS").touch()
    write(folder / ".hidden" / "d.parquet", 1000)
    write(folder / "_tmp.parquet", 1000)
    with pytest.warns(nf.SkippedFilesWarning, match=r"_tmp\.parquet'") as caught:
        assert rows_of(sources(folder)[kind]) == 121
    told = str(caught[0].message)
    assert ".hidden'" in told
    assert "_SUCCESS" not in told


def test_what_is_named_is_read_and_not_skipped(tmp_path: Path) -> None:
    write(tmp_path / "_tmp.parquet", 10)
    assert rows_of(tmp_path / "_tmp.parquet") == 10
    assert rows_of(f"{tmp_path}/_t*.parquet") == 10


def test_a_dangling_link_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet")
    (tmp_path / "gone.parquet").symlink_to(tmp_path / "nowhere.parquet")
    with pytest.raises(nf.SourceError, match=r"gone\.parquet") as error:
        nf.scan_predictions(tmp_path)
    assert "No such file" in str(error.value)


@pytest.mark.thorough
def test_links_to_themselves_and_a_working_directory_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tmp_path / "logs"
    write(logs / "x.parquet")
    (logs / "loop").symlink_to("loop")
    assert len(find_files([str(logs)]).files) == 1
    (logs / "loop.parquet").symlink_to("loop.parquet")
    with pytest.raises(nf.SourceError, match=r"loop\.parquet"):
        rows_of(logs)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for source in ("*.parquet", "x.parquet", ["x.parquet", "y.parquet"]):
        with pytest.raises(nf.SourceError):
            nf.scan_predictions(source)


@pytest.mark.thorough
def test_what_may_not_be_read_is_an_error(public_path: Path) -> None:
    write(public_path / "open.parquet")
    write(public_path / "closed" / "b.parquet")
    write(public_path / "file.d" / "c.parquet")
    script = (
        "import os, sys, nci_frames as nf, nci_frames.base.errors\n"
        "print(nf.scan_predictions(sys.argv[1] + '/open.parquet').collect().height, 'row')\n"
        "if os.getuid() == 0: os.setuid(65534)\n"  # root may read everything
        "for source in (sys.argv[1], sys.argv[1] + '/**/*.parquet'):\n"
        "    try: print(nf.scan_predictions(source).collect())\n"
        "    except nf.SourceError as error: print(str(error))\n"
    )
    for part, told in (
        ("closed", "a folder of the source cannot be read"),
        ("file.d/c.parquet", "Permission"),
    ):
        mode = (public_path / part).stat().st_mode
        (public_path / part).chmod(0)
        done = in_python(script, public_path)
        (public_path / part).chmod(mode)
        assert done.stdout.count(told) == 2, done.stdout + done.stderr
        assert done.stdout.count(part) == 2, done.stdout


def test_a_name_that_is_not_utf_8_is_an_error(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet")
    file.rename(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.parquet"))
    with pytest.raises(nf.SourceError, match="not UTF-8") as error:
        nf.scan_predictions(tmp_path)
    assert "\\udcff.parquet" in str(error.value)


def test_two_columns_of_one_name_are_an_error(tmp_path: Path) -> None:
    table = pa.table([["a"], [1], [0.5], [0.6]], names=["model", "label", "score", "score"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(nf.SourceError, match="it has two columns 'score'"):
        nf.scan_predictions(tmp_path)


def corrupted(path: Path) -> Path:
    """Overwrite the end of the scores: their headers stay whole, and nothing can decompress them."""
    column = pq.read_metadata(path).row_group(0).column(2)
    end = (column.dictionary_page_offset or column.data_page_offset) + column.total_compressed_size
    data = bytearray(path.read_bytes())
    data[end - 10 : end] = b"\xff" * 10
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("thresholds", [[0.5], "exact", "auto"], ids=str)
def test_a_file_that_changed_since_it_was_opened_is_named(tmp_path: Path, thresholds: Any) -> None:
    def change(name: str) -> None:
        write(tmp_path / name, 2)  # as many rows as before, but others
        os.utime(tmp_path / name, (1, 1))

    for happens, told in (
        (change, "it was written to, or replaced"),
        (lambda name: write(tmp_path / name, 5), "rows"),
        (lambda name: (tmp_path / name).unlink(), "No such file"),
    ):
        for name in ("a.parquet", "b.parquet"):
            write(tmp_path / name, 2)
        scan = nf.scan_predictions(tmp_path)
        happens("b.parquet")
        with pytest.raises(nf.SourceError, match=told) as error:
            nf.count_confusion(scan, thresholds=thresholds)
        assert "b.parquet" in str(error.value)
        assert "a.parquet" not in str(error.value)
        with pytest.raises(nf.SourceError, match=r"b\.parquet"):
            scan.filter(pl.col("score") > 0).collect()


@pytest.mark.parametrize("thresholds", [[0.5], "exact", "auto"], ids=str)
def test_pages_that_cannot_be_decoded_name_their_file(tmp_path: Path, thresholds: Any) -> None:
    write(tmp_path / "a.parquet", 50)
    corrupted(write(tmp_path / "b.parquet", 50))
    scan = nf.scan_predictions(tmp_path)
    with pytest.raises(nf.SourceError, match="1 of the source's files cannot be read") as error:
        nf.count_confusion(scan, thresholds=thresholds)
    assert "b.parquet'" in str(error.value)
    assert "a.parquet'" not in str(error.value)
    with pytest.raises(nf.SourceError, match=r"b\.parquet"):
        scan.collect()


@pytest.mark.thorough
def test_a_thousand_files_are_found_in_the_order_of_their_names(tmp_path: Path) -> None:
    for place in range(1000):
        (tmp_path / f"{place % 7}").mkdir(exist_ok=True)
        (tmp_path / f"{place % 7}" / f"{place}.parquet").touch()
    found = [file.path for file in find_files([str(tmp_path)]).files]
    assert found == sorted(found)
    assert len(found) == 1000
    assert found == [file.path for file in find_files([f"{tmp_path}/*/*.parquet"]).files]


def test_a_pipe_is_no_log(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(nf.SourceError, match="a device or a pipe"):
        nf.scan_predictions(tmp_path / "pipe.parquet")


def test_a_log_that_was_opened_in_another_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, rows in (("here", 3), ("there", 5)):
        write(tmp_path / name / "x.parquet", rows)
    monkeypatch.chdir(tmp_path / "here")
    scans = [nf.scan_predictions(source) for source in ("x.parquet", "*.parquet", [".", ONE])]
    absolute = nf.scan_predictions(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "there")
    for scan in scans:
        for read in (lambda scan: nf.count_confusion(scan, thresholds=[0.5]), pl.LazyFrame.collect):
            with pytest.raises(nf.SourceError, match="the working directory has changed"):
                read(scan)
    monkeypatch.chdir("../here")
    for scan in [*scans[:2], absolute]:
        assert int(nf.count_confusion(scan, thresholds=[0.5])["tp"].item()) == 3
