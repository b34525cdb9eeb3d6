"""A TOML file -> a job: environment variables, checks, and messages that name the key."""

import glob
import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl
from pydantic import ValidationError

from nci_frames.base.arguments import check_utf8
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import SHOWN_FILES, listed, nearest_name, quantity
from nci_frames.base.urls import is_url
from nci_frames.jobs.field_file import read_numbers
from nci_frames.jobs.job_file.model import Job, SegmentScenario

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class JobFile:
    """A job, its file, and the literal text of the file, without values of environment variables."""

    job: Job
    path: Path
    text: str

    def resolve(self, path: str) -> str:
        """Resolve a path relative to the job file; URLs and absolute paths are unchanged."""
        if is_url(path):
            return path
        return os.path.join(self.path.parent.absolute(), path)  # noqa: PTH118  # may be a URL or a glob

    def resolve_source(self, path: str) -> str:
        """Resolve a path of logs; special characters of the job's own folder are not those of a glob."""
        literal = self.resolve(path)
        if is_url(path) or os.path.lexists(literal):
            return literal
        return os.path.join(glob.escape(str(self.path.parent.absolute())), path)  # noqa: PTH118  # a glob


def read_job(path: str | os.PathLike[str], *, least: Mapping[str, Any] = MappingProxyType({})) -> JobFile:
    """Read a job file.

    Parameters
    ----------
    path
        The file, or the folder of its ``job.toml``.
    least
        Values for tables that the file lacks.

    Raises
    ------
    ParameterError
        If it cannot be read, is not TOML, refers to an undefined environment variable, or has an invalid or
        unknown key. The message names the key, and, for an unknown key, the nearest known one.
    """
    file = Path(path)
    if file.is_dir():
        file = file / "job.toml"
    try:
        text = file.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        found = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        msg, hint = "the job file cannot be read", "nci-frames init DIR writes one"
        raise ParameterError(msg, where=repr(str(file)), found=found, hint=hint) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ParameterError("the job file is not TOML", where=repr(str(file)), found=str(error)) from error
    replaced = _with_variables(content, file, ())
    try:
        job = Job.model_validate({**least, **replaced})
    except ValidationError as error:
        raise _told(error, content, file) from None
    return _with_tables(JobFile(job, file, text))


def job_schema() -> str:
    """Return the JSON Schema of a job file."""
    schema = Job.model_json_schema(mode="validation")
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _with_tables(file: JobFile) -> JobFile:
    """Return a job whose scenarios contain the prevalences of their tables.

    Raises
    ------
    ParameterError
        If a table cannot be read, or does not have one prevalence in [0, 1] per value.
    SchemaError
        If a table lacks a column.
    """
    scenarios = dict(file.job.scenarios)
    for name, scenario in scenarios.items():
        if isinstance(scenario, SegmentScenario) and scenario.table is not None:
            scenarios[name] = _read_table(scenario, file.resolve(scenario.table), f"scenarios.{name}.table")
    return replace(file, job=file.job.model_copy(update={"scenarios": scenarios}))


def _read_table(scenario: SegmentScenario, path: str, key: str) -> SegmentScenario:
    where = f"{key}, {path!r}"
    columns = [scenario.by, "prevalence"]
    hint = f"a Parquet or CSV file, relative to the job file, has the columns {columns}"
    what = "the table of a scenario"
    frame = read_numbers(path, what, where=where, hint=hint, needed=columns, numbers=["prevalence"])
    rows = frame.select(pl.col(scenario.by).cast(pl.String), "prevalence")
    wrong = rows.filter(~pl.col("prevalence").is_between(0, 1) | rows[scenario.by].is_null())
    twice = rows.filter(rows[scenario.by].is_duplicated())
    problems = ((wrong, "a value without a prevalence in [0, 1]"), (twice, "a value more than once"))
    for bad, problem in problems:
        if len(bad):
            found = listed(map(repr, bad[scenario.by].unique(maintain_order=True)), SHOWN_FILES)
            raise ParameterError(f"{what} has {problem}", where=where, found=found)
    if rows.is_empty():
        raise ParameterError(f"{what} has no row", where=where)
    return SegmentScenario(by=scenario.by, prevalence=dict(rows.iter_rows()))


def _with_variables(value: Any, file: Path, place: tuple[str | int, ...]) -> Any:
    if isinstance(value, dict):
        return {key: _with_variables(item, file, (*place, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_variables(item, file, (*place, n)) for n, item in enumerate(value)]
    if not isinstance(value, str):
        return value
    where = f"{_key(place)} in {str(file)!r}"
    if "\0" in value:
        raise ParameterError("a text of the job file holds the character NUL", where=where, found=repr(value))
    if "${" in _VARIABLE.sub("", value):
        msg = "a text of the job file begins a variable of the environment, and does not end it"
        raise ParameterError(msg, where=where, found=repr(value), hint="write it as ${NAME}")

    def put(match: re.Match[str]) -> str:
        name = match[1]
        if name not in os.environ:
            msg = f"the job file needs the variable {name} of the environment"
            raise ParameterError(msg, where=f"{_key(place)} in {str(file)!r}", hint=f"export {name}=...")
        check_utf8(f"the variable {name} of the environment", os.environ[name])
        return os.environ[name]

    return _VARIABLE.sub(put, value)


def _told(error: ValidationError, content: Mapping[str, Any], file: Path) -> ParameterError:
    """Build one error for all problems, with values from the text of the file, which has no secrets."""
    problems: list[str] = []
    errors = error.errors(include_url=False, include_context=False)
    found_at = [([part for part in each["loc"] if not _is_branch(part)], each) for each in errors]
    places = [place for place, _ in found_at]
    valued = [place for place, problem in found_at if problem["type"] == "value_error"]
    for place, problem in found_at:
        if problem["type"] in _OTHER_KINDS and places.count(place) > 1:
            continue
        # A text with a problem of its own need not be a list.
        if problem["type"] == "list_type" and place in valued:
            continue
        if problem["type"] in _UNKNOWN:
            known = _known_keys(place[:-1])
            near = nearest_name(str(place[-1]), known)
            hint = f"; did you mean {near!r}?" if near else f"; known are {', '.join(known)}"
            problems.append(f"{_key(place)}: unknown key{hint}")
        else:
            told = _WANTED.get(problem["type"]) or problem["msg"].removeprefix("Value error, ")
            # Problems between several keys name these in their message.
            nothing = not place or problem["type"] == "missing"
            found = "" if nothing else f" (found {_literal(content, place)})"
            problems.append(f"{_key(place)}: {told[:1].lower()}{told[1:]}{found}")
    lines = list(dict.fromkeys(problems))
    msg = f"the job file has {quantity(len(lines), 'problem')}"
    return ParameterError(msg, where=repr(str(file)), found="\n         ".join(lines[:20]))


def _is_branch(part: str | int) -> bool:
    """Return whether a part of a location names a branch of a union instead of a key."""
    return isinstance(part, str) and ("[" in part or "(" in part or part in _BRANCHES)


#: Error types of models and dataclasses for an unknown key.
_UNKNOWN = {"extra_forbidden", "unexpected_keyword_argument"}
#: Names of types in TOML that differ from Python.
_WANTED = {
    "bool_parsing": "input should be true or false",
    **dict.fromkeys(("dataclass_type", "dict_type", "model_type"), "input should be a table"),
    **dict.fromkeys(("list_type", "tuple_type"), "input should be a list"),
}
#: Errors of other branches of a union, which do not help if a value is wrong in its own branch.
_OTHER_KINDS = {"model_type", "string_type"}
_BRANCHES = {"str", "int", "float", "bool", "SegmentScenario", "constrained-float", "literal['exact']"}


def _known_keys(place: Sequence[str | int]) -> list[str]:
    """Return the possible keys of a table of the job file."""
    schema = Job.model_json_schema()
    table = schema
    for part in place:
        # An index of a list, or a name given by the user, stays in the same table.
        named = re.search(r"#/\$defs/(\w+)", str(table["properties"].get(part)))
        table = schema["$defs"][named[1]] if named else table
    return list(table["properties"])


def _key(place: Sequence[str | int]) -> str:
    """Format a location as in TOML: ``gates[2].name``."""
    text = ""
    for part in place:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
    return ascii(text.removeprefix("."))[1:-1] or "the file"


def _literal(content: Any, place: Sequence[str | int]) -> str:
    value = content
    for part in place:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            break
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
