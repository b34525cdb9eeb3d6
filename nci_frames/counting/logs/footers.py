"""Files -> what they say of themselves before a row is read: rows, columns, when they were written."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from nci_frames.counting.logs.csv_files import UnusableHeaderError, read_header
from nci_frames.counting.logs.paths import is_csv

#: Number of the file on its disk, size, time of the last change.
Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Footer:
    """What is known of a file before its rows are read."""

    #: None where only reading tells, as of CSV.
    rows: int | None
    schema: pl.Schema
    stamp: Stamp


def stamp_of(file: str) -> Stamp:
    """Return what changes if a file is written to or replaced."""
    status = Path(file).stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def read_footers(files: Iterable[str]) -> tuple[dict[str, Footer], dict[str, str]]:
    """Return what every file says of itself; and of those that cannot be read, why."""
    footers: dict[str, Footer] = {}
    bad: dict[str, str] = {}
    known: list[tuple[pq.ParquetSchema, bytes | None, pl.Schema]] = []
    for file in files:
        try:
            file.encode()
            stamp = stamp_of(file)
            if stamp[1] == 0:
                bad[file] = "an empty file (0 bytes)" if Path(file).is_file() else "a device or a pipe"
                continue
            if is_csv(file):
                footers[file] = _csv_header(file, stamp)
                continue
            footer = pq.read_metadata(file)
            _need_distinct([footer.schema.column(i).path for i in range(footer.num_columns)])
            arrow = (footer.metadata or {}).get(b"ARROW:schema")
            schema = next((s for p, a, s in known if a == arrow and footer.schema.equals(p)), None)
            if schema is None:
                # A glob would read another file than the one that is named x[1].parquet.
                schema = pl.scan_parquet(file, glob=False, hive_partitioning=False).collect_schema()
                known.append((footer.schema, arrow, schema))
            footers[file] = Footer(footer.num_rows, schema, stamp)
        except UnicodeError:
            bad[file] = "its name, or what is in it, is not UTF-8"
        except UnusableHeaderError as error:
            bad[file] = str(error)
        except pa.ArrowNotImplementedError as error:
            bad[file] = f"it has a column that pyarrow cannot read: {error}"
        except (pa.ArrowException, pl.exceptions.PolarsError):
            bad[file] = _what_instead(file)
        except OSError as error:
            bad[file] = os.strerror(error.errno) if error.errno else _what_instead(file)
    return footers, bad


def _need_distinct(columns: Sequence[str]) -> None:
    twice = next((column for place, column in enumerate(columns) if column in columns[:place]), None)
    if twice is not None:
        raise UnusableHeaderError(f"it has two columns {twice!r}")


def _csv_header(file: str, stamp: Stamp) -> Footer:
    columns, some = read_header(file)
    _need_distinct(columns)
    return Footer(None if some else 0, pl.Schema(dict.fromkeys(columns, pl.String())), stamp)


def _what_instead(file: str) -> str:
    kinds = {b"PAR1": "a truncated or damaged Parquet file", b"PARE": "an encrypted Parquet file"}
    try:
        with Path(file).open("rb") as opened:
            return kinds.get(opened.read(4), "not a Parquet file")
    except OSError as error:
        return error.strerror or "it cannot be opened"
