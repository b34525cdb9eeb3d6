"""A ledger from the command line: appended to, looked at, checked, read."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from tests.small_jobs import call, ended, write_nights

GRID = [0.0, 0.25, 0.5, 0.75]


def test_the_ledger_from_the_command_line(tmp_path):
    paths = write_nights(tmp_path / "logs", 2)
    ledger, out = tmp_path / "ledger", tmp_path / "counts.parquet"
    grid = ["--thresholds", "0,0.25,0.5,0.75", "--segments", "country"]
    assert "found: no such folder; the nearest" in ended(3, "ledger", "sources", ledger).stderr
    ended(0, "ledger", "append", ledger, paths[0], *grid, "--run", "monday")
    again = ended(0, "ledger", "append", ledger, tmp_path / "logs", *grid, "--run", "20260302")
    assert again.stdout.count("│known ") == again.stdout.count("│counted ") == 1
    for options, sources in (
        ([], paths),
        (["--as-of", "monday"], paths[:1]),
        (["--as-of", "20260302"], paths),
        (["--version", "2"], paths[:1]),
    ):
        ended(0, "ledger", "read", ledger, "--by", "country", "--out", out, *options)
        expected = nf.count_confusion(nf.scan_predictions(sources, segments="country"), thresholds=GRID)
        assert_frame_equal(pl.read_parquet(out), expected, check_exact=True)
    ended(2, "ledger", "read", ledger, "--out", out, "--as-of", "monday", "--version", "2")
    ended(3, "ledger", "read", ledger, "--out", out, "--as-of", "sunday")
    without = ended(3, "ledger", "read", ledger, "--by", "tier", "--by", "country", "--out", out)
    assert "missing column 'tier'" in without.stderr
    shown = ended(0, "ledger", "generations", ledger).stdout
    assert "generation" in shown
    assert "[0.0, 0.25, 0.5, 0.75]" in "".join(line.strip() for line in shown.split("│"))
    told = ended(0, "ledger", "read", ledger, "--out", out, "--since", "2026-03-01").stdout
    assert told.endswith(" (0 rows: no source of the ledger has a window then)\n")
    assert pl.read_parquet(out).is_empty()
    before = nf.CountsLedger(ledger).read()
    assert ended(0, "ledger", "verify", ledger, "--files").stdout == "nothing is damaged\n"
    assert ended(0, "ledger", "compact", ledger).stdout == "files merged: 4\n"
    assert ended(0, "ledger", "rebuild", ledger).stdout == "files counted: 2\n"
    assert_frame_equal(nf.CountsLedger(ledger).read(), before)
    ended(0, "ledger", "retire", ledger, nf.CountsLedger(ledger).sources()["source"][0])
    assert "retired" in ended(0, "ledger", "sources", ledger).stdout
    paths[1].unlink()
    assert "it vanished" in ended(3, "ledger", "verify", ledger, "--files").stdout


def test_counts_are_not_written_over_a_file_that_was_counted(tmp_path):
    """By whatever name and settings: of the two, only the labelled log is among the sources by default."""
    ledger, traffic = nf.CountsLedger(tmp_path / "ledger"), tmp_path / "traffic.parquet"
    (log,) = write_nights(tmp_path / "logs", 1)
    pl.read_parquet(log).drop("label").write_parquet(traffic)
    ledger.append(log, thresholds=GRID)
    ledger.append(traffic, thresholds=GRID, label=None)
    before, link = (log.read_bytes(), traffic.read_bytes()), tmp_path / "link.parquet"
    link.symlink_to(log)
    for out in (log, traffic, link, tmp_path / "logs/../logs/2026-03-01/a.parquet"):
        refused = ended(2, "ledger", "read", ledger.uri, "--out", out)
        assert "would replace a file that the ledger counts" in refused.stderr
    refused = ended(2, "ledger", "read", ledger.uri, "--out", tmp_path / "ledger/counts.parquet")
    assert "the output lies in the ledger" in refused.stderr
    assert (log.read_bytes(), traffic.read_bytes()) == before
    ended(0, "ledger", "read", ledger.uri, "--out", log.with_name("counts.parquet"))


def test_a_ledger_is_not_begun_among_other_files(tmp_path):
    """As where the ledger and its source are named in the wrong order."""
    (log,) = write_nights(tmp_path / "logs", 1)
    before = sorted((tmp_path / "logs").rglob("*"))
    ended(4, "ledger", "append", tmp_path / "logs", log, "--segments", "country")
    assert sorted((tmp_path / "logs").rglob("*")) == before
    (tmp_path / "ledger" / "_hashes").mkdir(parents=True)
    ended(0, "ledger", "append", tmp_path / "ledger", log, "--segments", "country")


def test_a_ledger_with_nothing_in_it_is_not_damaged(tmp_path):
    log = tmp_path / "bad.parquet"
    pl.DataFrame({"model": ["a"], "label": [1]}).write_parquet(log)
    ended(3, "ledger", "append", tmp_path / "ledger", log)
    assert call("ledger", "verify", tmp_path / "ledger").stdout == "nothing is damaged\n"
    asked = ended(3, "ledger", "sources", tmp_path / "ledger")
    assert "the ledger has nothing in it yet" in asked.stderr


@pytest.mark.thorough
def test_an_append_that_keeps_going_counts_the_good_files_and_fails(tmp_path):
    good, changed, bad = write_nights(tmp_path / "logs", 3)
    append = ["ledger", "append", tmp_path / "ledger", tmp_path / "logs", "-s", "country", "--keep-going"]
    log = pl.read_parquet(bad)
    log.drop("score").write_parquet(bad)
    first = ended(3, *append)
    assert first.stderr.splitlines()[0] == f"failed: {str(bad)!r}"
    assert first.stderr.splitlines()[-4:] == [
        "error: not counted: 1 of 3 files",
        f"  where: {str(bad)!r}",
        "  found: 1 failed",
        "  hint:  append again when these files are good: the others are known then",
    ]
    assert nf.CountsLedger(tmp_path / "ledger").sources()["path"].to_list() == [str(good), str(changed)]
    pl.read_parquet(changed).head(9).write_parquet(changed)
    second = ended(3, *append)
    assert f"not counted: 2 of 3 files\n  where: {str(changed)!r}, {str(bad)!r}\n" in second.stderr
    assert "found: 1 failed, 1 changed\n" in second.stderr
    assert "not counted: 1 of 3 files" in ended(3, *append, "--on-changed", "keep").stderr
    log.write_parquet(bad)
    ended(0, *append, "--on-changed", "recount")
    assert nf.CountsLedger(tmp_path / "ledger").sources().filter("active")["rows"].to_list() == [200, 9, 200]
