"""Scenarios whose prevalences stand in a table: a prevalence for each value of a key."""

from collections.abc import Callable

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import SHOWN_FILES, listed
from nci_frames.jobs.field_file import read_table
from nci_frames.jobs.job_file.model import Job, SegmentScenario


def with_tables(job: Job, resolve: Callable[[str], str]) -> Job:
    """Return a job whose scenarios hold the prevalences of their tables.

    Parameters
    ----------
    job
        The job as its file says.
    resolve
        Makes a path of the file one from here.

    Raises
    ------
    ParameterError
        If a table cannot be read, lacks a column, or does not give each value one prevalence in [0, 1].
    """
    scenarios = {
        name: _read(scenario, resolve(scenario.table), f"scenarios.{name}.table")
        if isinstance(scenario, SegmentScenario) and scenario.table is not None
        else scenario
        for name, scenario in job.scenarios.items()
    }
    return job.model_copy(update={"scenarios": scenarios})


def _read(scenario: SegmentScenario, path: str, key: str) -> SegmentScenario:
    where = f"{key}, {path!r}"
    columns = [scenario.by, "prevalence"]
    hint = "it is a Parquet or CSV file, relative to the job file"
    frame = read_table(path, "the table of a scenario", where=where, hint=hint)
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        msg = f"the table of a scenario lacks the column {missing[0]!r}"
        found = f"columns {listed(map(repr, frame.columns))}"
        raise ParameterError(msg, where=where, found=found, hint=f"its columns are {columns}")
    rows = frame.select(
        pl.col(scenario.by).cast(pl.String), pl.col("prevalence").cast(pl.Float64, strict=False)
    )
    wrong = rows.filter(~pl.col("prevalence").is_between(0, 1).fill_null(False) | rows[scenario.by].is_null())
    twice = rows.filter(rows[scenario.by].is_duplicated())
    for bad, what in ((wrong, "a value without a prevalence in [0, 1]"), (twice, "a value more than once")):
        if len(bad):
            found = listed(
                (repr(value) for value in bad[scenario.by].unique(maintain_order=True)), SHOWN_FILES
            )
            raise ParameterError(f"the table of a scenario has {what}", where=where, found=found)
    if rows.is_empty():
        raise ParameterError("the table of a scenario has no row", where=where)
    return SegmentScenario(by=scenario.by, prevalence=dict(rows.iter_rows()))
