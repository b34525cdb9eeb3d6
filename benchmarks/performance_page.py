"""What the contenders took -> docs/performance.md and its picture."""

import os
import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import altair as alt
import polars as pl

__all__ = ["Results", "write_page"]

#: form -> what it is
DESCRIBED = {
    "decode": "decode the columns only (the floor)",
    "nci_frames": "nci_frames",
    "nci_frames_unverified": "nci_frames, files without checksums of pages",
    "duckdb_histogram": "DuckDB, `histogram(score, bounds)`",
    "duckdb_lookup": "DuckDB, join with a table of 65,537 even cells, `GROUP BY`",
    "duckdb_asof": "DuckDB, `ASOF JOIN` with the thresholds, `GROUP BY`",
    "duckdb_case": "DuckDB, nested `CASE`, `GROUP BY`",
    "duckdb_group_by": "DuckDB, `GROUP BY floor(score * n)`, classes in columns",
    "duckdb_group_by_class": "DuckDB, `GROUP BY floor(score * n), label`",
    "polars_search": "Polars, `numpy.searchsorted` in `map_batches`, `group_by`",
    "polars_bins": "Polars, `bin_intervals`, `group_by`",
    "polars_packed": "Polars, keys, bin and class in one integer, `group_by`",
    "numpy_search": "NumPy, codes of keys from Parquet, `searchsorted`, `bincount`, 2 threads",
    "numpy_lookup": "NumPy, codes of keys from Parquet, a table of 65,537 even cells, `bincount`, 2 threads",
    "nci_frames_exact": "nci_frames: exact counts, then both areas of each group",
    "numpy_exact": "NumPy: score bits and class in one integer, `sort`, both areas, 2 threads",
    "scikit_learn_areas": "scikit-learn: `roc_auc_score` and `average_precision_score`, 2 threads",
    "scikit_learn_one_sort": "scikit-learn: `confusion_matrix_at_thresholds`, both areas, 2 threads",
}
#: (kind, this library, contender by the start of its form)
COMPARED = [
    ("arbitrary", "nci_frames", "nci_frames_unverified"),
    ("arbitrary", "nci_frames", "decode"),
    ("arbitrary", "nci_frames", "duckdb"),
    ("arbitrary", "nci_frames", "polars"),
    ("arbitrary", "nci_frames", "numpy"),
    ("uniform", "nci_frames", "duckdb"),
    ("exact", "nci_frames_exact", "numpy"),
    ("exact", "nci_frames_exact", "scikit"),
]
KINDS = {"arbitrary": "1,024 arbitrary", "uniform": "1,024 uniform", "exact": "every distinct score"}


@dataclass
class Results:
    """What was measured: a row for each run, by the type of the scores."""

    rows: int
    times: int
    runs: int
    busy: bool
    forms: dict[str, pl.DataFrame] = field(default_factory=dict)
    grid: dict[str, pl.DataFrame] = field(default_factory=dict)
    #: By the keys that rows are grouped by, fewer than all; scores of the last type.
    fewer: dict[str, pl.DataFrame] = field(default_factory=dict)
    exact: dict[str, pl.DataFrame] = field(default_factory=dict)
    #: Files with and without checksums; scores of the first type.
    verifying: pl.DataFrame = field(default_factory=pl.DataFrame)
    scaled: dict[int, pl.DataFrame] = field(default_factory=dict)


def _medians(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.group_by("kind", "form", maintain_order=True).agg(
        pl.col("seconds", "cpu").median(),
        least=pl.col("seconds").min(),
        greatest=pl.col("seconds").max(),
        peak_gb=pl.col("peak_gb").max(),
    )


def _times(frame: pl.DataFrame) -> list[str]:
    """Return a table of what each form took."""
    lines = [
        "| contender | thresholds | median s | min s | max s | median CPU s | peak GB |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in _medians(frame).sort("kind", "seconds").iter_rows(named=True):
        figures = [f"{row[name]:.2f}" for name in ("seconds", "least", "greatest", "cpu", "peak_gb")]
        lines.append(f"| {DESCRIBED[row['form']]} | {KINDS[row['kind']]} | {' | '.join(figures)} |")
    return lines


def _ratios(measured: dict[str, pl.DataFrame], what_differs: str = "scores") -> list[str]:
    """Return a table of this library's medians as multiples of those of each contender."""
    lines = [
        f"| nci_frames, as a multiple of | thresholds | {what_differs} | seconds | CPU seconds |",
        "| --- | --- | --- | ---: | ---: |",
    ]
    for name, frame in measured.items():
        table = _medians(frame)
        for kind, mine, other in COMPARED:
            us = table.filter(kind=kind, form=mine)
            them = table.filter(pl.col("kind") == kind, pl.col("form").str.starts_with(other))
            if len(us) and len(them):
                seconds, cpu = ((us[name] / them[name]).item() for name in ("seconds", "cpu"))
                what = DESCRIBED[them["form"].item()]
                lines.append(f"| {what} | {KINDS[kind]} | {name} | {seconds:.2f} | {cpu:.2f} |")
    return lines


def _forms(by_type: dict[str, pl.DataFrame]) -> list[str]:
    """Return a table of all forms, one column for each type of the scores."""
    lines = [
        "| form | thresholds | float64 s (CPU s) | float32 s (CPU s) |",
        "| --- | --- | ---: | ---: |",
    ]
    tables = [_medians(frame) for frame in by_type.values()]
    for kind, form in tables[0].sort("kind", "seconds").select("kind", "form").iter_rows():
        of = [table.filter(kind=kind, form=form) for table in tables]
        figures = [f"{each['seconds'].item():.2f} ({each['cpu'].item():.2f})" for each in of]
        lines.append(f"| {DESCRIBED[form]} | {KINDS[kind]} | {' | '.join(figures)} |")
    return lines


def write_page(results: Results, folder: Path) -> None:
    """Write the page and its picture."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    packages = ("polars", "numpy", "duckdb", "scikit-learn")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    rows = results.rows * results.times
    load = [
        "",
        "**The machine did much other work while this was measured:** compare the CPU seconds. Seconds by",
        "the clock vary by several times from run to run.",
    ]
    lines = [
        "# Performance",
        "",
        "This page compares the time and memory of counting with DuckDB, Polars, NumPy and scikit-learn.",
        "`make bench` writes it. The ratios matter more than the seconds: machines differ.",
        *(load if results.busy else []),
        "",
        "| | measured with `make bench` |",
        "| --- | --- |",
        f"| machine | {os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GB |",
        f"| versions | Python {platform.python_version()}, {versions} |",
        "| groups | 8 models x 10 folds x 20 segments, in random order |",
        "| columns | String keys, scores in double or single precision, in Parquet |",
        f"| rows | {results.rows:,}"
        + (f"; {rows:,} in {results.times} copies of each file |" if rows > results.rows else " |"),
        "| a run | a new process, which has counted 10,000 rows before: imports are not measured |",
        "",
        "Each contender is written in the ways in which its users might write it: constants in the type of",
        "the scores, results in Arrow, keys as they are encoded, one sort for both areas.",
        "[All of these forms](#forms-of-each-contender) are timed first, and the fastest one of each",
        "contender is compared. They all give the same counts. The contenders stop at increments: how many",
        "rows lie between each threshold and the next. nci_frames also checks every row, adds the increments",
        "up, and returns a frame of counts.",
        "",
        "![Seconds of each contender](performance.png)",
        "",
        "## Ratios",
        "",
        *_ratios(results.grid),
        *_ratios(results.exact)[2:],
        *_ratios({next(iter(results.grid)): results.verifying})[2:],
        "",
        f"The last line shows what it costs to verify the checksums of pages: medians of"
        f" {len(results.verifying) // 2} runs each, in alternating order.",
        "",
        f"## {rows:,} rows at 1,024 thresholds",
        "",
        f"{results.runs} runs in alternating order.",
    ]
    for dtype, frame in results.grid.items():
        lines += ["", f"Scores of type {dtype}:", "", *_times(frame)]
    fewer = "The same rows in 8 or in 80 groups; scores of type float32. SQL engines are nearer there."
    lines += ["", "### Fewer groups", "", fewer, "", *_ratios(results.fewer, "keys")]
    lines += ["", "## Scaling", "", "nci_frames at 1,024 arbitrary thresholds, float64; medians.", ""]
    lines += ["| rows | seconds | CPU seconds | peak GB |", "| ---: | ---: | ---: | ---: |"]
    for number, frame in results.scaled.items():
        row = _medians(frame).row(0, named=True)
        lines.append(f"| {number:,} | {row['seconds']:.2f} | {row['cpu']:.2f} | {row['peak_gb']:.2f} |")
    lines += ["", f"## {results.rows:,} rows at every distinct score"]
    for dtype, frame in results.exact.items():
        lines += [
            "",
            f"Scores of type {dtype}, {results.runs} runs in alternating order:",
            "",
            *_times(frame),
        ]
    lines += [
        "",
        "On a grid, memory grows with the number of cells and not with the number of rows. Exact counts keep",
        "the score and class of every row, and return a row for every distinct score.",
        "[Counting](counting.md) explains both.",
        "",
        "## Forms of each contender",
        "",
        f"{results.rows:,} rows; medians of {min(results.runs, 3)} runs. The programs are in `benchmarks/`.",
        "",
        *_forms(results.forms),
        "",
    ]
    page = folder / "performance.md"
    # What comes after is from other programs.
    _, title, rest = page.read_text(encoding="utf-8").partition("## The default path")
    page.write_text("\n".join([*lines, title + rest]), encoding="utf-8")
    _draw(results, rows, folder / "performance.png")


def _draw(results: Results, rows: int, path: Path) -> None:
    frames = [frame.with_columns(scores=pl.lit(dtype)) for dtype, frame in results.grid.items()]
    grid = pl.concat(frames).with_columns(
        what=pl.col("form").replace_strict(DESCRIBED).str.replace_all("`", "")
        + pl.when(kind="uniform").then(pl.lit(", uniform thresholds")).otherwise(pl.lit(""))
    )
    column, title = ("cpu", "CPU seconds") if results.busy else ("seconds", "seconds")
    base = alt.Chart(grid).encode(y=alt.Y("what:N", sort="x", title=None, axis=alt.Axis(labelLimit=460)))
    bars = base.mark_bar(color="#0072b2").encode(
        x=alt.X(f"median({column}):Q", title=f"{title} for {rows:,} rows")
    )
    points = base.mark_tick(color="black").encode(x=f"{column}:Q")
    drawn = (bars + points).properties(width=420).facet(row=alt.Row("scores:N", title=None))
    drawn.resolve_scale(y="independent").save(str(path), scale_factor=2)
