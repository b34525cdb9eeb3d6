"""The prevalence argument: numbers for all groups, each group's own, or the field, segment by segment."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeGuard

import polars as pl
import polars.selectors as cs

from nci_frames.base.arguments import check_allowed, prevalence_values
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import listed
from nci_frames.base.typing import Field, Floats, Frame, PointPrevalences, Prevalences
from nci_frames.schemas import FIELD, beside, key_text, need_each_once

_MAKER = 'a field frame has the columns of the segments and "prevalence", e.g. country, prevalence'


def is_field(prevalence: object) -> TypeGuard[Field]:
    """Return whether a prevalence argument gives a prevalence per segment."""
    return isinstance(prevalence, Mapping | Frame)


def numbers_of(prevalence: PointPrevalences | Field) -> list[float] | None:
    """Return the prevalences that all groups share, ascending; None if each group has its own.

    Raises
    ------
    ParameterError
        If the list is empty, or a prevalence is outside [0, 1].
    """
    return None if is_field(prevalence) else prevalence_values(prevalence)  # type: ignore[arg-type]


def with_prevalence(
    frame: pl.DataFrame, prevalence: PointPrevalences | Field, keys: Sequence[str]
) -> tuple[pl.DataFrame, PointPrevalences]:
    """Return the frame, with a column ``prevalence`` for a field, and the prevalence argument for it.

    Parameters
    ----------
    frame
        Any frame with the model and keys.
    prevalence
        Numbers or a word, returned unchanged; or a field, which becomes the column ``prevalence`` and the
        word "selected".
    keys
        The keys of *frame*.

    Raises
    ------
    ParameterError, SchemaError
        As ``field_of`` does.
    """
    if not is_field(prevalence):
        return frame, prevalence  # type: ignore[return-value]
    field = field_of(prevalence, frame, keys).drop("share", strict=False)
    on = [name for name in field.columns if name != "prevalence"]
    return beside(frame.drop("prevalence", strict=False), field, on), "selected"


def group_prevalences(
    prevalence: Prevalences | Field, frame: pl.DataFrame, keys: Sequence[str]
) -> Callable[[pl.DataFrame, Floats], list[float] | list[Floats]]:
    """Return a function that gives the prevalences of some groups of a frame.

    The function takes the model and keys of the groups and their observed prevalences. It returns the numbers
    that all groups share, or one array with the prevalence of each group: the observed one, or the field's.

    Parameters
    ----------
    prevalence
        Numbers, "observed", or a prevalence per segment.
    frame
        Any frame with the model and keys.
    keys
        The keys of *frame*.

    Raises
    ------
    ParameterError, SchemaError
        As ``numbers_of`` and ``field_of`` do.
    """
    grid = numbers_of(prevalence)
    if grid is not None:
        return lambda *_: grid
    if not is_field(prevalence):
        return lambda _, observed: [observed]
    field = field_of(prevalence, frame, keys)
    on = [name for name in field.columns if name in ("model", *keys)]
    return lambda groups, _: [beside(groups.select(on), field, on)["prevalence"].to_numpy()]


def field_of(prevalence: Field, frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the prevalence of each segment of a frame, and its share of the traffic if given.

    Parameters
    ----------
    prevalence
        A dict {key: {value: prevalence}}; or a frame with keys (or ``model``), ``prevalence`` and optionally
        ``share``, such as that of ``estimate_prevalence``.
    frame
        Any frame with the model and keys.
    keys
        The keys of *frame*.

    Returns
    -------
    The keys of the segments, with their types in *frame*; ``prevalence``; and ``share``, if given. A string
    matches a key of another type by its text, as from a CSV file.

    Raises
    ------
    ParameterError
        If a segment of *frame* has no prevalence or several, a prevalence is outside [0, 1], a segment is not
        in *frame*, or shares are not finite numbers >= 0, at least one above 0.
    SchemaError
        If a column is missing, or is no key of *frame*.
    """
    given = _as_frame(prevalence)
    on = FIELD.keys(given.columns)
    if not on:
        msg = "a field frame needs the columns of its segments"
        raise SchemaError(msg, found=f"columns {listed(map(repr, given.columns))}", hint=_MAKER)
    for name in on:
        if name not in ("model", *keys):
            where = "what is judged, whose keys are those of its segments"
            raise SchemaError.missing_column(name, "segments", where, ["model", *keys])
    numbers = [name for name in ("prevalence", "share") if name in given.columns]
    given = given.with_columns((cs.by_name(numbers) & cs.numeric()).cast(pl.Float64))
    FIELD.check_types(given)
    _check_rows(given, on)
    segments = frame.select(on).unique(maintain_order=True)
    # Keys of different types are matched by their text.
    texts = {name: f"__{name}" for name in on if given.schema[name] != segments.schema[name]}
    for name in texts:
        for dtype in (given.schema[name], segments.schema[name]):
            if dtype.is_nested() or dtype == pl.Object:
                where = "the prevalence of each segment"
                raise SchemaError.wrong_type(name, where, str(dtype), str(segments.schema[name]))

    def keyed(table: pl.DataFrame) -> pl.DataFrame:
        return table.with_columns(
            key_text(name, table.schema[name]).alias(text) for name, text in texts.items()
        )

    left, right = keyed(segments), keyed(given.select(*on, *numbers))
    at = [texts.get(name, name) for name in on]
    extra = right.join(left, on=at, how="anti", nulls_equal=True)
    if len(extra):
        msg = "the prevalences name a segment that is not judged"
        hint = f"remove it; the segments are {_named(segments.sort(on), on)}"
        raise ParameterError(msg, found=_named(extra, on), hint=hint)
    found = beside(left, right.drop(texts), at)
    missing = found.filter(pl.col("prevalence").is_null())
    if len(missing):
        hint = "give each segment a prevalence, or keep only the rows of those that have one"
        raise ParameterError("a segment has no prevalence", found=_named(missing, on), hint=hint)
    return found.select(*on, *numbers)


def _as_frame(prevalence: Field) -> pl.DataFrame:
    if isinstance(prevalence, pl.LazyFrame):
        return prevalence.collect()
    if isinstance(prevalence, pl.DataFrame):
        return prevalence
    if len(prevalence) != 1:
        msg, found = "a dict of prevalences has one key", listed(map(repr, prevalence))
        hint = 'for several keys pass a frame with their columns and "prevalence"'
        raise ParameterError(msg, found=found, hint=hint)
    ((key, etas),) = prevalence.items()
    check_allowed(key not in FIELD.fixed, "the key of the prevalences", key, "the name of a segment column")
    try:
        values = pl.Series(key, list(etas), strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        msg = f"the values of the segment {key!r} must be of one type"
        raise ParameterError(msg, found=listed(map(repr, etas))) from error
    return pl.DataFrame([values, pl.Series("prevalence", list(map(float, etas.values())), pl.Float64)])


def _check_rows(given: pl.DataFrame, on: Sequence[str]) -> None:
    """Raise ParameterError unless each segment occurs once, with a prevalence and a share in range."""
    need_each_once(given, on, "a segment has more than one prevalence", "give each segment one prevalence")
    eta, share = pl.col("prevalence"), pl.col("share")
    rules = {"prevalence": (eta.is_between(0, 1), "the prevalence of each segment must be within [0, 1]")}
    if "share" in given.columns:
        holds = share.is_finite() & (share >= 0) & (share.max() > 0)
        rules["share"] = holds, "shares of the traffic must be finite and >= 0, one of them above 0"
    for name, (holds, msg) in rules.items():
        wrong = given.filter(~holds.fill_null(value=False))
        if len(wrong):
            raise ParameterError(msg, where=_named(wrong.head(1), on), found=repr(wrong[name][0]))


def _named(segments: pl.DataFrame, on: Sequence[str]) -> str:
    rows = segments.select(on).iter_rows(named=True)
    return listed(" ".join(f"{name} {value!r}" for name, value in row.items()) for row in rows)
