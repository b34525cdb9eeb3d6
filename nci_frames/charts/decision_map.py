"""Decision maps -> the best model at every prevalence and beta."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.typing import Frame
from nci_frames.charts.parts import axes, canvas, hatching, selection, theme

#: Height of the map in pixels, and maximum length of a name in it.
_TALL, _LETTERS = 380, 24

_ENDS = ("lambda_start", "lambda_end")
_ODDS, _BETA = axes.LogAxis("odds", 1e-6, 1.0), axes.LogAxis("beta", 0.1, 10.0)


@schemas.checked
def chart_decision_map(
    decisions: Frame,
    /,
    *,
    certified: Frame | None = None,
    models: Sequence[str] = (),
    observed: float | None = None,
) -> alt.LayerChart:
    """Draw the model with the highest F-beta at every prevalence and beta.

    Parameters
    ----------
    decisions
        The result of ``decision_map``, for one value of each key.
    certified
        The result of ``certify_decision_map`` for the same counts: colours are full only where one model is
        certified, and hatched where the best model is unknown.
    models
        %(models)s
    observed
        Prevalence of the log, marked by a vertical line if it is on the map, which ends at 1/2.

    Returns
    -------
    altair.LayerChart
        Bands, coloured by model, over the odds of the prevalence and beta. Both axes are logarithmic, so that
        the borders are exactly straight. Hatched bands are not supported by the log; with *certified*,
        several models may be the best in pale bands. Wide bands show the name of their model; tooltips show
        model and threshold.

    Raises
    ------
    ParameterError
        If the frame has keys or too many rows, or *observed* is outside [0, 1].

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> decisions = nf.decision_map(nf.compute_rates(counts))
    >>> nf.chart_decision_map(decisions).to_dict()["title"]["text"]
    'Decision map of F-beta'
    """
    frame = schemas.collect(decisions, schemas.DECISION_MAP)
    observed = selection.checked_observed(observed)
    on_map = observed is not None and _ODDS.low <= observed <= 0.5
    selection.one_comparison(frame, schemas.DECISION_MAP)
    told = None if certified is None else _verdicts(schemas.collect(certified, schemas.CERTIFIED_MAP))
    rows = _placed(frame if told is None else _cut(frame, told))
    selection.check_rows(rows)
    beta = alt.Axis(values=[0.1, 0.2, 0.5, 1, 2, 5, 10], format="~g")
    y = alt.Y(field="beta_low", type="quantitative", title="β, log scale", scale=_BETA.scale, axis=beta)
    base = alt.Chart(selection.finite(rows)).encode(x=_ODDS.x(), y=y, y2=alt.Y2("beta_high"))
    base = base.encode(detail=alt.Detail("range:N"))

    def areas(ranges: pl.DataFrame, name: str, **mark: Any) -> alt.Chart:
        """Draw the areas of *ranges*."""
        marks = base.properties(data=selection.finite(_placed(ranges)))
        return canvas.layer(name, marks.mark_area(clip=True, **mark))

    merged = selection.merged_ranges(frame, *_ENDS)
    style = theme.ModelStyle(frame["model"], among=models)
    bands = areas(merged, "bands", opacity=0.75, stroke=theme.GROUND, strokeWidth=0.7)
    # The thresholds of one model change too often to draw borders; tooltips show them.
    numbers = {"threshold": "threshold", "lambda_start": "λ from", "lambda_end": "λ to"}
    if told is None:
        unknown = selection.unsupported_ranges(frame, *_ENDS)
        covers = [("untold", unknown, 0.7)]
        known, why = frame.filter(selection.supported(frame)), selection.why_marked("hatched", frame)
        subtitle = f"the best model at every point; borders are exact{why}"
    else:
        unknown = told.filter(verdict="unknown").select(_ENDS)
        covers = [("several", told.filter(verdict="several").select(_ENDS), 0.6), ("unknown", unknown, 1.0)]
        known = _cut(frame, told.filter(pl.col("verdict") != "unknown"))
        subtitle = "the best model of this log; solid: certified; pale: one of several; hatched: nobody knows"
    cover = [areas(part, name, color=theme.GROUND, opacity=pale) for name, part, pale in covers if len(part)]
    strips = [(_leaning(end), _leaning(start)) for start, end in unknown.select(_ENDS).iter_rows()]
    up = _BETA.y("up")
    names = ("model",) if told is None else ("model", "verdict", "may be best")
    targets = base.mark_area(clip=True, opacity=0).encode(tooltip=canvas.tooltip(numbers, names=names))
    return canvas.compose(
        [
            bands.encode(**canvas.fills(style)),
            *cover,
            *hatching.hatching(strips, _ODDS, up, height=_TALL, rise=_BETA.place, leaning=(6, 4)),
            canvas.layer("targets", targets),
            *canvas.named(_labels(known), _ODDS.at("odds"), _BETA.y("beta"), letters=_LETTERS),
            *_ODDS.observed(observed if on_map else None),
        ],
        style=style,
        title="Decision map of F-beta",
        subtitle=subtitle,
        says="Bands over the odds of the prevalence and beta, both logarithmic.",
        height=_TALL,
    )


def _leaning(edge: float) -> float:
    """Return the position of the border at this lambda: 6 times the width plus 4 times the height."""
    # Six decades of odds and two of beta, where lambda is 1/(odds·beta²); clipped to finite values outside.
    return min(max(8 - math.log10(edge) if edge else math.inf, -1.0), 11.0)


def _labels(ranges: pl.DataFrame) -> pl.DataFrame:
    """Return the names and centres of the bands with room for a name."""
    places = []
    for model, start, end in selection.merged_ranges(ranges, *_ENDS).iter_rows():
        low, high = max(_leaning(end), 0.0), min(_leaning(start), 10.0)
        if (high - low) / 6 * theme.WIDTH < min(len(model), _LETTERS) * theme.LETTER:
            continue
        middle = (low + high) / 2
        across = (max(0.0, (middle - 4) / 6) + min(1.0, middle / 6)) / 2
        places.append((model, _ODDS.place(across), _BETA.place((middle - 6 * across) / 4)))
    schema = {"name": pl.String, "odds": pl.Float64, "beta": pl.Float64}
    return pl.DataFrame(places, schema, orient="row")


def _placed(ranges: pl.DataFrame) -> pl.DataFrame:
    """Return the lower and upper beta of each range of lambda, at both ends of the odds."""
    ends = pl.DataFrame({"odds": [_ODDS.low, _ODDS.high]})
    # lambda = 1/(odds·beta²): at fixed odds, a range of lambda is a range of log beta.
    high, low = (-(pl.col(f"lambda_{end}").log() + pl.col("odds").log()) / 2 for end in ("start", "end"))
    beyond = 20  # far outside the axis, and finite
    high, low = high.clip(upper_bound=math.log(_BETA.high) + beyond), low.clip(math.log(_BETA.low) - beyond)
    at_ends = ranges.with_row_index("range").join(ends, how="cross")
    return at_ends.with_columns(beta_high=high.exp(), beta_low=low.exp())


def _verdicts(certified: pl.DataFrame) -> pl.DataFrame:
    """Return one row per range, with all models that may be the best there."""
    selection.one_comparison(certified, schemas.CERTIFIED_MAP)
    named = pl.col("model").fill_null("null").str.join(", ")
    return certified.group_by(*_ENDS, "verdict", maintain_order=True).agg(
        pl.when(pl.col("verdict").first() != "unknown").then(named).alias("may be best")
    )


def _cut(frame: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """Cut the ranges of a decision map where the verdict changes."""
    start, end, begin, stop = map(pl.col, (*_ENDS, "from", "to"))
    others = told.rename({"lambda_start": "from", "lambda_end": "to"})
    inside = frame.join_where(others, start < stop, begin < end)
    parts = inside.with_columns(pl.max_horizontal(start, begin), pl.min_horizontal(end, stop))
    return parts.drop("from", "to").sort("lambda_start")
