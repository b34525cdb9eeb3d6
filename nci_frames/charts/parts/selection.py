"""Preparation of charts: select rows and grid values, check them, and thin them."""

import math
from collections.abc import Sequence

import polars as pl
from polars import selectors

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.charts.parts.theme import HEIGHT, WIDTH
from nci_frames.evaluation.arrays.thinning import TOLERANCE, thin_curves
from nci_frames.evaluation.support.reasons import why_doubtful
from nci_frames.schemas import FrameSchema, beside

#: More rows than this make a page slow to open and to scroll.
MAX_ROWS = 5_000

#: Columns on the support of values.
_TOLD = ("supported", "reason", "supported_from")

#: Tolerances for curves with too many rows, as multiples of half a pixel: up to 4 pixels.
_COARSER = (1, 2, 4, 8)


def pick(
    rows: pl.DataFrame, column: str, value: float | str | None = None, *, hint: str = ""
) -> pl.DataFrame:
    """Select the rows with one value of a column; by default, the column must have a single value.

    Raise ParameterError, naming the existing values, if there is no match or no single value. The default
    hint is to select one with the argument of this name.
    """
    there = rows[column].unique().sort().to_list()
    if value is None:
        if len(there) == 1:
            return rows
        problem = (
            f"the frame has several {column}s, and the chart shows one" if there else "the frame has no rows"
        )
        hint = (hint or f"select one with {column}=") if there else ""
    else:
        # Grids come from logspace, whose 0.01 may differ from the literal in its last digit.
        match = next((v for v in there if v is not None and _equal(v, value)), None)
        if match is not None:
            return rows.filter(pl.col(column) == match)
        problem = f"the frame has no rows of {column} {_short(value)}"
        hint = hint or f"include this {column} when computing the frame"
    texts = ", ".join(map(_short, there[:20])) + (" ..." if len(there) > 20 else "")
    raise ParameterError(problem, found=f"{column} {texts}" if there else None, hint=hint or None)


def _equal(one: float | str, other: float | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return math.isclose(one, other, rel_tol=1e-9)


def _short(value: object) -> str:
    return "null" if value is None else f"{value:g}" if isinstance(value, float | int) else repr(value)


def operating_point(rows: pl.DataFrame) -> str:
    """Describe the threshold of the models for a subtitle."""
    thresholds = rows["threshold"].unique().to_list()
    if len(thresholds) == 1 and thresholds[0] is not None:
        return f"threshold {thresholds[0]:g}"
    return "each model's own threshold"


def checked_observed(observed: float | None) -> float | None:
    """Raise ParameterError unless *observed* is a prevalence or None."""
    if observed is not None and not 0 <= observed <= 1:
        raise ParameterError.out_of_range("observed", observed, "a prevalence in [0, 1], or None")
    return observed


def finite(rows: pl.DataFrame) -> pl.DataFrame:
    """Replace infinite thresholds and ends of ranges by null, since JSON has no infinity; leave lists out."""
    numbers = pl.col(pl.Float64)
    return rows.select(~selectors.nested()).with_columns(pl.when(numbers.is_finite()).then(numbers))


def with_recall(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return the defined points of a metric over recall, with threshold, prevalence and support."""
    place = ["model", "threshold", "prevalence"]
    shown = pick(frame, "metric", metric).rename({"value": metric})
    refuse_doubles(shown, *place)
    recall = pick(frame, "metric", "recall").select("model", "threshold", recall="value").unique()
    refuse_doubles(recall, "model", "threshold")
    told = [name for name in _TOLD if name in shown.columns]
    rows = beside(shown.select(*place, metric, *told), recall, ["model", "threshold"])
    rows = rows.drop_nulls([metric, "recall", "prevalence"])
    refuse_empty(rows[metric], "point", shown, ", none with both metrics")
    return rows


def check_rows(rows: pl.DataFrame) -> None:
    """Raise ParameterError if there are more rows than a chart can show."""
    if rows.height > MAX_ROWS:
        models = f", models: {rows['model'].n_unique():,}" if "model" in rows.columns else ""
        msg, found = f"a chart shows at most {MAX_ROWS:,} rows", f"{quantity(rows.height, 'row')}{models}"
        raise ParameterError(msg, found=found, hint="use a coarser grid, or draw fewer models")


def fitted(
    rows: pl.DataFrame,
    x: str,
    y: str | Sequence[str],
    *,
    by: str | list[str] = "model",
    log_x: bool = True,
    size: tuple[int, int] = (WIDTH, HEIGHT),
) -> tuple[pl.DataFrame, str]:
    """Thin the rows to the maximum of a chart; also return a note if the error exceeds half a pixel.

    An error of half a pixel is invisible; many curves with many small steps need a coarser tolerance.
    """
    rows = finite(rows)
    if rows.height <= MAX_ROWS:
        return rows, ""
    width, height = size
    for times in _COARSER:
        tolerance = TOLERANCE * times
        thin = thin_curves(rows, x, y, by=by, log_x=log_x, tolerance=tolerance, width=width, height=height)
        if thin.height <= MAX_ROWS:
            break
    check_rows(thin)
    return thin, "" if tolerance == TOLERANCE else f"; drawn to within {tolerance:g} px"


def refuse_empty(values: pl.Series, what: str, rows: pl.DataFrame, why: str = "") -> None:
    """Raise ParameterError if all values to draw are null; *rows* are the given rows."""
    if values.null_count() == len(values):
        raise ParameterError(f"there is no {what} to draw", found=quantity(rows.height, "row") + why)


def refuse_doubles(rows: pl.DataFrame, *place: str) -> None:
    """Raise ParameterError if several rows have the same position; name the keys in which they differ."""
    doubled = rows.filter(pl.struct(place).is_duplicated())
    if doubled.is_empty():
        return
    same = doubled.join(doubled.select(place).head(1), on=list(place), nulls_equal=True)
    values = {"value", "lower", "upper", "rank", "gap"}
    varying = [c for c in same.columns if c not in values and same[c].n_unique() > 1]
    *rest, last = place
    msg = f"the frame has several rows for one {' and '.join(filter(None, (', '.join(rest), last)))}"
    found = f"{same.height} rows that differ in {', '.join(map(repr, varying)) or 'the value only'}"
    hint = "select one operating point, and one value of each key, before drawing"
    raise ParameterError(msg, found=found, hint=hint)


def one_comparison(frame: pl.DataFrame, schema: FrameSchema) -> None:
    """Raise ParameterError if the frame has keys, since each of their values needs its own chart."""
    keys = schema.keys(frame.columns)
    if keys:
        msg, found = "the chart shows one comparison", f"the key {keys[0]!r}"
        raise ParameterError(msg, found=found, hint="select one value of this key, then drop the column")


def supported(rows: pl.DataFrame) -> pl.Expr:
    """Return whether the log supports each row; true if the frame does not say."""
    return pl.col("supported").fill_null(value=True) if "supported" in rows.columns else pl.lit(value=True)


def why_marked(mark: str, rows: pl.DataFrame) -> str:
    """Return the subtitle for a mark of unsupported values, with the reason; empty if all are supported."""
    why = why_doubtful(rows)
    return "" if why is None else f"; {mark}: {why}"


def marks_support(rows: pl.DataFrame) -> bool:
    """Return whether some rows are not supported, or may become so when a page moves them."""
    return "supported_from" in rows.columns or not rows.select(supported(rows).all()).item()


def why_dotted(rows: pl.DataFrame, mark: str = "dotted") -> str:
    """Return the subtitle for lines with marked unsupported parts."""
    why = why_marked(mark, rows)
    return why or (f"; {mark}: what this log cannot tell" if marks_support(rows) else "")


def why_faint(rows: pl.DataFrame) -> str:
    """Return the same for curves whose strokes show prevalences."""
    return why_dotted(rows, "pale" if rows["prevalence"].n_unique() > 1 else "dotted")


def unsupported_ranges(ranges: pl.DataFrame, start: str, end: str) -> pl.DataFrame:
    """Merge adjacent unsupported ranges, whatever their model."""
    told = ranges.with_columns(supported=supported(ranges))
    return merged_ranges(told, start, end, same="supported").filter(~pl.col("supported"))


def written_range(*ends: str) -> pl.Expr:
    """Return each range in words, for tooltips, since an axis may end within it."""
    texts = (pl.col(end).map_elements("{:.6g}".format, pl.String).replace("inf", "∞") for end in ends)
    return pl.format("{} to {}", *texts)


def merged_ranges(ranges: pl.DataFrame, start: str, end: str, *, same: str = "model") -> pl.DataFrame:
    """Merge adjacent ranges of one model, even if its thresholds differ."""
    runs = ranges.sort(start).group_by(pl.col(same).rle_id().alias("run"), maintain_order=True)
    return runs.agg(pl.col(same).first(), pl.col(start).first(), pl.col(end).last()).drop("run")
