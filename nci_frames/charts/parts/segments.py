"""The segments of a frame: the key that holds them, their names and their order."""

import polars as pl

from nci_frames import schemas
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import quantity


def check_key(frame: pl.DataFrame, schema: schemas.FrameSchema, key: str, *, option: str) -> None:
    """Raise SchemaError unless the frame has the key."""
    keys = schema.keys(frame.columns)
    if key not in keys:
        raise SchemaError.missing_column(key, option, f"a {schema.name} frame", keys)


def check_number(segments: pl.Series, most: int) -> int:
    """Return the number of segments; raise ParameterError if there are more than a chart shows."""
    number = segments.n_unique()
    if number > most:
        raise ParameterError(
            f"a chart shows at most {most} segments",
            found=f"{quantity(number, 'value')} of {segments.name!r}",
            hint="select the segments to compare before drawing",
        )
    return number


def segment_names(rows: pl.DataFrame, segment: str) -> list[pl.Expr]:
    """Return the label and the position of each row's segment; null is "missing" and comes last."""
    name = schemas.key_text(segment, rows.schema[segment])
    place = pl.col(segment).rank("dense").cast(pl.Int64)
    return [
        name.fill_null(missing_name(rows[segment])).alias("segment"),
        place.fill_null(rows[segment].n_unique()).alias("place"),
    ]


def missing_name(segments: pl.Series) -> str:
    """Return the label of null: "missing", or "missing (null)" if a segment has that name."""
    text = schemas.key_text(segments.name, segments.dtype)
    named = set(segments.to_frame().select(text).to_series().drop_nulls())
    name = "missing"
    while name in named:
        name += " (null)"
    return name
