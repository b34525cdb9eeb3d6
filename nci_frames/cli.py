"""The command line: arguments only."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from nci_frames.command_options import (
    Grid,
    column_options,
    comparison_options,
    output_options,
    question_options,
)
from nci_frames.counting_commands import COUNTING_COMMANDS
from nci_frames.errors import NciFramesError
from nci_frames.interrupts import INTERRUPTED, clean_up_when_interrupted
from nci_frames.job_commands import JOB_COMMANDS
from nci_frames.ledger_commands import ledger

if TYPE_CHECKING:
    import polars as pl

    from nci_frames.evaluation.comparison.questions import Answer
    from nci_frames.jobs.report import ReportJob

__all__ = ["main"]


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


@main.command()
@click.argument("logs", nargs=-1, required=True)
@question_options
@comparison_options
@click.option(
    "--thresholds",
    help='Thresholds to count at: "exact", "logit:501", "uniform:101", or numbers separated by commas.  '
    "[default: as fine as the areas need]",
)
@output_options
@click.option(
    "--segments",
    "-s",
    "segments",
    multiple=True,
    help="Column whose values are reported separately; may be repeated.",
)
@click.option(
    "--min-positives",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help='Segments with fewer positives become one segment, "other".',
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
@column_options("model", "label", "score", "scores", "fold", "repeat", "unit", "weight", "positive")
@click.option(
    "--on-invalid",
    type=click.Choice(["raise", "drop"]),
    default="raise",
    show_default=True,
    help="What to do with rows without a valid label or score.",
)
@click.pass_context
def report(
    ctx: click.Context,
    /,
    logs: tuple[str, ...],
    at: float | None,
    metric: str | None,
    cost: tuple[float, float] | None,
    alerts: float | None,
    volume: float | None,
    thresholds: str | None,
    min_positives: int,
    prevalence: tuple[float, ...] | Path,
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
          --prevalence 1e-4:0.5:round --beta 0.25:4:log:33 --out report
      nci-frames report logs/ --at 0.0005 --cost 200:1 --volume 2000000
      nci-frames report logs/ --at 0.0005 --alerts 500 --volume 2000000
      nci-frames report logs/ --format html,md,json --tables parquet,csv --charts svg

    Prints which model and threshold to choose, then the ranked tables; writes the report and the
    tables behind it into a folder, which is replaced as a whole.
    """
    from nci_frames.counting.thresholds.grids import named_thresholds
    from nci_frames.evaluation.comparison.questions import Question
    from nci_frames.jobs.report import ReportJob

    if scores:
        columns["scores"] = cast("Any", dict(_pair(text) for text in scores))
    job = ReportJob(
        source=logs[0] if len(logs) == 1 else list(logs),
        out=out,
        prevalence=prevalence,
        beta=beta,
        threshold=threshold,
        question=Question(
            prevalence=at,
            metric=metric,
            cost=cost,
            alerts=alerts,
            volume=volume,
            # Only a threshold that was asked for is one that the models are to have.
            threshold=threshold if _given(ctx, "threshold") and alerts is None else None,
        ),
        thresholds=None if thresholds is None else named_thresholds(thresholds),
        min_positives=min_positives,
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
    prevalence: tuple[float, ...] | Path,
    beta: tuple[float, ...],
    threshold: float,
    out: Path,
    seed: int,
    **formats: Any,
) -> None:
    """Train real classifiers on real data, log their predictions, and report on the logs.

    Needs scikit-learn: pip install 'nci_frames[demo]'.

    \b
    Example:
      nci-frames demo --out demo-output
    """
    from rich.console import Console

    from nci_frames.demo import write_demo_logs
    from nci_frames.jobs.report import ReportJob
    from nci_frames.reporting.pages.terminal import print_conclusion

    clean_up_when_interrupted()
    click.echo("training ten classifiers by 2 x 5-fold cross-validation ...", err=True)
    logs = write_demo_logs(out / "logs", seed=seed)
    answers = {}
    for dataset in sorted(path for path in logs.iterdir() if path.is_dir()):
        name = dataset.name.removeprefix("dataset=")
        answers[name.replace("_", " ")] = _run(
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
    print_conclusion(answers, Console(highlight=False))


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


def _pair(text: str) -> tuple[str, str]:
    model, separator, column = text.partition("=")
    if not (model and separator and column):
        raise click.BadParameter(
            f"{text!r} is not MODEL=COLUMN, e.g. forest=p_forest.", param_hint="--scores"
        )
    return model, column


def _given(ctx: click.Context, option: str) -> bool:
    """Return whether an option is on the command line, and not by default."""
    return ctx.get_parameter_source(option) is click.core.ParameterSource.COMMANDLINE


def _run(job: "ReportJob") -> "Answer":
    from rich.console import Console

    from nci_frames.jobs.report import run_report
    from nci_frames.reporting.pages.terminal import print_answer, print_comparison
    from nci_frames.reporting.tables.names import printable

    clean_up_when_interrupted()
    published = run_report(job)
    console = Console(highlight=False)
    print_answer(published.answer, console, published.comparison)
    print_comparison(published.comparison, console, title=job.title or "")
    for warning in published.tally.warnings:
        click.echo(f"{type(warning).__name__}: {printable(str(warning))}", err=True)
    told = f"{published.tally.counted:,} predictions counted; report: {published.reports[0]}"
    click.echo(printable(told))
    return published.answer


for _command in (*COUNTING_COMMANDS, *JOB_COMMANDS, ledger):
    main.add_command(_command)
