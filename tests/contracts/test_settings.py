"""No setting is in vain: another value changes what comes out, or is refused; a run reads all keys."""

import dataclasses
import sys
import typing
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import BaseModel

from nci_frames.base.errors import NciFramesError
from nci_frames.commands.job_file import metrics_file_of
from nci_frames.jobs.class_report import run_class_report
from nci_frames.jobs.job_file.loading import read_job
from nci_frames.jobs.job_file.model import Job
from nci_frames.jobs.report import run_report
from nci_frames.jobs.run import run_job
from nci_frames.jobs.starting import write_job
from nci_frames.options.classes import ClassOptions
from nci_frames.options.report import ReportOptions, SegmentOptions
from nci_frames.options.setting import Setting
from tests.small_jobs import write_nights

pytestmark = pytest.mark.long

#: Texts of which every kind of setting takes some; of words it takes the last.
TEXTS = ("0.3", "0.7", "uniform", "5:1", "2:1=5", "7", "1000000", "other")
SMALL = ReportOptions(prevalence=(0.01, 0.1), beta=(1.0,), formats=("json",), tables=())


def written(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def outcome(folder: Path, options: Any) -> object:
    """Return all files of a report with these options, or why there is none."""
    out = folder / "out"
    try:
        if isinstance(options, ClassOptions):
            log = folder / "classes.parquet"
            pl.DataFrame(
                {"model": "a", "label": [0, 1, 2, 2] * 9, "decision": [0, 1, 2, 1] * 9}
            ).write_parquet(log)
            run_class_report(str(log), out, SMALL, asked=options, columns={"decision": "decision"})
        else:
            (log,) = write_nights(folder / "logs", 1)
            small = options if isinstance(options, SegmentOptions) else SegmentOptions()
            asked = options if isinstance(options, ReportOptions) else SMALL
            run_report(str(log), out, asked, segments=["country"], small=small)
    except NciFramesError as error:
        return str(error)
    return written(out)


def changed(options: Any, name: str) -> Iterator[Any]:
    """Yield the options with other values of one setting."""
    kind = Setting.of(type(options), name).kind
    for text in (*TEXTS, *kind.choices[-1:]):
        try:
            other = dataclasses.replace(options, **{name: kind.read(text)})
        except ValueError:
            continue
        if other != options:
            yield other


@pytest.mark.parametrize(
    "options", [SMALL, SegmentOptions(), ClassOptions()], ids=lambda one: type(one).__name__
)
def test_a_changed_setting_changes_what_comes_out(options, tmp_path):
    before = outcome(tmp_path, options)
    assert isinstance(before, dict)
    for field in dataclasses.fields(options):
        others = (outcome(tmp_path, other) for other in changed(options, field.name))
        assert any(after != before for after in others), field.name


def keys_of(model: type) -> set[str]:
    """Return the keys of a table of the job file that may have several values."""
    hints = typing.get_type_hints(model)
    names = (
        model.model_fields
        if issubclass(model, BaseModel)
        else [one.name for one in dataclasses.fields(model)]
    )
    return {name for name in names if len(typing.get_args(hints[name]) or "..") > 1}


def tables_of(model: Any) -> Iterator[type]:
    """Yield the tables of the job file, a table and those inside it."""
    if isinstance(model, type) and (issubclass(model, BaseModel) or dataclasses.is_dataclass(model)):
        yield model
        for hint in typing.get_type_hints(model).values():
            yield from tables_of(hint)
    for part in typing.get_args(model):
        yield from tables_of(part)


def test_every_key_of_a_job_file_is_read_by_a_run(tmp_path, monkeypatch):
    write_job(tmp_path, example=True)
    file = tmp_path / "job.toml"
    text = file.read_text().replace("# [traffic]", "[traffic]").replace('# path = "traffic/', 'path = "logs/')
    text = text.replace('# metrics_file = "/var/lib/node_exporter', f'metrics_file = "{tmp_path}')
    text = text.replace("[scenarios]", '[scenarios]\nshops = { by = "country", table = "shops.csv" }')
    file.write_text(text)
    (tmp_path / "shops.csv").write_text("country,prevalence\nat,0.01\nde,0.02\nfr,0.03\n")
    tables, read = set(tables_of(Job)), set[tuple[type, str]]()
    models = [table for table in tables if issubclass(table, BaseModel)]
    checks = {name for model in models for name in model.__pydantic_decorators__.model_validators}

    def get(self: Any, name: str) -> Any:
        # Columns are handed on whole, to functions that refuse what they do not know.
        names = type(self).model_fields if name == "model_dump" else (name,)
        # What is only checked is not used.
        if sys._getframe(1).f_code.co_name not in checks:
            read.update((of, each) for each in names for of in type(self).__mro__)
        return object.__getattribute__(self, name)

    for table in tables:
        monkeypatch.setattr(table, "__getattribute__", get)
    job = read_job(file)
    # The second run has an earlier one to be compared with, and files that are known.
    for day in (2, 6):
        run_job(job, until=datetime(2026, 3, day, tzinfo=UTC))
    metrics_file_of(job)
    assert {
        (table.__name__, key) for table in tables for key in keys_of(table) if (table, key) not in read
    } == set()
