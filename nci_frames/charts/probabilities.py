"""Scores as probabilities: calibration, and the benefit and cost of decisions by them."""

from collections.abc import Sequence

import altair as alt
import polars as pl
import polars.selectors as cs

from nci_frames import schemas
from nci_frames.base.typing import Frame
from nci_frames.charts.parts import canvas, lines, selection
from nci_frames.charts.parts.axes import rate_axis, value_axis
from nci_frames.charts.parts.theme import RULE, ModelStyle
from nci_frames.evaluation.probabilities.decisions import cost_curve
from nci_frames.schemas import checked
from nci_frames.tables.numbers import format_grid


@checked
def chart_calibration(
    calibration: Frame, /, *, prevalence: float | None = None, models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw a reliability diagram: the share of positives over the score, one line per model.

    Parameters
    ----------
    calibration
        The result of ``calibration_curve``.
    prevalence
        Prevalence to draw; required if the frame has several.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        One point per bin, at its mean score and its share of positives, with the bounds of the share. Scores
        on the dashed diagonal are calibrated.

    Raises
    ------
    ParameterError
        If the frame has no bins, several prevalences and none is selected, several groups of one model, or
        too many rows.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), doi:10.1073/pnas.2016191118.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> curve = nf.calibration_curve(nf.count_confusion(log), prevalence=0.01)
    >>> nf.chart_calibration(curve).to_dict()["title"]["text"]
    'Calibration at prevalence η = 0.01'
    """
    frame = schemas.collect(calibration, schemas.CALIBRATION)
    rows = selection.pick(frame, "prevalence", prevalence)
    selection.refuse_doubles(rows, "model", "score_lower")
    rows, note = selection.fitted(
        rows.sort("model", "score_lower"), "predicted", ["observed", "lower", "upper"], log_x=False
    )
    numbers = canvas.own_titles(
        "predicted", "observed", "lower", "upper", "score_lower", "score_upper", "share"
    )
    x, y = rate_axis("predicted", "score (mean of the bin)"), rate_axis("observed", "share of positives")
    ends = alt.Chart(pl.DataFrame({"predicted": [0.0, 1.0], "observed": [0.0, 1.0]}))
    diagonal = canvas.layer("diagonal", ends.mark_line(**RULE), x=alt.X(**x), y=alt.Y(**y))
    style = ModelStyle(rows["model"].unique(), among=models)
    drawn = lines.curves(rows, alt.X(**x), alt.Y(**y), style=style, numbers=numbers, dots=True)
    shaded = "shaded: bounds of the share of positives; " if rows["lower"].count() else ""
    return canvas.compose(
        [diagonal, *drawn],
        style=style,
        title=f"Calibration at prevalence η = {format_grid(rows['prevalence'][0])}",
        subtitle=f"{shaded}dashed: scores are what they say{note}",
        says="The share of positives on the vertical axis, the score on the horizontal; a line per model.",
        height=lines.SQUARE,
    )


@checked
def chart_decision_curve(
    decisions: Frame, /, *, prevalence: float | None = None, models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw a decision curve: net benefit over the threshold probability, one line per model.

    Parameters
    ----------
    decisions
        The result of ``decision_curve``.
    prevalence
        Prevalence to draw; required if the frame has several.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The curves, with certified bounds if the counts are on a grid. Dashed lines show the treatment of all
        rows and of none; values far below 0 are cut off.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frame has nothing to draw, several prevalences and none is selected, several groups of one
        model, or too many rows.

    References
    ----------
    Vickers and Elkin (2006), doi:10.1177/0272989X06295361.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> curve = nf.decision_curve(
    ...     nf.count_confusion(log), prevalence=0.1, threshold_probabilities=[0.0, 0.1, 0.2, 0.5]
    ... )
    >>> nf.chart_decision_curve(curve).to_dict()["title"]["text"]
    'Decision curve at prevalence η = 0.1'
    """
    frame = schemas.collect(decisions, schemas.DECISIONS)
    t = "threshold_probability"
    rows = selection.pick(frame, "prevalence", prevalence).sort("model", t)
    selection.refuse_doubles(rows, "model", t)
    selection.refuse_empty(rows["net_benefit"], "net benefit", rows)
    top = max(float(rows["net_benefit"].max() or 0), float(rows["treat_all"].max() or 0), 1e-12)  # type: ignore[arg-type]
    x = alt.X(field=t, type="quantitative", title="threshold probability")
    # The slider of the page changes the top.
    ends = [alt.ExprRef("-top / 4"), alt.ExprRef("top")]
    y = alt.Y(**value_axis("net_benefit", "net benefit per row", domain=ends, nice=False))
    others = rows.drop_nulls("treat_all").unique(t, keep="first").sort(t)
    treated = others.select(t, cs.starts_with("treat_all").name.replace("treat_all", "net_benefit"))
    every = alt.Chart(selection.finite(treated)).add_params(alt.param(name="top", value=top))
    nobody = alt.Chart(pl.DataFrame({"net_benefit": [0.0]}))
    numbers = canvas.own_titles(t, "net_benefit", "lower", "upper", "treat_all", "interventions_avoided")
    drawn, note = selection.fitted(rows, t, ["net_benefit", "lower", "upper"], log_x=False)
    style = ModelStyle(rows["model"].unique(), among=models)
    curves = lines.curves(drawn, x, y, style=style, numbers=numbers, clip=True, reach=220)
    return canvas.compose(
        [
            canvas.layer("treat_all", every.mark_line(order=False, clip=True, **RULE), x=x, y=y),
            canvas.layer("treat_none", nobody.mark_rule(**RULE), y=y),
            *curves,
        ],
        style=style,
        title=f"Decision curve at prevalence η = {format_grid(rows['prevalence'][0])}",
        subtitle=f"net benefit of treating from a score on; dashed: treating all rows, and none{note}",
        says="Net benefit on the vertical axis, the threshold probability on the horizontal.",
    )


@checked
def chart_cost_curve(
    costs: Frame, /, *, prevalence: float | None = None, models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw cost curves: the actual and the achievable cost of decisions by the scores, one line per model.

    Parameters
    ----------
    costs
        The result of ``cost_curve``; or counts, whose cost curve is then computed.
    prevalence
        Prevalence to draw; required if the frame has several. For counts, the default is the observed one.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The cost if the scores are taken as probabilities, and, dotted, the cost at the best of all
        thresholds. The shaded difference is due to miscalibration. Dashed: the better of always and never
        positive.

    Raises
    ------
    ParameterError
        If the frame has nothing to draw, several prevalences and none is selected, several groups of one
        model, or too many rows.

    References
    ----------
    Drummond and Holte (2006), Cost curves, doi:10.1007/s10994-006-8199-5.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> nf.chart_cost_curve(nf.cost_curve(nf.count_confusion(log), prevalence=0.1)).to_dict()["title"]["text"]
    'Cost curve at prevalence η = 0.1'
    """
    if "achievable" not in costs.collect_schema().names():
        costs = cost_curve(costs, prevalence="observed" if prevalence is None else prevalence)
    frame = schemas.collect(costs, schemas.COST_CURVE)
    rows = selection.pick(frame, "prevalence", prevalence).sort("model", "probability_cost")
    selection.refuse_doubles(rows, "model", "probability_cost")
    selection.refuse_empty(rows["actual"], "cost", rows)
    rows = rows.with_columns(lower="achievable", upper="actual")
    rows, note = selection.fitted(rows, "probability_cost", ["actual", "achievable"], log_x=False)
    x = alt.X(**rate_axis("probability_cost", "probability cost: the positives' share of the worst cost"))
    highest = max(0.5, float(rows["actual"].max() or 0))  # type: ignore[arg-type]
    y = alt.Y(**value_axis("actual", "normalised cost", domain=[0, highest]))
    trivial = alt.Chart(pl.DataFrame({"probability_cost": [0.0, 0.5, 1.0], "actual": [0.0, 0.5, 0.0]}))
    numbers = canvas.own_titles("probability_cost", "threshold_probability", "actual", "achievable")
    style = ModelStyle(rows["model"].unique(), among=models)
    curves = lines.curves(rows, x, y, style=style, numbers=numbers, reach=220)
    best = alt.Chart(selection.finite(rows)).mark_line(order=False, strokeDash=[2, 3])
    achievable = canvas.layer("achievable", best, x=x, y=alt.Y("achievable:Q"), color=canvas.colour(style))
    return canvas.compose(
        [canvas.layer("trivial", trivial.mark_line(order=False, **RULE), x=x, y=y), achievable, *curves],
        style=style,
        title=f"Cost curve at prevalence η = {format_grid(rows['prevalence'][0])}",
        subtitle=f"lines: scores at their word; dotted: the best thresholds; dashed: always or never{note}",
        says="Normalised cost on the vertical axis, the probability cost on the horizontal.",
    )
