"""The texts that a user reads when something is wrong, or asks for help, kept in ``tests/snapshots``.

Each text is named by the call or command that gives it. ``make snapshots`` writes the files anew; read the
difference before it is committed.
"""

import contextlib
import os
import shlex
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import polars as pl
from click.testing import CliRunner

import nci_frames as nf
from nci_frames import demo
from nci_frames.commands.cli import main as command

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
#: What a case of Python may name.
NAMES: dict[str, Any] = {
    **vars(demo),
    "nf": nf,
    "pl": pl,
    "nan": float("nan"),
    "log": LOG,
    "one": LOG.head(1),
    "few": nf.count_confusion(LOG.head(1), thresholds=[0.5], by=[]),
    "counts": nf.count_confusion(LOG, thresholds=[0.25, 0.5], by=[]),
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
    "bounded": nf.compute_rates(
        nf.count_confusion(LOG, thresholds=[0.25, 0.5], by=[]), interval="clopper_pearson"
    ),
}

PYTHON = (
    # Sources.
    'nf.scan_predictions("nowhere")',
    'nf.scan_predictions("nowhere/*.parquet")',
    'nf.scan_predictions("empty")',
    'nf.scan_predictions("notes.txt")',
    'nf.scan_predictions("broken")',
    'nf.scan_predictions("drift")',
    "nf.scan_predictions([])",
    "nf.scan_predictions(3)",
    # Columns.
    'nf.scan_predictions(log.rename({"score": "scores"}))',
    'nf.scan_predictions(log, fold="folds")',
    'nf.scan_predictions(log, segments="contry")',
    'nf.scan_predictions(log, score="model")',
    'nf.count_confusion(nf.scan_predictions(log, label="score"), thresholds=[0.5])',
    'nf.scan_predictions(log.with_columns(tp=1), segments="tp")',
    'nf.scan_predictions(log, scores={"a": "score", "b": "country"})',
    'nf.scan_predictions(log.with_columns(age=pl.col("score")), segments="age")',
    'nf.scan_predictions(log, fold="fold", segments="fold")',
    "nf.scan_predictions(log.with_columns(label=pl.lit([1])))",
    'nf.scan_predictions(log.with_columns(label=pl.lit(b"1")))',
    'nf.scan_predictions(log.with_columns(label=pl.date(2026, 1, 1)), positive="2026-01-01")',
    "nf.scan_predictions(log, scores={})",
    'nf.scan_predictions(log, scores={"\\udcff": "score"})',
    'nf.scan_predictions(log.with_columns(b=pl.lit(1, pl.Float32)), scores={"a": "score", "b": "b"})',
    'nf.scan_predictions(log.rename({"score": "\\x1b[31mscore"}))',
    'nf.scan_predictions(log.to_pandas()["score"])',
    # Labels and rows.
    'nf.scan_predictions("words.parquet")',
    'nf.count_confusion(nf.scan_predictions("words.parquet", positive="bat"), thresholds=[0.5])',
    'nf.count_confusion(nf.scan_predictions("three.parquet"), thresholds=[0.5])',
    'nf.count_confusion(nf.scan_predictions("invalid.parquet"), thresholds=[0.5])',
    'nf.count_confusion(nf.scan_predictions("invalid.parquet", on_invalid="drop"), thresholds=[0.5])',
    'nf.scan_predictions(log, on_invalid="ignore")',
    'nf.scan_predictions(log.with_columns(label=pl.col("country")))',
    'nf.scan_predictions(log.with_columns(label=pl.col("country")), positive="De")',
    'nf.scan_predictions(log.with_columns(label=pl.col("model") + pl.col("fold")), positive="forest1")',
    'nf.scan_predictions(log, positive="yes")',
    "nf.scan_predictions(log, label=None, positive=1)",
    'nf.scan_predictions(log.cast({"label": pl.Float64}), positive=2**53 + 1)',
    'nf.scan_predictions(log.cast({"label": pl.Float64}), positive=nan)',
    'nf.count_confusion(log.with_columns(pl.col("label") - 1), thresholds=[0.5])',
    'nf.count_confusion(log.with_columns(weight=pl.col("score") - 0.5), thresholds=[0.5])',
    "nf.count_confusion(log.with_columns(weight=1e308), thresholds=[0.5])",
    # Counting.
    'nf.count_confusion(log, thresholds="exct")',
    "nf.count_confusion(log, thresholds=[0.5, nan])",
    "nf.count_confusion(log, thresholds=[])",
    "nf.count_confusion(log, thresholds=[0.5, 0.1])",
    'nf.count_confusion(log, thresholds=[0.1, float("inf"), float("inf")])',
    'nf.count_confusion(log, thresholds=[["a"]])',
    "nf.count_confusion(log, thresholds=[0.5] * 70_000)",
    'nf.count_confusion("log.parquet")',
    "nf.count_confusion(None)",
    'nf.count_confusion(log, by="contry")',
    'nf.counting_sql("log", thresholds=[0.5, 0.4], dialect="duckdb")',
    'nf.counting_sql("log", thresholds=[0.5, float("inf")], dialect="duckdb")',
    'nf.counting_sql("log; x", thresholds=[0.5], dialect="duckdb")',
    'nf.counting_sql("log", thresholds=[0.5], dialect="duckdb", positive="yes")',
    'nf.counting_sql("log", thresholds=[0.5], dialect="duckdb", positive="yes", negative=0)',
    'nf.counting_sql("log", thresholds=[0.5], dialect="duckdb", segments=["a", "a"])',
    "nf.quantile_thresholds(log, 1)",
    "nf.uniform_thresholds(1)",
    "nf.logit_thresholds(5, smallest=0.5)",
    "nf.auto_thresholds(tolerance=0)",
    "nf.auto_thresholds(prevalence=0)",
    "nf.auto_thresholds(also=[nan])",
    'nf.compare_auc(log.drop("fold", "country"))',
    "nf.unit_buckets(log.with_columns(unit=1), buckets=1)",
    "nf.unit_buckets(log.with_columns(unit=1, bucket=1))",
    "nf.unit_buckets(log.with_columns(unit=pl.lit(1, pl.Int128)))",
    "nf.count_pairs(units, thresholds=nan)",
    'nf.count_pairs(units, thresholds=0.5, models=["forest", "tree"])',
    'nf.count_pairs(units, thresholds={"forest": 0.5}, models=["forest", "linear"])',
    'nf.count_pairs(units, thresholds=0.5, models=["forest"])',
    "nf.count_pairs(units.with_columns(weight=1.0), thresholds=0.5)",
    "nf.count_pairs(units[:-1], thresholds=0.5)",
    "nf.count_pairs(pl.concat([units, units[:1]]), thresholds=0.5)",
    'nf.count_pairs(units.with_columns(label=pl.col("model") == "forest"), thresholds=0.5)',
    "nf.count_pairs(units.with_columns(unit=pl.lit(None, pl.String)), thresholds=0.5)",
    "nf.compare_auc(units[:-1])",
    "nf.compare_auc(pl.concat([units, units[:1]]))",
    'nf.compare_auc(units.with_columns(label=pl.col("model") == "forest"))',
    "nf.compare_auc(units.with_columns(unit=pl.lit(None, pl.String)))",
    'nf.count_confusion(log, thresholds="exact", memory_limit=1e3)',
    "nf.count_confusion(log, thresholds=[0.5], memory_limit=1e2)",
    'nf.sink_exact_counts(nf.scan_predictions("invalid.parquet"), "invalid.parquet")',
    'nf.sink_exact_counts(log.with_columns(weight=1.0), "exact.parquet")',
    'nf.sink_exact_counts(log, "exact.csv")',
    'nf.sink_exact_counts(log.with_columns(pl.lit(1, pl.Int128).alias("day")), "exact.parquet")',
    # Counts.
    "nf.merge_counts()",
    "nf.merge_counts(counts, other)",
    'nf.merge_counts(other, nf.count_confusion(log, thresholds="exact", by=[]))',
    "nf.merge_counts(counts, folds)",
    "nf.merge_counts(folds, counts)",
    "nf.merge_counts(folds, folds.with_columns(pl.col('fold').cast(pl.Int64)))",
    'nf.pool_counts(folds, over="folds")',
    "nf.read_counts(increments.with_columns(positives=-1))",
    "nf.read_counts(increments.with_columns(positives=pl.lit(None, pl.Int64)))",
    "nf.read_counts(increments.with_columns(positives=pl.lit(2**64 - 1, pl.UInt64)))",
    'nf.read_counts(increments.with_columns(positives=pl.lit("1")))',
    "nf.read_counts(increments.with_columns(threshold=nan))",
    "nf.read_counts(increments.with_columns(threshold=pl.lit(None, pl.Float64)))",
    "nf.read_counts(increments, thresholds=[0.4])",
    "nf.read_counts(increments, thresholds=[0.5, 0.4])",
    "nf.read_counts(increments.with_columns(invalid=2))",
    'nf.read_counts(increments.with_columns(invalid=2), on_invalid="drop")',
    'nf.merge_counts(*[counts.with_columns(pl.col("tn") + 2**52)] * 3)',
    'nf.compute_rates(counts.with_columns(pl.col("tn") + 2**62))',
    'nf.pool_counts(counts, over="fold")',
    "nf.compute_rates(log)",
    "nf.compute_rates([counts, counts])",
    'nf.compute_rates("counts.parquet")',
    "nf.compute_rates(counts.to_pandas())",
    "nf.compute_rates(3)",
    'nf.compute_rates(counts, interval="wilsn")',
    "nf.compute_rates(counts, level=95)",
    # Metrics and prevalences.
    'nf.project_rates(rates, metrics="precison", prevalence=0.01)',
    'nf.project_rates(rates, metrics="precision", prevalence=1.5)',
    'nf.project_rates(rates, metrics="precision", prevalence="observd")',
    'nf.project_rates(rates, metrics="precision", prevalence={"country": {"at": 0.01}})',
    'nf.project_rates(apart, metrics="precision", prevalence={"country": {"at": 0.01}})',
    'nf.project_rates(apart, metrics="precision", prevalence={"country": {"at": 0.01, "de": 1, "fr": 0.1}})',
    'nf.compute_areas(apart, prevalence=pl.DataFrame({"country": ["at", "at"], "prevalence": 0.1}))',
    'nf.compute_areas(apart, prevalence=pl.DataFrame({"country": ["at", "de"], "prevalence": [0.1, 1.2]}))',
    'nf.compute_areas(apart, prevalence=pl.DataFrame({"prevalence": [0.1]}))',
    'nf.project_rates(rates, metrics="f_beta", prevalence=0.01, beta=-1)',
    'nf.project_rates(rates, metrics="precision", prevalence=0.01, band=True)',
    'nf.register_metric("precision", pl.col("tpr"), range=(0, 1))',
    'nf.register_metric("mine", pl.col("tp"), range=(0, 1))',
    'nf.register_metric("mine", pl.col("tpr"), range=(1, 0))',
    "nf.select_operating_points(rates)",
    "nf.select_operating_points(rates, tpr=0.9, fpr=0.1)",
    "nf.rank_models(rates)",
    # Comparisons.
    'nf.compute_areas(counts, prevalence=0.01, method="average")',
    'nf.find_crossovers(rates, metric="f_beta", over="prevalance")',
    'nf.winner_ranges(rates, metric="f_beta", over="prevalence", start=0.5, end=0.1)',
    'nf.bootstrap(counts, metric="f_beta", repeats=1)',
    'nf.bootstrap(counts, metric="f_beta", seed=-1)',
    'nf.bootstrap(counts, metric="f_beta", units="user")',
    "nf.compare_folds(rates)",
    'nf.compare_folds(nf.compute_rates(folds), test="t")',
    'nf.check_projection(counts, over="country")',
    "nf.compare_models(counts, prevalence=0.01, threshold=nan)",
    "nf.required_samples()",
    "nf.required_samples(delta=0.1)",
    "nf.precision_band(rates, prevalence=0.01)",
    # One thing is named in the singular.
    "nf.count_confusion(nf.scan_predictions([one.with_columns(score=pl.lit(None, pl.Float64))]))",
    "nf.count_confusion(one, thresholds=[0.5], memory_limit=1)",
    'nf.compute_rates(few.with_columns(tp=-pl.col("tp")))',
    "nf.chart_roc(nf.compute_rates(few))",
    "nf.subsample_study(few, prevalence=0.5)",
    # Logs of the demonstration.
    "ScoreLaw(positive=(1.0, 1.0), negative=(1.0,))",
    "ScoreLaw(positive=(1.0, nan), negative=(1.0, 1.0))",
    "synthetic_laws(0)",
    'synthetic_laws(1)["model_00"].pr_auc(1.1)',
    *(
        f'write_synthetic_logs("new", rows=100, {option})'
        for option in (
            "models=0",
            "folds=1.5",
            "segments=-3",
            "prevalence=-0.01",
            "prevalence=nan",
            "files=0",
            "files=14",
            'dtype="float16"',
            "seed=-1",
        )
    ),
    'write_synthetic_logs("new", rows=0)',
    'write_synthetic_logs("broken", rows=10)',
    *(f'write_demo_logs("new", {option})' for option in ("datasets=()", 'datasets="digit"', "seed=2**32")),
    # Charts and files.
    "nf.chart_p3(rates)",
    'nf.save_chart(nf.chart_roc(rates), "chart.gif")',
    'nf.save_table(counts, "counts.xlsx")',
    'nf.save_table(counts, "empty")',
)

COMMANDS = (
    "nci-frames reprot log.parquet",
    "nci-frames report",
    "nci-frames report nowhere",
    "nci-frames report empty",
    "nci-frames report notes.txt",
    "nci-frames report broken",
    "nci-frames report drift",
    "nci-frames report log.parquet --segments contry",
    "nci-frames report log.parquet --fold folds",
    "nci-frames report log.parquet --score p",
    "nci-frames report log.parquet --model name",
    "nci-frames report words.parquet",
    "nci-frames report words.parquet --positive bat",
    "nci-frames report three.parquet",
    "nci-frames report invalid.parquet",
    "nci-frames report log.parquet --on-invalid ignore",
    "nci-frames report log.parquet --scores forest=",
    "nci-frames report log.parquet --prevalence 0.1,1.5",
    "nci-frames report log.parquet --prevalence 1:2:3",
    "nci-frames report log.parquet --prevalence 0:1:log:5",
    "nci-frames report log.parquet --beta -1",
    "nci-frames report log.parquet --at 2%%",
    "nci-frames report log.parquet --at 5",
    "nci-frames report log.parquet --prevalence 500",
    "nci-frames report log.parquet --cost 200",
    "nci-frames report log.parquet --cost 200:-1",
    "nci-frames report log.parquet --cost 200:1 --metric recall",
    "nci-frames report log.parquet --volume 0",
    "nci-frames report log.parquet --threshold nan",
    "nci-frames report log.parquet --threshold high",
    "nci-frames report log.parquet --format html,pdf",
    "nci-frames report log.parquet --format ''",
    "nci-frames report log.parquet --tables xlsx",
    "nci-frames report log.parquet --charts gif",
    "nci-frames report log.parquet --charts svg,,png",
    "nci-frames report log.parquet --out notes.txt",
    "nci-frames report log.parquet --segment country",
    "nci-frames plan",
    "nci-frames plan --delta 0.1",
    "nci-frames plan --delta 0.1 --half-width 0.1",
    "nci-frames plan --half-width wide",
    "nci-frames plan --half-width 0.1,0.2,0.3",
    "nci-frames plan --half-width 0.1 --level 1",
    "nci-frames plan --positives 100 --delta 0.1",
    "nci-frames plan --positives 100 --tpr 0.5 --fpr 0.1",
    "nci-frames plan --positives 0 --negatives 9 --tpr 0.5 --fpr 0.1",
    "nci-frames plan --half-width 0.1:0.3:lin:3",
    # Options are named as the command or the job file has them.
    "nci-frames report log.parquet --cost 200:nan",
    "nci-frames report log.parquet --alerts 5",
    "nci-frames report log.parquet --scores a=score --scores a=score",
    "nci-frames report log.parquet --thresholds 0.5,0.2",
    "nci-frames report log.parquet --thresholds logit:1",
    "nci-frames report log.parquet --prevalence ,",
    "nci-frames estimate invalid.parquet log.parquet",
    "nci-frames sql t --dialect duckdb --thresholds nan",
    "nci-frames sql t --dialect duckdb --positive 1_0",
    "nci-frames sql t --dialect duckdb --positive yes",
    "nci-frames ledger append ledger invalid.parquet",
    "nci-frames ledger append ledger log.parquet --buckets 20",
    "nci-frames ledger append ledger log.parquet --segments country --segments country",
    "nci-frames ledger read ledger --out x.csv --since 2026-03-02 --until 2026-03-01",
    "nci-frames check dated.toml --until 2020-01-01",
    "nci-frames check dated.toml --until Monday",
)


def pages_of_help(group: click.Group = command, name: str = "nci-frames") -> Iterator[str]:
    """Name the help of every command."""
    yield f"{name} --help"
    for word, inner in sorted(group.commands.items()):
        if isinstance(inner, click.Group):
            yield from pages_of_help(inner, f"{name} {word}")
        else:
            yield f"{name} {word} --help"


def of_python(call: str) -> str:
    """Return the error or the warning of a call."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            eval(call, dict(NAMES))  # noqa: S307 - the calls stand above
        except nf.NciFramesError as error:
            return f"{type(error).__name__}, exit code {error.exit_code}\n{error}"
    if not warned:
        raise AssertionError(f"neither an error nor a warning: {call}")
    return "\n".join(f"{warning.category.__name__}\n{warning.message}" for warning in warned)


def of_command(line: str) -> str:
    """Return the exit code and the output of a command."""
    name, *arguments = shlex.split(line)
    # Click breaks lines where the terminal ends.
    done = CliRunner(env={"COLUMNS": "100"}).invoke(command, arguments, prog_name=name)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if Path("nci-report").exists():
        raise AssertionError(f"a command that fails must not make the folder of the report: {line}")
    output = done.output.replace(f"{Path.cwd()}/", "")
    return f"exit code {done.exit_code}\n{output}".rstrip("\n")


#: Of each file, the names of its texts and what makes one.
FILES: dict[str, tuple[tuple[str, ...], Callable[[str], str]]] = {
    "help": (tuple(pages_of_help()), of_command),
    "errors-python": (PYTHON, of_python),
    "errors-command-line": (COMMANDS, of_command),
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
            bad = pl.Series([0.5, None, float("nan"), *LOG["score"][3:]], strict=False)
            LOG.with_columns(score=bad, label=pl.Series([None, *LOG["label"][1:]])).write_parquet(
                "invalid.parquet"
            )
            LOG.with_columns(score=bad).write_parquet("2026-03-01.parquet")
            job = 'name = "x"\nthresholds = [0.5]\n[source]\npath = "{date:%Y-%m-%d}.parquet"\n'
            Path("dated.toml").write_text(job)
            yield
        finally:
            os.chdir(before)


def read(file: str) -> dict[str, str]:
    """Return the texts that a file keeps, by name."""
    parts = f"\n{(FOLDER / f'{file}.txt').read_text(encoding='utf-8')}".split(f"\n{MARK}")[1:]
    return {name: text.rstrip("\n") for name, text in (part.split("\n", 1) for part in parts)}


def main() -> None:
    """Write every file anew."""
    with sources():
        for file, (names, text_of) in FILES.items():
            texts = [f"{MARK}{name}\n{text_of(name)}\n" for name in names]
            (FOLDER / f"{file}.txt").write_text("\n".join(texts), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
