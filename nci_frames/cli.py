"""The command line: arguments only."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from nci_frames.arguments import grid_numbers
from nci_frames.errors import NciFramesError
from nci_frames.interrupts import INTERRUPTED, clean_up_when_interrupted
from nci_frames.job_commands import JOB_COMMANDS
from nci_frames.ledger_commands import ledger

if TYPE_CHECKING:
    import polars as pl

    from nci_frames.jobs.report import ReportJob

__all__ = ["main"]

PREVALENCE = "1e-4:0.5:log:50"
BETA = "0.25:4:log:33"


class Grid(click.ParamType[tuple[float, ...]]):
    """Numbers: ``0.001,0.01`` or ``start:stop:log:count`` (``lin`` for even steps)."""

    name = "grid"

    def __init__(self, largest: float, least: float = 0) -> None:
        self.largest = largest
        self.least = least

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Read the numbers."""
        if not isinstance(value, str):
            return cast("tuple[float, ...]", value)
        try:
            numbers = grid_numbers(value)
        except ValueError as error:
            self.fail(f"{value!r} is not a grid ({error}). Write 0.001,0.01 or 1e-4:0.5:log:50.", param, ctx)
        for number in numbers:
            if not self.least <= number <= self.largest:
                allowed = f"within [0, {self.largest:g}]" if self.largest < float("inf") else "a number >= 0"
                percent = f" Did you mean {number / 100:g}?" if 1 < number <= 100 else ""
                self.fail(f"{number!r} in {value!r} must be {allowed}.{percent}", param, ctx)
        return tuple(numbers)


class Value(click.ParamType[str | float | bool]):
    """A number, ``true`` or ``false``, or any other text."""

    name = "value"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,  # noqa: ARG002
        ctx: click.Context | None,  # noqa: ARG002
    ) -> str | float | bool:
        """Read the value; text in single quotes is text whatever it looks like."""
        if not isinstance(value, str):
            return cast("str | float | bool", value)
        if value.lower() in ("true", "false"):
            return value.lower() == "true"
        for kind in (int, float):
            with contextlib.suppress(ValueError):
                return kind(value)
        return value[1:-1] if len(value) > 1 and value[0] == value[-1] == "'" else value


class Words(click.ParamType[tuple[str, ...]]):
    """Some of a few words, separated by commas: ``html,md``."""

    name = "words"

    def __init__(self, *choices: str) -> None:
        self.choice = click.Choice(choices)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Show the words."""
        return f"{self.choice.get_metavar(param, ctx)},..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Read the words; each counts once."""
        if not isinstance(value, str):
            return cast("tuple[str, ...]", value)
        return tuple(self.choice.convert(word.strip(), param, ctx) for word in value.split(","))


def _together(
    _ctx: click.Context, _param: click.Parameter, value: tuple[tuple[str, ...], ...]
) -> tuple[str, ...]:
    """Join the words of a repeated option; each counts once."""
    return tuple(dict.fromkeys(word for words in value for word in words))


class Commands(click.Group):
    """Commands whose expected errors end with a message and an exit code, not with a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except NciFramesError as error:
            from nci_frames.reporting.tables.names import printable

            for line in f"error: {error.for_command_line()}".split("\n"):
                click.echo(printable(line), err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo(INTERRUPTED, err=True)
            ctx.exit(130)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 a bug, 2 a wrong argument or setting, 3 bad data (unreadable source, wrong "
    "columns, invalid rows), 4 the output cannot be written, 5 conflict with another run, 10 a gate failed, "
    "11 a gate is undecided, where that fails, 130 interrupted.",
)
@click.version_option(package_name="nci_frames", prog_name="nci-frames")
def main() -> None:
    """Compare binary classifiers at class balances other than that of the test set.

    \b
    Example:
      nci-frames demo
      nci-frames report logs/ --prevalence 0.0001,0.001,0.01 --segments country --out report
    """


C = TypeVar("C", bound=Callable[..., object])


def comparison_options(command: C) -> C:
    """Add the options of a comparison."""
    options = [
        click.option(
            "--prevalence", "-p", type=Grid(1.0), default=PREVALENCE, show_default=True,
            help="Prevalences to compare at: numbers separated by commas, or start:stop:log:count.",
        ),
        click.option(
            "--beta", "-b", type=Grid(float("inf")), default=BETA, show_default=True,
            help="Weights of recall in F-beta, in the same form.",
        ),
        click.option(
            "--threshold", "-t", type=float, default=0.5, show_default=True,
            help="A row is predicted positive if its score is at or above this.",
        ),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def output_options(command: C) -> C:
    """Add the options for the formats of a report, its tables and its charts."""
    options = [
        click.option(
            "--format", "formats", type=Words("html", "md", "json"), default=["html"], show_default=True,
            multiple=True, callback=_together,
            help="The report: a page with charts, a page for code hosts, a summary for programs.",
        ),
        click.option(
            "--tables", type=Words("parquet", "csv", "md"), default=["parquet"], show_default=True,
            multiple=True, callback=_together,
            help="The tables behind the report, in the folder tables.",
        ),
        click.option(
            "--charts", type=Words("svg", "png", "json"), default=(), multiple=True, callback=_together,
            help="Also write each chart to a file, in the folder charts; json is Vega-Lite.",
        ),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@main.command()
@click.argument("logs", nargs=-1, required=True)
@comparison_options
@output_options
@click.option(
    "--segments",
    "-s",
    "segments",
    multiple=True,
    help="Column whose values are reported separately; may be repeated.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    default="nci-report",
    show_default=True,
    help="Folder for the report, tables and charts; created if missing.",
)
@click.option("--title", help="Title of the report.")
@click.option("--model", default="model", show_default=True, help="Column with the model's name.")
@click.option("--label", default="label", show_default=True, help="Column with the true class.")
@click.option("--score", default="score", show_default=True, help="Column with the score.")
@click.option(
    "--scores",
    multiple=True,
    metavar="MODEL=COLUMN",
    help="Score column of one model, for logs with a column per model; may be repeated.",
)
@click.option("--fold", help="Column with the cross-validation fold.")
@click.option(
    "--repeat", help="Column with the repeat of the cross-validation; areas are averaged over repeats."
)
@click.option(
    "--unit", help="Column with the user, host or patient that a row belongs to; its rows are kept together."
)
@click.option("--weight", help="Column with the weight of each row.")
@click.option("--positive", help="Label that means positive; 0/1 and Boolean labels need none.")
@click.option(
    "--on-invalid",
    type=click.Choice(["raise", "drop"]),
    default="raise",
    show_default=True,
    help="What to do with rows without a valid label or score.",
)
def report(
    logs: tuple[str, ...],
    prevalence: tuple[float, ...],
    beta: tuple[float, ...],
    threshold: float,
    segments: tuple[str, ...],
    out: Path,
    title: str | None,
    scores: tuple[str, ...],
    formats: tuple[str, ...],
    tables: tuple[str, ...],
    charts: tuple[str, ...],
    **columns: str | None,
) -> None:
    """Rank the models of prediction LOGS (Parquet files, folders, globs or URLs) and write a report.

    \b
    Example:
      nci-frames report 'logs/**/*.parquet' --fold fold --segments country \\
          --prevalence 1e-4:0.5:log:50 --beta 0.25:4:log:33 --out report
      nci-frames report logs/ --format html,md,json --tables parquet,csv --charts svg

    Prints the ranked tables; writes the report and the tables behind it into a folder, which is
    replaced as a whole.
    """
    from nci_frames.jobs.report import ReportJob

    if scores:
        columns["scores"] = cast("Any", dict(_pair(text) for text in scores))
    job = ReportJob(
        source=logs[0] if len(logs) == 1 else list(logs),
        out=out,
        prevalence=prevalence,
        beta=beta,
        threshold=threshold,
        segments=segments,
        title=title,
        columns=columns,
        formats=formats,
        tables=tables,
        charts=charts,
    )
    _run(job)


@main.command()
@comparison_options
@output_options
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    default="demo-output",
    show_default=True,
    help="Folder for the logs and the reports; created if missing.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the cross-validation.")
def demo(
    prevalence: tuple[float, ...],
    beta: tuple[float, ...],
    threshold: float,
    out: Path,
    seed: int,
    **formats: tuple[str, ...],
) -> None:
    """Train real classifiers on real data, log their predictions, and report on the logs.

    Needs scikit-learn: pip install 'nci_frames[demo]'.

    \b
    Example:
      nci-frames demo --out demo-output
    """
    from nci_frames.demo import write_demo_logs
    from nci_frames.jobs.report import ReportJob

    clean_up_when_interrupted()
    click.echo("training ten classifiers by 2 x 5-fold cross-validation ...", err=True)
    logs = write_demo_logs(out / "logs", seed=seed)
    for dataset in sorted(path for path in logs.iterdir() if path.is_dir()):
        name = dataset.name.removeprefix("dataset=")
        _run(
            ReportJob(
                source=str(dataset),
                out=out / "reports" / name,
                prevalence=prevalence,
                beta=beta,
                threshold=threshold,
                segments=("segment",),
                title=f"{name.replace('_', ' ')}: ten classifiers as the class balance changes",
                columns={"fold": "fold", "repeat": "repeat", "unit": "unit"},
                **formats,
            )
        )


@main.command()
@click.option(
    "--half-width", type=Grid(1.0), help="Required half-width of the rates: one number, or TPR,FPR."
)
@click.option(
    "--delta", type=float, help="Required maximum width of the precision band over all prevalences."
)
@click.option("--precision-half-width", type=float, help="Required half-width of precision at --prevalence.")
@click.option("--prevalence", "-p", type=float, help="Prevalence for --precision-half-width.")
@click.option("--tpr", type=float, help="Expected true-positive rate.")
@click.option("--fpr", type=float, help="Expected false-positive rate.")
@click.option("--positives", type=int, help="Rows with y=1 in an existing test set.")
@click.option("--negatives", type=int, help="Rows with y=0 in an existing test set.")
@click.option(
    "--level", type=float, default=0.95, show_default=True, help="Confidence of each rate's interval."
)
@click.option("--assurance", type=float, help="Share of studies that reach the goal.  [default: 0.8]")
def plan(
    half_width: tuple[float, ...] | None,
    tpr: float | None,
    fpr: float | None,
    positives: int | None,
    negatives: int | None,
    level: float,
    assurance: float | None,
    **wanted: Any,
) -> None:
    """Show how large a test set must be, or what a test set of a given size can support.

    \b
    Example:
      nci-frames plan --delta 0.1 --tpr 0.6 --fpr 0.001
      nci-frames plan --precision-half-width 0.1 --prevalence 0.001 --tpr 0.6 --fpr 0.001
      nci-frames plan --half-width 0.05,0.0005
      nci-frames plan --positives 100 --negatives 100000 --tpr 0.6 --fpr 0.001
    """
    from rich.console import Console

    from nci_frames.evaluation.planning.planning import required_samples
    from nci_frames.reporting.pages.terminal import print_frame

    console = Console(highlight=False)
    if positives is None and negatives is None:
        widths = cast("Any", half_width[0] if half_width and len(half_width) == 1 else half_width)
        samples = required_samples(
            half_width=widths,
            tpr=tpr,
            fpr=fpr,
            level=level,
            assurance=0.8 if assurance is None else assurance,
            **wanted,
        )
        print_frame(samples, console, title=f"required rows, at confidence {level:g} of each rate")
        return
    if any(value is not None for value in (half_width, assurance, *wanted.values())):
        raise click.UsageError("Give either a goal or --positives and --negatives, not both.")
    if positives is None or negatives is None or tpr is None or fpr is None:
        raise click.UsageError("A test set needs --positives, --negatives, --tpr and --fpr.")
    for title, table in _support(positives, negatives, tpr, fpr, level):
        print_frame(table.drop("model", "threshold", strict=False), console, title=title)


def _support(
    positives: int, negatives: int, tpr: float, fpr: float, level: float
) -> Iterator[tuple[str, "pl.DataFrame"]]:
    from nci_frames.evaluation.planning.expected import expected_counts
    from nci_frames.evaluation.projection.bands import max_precision_uncertainty
    from nci_frames.evaluation.rates.rates import compute_rates
    from nci_frames.evaluation.support.lowest import lowest_supported_prevalence

    counts = expected_counts(positives=positives, negatives=negatives, tpr=tpr, fpr=fpr)
    rates = compute_rates(counts, interval="wilson", level=level)
    columns = ["tpr", "tpr_lower", "tpr_upper", "fpr", "fpr_lower", "fpr_upper"]
    yield (
        f"rates, with Wilson intervals of confidence {level:g}",
        rates.select("model", "threshold", *columns),
    )
    yield "where the precision band is widest (delta)", max_precision_uncertainty(rates)
    at = rates["threshold"].item()
    support = lowest_supported_prevalence(counts, metric="precision", threshold=at)
    yield "lowest prevalence at which the test set supports precision", support


@main.command()
@click.argument("table")
@click.option(
    "--dialect",
    "-d",
    type=click.Choice(
        [
            "bigquery",
            "clickhouse",
            "databricks",
            "duckdb",
            "postgres",
            "redshift",
            "snowflake",
            "spark",
            "trino",
        ]
    ),
    required=True,
    help="The database that will run the query.",
)
@click.option(
    "--thresholds",
    type=Grid(float("inf"), least=float("-inf")),
    default="0:1:lin:101",
    show_default=True,
    help="Thresholds to count at: numbers separated by commas, or start:stop:lin:count.",
)
@click.option("--segments", "-s", multiple=True, help="Column that is kept as a key; may be repeated.")
@click.option("--model", default="model", show_default=True, help="Column with the model's name.")
@click.option("--label", default="label", show_default=True, help="Column with the true class.")
@click.option("--score", default="score", show_default=True, help="Column with the score.")
@click.option("--fold", help="Column with the cross-validation fold.")
@click.option("--weight", help="Column with the weight of each row.")
@click.option("--positive", type=Value(), default="1", show_default=True, help="Label that means positive.")
@click.option("--negative", type=Value(), help="The other label.  [default: 0, or false]")
@click.option(
    "--score-type",
    type=click.Choice(["float64", "float32"]),
    default="float64",
    show_default=True,
    help="Precision of the score column.",
)
def sql(table: str, **options: Any) -> None:
    """Print one GROUP BY that counts the predictions of a TABLE where they are.

    Its result is small. Read it with nci_frames.read_counts. Needs sqlglot: pip install
    'nci_frames[sql]'.

    \b
    Example:
      nci-frames sql analytics.predictions --dialect bigquery --segments country
      nci-frames sql "read_parquet('logs/*.parquet')" --dialect duckdb | duckdb
    """
    from nci_frames.counting.sql import counting_sql

    click.echo(counting_sql(table, **options))


@main.command()
@click.argument("reference")
@click.argument("traffic")
@click.option("--segments", "-s", multiple=True, help="Column to estimate by; may be repeated.")
@click.option(
    "--method",
    type=click.Choice(["em", "adjusted_count", "matching"]),
    default="em",
    show_default=True,
    help="How the mixture is fitted.",
)
@click.option(
    "--thresholds",
    type=Grid(float("inf"), least=float("-inf")),
    default="0:1:lin:1001",
    show_default=True,
    help="Thresholds to count at: numbers separated by commas, or start:stop:lin:count.",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence of the intervals.")
@click.option("--model", default="model", show_default=True, help="Column with the model's name.")
@click.option("--label", default="label", show_default=True, help="Column with the true class, of REFERENCE.")
@click.option("--score", default="score", show_default=True, help="Column with the score.")
@click.option("--positive", help="Label that means positive; 0/1 and Boolean labels need none.")
def estimate(
    reference: str,
    traffic: str,
    segments: tuple[str, ...],
    method: Any,
    thresholds: tuple[float, ...],
    level: float,
    label: str,
    positive: str | None,
    **columns: str,
) -> None:
    """Estimate the prevalence of TRAFFIC, a log without labels, by comparing its scores with REFERENCE.

    REFERENCE is a log with labels. If the scores are no mixture of its two classes, there is a reason
    instead of a number.

    \b
    Example:
      nci-frames estimate labelled/ traffic/ --segments country
    """
    from rich.console import Console

    from nci_frames.counting.count import count_confusion
    from nci_frames.counting.logs.scan import scan_predictions
    from nci_frames.counting.scores import count_scores
    from nci_frames.evaluation.prevalence.estimate_prevalence import estimate_prevalence
    from nci_frames.reporting.pages.terminal import print_frame

    columns["segments"] = cast("Any", segments)
    known = scan_predictions(reference, label=label, positive=positive, **cast("Any", columns))
    unknown = scan_predictions(traffic, label=None, **cast("Any", columns))
    found = estimate_prevalence(
        count_confusion(known, thresholds=thresholds),
        count_scores(unknown, thresholds=thresholds),
        method=method,
        level=level,
    )
    # What is null in every row would only take width.
    reasons = ["reason"] if found["reason"].count() else []
    shown = found.drop("fit_statistic", "supported", "reason").hstack(found.select(reasons))
    print_frame(shown, Console(highlight=False), title=f"prevalence, with intervals of confidence {level:g}")


def _pair(text: str) -> tuple[str, str]:
    model, separator, column = text.partition("=")
    if not (model and separator and column):
        raise click.BadParameter(
            f"{text!r} is not MODEL=COLUMN, e.g. forest=p_forest.", param_hint="--scores"
        )
    return model, column


def _run(job: "ReportJob") -> None:
    from rich.console import Console

    from nci_frames.jobs.report import run_report
    from nci_frames.reporting.pages.terminal import print_comparison
    from nci_frames.reporting.tables.names import printable

    clean_up_when_interrupted()
    published = run_report(job)
    console = Console(highlight=False)
    print_comparison(published.comparison, console, title=job.title or "")
    for warning in published.tally.warnings:
        click.echo(f"{type(warning).__name__}: {printable(str(warning))}", err=True)
    told = f"{published.tally.counted:,} predictions counted; report: {published.reports[0]}"
    click.echo(printable(told))


for _command in (*JOB_COMMANDS, ledger):
    main.add_command(_command)
