"""What holds for the project as a whole."""

import inspect
import re
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

import nci_frames as nf
from tests.processes import in_python

ROOT = Path(__file__).parents[1]


def test_importing_is_lazy():
    heavy = ("polars", "numpy", "altair", "pyarrow")
    code = f"import sys, nci_frames; print([name for name in {heavy} if name in sys.modules])"
    assert in_python(code).stdout.strip() == "[]"


def test_every_public_name_is_there_and_documented():
    for name in nf.__all__:
        thing = getattr(nf, name)
        doc = inspect.getdoc(thing)
        assert doc, name
        if not inspect.isfunction(thing):
            continue
        assert "Examples\n--------" in doc, f"{name} has no example"
        # A parameter has a line of its own, or shares it with its like: "tpr, fpr".
        lines = [line for line in doc.splitlines() if line[:1] != " "]
        explained = {part.strip(" *") for line in lines for part in line.split(",")}
        assert set(inspect.signature(thing).parameters) <= explained, f"{name} does not explain them all"


@pytest.mark.parametrize("name", ["constraints.txt", "constraints-spark.txt"])
def test_constraints_pin_versions_and_name_no_host(name):
    lines = (ROOT / name).read_text().split()
    assert lines
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line) for line in lines)


def test_the_command_is_installed_with_its_version():
    (script,) = entry_points(group="console_scripts", name="nci-frames")
    assert callable(script.load())
    assert version("nci_frames") in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.thorough
def test_the_command_line_computes_with_one_thread_of_blas_unless_told_otherwise():
    code = "import atexit, os; atexit.register(lambda: print(os.environ['OPENBLAS_NUM_THREADS'])); {}; "
    code += "from nci_frames.__main__ import main; main()"
    for before, threads in (("os.environ.pop('OPENBLAS_NUM_THREADS', None)", "1"), ("pass", "2")):
        done = in_python(code.format(before), "--version", OPENBLAS_NUM_THREADS="2")
        assert done.stdout.split()[-1] == threads
