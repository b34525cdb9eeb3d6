"""How long a night of a job takes as its history grows, and how large its ledger gets.

``python benchmarks/ledger.py sources --number 10000 --rows 1000`` appends many small files at once;
``python benchmarks/ledger.py nights --number 365 --rows 3000000`` runs a job night after night. The logs of a
night are written before it and deleted after it: what stays is the ledger.
"""

import shutil
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

import click
import numpy as np
import polars as pl

import nci_frames as nf
from nci_frames.base.files import write_parquet
from nci_frames.jobs.job_file.loading import read_job
from nci_frames.jobs.job_file.windows import find_windows
from nci_frames.jobs.run import run_job

JOB = """
version = 1
name = "scale"
thresholds = "logit:501"

[source]
path = "logs/{date:%Y-%m-%d}/*.parquet"
lookback = 1

[segments]
keys = ["country"]

[report]
windows = 30
prevalence = [0.001, 0.01]
beta = [1.0]
formats = ["json"]
tables = []

[output]
keep = 3
"""


def log(rows: int, seed: int) -> pl.DataFrame:
    """Two models, three countries, 2 % positives."""
    rng = np.random.default_rng(seed)
    label = rng.random(rows, np.float32) < 0.02
    logit = rng.standard_normal(rows, np.float32) + 2 * label - 1.5
    names = pl.Series(["forest", "linear"], dtype=pl.String)
    countries = pl.Series(["at", "de", "fr"], dtype=pl.String)
    return pl.DataFrame(
        {
            "model": names.gather(np.arange(rows) % 2),
            "label": label,
            "score": 1 / (1 + np.exp(-logit)),
            "country": countries.gather(rng.integers(0, 3, rows)),
        }
    )


def size(folder: Path) -> float:
    """Return the megabytes of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def timed(what: str, began: float) -> float:
    """Print how long something took."""
    seconds = time.perf_counter() - began
    click.echo(f"{what:<40} {seconds:8.2f} s")
    return seconds


def same(right: bool) -> None:
    """Stop if a result is not what it must be."""
    if not right:
        raise SystemExit("wrong counts")


@click.group()
def main() -> None:
    """Time the ledger and jobs."""


@main.command()
@click.option("--number", default=10_000)
@click.option("--rows", default=1_000)
def sources(number: int, rows: int) -> None:
    """Many small files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "logs").mkdir()
        for n in range(number + 1):
            write_parquet(log(rows, n), folder / "logs" / f"{n:06}.parquet")
        late = (folder / "logs" / f"{number:06}.parquet").rename(folder / "late.parquet")
        ledger = nf.CountsLedger(folder / "ledger")
        options = {"thresholds": nf.logit_thresholds(501), "segments": "country"}
        for what in ("count all", "look at all again, none new"):
            began = time.perf_counter()
            ledger.append(folder / "logs", **options)
            timed(what, began)
        began = time.perf_counter()
        ledger.append(late, **options)
        timed("count one more", began)
        began = time.perf_counter()
        counts = ledger.read()
        timed("read the counts", began)
        click.echo(f"ledger {size(folder / 'ledger'):.1f} MB, files {size(folder / 'logs'):.1f} MB")
        began = time.perf_counter()
        ledger.compact()
        timed("compact", began)
        began = time.perf_counter()
        same(ledger.read().equals(counts))
        timed("read the counts", began)
        began = time.perf_counter()
        same(ledger.verify(files=True).is_empty())
        timed("verify, with the files", began)
        click.echo(f"ledger {size(folder / 'ledger'):.1f} MB")


@main.command()
@click.option("--number", default=365)
@click.option("--rows", default=3_000_000)
@click.option("--others", default=300_000, help="Rows of the nights that are not timed.")
@click.option("--shown", default="1,2,3,100,101,102,363,364,365", help="Nights that are timed.")
def nights(number: int, rows: int, others: int, shown: str) -> None:
    """Night after night; those that are not timed have fewer rows, and are counted without a report."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "job.toml").write_text(JOB)
        file = read_job(folder / "job.toml")
        told = {int(night) for night in shown.split(",")} | {number}
        # One log, whose scores are another each night: drawing it anew would take most of the time.
        ledger = nf.CountsLedger(folder / "ledger")
        large, small = log(rows, 0), log(others, 1)
        total = 0
        for night in range(1, number + 1):
            day = folder / "logs" / f"{date(2026, 1, 1) + timedelta(days=night)}"
            day.mkdir(parents=True)
            base = large if night in told else small
            total += len(base)
            moved = base.with_columns(pl.col("score") * np.float32(1 - night / 4000))
            write_parquet(moved, day / "a.parquet")
            if night not in told:
                files = find_windows([file.resolve(str(file.job.source.path))], lookback=1)
                ledger.append_files(files, file.job.counting_settings(), run=f"night-{night}")
            else:
                began, worked = time.perf_counter(), time.process_time()
                run_job(file)
                seconds, work = time.perf_counter() - began, time.process_time() - worked
                click.echo(
                    f"night {night:4}: {seconds:6.2f} s, of which {work:5.2f} s of processor time; "
                    f"ledger {size(folder / 'ledger'):7.2f} MB"
                )
            shutil.rmtree(day)
        began = time.perf_counter()
        counts = ledger.read()
        timed("read the counts of all nights", began)
        lowest = counts.filter(threshold=counts["threshold"].min())
        same(lowest.select(pl.sum_horizontal("tp", "fp", "fn", "tn").sum()).item() == total)
        began = time.perf_counter()
        ledger.compact()
        timed("compact", began)
        began = time.perf_counter()
        ledger.read()
        timed("read the counts of all nights", began)
        click.echo(f"ledger {size(folder / 'ledger'):.2f} MB, {total:,} rows")


if __name__ == "__main__":
    main()
