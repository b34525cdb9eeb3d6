"""The command ``report``: arguments only."""

import dataclasses
from pathlib import Path
from typing import Any, Literal

import click
from click.core import ParameterSource

from nci_frames.base.errors import NciFramesError, ParameterError
from nci_frames.base.extras import require_jobs
from nci_frames.base.interrupts import clean_up_when_interrupted
from nci_frames.commands.ending import Command, end
from nci_frames.options.classes import ClassOptions
from nci_frames.options.logs import column_options, out_option, thresholds_option, verbose_option
from nci_frames.options.report import ReportOptions, SegmentOptions
from nci_frames.options.setting import options_of, taken

#: Required keys of a job file that a file of options may lack.
_LEAST = {"name": "report", "source": {"path": "logs"}}


def _defaults(ctx: click.Context, _param: click.Parameter, path: Path | None) -> None:
    """Take the defaults of all other options from a job file."""
    if path is None:
        return
    require_jobs()
    from nci_frames.jobs.job_file.loading import read_job

    try:
        file = read_job(path, least=_LEAST)
    except NciFramesError as error:
        end(ctx, error.exit_code, error.for_job_file())
    job = file.job
    given: dict[str, Any] = job.columns.model_dump(include=job.columns.model_fields_set)
    given |= dataclasses.asdict(job.report) | dataclasses.asdict(job.segments)
    given["segments"] = job.segments.keys
    given["scores"] = [f"{model}={column}" for model, column in job.columns.scores.items()]
    if isinstance(given["prevalence"], Path):
        given["prevalence"] = Path(file.resolve(str(given["prevalence"])))
    if "thresholds" in job.model_fields_set:
        grid = job.counting_settings().thresholds
        given["thresholds"] = "exact" if grid is None else ",".join(map(repr, grid))
    ctx.default_map = given


config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    is_eager=True,
    expose_value=False,
    callback=_defaults,
    help="Job file that supplies the defaults of these options: columns, thresholds, segments, report.",
)


#: Column options of logs of decisions among classes.
_COLUMNS = ("model", "label", "decision", "scores", "unit", "weight", "on_invalid")
#: Options only for more than two classes, and options of every report; all others are for two classes.
_OF_CLASSES = ("priors", "class_cost", "decision")
_OF_BOTH = (
    *_COLUMNS, "logs", "metric", "beta", "formats", "tables", "charts", "title", "classes", "out", "verbose",
)  # fmt: skip


def _need_kind(ctx: click.Context, *, classes: bool) -> None:
    """Raise ParameterError if an option of the other kind of report is given."""
    others = {str(param.name) for param in ctx.command.params} - {*_OF_CLASSES, *_OF_BOTH}
    for name in sorted(others) if classes else _OF_CLASSES:
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            kind, change = ("two", "omit") if classes else ("several", "give")
            msg = f"--{name.replace('_', '-')} is an option of reports on {kind} classes"
            raise ParameterError(msg, hint=f"omit it, or {change} --classes")


@click.command(cls=Command)
@click.argument("logs", nargs=-1, required=True)
@config_option
@options_of(ReportOptions)
@thresholds_option(None)
@click.option(
    "--segments",
    "-s",
    multiple=True,
    help="Column whose values are reported separately; may be repeated, for each column alone and for all "
    "combined.",
)
@options_of(SegmentOptions)
@click.option(
    "--classes",
    is_flag=True,
    help="The log has decisions among more than two classes; --scores is then CLASS=COLUMN.",
)
@options_of(ClassOptions)
@out_option("nci-report", "Folder for the report, tables and charts; created if missing.")
@verbose_option
@click.pass_context
@column_options()
def report(
    ctx: click.Context, /, logs: tuple[str, ...], out: Path, *, verbose: bool, classes: bool, **given: Any
) -> None:
    """Rank the models of prediction LOGS (Parquet or CSV files, folders, globs or URLs) and write a report.

    \b
    Example:
      nci-frames report 'logs/**/*.parquet' --fold fold --segments country \\
          --prevalence 1e-4:0.5:round --beta 0.25:4:log:33 --out report
      nci-frames report logs/ --at 1/2000 --cost 200:5:8 --volume 2M
      nci-frames report logs/ --at 0.05% --alerts 500 --volume 2M
      nci-frames report logs/ --config nightly/job.toml --at 1/500
      nci-frames report logs/ --format html,md,json --tables parquet,csv --charts svg
      nci-frames report logs/ --classes --decision decided --priors cat=0.1,dog=0.9 --metric accuracy

    Prints the model and threshold to choose, and the data behind this choice. Writes the report and its
    tables into a folder, which is replaced as a whole.
    """
    from nci_frames.commands.shown_report import run_shown
    from nci_frames.counting.thresholds.grids import named_thresholds

    clean_up_when_interrupted()
    source = logs[0] if len(logs) == 1 else list(logs)
    _need_kind(ctx, classes=classes)
    options, of_classes = taken(ReportOptions, given), taken(ClassOptions, given)
    show: Literal["answer", "tables"] = "tables" if verbose else "answer"
    if classes:
        from nci_frames.jobs.class_report import run_class_report

        columns = {name: given[name] for name in _COLUMNS if given[name] is not None}
        run_shown(source, out, options, run=run_class_report, asked=of_classes, columns=columns, show=show)
        return
    del given["decision"]
    thresholds, segments = given.pop("thresholds"), given.pop("segments")
    at, small = None if thresholds is None else named_thresholds(thresholds), taken(SegmentOptions, given)
    run_shown(source, out, options, thresholds=at, segments=segments, small=small, columns=given, show=show)
