"""A folder is replaced as a whole, whatever happens on the way, and nothing of others is lost."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import nci_frames as nf
from nci_frames.base import folders
from nci_frames.base.folders import MANIFEST, check_apart, publishing
from tests.processes import in_python

#: Publishes folders whose files all hold the same number, larger each time, until it is killed.
WRITER = """
import sys
from pathlib import Path
from nci_frames.base.folders import publishing
out, number = Path(sys.argv[1]), int(sys.argv[2])
while True:
    number += 1
    with publishing(out) as folder:
        (folder / "tables").mkdir()
        for name in ("report.html", *(f"tables/{i}.parquet" for i in range(20))):
            (folder / name).write_text(str(number))
    print("one is there", flush=True)
"""
#: Begins to publish a folder, and says what was in the way.
HINDERED = """
import os, resource, sys
from pathlib import Path
from nci_frames.base.errors import OutputError
from nci_frames.base.folders import publishing
{hindrance}
try:
    with publishing(Path(sys.argv[1])):
        print("counting")
except OutputError as error:
    print(error.exit_code, error.found)
"""


def publish(out: Path, **files: str) -> None:
    with publishing(out) as folder:
        for name, text in files.items():
            (folder / name).write_text(text)


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.name != MANIFEST}


def assert_whole(out: Path) -> int:
    """Check every file of a published folder against its manifest; return the number that they hold."""
    manifest = json.loads((out / MANIFEST).read_bytes())
    there = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert there == {*manifest["files"], MANIFEST}
    for name, facts in manifest["files"].items():
        content = (out / name).read_bytes()
        assert facts == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (number,) = {(out / name).read_text() for name in manifest["files"]}
    return int(number)


def fail(out: Path, error: type[BaseException]) -> None:
    with publishing(out) as folder:
        (folder / "a").write_text("2")
        raise error


@pytest.fixture
def no_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_exchange", lambda first, second: False)


def test_the_new_folder_has_the_new_files_alone(tmp_path):
    out = tmp_path / "deep" / "out"
    publish(out, a="1", b="1")
    publish(out, b="2", c="2")
    assert texts(out) == {"b": "2", "c": "2"}
    assert assert_whole(out) == 2
    assert [path.name for path in out.parent.iterdir()] == ["out"]


@pytest.mark.usefixtures("no_exchange")
def test_a_system_that_cannot_exchange_folders_renames_twice(tmp_path):
    publish(tmp_path / "out", a="1")
    publish(tmp_path / "out", b="2")
    assert texts(tmp_path / "out") == {"b": "2"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_failure_leaves_the_older_folder_and_nothing_else(tmp_path):
    publish(tmp_path / "out", a="1")
    for out, error in ((tmp_path / "out", ZeroDivisionError), (tmp_path / "new" / "out", KeyboardInterrupt)):
        with pytest.raises(error):
            fail(out, error)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert texts(tmp_path / "out") == {"a": "1"}


@pytest.mark.parametrize("name", ["notes.txt", "tables/mine.parquet", "link"])
def test_files_of_others_are_never_deleted(tmp_path, name):
    out = tmp_path / "out"
    publish(out, a="1")
    (out / "tables").mkdir()
    if name == "link":
        (out / name).symlink_to(tmp_path)
    else:
        (out / name).write_text("mine")
    with pytest.raises(nf.OutputError, match=f"files that no earlier run wrote(.|\n)*'{name}'"):
        publish(out, a="2")
    assert os.path.lexists(out / name)
    assert (out / "a").read_text() == "1"
    other = tmp_path / "other"
    other.mkdir()
    (other / MANIFEST).write_text('{"files": ["x"]}')
    with pytest.raises(nf.OutputError, match=MANIFEST):
        publish(other, a="2")


def test_a_file_that_comes_in_the_last_moment_is_kept(tmp_path, monkeypatch):
    out = tmp_path / "out"
    publish(out, a="1")
    swap = folders._swap

    def late(staged: Path, old: Path, target: Path) -> None:
        (target / "sub").mkdir()
        (target / "sub" / "late").write_text("mine")
        swap(staged, old, target)

    monkeypatch.setattr(folders, "_swap", late)
    publish(out, b="2")
    assert (out / "sub" / "late").read_text() == "mine"
    assert (out / "b").read_text() == "2"
    assert not (out / "a").exists()


def test_a_folder_that_cannot_be_replaced_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    for out in (tmp_path / "file", tmp_path / "file" / "out"):
        with pytest.raises(nf.ParameterError, match=r"the output must be a folder(.|\n)*/file'"):
            publish(out)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for out in (Path(), Path("..")):
        with pytest.raises(nf.ParameterError, match="holds the working directory"):
            publish(out)


def test_a_link_to_a_folder_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")
    publish(tmp_path / "out", a="1")
    assert (tmp_path / "out").is_symlink()
    assert texts(tmp_path / "real") == {"a": "1"}


def test_what_a_crash_left_is_removed_and_what_is_being_written_is_not(tmp_path):
    left = tmp_path / ".out.new"
    left.mkdir()
    (left / "half").write_text("x")
    (tmp_path / ".out.lock").touch()
    (tmp_path / ".other.new").mkdir()
    with publishing(tmp_path / "out") as busy:
        assert list(busy.iterdir()) == []
        (busy / "a").write_text("1")
        with pytest.raises(nf.ConflictError, match="another run that writes here has not ended"):
            publish(tmp_path / "out", a="2")
        assert (busy / "a").read_text() == "1"
    assert texts(tmp_path / "out") == {"a": "1"}
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other.new", "out"]


def test_an_old_folder_without_a_new_one_is_put_back(tmp_path):
    publish(tmp_path / "out", a="1")
    (tmp_path / "out").rename(tmp_path / ".out.old")
    with pytest.raises(ZeroDivisionError):
        fail(tmp_path / "out", ZeroDivisionError)
    assert texts(tmp_path / "out") == {"a": "1"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def hindered(out: Path, hindrance: str) -> str:
    """Begin to publish a folder in a process of its own, and return what it says."""
    return in_python(HINDERED.format(hindrance=hindrance), out).stdout


@pytest.mark.thorough
def test_a_disk_without_room_is_noticed_before_anything_is_done(tmp_path):
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))"
    assert hindered(tmp_path / "out", limit) == "4 File too large\n"
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_too_long_cannot_be_written(tmp_path):
    long = "x" * 300
    for out in (tmp_path / long, tmp_path / long / "out", tmp_path / "new" / long):
        with pytest.raises(nf.OutputError, match="File name too long"):
            publish(out, a="1")
    assert list(tmp_path.iterdir()) == []
    check_apart([str(tmp_path / long), f"{tmp_path}/{long}*"], tmp_path / "out")


@pytest.mark.thorough
def test_a_folder_without_permission_is_noticed_before_anything_is_done(public_path):
    public_path.chmod(0o555)
    nobody = "if os.getuid() == 0: os.setuid(65534)"  # root may write everywhere
    assert hindered(public_path / "out", nobody) == "4 Permission denied\n"
    assert list(public_path.iterdir()) == []
    public_path.chmod(0o755)


@pytest.mark.long
@pytest.mark.parametrize("times", [6, pytest.param(300, marks=pytest.mark.slow)])
def test_a_killed_writer_leaves_the_old_folder_or_the_new_one(tmp_path, times):
    out = tmp_path / "out"
    dice = np.random.default_rng(0)
    number = 0
    for _ in range(times):
        command = [sys.executable, "-c", WRITER, str(out), str(number)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert writer.stdout.readline() == "one is there\n"
        time.sleep(float(dice.uniform(0, 0.3)))
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        after = assert_whole(out)
        assert after > number
        number = after
    publish(out, last=str(number))
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    assert assert_whole(out) == number


@pytest.mark.parametrize(
    ("source", "out", "apart"),
    [
        ("logs", "logs", False),
        ("logs", "logs/report", False),
        ("logs/a.parquet", "logs", False),
        ("logs/a.parquet", "logs/report", True),
        ("logs/*.parquet", "logs/report", True),
        ("logs/*.parquet", "logs", False),
        ("logs/**/*.parquet", "logs/report", False),
        ("logs/*", "logs/report", False),
        ("logs/*/*.parquet", "logs/report", True),
        ("logs/*/*/*.parquet", "logs/report", False),
        ("logs/**/*.csv", "logs/report", True),
        ("logs", "report", True),
        ("link", "logs/report", False),
        ("link/*", "logs/report", False),
        ("link/**/*.parquet", "logs/report", False),
        # A folder that matches is read with all that it holds.
        ("log*", "logs/report", False),
        ("logs/*", "logs/new/report", False),
        ("logs/*.parquet", "logs/new/report", True),
        ("loop", "logs/report", True),
        ("s3://logs", "logs", True),
    ],
)
def test_an_output_among_its_sources_is_refused(tmp_path, monkeypatch, source, out, apart):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.parquet").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "logs")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    monkeypatch.chdir(tmp_path)
    for asked in (source, source if "://" in source else str(tmp_path / source)):
        if apart:
            check_apart([asked], Path(out))
        else:
            with pytest.raises(nf.ParameterError, match="the output lies among the sources"):
                check_apart(["elsewhere", asked], Path(out))


def test_a_link_to_itself_is_no_folder(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(nf.ParameterError, match=r"must be a folder\n.*the link .*loop' to itself"):
        publish(loop, a="1")
    with pytest.raises(nf.OutputError, match="cannot be written"):
        publish(loop / "report", a="1")
    assert loop.is_symlink()


def test_an_earlier_output_is_no_log(tmp_path):
    publish(tmp_path / "logs" / "report", a="1")
    for source in (tmp_path / "logs", tmp_path / "logs" / "report", tmp_path / "log*"):
        with pytest.raises(nf.ParameterError, match=re.escape(str(tmp_path / "logs" / "report"))):
            check_apart([str(source)], tmp_path / "out")
