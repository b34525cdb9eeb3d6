"""Projections -> cost curves: the cost of decisions over prevalence."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.base.errors import ParameterError
from nci_frames.charts.parts import axes, canvas, lines, selection, theme
from nci_frames.evaluation.metrics import find_metric
from nci_frames.evaluation.metrics.registry import resolve
from nci_frames.schemas.checked import checked

#: How each cost is written, by the name of its metric.
_TITLES = {
    "expected_cost": "expected cost",
    "normalised_cost": "normalised cost",
    "relative_cost": "relative cost",
}

#: Relative costs above this are cut off: far above 1 the exact value does not matter.
_WORST = 2.0


@checked
@documented
def chart_cost(
    projection: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    metric: str | None = None,
    observed: float | None = None,
    models: Sequence[str] = (),
) -> alt.LayerChart:
    """Draw the cost curve: expected, normalised or relative cost over prevalence, a line per model.

    Parameters
    ----------
    projection
        A projection with a cost and one operating point per model:
        ``project_rates(points, metrics=[nf.expected_cost(c_fn=20)], prevalence=...)``.
    metric
        The label of the cost, such as ``"expected_cost(c_fn=20)"``; required if the frame has several.
    observed
        %(observed)s
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The curves on a logarithmic axis of prevalence; prevalence 0 is not drawn. A rule at a relative cost
        of 1 marks the better of never and always positive; values above 2 are cut off.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frame has no cost, or several and none is selected, several rows for one model and prevalence,
        nothing to draw, or too many rows.

    References
    ----------
    Drummond and Holte (2006), Cost curves, doi:10.1007/s10994-006-8199-5.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> points = pl.DataFrame(
    ...     {"model": "a", "threshold": 0.5, "tp": [80], "fp": [10], "fn": [20], "tn": [990]}
    ... )
    >>> cost = nf.expected_cost(c_fn=20)
    >>> projection = nf.project_rates(nf.compute_rates(points), metrics=[cost], prevalence=[0.001, 0.1])
    >>> nf.chart_cost(projection).to_dict()["title"]["subtitle"]
    'expected_cost(c_fn=20) at threshold 0.5'
    """
    frame = schemas.collect(projection, schemas.PROJECTION)
    observed = selection.checked_observed(observed)
    label = _label(frame, metric)
    cost = find_metric(label).name
    everything = frame.filter(pl.col("metric") == label)
    rows = everything.filter(pl.col("prevalence") > 0, pl.col("value").is_finite()).sort(
        "model", "prevalence"
    )
    selection.refuse_doubles(rows, "model", "prevalence")
    selection.refuse_empty(rows["value"], "cost", everything)
    axis = axes.LogAxis.through("prevalence", rows["prevalence"], observed)
    relative = cost == "relative_cost"
    cut = relative and max(rows["value"]) > _WORST
    y = alt.Y(
        field="value",
        type="quantitative",
        title="expected cost of a decision" if cost == "expected_cost" else _TITLES[cost],
        scale=alt.Scale(domain=[0, _WORST]) if cut else alt.Scale(zero=True, domainMin=0),
        axis=alt.Axis(tickCount=5, format="~g"),
    )
    height = theme.HEIGHT
    if cut:
        # The first point above the cut is kept, so that lines reach the edge; points beyond it are never
        # visible.
        inside = pl.col("value") <= _WORST
        beside = [inside.shift(step).over("model").fill_null(value=False) for step in (1, -1)]
        rows = rows.filter(pl.any_horizontal(inside, *beside))
        height = round(theme.HEIGHT * max(1.0, max(rows["value"], default=0) / _WORST))
    rows = rows.select("model", "threshold", "prevalence", "value")
    rows, note = selection.fitted(rows, "prevalence", "value", size=(theme.WIDTH, height))
    style = theme.model_style(everything["model"].unique(), among=models)
    numbers = {"prevalence": "prevalence", "value": "cost", "threshold": "threshold"}
    trivial = alt.Chart(pl.DataFrame({"value": [1.0]})).mark_rule(**theme.RULE).encode(y=y)
    notes = ["; dashed: never or always positive"] * relative + ["; above 2 cut off"] * cut
    return canvas.compose(
        [
            *([trivial.properties(name="trivial")] * relative),
            *lines.curves(rows, axis.x(), y, style=style, numbers=numbers, clip=cut),
            *axis.observed(observed),
        ],
        style=style,
        title=f"{_TITLES[cost].capitalize()} over prevalence",
        subtitle=f"{label} at {selection.operating_point(everything)}{''.join(notes)}{note}",
        says="A line per model; lower is better.",
    )


def _label(frame: pl.DataFrame, metric: str | None) -> str:
    """Return which cost to draw."""
    labels: list[str] = sorted(filter(_is_cost, frame["metric"].drop_nulls().unique()))
    if metric is not None:
        if metric not in labels:
            raise ParameterError.unknown_choice("metric", metric, labels)
        return metric
    if len(labels) != 1:
        raise ParameterError(
            "the frame has several costs" if labels else "the frame has no cost",
            found=", ".join(labels or sorted(map(repr, frame["metric"].drop_nulls().unique()))[:5]),
            hint="select one with metric=" if labels else f"project one of {', '.join(_TITLES)}",
        )
    return labels[0]


def _is_cost(label: str) -> bool:
    found = resolve(label)
    return found is not None and found[0].name in _TITLES
