"""A report on a log of decisions among classes: rows -> counts -> answer, reports, tables and charts."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from nci_frames.base.folders import check_apart, publishing
from nci_frames.base.messages import Option
from nci_frames.counting.count_classes import count_classes
from nci_frames.counting.logs.scan_classes import read_classes, scan_classes
from nci_frames.counting.logs.units import unit_buckets
from nci_frames.jobs.field_file import read_numbers
from nci_frames.jobs.report import write_files
from nci_frames.options.classes import ClassOptions
from nci_frames.options.report import ReportOptions
from nci_frames.questions.class_comparison import ClassComparison, compare_classes
from nci_frames.questions.places import main_beta


class ClassTally(NamedTuple):
    """The number of counted rows, or the sum of their weights as a float, and warnings."""

    counted: Any
    warnings: list[str]


def run_class_report(
    source: str | Sequence[str],
    out: Path,
    options: ReportOptions,
    *,
    asked: ClassOptions,
    columns: Mapping[str, Any],
    answered: Callable[[ClassComparison], None] = lambda _: None,
) -> tuple[ClassComparison, ClassTally]:
    """Count a log of decisions among classes, and write a report into a folder, which is replaced as a whole.

    Parameters
    ----------
    source
        The log.
    out
        The folder.
    options
        The metric and beta, and the files to write.
    asked
        The mix, and the costs of decisions; names of classes may be strings, whatever the type of the labels.
    columns
        Further arguments of ``scan_classes``: the columns of the log.
    answered
        Called when the answer is known, before files are written.

    Raises
    ------
    NciFramesError
        As scanning, counting and evaluating do, and as ``run_report`` does for *out*.
    """
    check_apart([source] if isinstance(source, str) else source, out)
    with publishing(out) as folder:
        scan = scan_classes(source, **columns)
        if columns.get("unit") is not None:
            scan = unit_buckets(scan)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            counts = count_classes(scan, progress=True)
        labels, costs = counts.schema["label"], asked.class_cost or {}
        pairs = [read_classes(side, labels, "classes of the costs") for side in zip(*costs, strict=True)]
        mix, beta = _priors(asked.priors, labels), main_beta(options.beta)
        cost = dict(zip(zip(*pairs, strict=True), costs.values(), strict=True)) or None
        comparison = compare_classes(counts, priors=mix, metric=options.metric, beta=beta, cost=cost)
        answered(comparison)
        tally = ClassTally(counts["rows"].sum(), [str(warning.message) for warning in told])
        known = "predictions" if isinstance(tally.counted, int) else "weight"
        facts = [("source", repr(source)), (f"{known} counted", f"{tally.counted:,.15g}")]
        facts += [("warning", warning) for warning in tally.warnings]
        write_files(comparison, folder, options, comparison.counts, title=options.title, facts=facts)
    return comparison, tally


def _priors(given: Any, labels: pl.DataType) -> Any:
    """Return the mix with classes converted to the type of the labels."""
    if isinstance(given, str):
        return given
    of_option = f"the classes of {Option('priors')}"
    if isinstance(given, Mapping):
        return dict(zip(read_classes(given, labels, of_option), given.values(), strict=True))
    what, where, needed = "the file of priors", repr(str(given)), ["class", "prior"]
    hint = "a CSV or Parquet file has the columns class, prior and perhaps scenario"
    numbers = [*needed[1:], "lower", "upper"]
    table = read_numbers(str(given), what, where=where, hint=hint, needed=needed, numbers=numbers)
    return table.with_columns(read_classes(table["class"], labels, of_option).alias("class"))
