"""The value of what was asked over prevalence -> a line per model."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames.charts.parts import axes, lines


def chart_answer(
    rows: pl.DataFrame, /, *, what: str, by: str, observed: float | None = None, models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw the value of each model over prevalence, as ``Comparison.answers`` gives it.

    Parameters
    ----------
    rows
        Rows of an answer at many prevalences, with ``lower`` and ``upper`` if a band is wanted.
    what
        What the metric is called.
    by
        How the models are judged: the metric with its threshold, budget or costs.
    observed
        %(observed)s
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The curves on a logarithmic axis; values that the log does not support are dotted.

    Raises
    ------
    ParameterError
        If no model has a value.
    """
    known = rows["value"].drop_nulls()
    y = alt.Y(**axes.rate_axis("value", what))
    if not known.is_between(0, 1).all() or what == "expected cost":
        y = alt.Y(field="value", type="quantitative", title=what, axis=alt.Axis(tickCount=5, format="~g"))
    bands = "; shaded: the 95 % bounds" if "lower" in rows.columns else ""
    return lines.draw_lines(
        rows,
        "prevalence",
        y=y,
        what=what,
        title=f"{what} over prevalence",
        subtitle=f"by {by}{bands}",
        models=models,
        observed=observed,
    )
