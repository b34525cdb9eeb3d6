"""Rates -> the models as points in contingency space."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.charts.parts import canvas, selection, theme
from nci_frames.schemas.checked import checked

_SPECIAL = pl.DataFrame({
    "name": ["perfect", "always positive", "always negative", "worst"],
    "tpr": [1.0, 1.0, 0.0, 0.0],
    "tnr": [1.0, 0.0, 1.0, 0.0],
})  # fmt: skip

#: Slightly larger than the unit square, so that marks at the corners are not clipped.
_SCALE = alt.Scale(domain=[-0.02, 1.02])


@checked
@documented
def chart_contingency_space(
    rates: pl.DataFrame | pl.LazyFrame, /, *, models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw the base contingency space: models as points of TPR over TNR, and the no-skill line.

    Parameters
    ----------
    rates
        A rates frame; a point per row.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The points, the special classifiers at the corners, and the line TPR + TNR = 1.

    Raises
    ------
    ParameterError
        If the frame has too many rows.

    References
    ----------
    Ahmadzadeh and Angryk (2022), Fig. 1.

    Examples
    --------
    >>> import nci_frames as nf
    >>> counts = nf.expected_counts(tpr=0.6, fpr=0.1, ratio=9, size=1000)
    >>> nf.chart_contingency_space(nf.compute_rates(counts)).to_dict()["title"]["text"]
    'Base contingency space'
    """
    frame = schemas.collect(rates, schemas.RATES)
    style = theme.model_style(frame["model"], among=models)
    rows = frame.select("model", "threshold", "tpr", tnr=1 - pl.col("fpr")).drop_nulls(["tpr", "tnr"])
    selection.check_rows(rows, f"{selection.EACH_POINT}select operating points, or draw fewer models")
    x = alt.X(field="tnr", type="quantitative", title="TNR (specificity)", scale=_SCALE)
    y = alt.Y(field="tpr", type="quantitative", title="TPR (recall)", scale=_SCALE)
    line = alt.Chart(pl.DataFrame({"tnr": [0.0, 1.0], "tpr": [1.0, 0.0]})).encode(x=x, y=y)
    corners = alt.Chart(_SPECIAL).encode(x=x, y=y)
    named = corners.encode(text="name:N")
    left, right = (named.transform_filter(f"datum.tnr == {side}") for side in (0, 1))
    points = alt.Chart(selection.finite(rows)).mark_point(filled=True, size=110, opacity=0.9)
    colour = canvas.colour(style, legend=canvas.DOTS, title="model")
    numbers = {"threshold": "threshold", "tpr": "TPR", "tnr": "TNR"}
    return canvas.compose(
        [
            line.mark_line(**theme.RULE | {"strokeWidth": 1}).properties(name="no_skill"),
            corners.mark_point(color=theme.SOFT, shape="diamond", size=90).properties(name="special"),
            left.mark_text(align="left", dx=9, **theme.NOTE).properties(name="special_left"),
            right.mark_text(align="right", dx=-9, **theme.NOTE).properties(name="special_right"),
            canvas.layer("points", points, x=x, y=y, color=colour, tooltip=canvas.tooltip(numbers)),
        ],
        style=style,
        title="Base contingency space",
        subtitle="a point per model; dashed: no skill",
        says="TPR over TNR.",
        height=400,
    )
