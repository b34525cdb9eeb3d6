"""Reports for commands and jobs: counts -> answer, reports, tables and charts."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from nci_frames.base.errors import InvalidRowsError, ParameterError
from nci_frames.base.folders import check_apart, publishing
from nci_frames.base.memory import check_table
from nci_frames.base.messages import Option, listed, quantity
from nci_frames.base.threads import map_in_threads
from nci_frames.counting.count import Tally
from nci_frames.counting.engine.progress import step_shown
from nci_frames.counting.logs.scan import scan_behind, scan_predictions
from nci_frames.counting.logs.units import UnitSizes
from nci_frames.counting.thresholds.grids import Thresholds, auto_thresholds
from nci_frames.files.save_chart import save_chart
from nci_frames.files.save_table import save_table
from nci_frames.jobs.counting_units import count_for_comparison
from nci_frames.jobs.field_file import read_field, segments_of
from nci_frames.jobs.small_segments import field_with_small_pooled, small_segments, with_small_pooled
from nci_frames.options.report import ReportOptions, SegmentOptions
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report import TITLE, report_charts
from nci_frames.questions.report_question import AnyComparison
from nci_frames.questions.units import CountSegments
from nci_frames.reporting.gates import RunSummary
from nci_frames.reporting.write import write_form
from nci_frames.schemas import COUNTS, REPEAT, group_starts
from nci_frames.tables.numbers import format_grid

_EVERY_SEGMENT = SegmentOptions()


def run_report(
    source: str | Sequence[str],
    out: Path,
    options: ReportOptions,
    *,
    thresholds: Thresholds | None = None,
    segments: Sequence[str] = (),
    small: SegmentOptions = _EVERY_SEGMENT,
    columns: Mapping[str, Any] = MappingProxyType({}),
    answered: Callable[[Comparison], None] = lambda _: None,
) -> tuple[Comparison, Tally]:
    """Count a log and write a report on it; also return the fate of every row.

    The folder is replaced as a whole, after all files of the new one are written.

    Parameters
    ----------
    source
        The log.
    out
        The folder.
    options
        The question, the comparisons and the output.
    thresholds
        Thresholds to count at; None means as fine as the areas need.
    segments
        Keys to report separately.
    small
        Minimum sizes of segments; smaller ones are merged into "other".
    columns
        Further arguments of ``scan_predictions``: the columns of the log.
    answered
        Called when the answer is known, before files are written.

    Raises
    ------
    NciFramesError
        As scanning, counting and evaluating do; if every row is dropped; or if *out* is a file, lies among
        the sources, cannot be written, or contains files that an earlier run did not write.
    """
    # Check the options before counting.
    options.question()
    check_apart([source] if isinstance(source, str) else source, out)
    field = read_field(options.prevalence) if isinstance(options.prevalence, Path) else None
    # Columns with separate prevalences are segments.
    segments = list(dict.fromkeys([*segments, *segments_of(field)]))
    least = [name for name in ("min_positives", "min_negatives") if getattr(small, name)]
    if least and not segments:
        msg = f"{Option(least[0])} says which segments become one, and there are no segments"
        raise ParameterError(msg, hint=f"name them with {Option('segments')}, or omit it")
    if thresholds is None:
        etas = [*options.prevalences, options.at or 0] if field is None else field["prevalence"]
        compared = [eta for eta in etas if eta > 0]
        thresholds = auto_thresholds(prevalence=compared, also=[options.table_threshold])
    with publishing(out) as folder:
        predictions = scan_predictions(source, segments=segments, **columns)
        tally, units, by_unit, count_segments = count_for_comparison(predictions, thresholds, segments)
        if not tally.counted:
            found = ", ".join(f"{rows:,} dropped: {reason}" for reason, rows in tally.dropped.items())
            raise InvalidRowsError("no row of the log is a valid prediction", where=tally.where, found=found)
        comparison = make_report(
            tally.counts,
            options,
            folder,
            by_unit=by_unit,
            count_segments=count_segments,
            unit_rows=None if units is None else units.repeated,
            segments=segments,
            small=small,
            field=field,
            facts=_facts(tally, units) + _many_weights(predictions, tally.counts),
            answered=answered,
        )
    return comparison, tally


def make_report(
    counts: pl.DataFrame,
    options: ReportOptions,
    folder: Path,
    *,
    segments: Sequence[str],
    by_unit: pl.DataFrame | None,
    count_segments: CountSegments | None = None,
    unit_rows: int | None = None,
    small: SegmentOptions,
    field: pl.DataFrame | None,
    facts: Sequence[tuple[str, str]],
    title: str = TITLE,
    scenarios: Mapping[str, float] = MappingProxyType({}),
    gates: RunSummary | None = None,
    answered: Callable[[Comparison], None] = lambda _: None,
) -> Comparison:
    """Answer the question of a report from the counts of a log, and write all its files into a folder.

    These are the report in each format (``report.html``), the counts and all ``Comparison.tables`` in the
    folder ``tables``, and the charts in the folder ``charts``.

    Parameters
    ----------
    counts, by_unit, count_segments
        Counts by all keys; counts by buckets of units, if *counts* have none; and a function that counts also
        by segments, if *by_unit* has none.
    options, small
        The question, the comparisons and the output, and the minimum sizes of segments.
    folder
        Folder to write to.
    segments
        Keys of segments. The keys "fold" and "repeat" have their own meaning, unless they are among these.
    unit_rows
        ``Comparison.unit_rows``, if known.
    field
        Prevalence of each segment, if the options name its file.
    facts, scenarios, gates
        Further content of the report; the scenarios are also compared.
    title
        Default title, if the options have none.
    answered
        Called when the answer is known, before files are written.
    """
    # Of rows that belong to units, small segments are found by effective rows, which buckets tell.
    some = max(small.min_positives, small.min_negatives)
    known = count_segments(()) if count_segments is not None and some else by_unit
    pooled = small_segments(counts, segments, small, known)
    if field is not None:
        field = field_with_small_pooled(field, counts, pooled)
    counts = with_small_pooled(counts, pooled)
    _need_memory(counts, segments)
    if by_unit is not None and {*segments} <= {*by_unit.columns}:
        by_unit = with_small_pooled(by_unit, pooled)
    there = {*counts.columns} - {*segments}
    fold, repeat = (name if name in there else None for name in ("fold", REPEAT))
    with step_shown("answering the question"):
        comparison = Comparison(
            counts,
            prevalence=[*options.prevalences, *scenarios.values()] if field is None else field,
            question=options.question(),
            beta=options.beta,
            threshold=options.table_threshold,
            segments=segments,
            fold=fold,
            repeat=repeat,
            unit_counts=by_unit,
            unit_rows=unit_rows,
            count_segments=count_segments and (lambda at: with_small_pooled(count_segments(at), pooled)),
        )
        # What the caller prints is computed while the step is shown.
        _ = comparison.said
    answered(comparison)
    asked = {} if options.at is None else {"asked": options.at}
    with step_shown("writing the report"):
        title, named = options.title or title, {**asked, **scenarios} or None
        facts = [*facts, *_compared(comparison)]
        content = {"title": title, "facts": facts, "scenarios": named, "gates": gates}
        write_files(comparison, folder, options, counts, **content)
    return comparison


def _need_memory(counts: pl.DataFrame, segments: Sequence[str]) -> None:
    """Raise ParameterError if a report on the counts would exceed the memory limit of a task."""
    keys = ["model", *COUNTS.keys(counts.columns)]
    groups = len(group_starts(counts, keys))
    # As measured: the counts are also pooled for each segment, and each group is in several tables.
    cells = len(counts) * (8 + 4 * len(segments)) + groups * 800
    found = f"{quantity(len(counts), 'row')} of counts, {quantity(groups, 'group')} by {listed(keys)}"
    check_table(cells, 1, found, f"take fewer {Option('segments')} or {Option('thresholds')}")


def write_files(
    comparison: AnyComparison, folder: Path, options: ReportOptions, counts: pl.DataFrame, **content: Any
) -> None:
    """Write the requested files: reports with this *content*, and their tables and charts."""
    for kind in options.formats:
        write_form(comparison, folder / f"report.{kind}", **content)
    tables = {"counts": counts, **comparison.tables} if options.tables else {}
    files = {
        folder / "tables" / f"{name}.{kind}": table
        for kind in options.tables
        for name, table in tables.items()
    }
    # Arrow compresses without holding the GIL.
    list(map_in_threads(save_table, files.values(), files))
    for name, chart in (report_charts(comparison) if options.charts else {}).items():
        for kind in options.charts:
            save_chart(chart, folder / "charts" / f"{name}.{kind}")


def _facts(tally: Tally, units: UnitSizes | None) -> list[tuple[str, str]]:
    dropped = f"{tally.rows_are}s dropped"
    return [
        ("source", tally.where),
        *([("files", f"{tally.files:,}")] if tally.files else []),
        (f"{tally.rows_are}s counted", f"{tally.counted:,}"),
        (dropped, f"{sum(tally.dropped.values()):,}"),
        *((f"{dropped}: {reason}", f"{rows:,}") for reason, rows in tally.dropped.items()),
        *([] if units is None else [("units", _units(units))]),
        ("thresholds", _resolution(tally)),
    ]


def _many_weights(predictions: pl.LazyFrame, counts: pl.DataFrame) -> list[tuple[str, str]]:
    """Return Kish's effective sample size, for logs with too many weights for strata."""
    if counts.schema["tp"].is_integer() or scan_behind(predictions).source.elsewhere is not None:
        return []
    weight = pl.col("weight").cast(pl.Float64)
    valid = predictions.filter(weight.is_finite() & pl.col("label").is_not_null())
    each = weight.sum() ** 2 / (weight**2).sum()
    by_model = valid.group_by("model", "label").agg(rows=each).collect(engine="streaming")
    least = dict(by_model.fill_nan(0).group_by("label").agg(pl.col("rows").min()).iter_rows())
    positives, negatives = (f"{least.get(label, 0.0):,.0f}" for label in (True, False))
    worth = f"its positives are worth {positives} rows of one weight (Kish), its negatives {negatives}"
    return [("more than 1,000 weights", f"{worth}; there are no intervals and tests")]


def _compared(comparison: Comparison) -> list[tuple[str, str]]:
    observed = comparison.observed_prevalence
    seen = "undefined: no rows" if observed is None else format_grid(observed)
    return [("models", f"{comparison.points['model'].n_unique():,}"), ("observed prevalence", seen)]


def _units(sizes: UnitSizes) -> str:
    about = "about " if sizes.estimated else ""
    rows = f"{sizes.rows:.3g} {'row' if sizes.rows == 1 else 'rows'}"
    return f"{about}{sizes.units:,}, with {rows} of a model each"


def _resolution(tally: Tally) -> str:
    thresholds = tally.counts["threshold"].n_unique()
    if tally.tolerance is None and not (tally.counts["resolution"] == "exact").all():
        return f"{thresholds:,}, as asked"
    if not tally.reached:
        return "every distinct score of each group (exact)"
    return f"{thresholds:,}, by which the areas of every model are known to {tally.reached:.2g}"
