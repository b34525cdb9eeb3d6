"""The types of a column in different files -> the common type that represents all values without loss."""

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from nci_frames.base.errors import MixedTypesWarning, SchemaError
from nci_frames.base.messages import listed, quantity

#: Roles of columns with classes.
CLASSES = ("label", "decision")

_EXACT_IN_FLOAT64 = (pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16, pl.UInt32)


def is_text(dtype: pl.DataType) -> bool:
    """Return whether a type holds strings, in any encoding."""
    return dtype in (pl.String, pl.Categorical, pl.Enum)


def common_types(
    schemas: Mapping[str, pl.Schema], needed: Mapping[str, str]
) -> tuple[dict[str, pl.DataType], list[SchemaError], list[UserWarning]]:
    """Return the common type of every needed column, errors, and warnings.

    Parameters
    ----------
    schemas
        Types by column, for every file or other part of a source.
    needed
        Role of every column.
    """
    types: dict[str, pl.DataType] = {}
    problems: list[SchemaError] = []
    warned: list[UserWarning] = []
    for column, role in needed.items():
        parts: dict[pl.DataType, list[str]] = {}
        for part, schema in schemas.items():
            if schema.get(column, pl.Null()) != pl.Null:
                parts.setdefault(schema[column], []).append(part)
        common = common_type(parts, role)
        if common is None:
            problems.append(_drift(column, parts))
            continue
        types[column] = common
        if role == "score" and sum(dtype.is_float() for dtype in parts) > 1:
            told = listed(f"{dtype} in {len(names):,}" for dtype, names in parts.items())
            msg = f"column {column!r} (the score) is {told} of the log's parts"
            warned.append(MixedTypesWarning(f"{msg}: all are compared with thresholds as {common}"))
    return types, problems, warned


def common_type(types: Iterable[pl.DataType], role: str) -> pl.DataType | None:
    """Return the type to which all types can be cast without loss; None if there is none."""
    kinds = list(types)
    if len(kinds) < 2:
        return kinds[0] if kinds else pl.Null()
    if all(is_text(dtype) for dtype in kinds):
        return pl.String()
    if all(dtype.is_unsigned_integer() for dtype in kinds):
        return pl.UInt64()
    if all(dtype.is_integer() for dtype in kinds) and pl.UInt64 not in kinds:
        return pl.Int64()
    numbers = all(dtype.is_float() or dtype in _EXACT_IN_FLOAT64 for dtype in kinds)
    # Labels need only two distinct values, and as_label refuses a *positive* that Float64 would round.
    labels = role in CLASSES and all(dtype.is_float() or dtype.is_integer() for dtype in kinds)
    if role == "decision" and all(dtype.is_integer() for dtype in kinds):
        return None  # Float64 would merge large classes
    return pl.Float64() if labels or (numbers and role in ("score", "weight")) else None


def _drift(column: str, parts: Mapping[pl.DataType, Sequence[str]]) -> SchemaError:
    files_by_type: dict[str, list[str]] = {}
    for kind, names in parts.items():
        files_by_type.setdefault("String" if is_text(kind) else str(kind), []).extend(names)
    found = "; ".join(
        f"{dtype} in {quantity(len(files), 'file')} ({listed(map(repr, files))})"
        for dtype, files in files_by_type.items()
    )
    return SchemaError(
        f"column {column!r} has different types in different files",
        where=f"{sum(map(len, files_by_type.values()))} files",
        found=found,
        hint="rewrite the files with one type, or count them separately and use merge_counts",
    )
