"""Rankings -> a bump chart of ranks over prevalence."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.charts.parts.axes import log_range, log_x, observed_rule
from nci_frames.charts.parts.canvas import COARSE, compose, curves
from nci_frames.charts.parts.selection import (
    checked_observed,
    fitted,
    refuse_doubles,
    why_marked,
)
from nci_frames.charts.parts.theme import model_style
from nci_frames.evaluation.metrics import title_of
from nci_frames.schemas.checked import checked

__all__ = ["chart_rank_over_prevalence"]


@checked
@documented
def chart_rank_over_prevalence(
    ranking: pl.DataFrame | pl.LazyFrame, /, *, observed: float | None = None, models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw the rank of every model over prevalence: a bump chart.

    Parameters
    ----------
    ranking
        The result of ``rank_models`` for one metric, with one row per model and prevalence.
    observed
        %(observed)s
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        Rank 1 on top, over a logarithmic axis; a model leaves a gap where it has no rank.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frame has several metrics, several rows for one model and prevalence, no rank, or too many
        rows; or if *observed* is outside [0, 1].

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> points = nf.project_rates(nf.compute_rates(counts), metrics="f_beta", prevalence=[0.001, 0.01, 0.1])
    >>> nf.chart_rank_over_prevalence(nf.rank_models(points)).to_dict()["title"]["text"]
    'Rank over prevalence'
    """
    observed = checked_observed(observed)
    frame = schemas.collect(ranking, schemas.RANKING)
    rows = frame.filter(pl.col("prevalence") > 0).sort("model", "prevalence")
    metrics = sorted(rows["metric"].unique())
    if len(metrics) > 1:
        raise ParameterError(
            "a bump chart shows one metric", found=", ".join(metrics), hint="filter the ranking by one metric"
        )
    refuse_doubles(rows, "model", "prevalence")
    if rows["rank"].drop_nulls().is_empty():
        raise ParameterError("there is no rank to draw", found=quantity(frame.height, "row"))
    support = ["supported"] if "supported" in rows.columns else []
    doubt = why_marked("dotted", rows.drop_nulls("rank"))
    every = rows.select("model", "prevalence", "rank", "value", *support)
    rows, note = fitted(every, "prevalence", "rank")
    low, high = log_range([*rows["prevalence"], *([observed] if observed else [])])
    style = model_style(frame["model"], among=models)
    lines = curves(
        rows,
        log_x("prevalence", "prevalence", low, high),
        alt.Y(
            field="rank",
            type="quantitative",
            title="rank (1 is best)",
            scale=alt.Scale(reverse=True, domain=[0.5, max([2, *rows["rank"].drop_nulls()]) + 0.5]),
            axis=alt.Axis(tickMinStep=1, format="d"),
        ),
        style=style,
        numbers={"prevalence": "prevalence", "rank": "rank", "value": "value"},
        # Smooth lines would have another shape between the thinned points.
        interpolate="monotone" if rows.height == every.height else "linear",
        dots=rows["prevalence"].n_unique() <= COARSE,
        reach=220,
    )
    return compose(
        [*lines, *observed_rule(observed, "prevalence", low, high)],
        style=style,
        title="Rank over prevalence",
        subtitle=f"by {title_of(metrics[0])}{note}{doubt}",
        says="A line per model.",
    )
