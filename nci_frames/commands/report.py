"""The commands that write reports: arguments only."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nci_frames.base.interrupts import clean_up_when_interrupted
from nci_frames.base.messages import quantity
from nci_frames.commands.ending import Command, tell_warning
from nci_frames.options.command_line import (
    column_options,
    comparison_options,
    out_option,
    output_options,
    question_options,
    thresholds_option,
)

if TYPE_CHECKING:
    from nci_frames.jobs.report import ReportJob
    from nci_frames.questions.answer import Answer

__all__ = ["REPORT_COMMANDS"]


@click.command(cls=Command, short_help="Rank the models of prediction logs and write a report.")
@click.argument("logs", nargs=-1, required=True)
@question_options
@comparison_options
@thresholds_option(None)
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
    help='Segments with fewer positives (independent ones by --unit) become one segment, "other".',
)
@out_option("nci-report", "Folder for the report, tables and charts")
@click.option("--title", help="Title of the report.")
@column_options(
    "model", "label", "score", "scores", "fold", "repeat", "unit", "weight", "positive", "on_invalid"
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
    formats: tuple[str, ...],
    tables: tuple[str, ...],
    charts: tuple[str, ...],
    **columns: Any,
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
    from nci_frames.jobs.report import ReportJob
    from nci_frames.questions.question import Question

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


@click.command(cls=Command, short_help="Train classifiers on real data and report on their logs.")
@comparison_options
@output_options
@out_option("demo-output", "Folder for the logs and the reports")
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
    from nci_frames.reporting.terminal import print_conclusion

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


def _given(ctx: click.Context, option: str) -> bool:
    """Return whether an option is on the command line, and not by default."""
    return ctx.get_parameter_source(option) is click.core.ParameterSource.COMMANDLINE


def _run(job: "ReportJob") -> "Answer":
    from rich.console import Console

    from nci_frames.jobs.report import run_report
    from nci_frames.reporting.terminal import print_answer, print_comparison
    from nci_frames.tables.names import printable

    clean_up_when_interrupted()
    published = run_report(job)
    console = Console(highlight=False)
    print_answer(published.comparison, console)
    print_comparison(published.comparison, console, title=job.title or "")
    for warning in published.tally.warnings:
        tell_warning(str(warning))
    told = f"{quantity(published.tally.counted, 'prediction')} counted; report: {published.reports[0]}"
    click.echo(printable(told))
    return published.comparison.said


REPORT_COMMANDS = (report, demo)
