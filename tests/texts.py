"""Texts kept in ``tests/snapshots``: errors, warnings, help, and the values of small frames.

Each text stands below the call or command that gives it. For another case, write its line, after three equal
signs and a blank, into the file. ``make snapshots`` writes the texts anew; read the difference before it is
committed.
"""

import contextlib
import os
import shlex
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click
import polars as pl
from click.testing import CliRunner

import nci_frames as nf
from nci_frames import demo
from nci_frames.commands.cli import main as command
from nci_frames.jobs.counted_files import check_output_apart
from nci_frames.jobs.job_file.loading import JobFile, read_job
from nci_frames.jobs.job_file.windows import find_windows
from tests.charts import refused
from tests.fuzz.calls import calls
from tests.small_jobs import KEYS, SMALL
from tests.values import of_values

FOLDER = Path(__file__).parent / "snapshots"
MARK = "=== "

LOG = pl.DataFrame(
    {
        "model": ["forest", "linear"] * 6,
        "country": ["at", "at", "de", "de"] * 3,
        "fold": ["1"] * 6 + ["2"] * 6,
        "label": [1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0],
        "score": [0.9, 0.8, 0.2, 0.3, 0.7, 0.4, 0.1, 0.6, 0.8, 0.9, 0.3, 0.1],
    }
)
GATE = SMALL + '[[gates]]\nname = "a"\n'


def job(text: str, table: str = "") -> JobFile:
    """Read a job file of this text, and with a table of prevalences of that one."""
    Path("wrong.toml").write_text(text)
    Path("markets.csv").write_text(table)
    return read_job("wrong.toml")


def files(contents: Mapping[str, pl.DataFrame | bytes | str]) -> str:
    """Make a folder of these files, and of no others."""
    shutil.rmtree("files", ignore_errors=True)
    for name, content in contents.items():
        path = Path("files", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pl.DataFrame):
            content.write_parquet(path)
        else:
            path.write_bytes(content.encode("latin-1") if isinstance(content, str) else content)
    return "files"


def call(name: str, change: Callable[[Any], Any] = lambda frame: frame, **options: Any) -> Any:
    """Make a valid call of a public function, but for these options or a change of its first frame."""
    valid = calls()[name]
    frames = (*map(change, valid.frames[:1]), *valid.frames[1:])
    return valid.function(*frames, **valid.options | options)


#: What a case of Python may name.
NAMES: dict[str, Any] = {
    **vars(demo),
    "nf": nf,
    "call": call,
    "files": files,
    "job": job,
    "check_output_apart": check_output_apart,
    "LOGS": SMALL.replace("logs/{date:%Y-%m-%d}/*.parquet", "logs"),
    "find_windows": find_windows,
    "calls": calls,
    "Path": Path,
    "SMALL": SMALL,
    "GATE": GATE,
    "KEYS": KEYS,
    "CHAMPION": 'champion = {model = "a", prevalence = [0.1]}\n',
    "SHARE": "sequential = true\nvalue_threshold = {lower = 0.5}\n",
    "RECALL": 'metric = "recall"\nvalue_threshold = {lower = 0.5}\n',
    "TRAFFIC": '[traffic]\npath = "traffic"\n',
    "TABLE": KEYS + '[scenarios]\nm = { by = "country", table = "markets.csv" }\n',
    "datetime": datetime,
    "day": datetime(2026, 3, 1, tzinfo=UTC),
    "pl": pl,
    "nan": float("nan"),
    "log": LOG,
    "one": LOG.head(1),
    "few": nf.count_confusion(LOG.head(1), thresholds=[0.5], by=[]),
    "counts": nf.count_confusion(LOG, thresholds=[0.25, 0.5], by=[]),
    "compared": nf.compare_models(
        nf.count_confusion(LOG, thresholds=[0.25, 0.5], by=[]), prevalence=[0.1, 0.5], repeats=20
    ),
    "field": pl.DataFrame({"country": ["at", "de"], "prevalence": [0.01, 0.1]}),
    "other": nf.count_confusion(LOG, thresholds=[0.4], by=[]),
    "folds": nf.count_confusion(LOG, thresholds=[0.5], by="fold"),
    "rates": nf.compute_rates(nf.count_confusion(LOG, thresholds=[0.25, 0.5], by=[])),
    "apart": nf.compute_rates(nf.count_confusion(LOG, thresholds=[0.5], by="country")),
    "units": pl.concat(
        LOG.select("label", "score", unit=pl.int_range(12).cast(pl.String), model=pl.lit(model))
        for model in ("forest", "linear")
    ),
    "increments": pl.DataFrame(
        {"model": ["a", "a"], "threshold": [None, 0.5], "positives": [1, 2], "negatives": [3, 4]}
    ),
    "classes": nf.scan_classes(LOG.with_columns(other=1 - pl.col("score")), scores={0: "other", 1: "score"}),
    "strata": nf.count_confusion(
        LOG.with_columns(weight=pl.int_range(12) // 2 % 2 + 1.0), thresholds=[0.25, 0.5], by=[]
    ),
    "scores": nf.count_scores(LOG, thresholds=[0.25, 0.5], by=[]),
    "by_fold": nf.count_scores(LOG, thresholds=[0.5], by="fold"),
    "bounded": nf.compute_rates(
        nf.count_confusion(LOG, thresholds=[0.25, 0.5], by=[]), interval="clopper_pearson"
    ),
}


def pages_of_help(group: click.Group = command, name: str = "nci-frames") -> Iterator[str]:
    """Name the help of every command."""
    yield f"{name} --help"
    for word in sorted(group.commands):
        inner = group.get_command(click.Context(group), word)
        if isinstance(inner, click.Group):
            yield from pages_of_help(inner, f"{name} {word}")
        else:
            yield f"{name} {word} --help"


def of_python(call: str, names: Mapping[str, Any] = NAMES) -> str:
    """Return the error or the warning of a call."""
    told = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            eval(call, dict(names))  # noqa: S307 - the calls stand in our file
        except nf.NciFramesError as error:
            told = [f"{type(error).__name__}, exit code {error.exit_code}\n{error}"]
    told = told or [f"{warning.category.__name__}\n{warning.message}" for warning in warned]
    if not told:
        raise AssertionError(f"neither an error nor a warning: {call}")
    return "\n".join(told).replace(f"{Path.cwd()}/", "")


def of_command(line: str) -> str:
    """Return the exit code and the output of a command."""
    name, *arguments = shlex.split(line)
    # Click breaks lines where the terminal ends.
    done = CliRunner(env={"COLUMNS": "100"}).invoke(command, arguments, prog_name=name)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if Path("nci-report").exists():
        raise AssertionError(f"a command that fails must not make the folder of the report: {line}")
    output = done.output.replace(f"{Path.cwd()}/", "").replace(f"{Path.cwd()}", ".")
    return f"exit code {done.exit_code}\n{output}".rstrip("\n")


def read(file: str) -> dict[str, str]:
    """Return the texts that a file keeps, by name."""
    parts = f"\n{(FOLDER / f'{file}.txt').read_text(encoding='utf-8')}".split(f"\n{MARK}")[1:]
    return {name: text.strip("\n") for name, _, text in (part.partition("\n") for part in parts)}


#: Of each file, the names of its texts and what makes one.
FILES: dict[str, tuple[tuple[str, ...], Callable[[str], str]]] = {
    "help": (tuple(pages_of_help()), of_command),
    "errors-python": (tuple(read("errors-python")), of_python),
    "errors-charts": (tuple(read("errors-charts")), partial(of_python, names=NAMES | vars(refused))),
    "errors-command-line": (tuple(read("errors-command-line")), of_command),
    "values": (tuple(read("values")), of_values),
    "values-of-a-run": (tuple(read("values-of-a-run")), of_values),
}


@contextlib.contextmanager
def sources() -> Iterator[None]:
    """Make the files that the cases name, and be among them."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            LOG.write_parquet("log.parquet")
            Path("notes.txt").write_text("no predictions")
            for name in ("empty", "broken", "drift"):
                Path(name).mkdir()
            LOG.write_parquet("broken/a.parquet")
            Path("broken/b.parquet").write_text("no predictions")
            Path("broken/c.parquet").write_bytes(b"")
            LOG.write_parquet("drift/a.parquet")
            LOG.with_columns(pl.col("score").cast(pl.String)).write_parquet("drift/b.parquet")
            for name, labels in (("words", ["bad", "ok"] * 6), ("three", [0, 1, 2] * 4)):
                LOG.with_columns(label=pl.Series(labels)).write_parquet(f"{name}.parquet")
            LOG.with_columns(pl.col("model").replace("forest", None)).write_parquet("unnamed.parquet")
            LOG.rename({"score": "decision"}).write_parquet("decided.parquet")
            LOG.drop("model").write_parquet("bare.parquet")
            nf.count_confusion(LOG).write_parquet("counts.parquet")
            bad = pl.Series([0.5, None, float("nan"), *LOG["score"][3:]], strict=False)
            invalid = LOG.with_columns(score=bad)
            invalid.write_parquet("2026-03-01.parquet")
            invalid.with_columns(label=pl.Series([None, *LOG["label"][1:]])).write_parquet("invalid.parquet")
            job = 'name = "x"\nthresholds = [0.5]\n[source]\npath = "{date:%Y-%m-%d}.parquet"\n'
            Path("dated.toml").write_text(job)
            fields = {"lots": "country,prevalence\nat,lots\n", "empty-cell": "country,prevalence\nat,\n"}
            fields |= {"eta": "country,eta\nat,0.1\n", "bare": "prevalence\n0.1\n"}
            fields |= {"bounds": 'class,prior,lower,upper\n0,0.2,"0,1","0,9"\n1,0.3,0,1\n2,0.5,0,1\n'}
            for name, text in (fields | {"one": "country,prevalence\nat,0.1\n"}).items():
                Path(f"{name}.csv").write_text(text)
            yield
        finally:
            os.chdir(before)


def main() -> None:
    """Write every file anew."""
    with sources():
        for file, (names, text_of) in FILES.items():
            texts = [f"{MARK}{name}\n{text_of(name)}\n" for name in names]
            (FOLDER / f"{file}.txt").write_text("\n".join(texts), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
