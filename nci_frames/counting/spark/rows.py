"""Rows that are in Spark: their columns, how many there are, and what goes wrong there.

Nothing here imports PySpark before there is a frame of it.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import polars as pl
import pyarrow as pa

from nci_frames.base import errors
from nci_frames.base.errors import NciFramesError, ParameterError, SchemaError, SourceError

_PYTHON_ERROR = re.compile(r"^(?!org\.|java\.|py4j\.)[\w.]+(?:Error|Exception): .*$", re.MULTILINE)
#: One of ours, with its lines, as the executors' Python prints it.
_OUR_ERROR = re.compile(
    r"^nci_frames\.base\.errors\.(\w+Error): (.*(?:\n  (?:where|found|hint):.*)*)", re.MULTILINE
)
_NO_PACKAGE = re.compile(r"No module named '(\w+)")


@dataclass(frozen=True, slots=True)
class SparkRows:
    """A frame of Spark."""

    #: Its columns have names that need no quotes, in the order of ``names``.
    frame: Any
    names: tuple[str, ...]
    where: str = "the Spark DataFrame"

    @classmethod
    def of(cls, frame: Any) -> Self:
        """Take a frame of Spark.

        Raises
        ------
        ParameterError
            If it is one of Spark Connect, whose files cannot be checked.
        """
        if not hasattr(frame, "_jdf"):
            msg = "a frame of Spark Connect cannot be counted: the footers of its files cannot be read"
            raise ParameterError(msg, hint="use a session without Connect: SparkSession.builder.master(...)")
        names = tuple(frame.columns)
        # By place: names may have dots or quotes, and Spark takes "Model" for "model".
        return cls(frame.toDF(*(f"c{place}" for place in range(len(names)))), names)

    def selected(self, columns: Iterable[str]) -> Self:
        """Return the rows with some of the columns.

        Raises
        ------
        SchemaError
            If a name belongs to several columns.
        """
        wanted = list(columns)
        twice = next((name for name in wanted if self.names.count(name) > 1), None)
        if twice is not None:
            msg = f"there are several columns {twice!r}"
            raise SchemaError(msg, where=self.where, hint="rename one of them, or drop it")
        places = [f"c{self.names.index(name)}" for name in wanted]
        frame = self.frame.select(*places).toDF(*(f"c{place}" for place in range(len(places))))
        return replace(self, frame=frame, names=tuple(wanted))

    def schema(self) -> pl.Schema:
        """Return the columns with the types that they have in Polars; Object where there is none."""
        return schema_of(self.frame.schema, self.names)

    def number(self) -> int:
        """Return the number of rows, counted by Spark; of Parquet files it reads only the footers."""
        with self.errors():
            return int(self.frame.count())

    def distinct(self, column: str, most: int | None) -> pl.Series:
        """Return the values of a column, neither null nor NaN, each once."""
        name = f"c{self.names.index(column)}"
        with self.errors():
            values = self.frame.select(name).dropna().distinct()
            table = (values if most is None else values.limit(most)).toArrow()
        return pl.DataFrame(table)[name].rename(column)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what goes wrong in Spark into an error that says what and where.

        Raises
        ------
        SourceError
            If Spark cannot read or count the rows.
        """
        from py4j.protocol import Py4JError  # noqa: PLC0415
        from pyspark.errors import PySparkException  # noqa: PLC0415

        try:
            yield
        except (PySparkException, Py4JError) as error:
            raise _told(error, self.where) from error


def schema_of(struct: Any, names: Iterable[str]) -> pl.Schema:
    """Return the columns of a type of Spark, with the types that they have in Polars; Object where none."""
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.sql.pandas.types import to_arrow_type  # noqa: PLC0415

    def dtype(field: Any) -> pl.DataType:
        try:
            # Points of time, not the wall clock of the session.
            arrow = to_arrow_type(field.dataType, timezone="UTC")
            return pl.DataFrame(pa.schema([("c", arrow)]).empty_table()).schema["c"]
        except (PySparkException, pl.exceptions.PolarsError):
            return pl.Object()

    return pl.Schema(dict(zip(names, map(dtype, struct.fields), strict=True)))


def _told(error: Exception, where: str) -> NciFramesError:
    text = str(error)
    ours = _OUR_ERROR.search(text)
    if ours is not None:
        kind: type[NciFramesError] = getattr(errors, ours[1])
        return kind(ours[2])
    in_python = _PYTHON_ERROR.findall(text)
    found = in_python[-1] if in_python else next(iter(text.splitlines()), type(error).__name__)
    package = _NO_PACKAGE.search(found)
    hint = None
    if package is not None:
        hint = f"install {package[1]} for the Python of the executors, or ship it with the session"
    return SourceError("Spark could not count the rows", where=where, found=found[:500], hint=hint)
