"""Rankings -> a bump chart of ranks over prevalence."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.charts.parts import lines, selection
from nci_frames.evaluation.metrics import title_of
from nci_frames.schemas.checked import checked


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
    frame = schemas.collect(ranking, schemas.RANKING)
    metric = selection.the_only(frame, "metric", hint="filter the ranking by one metric")
    last = max([2, *frame["rank"].drop_nulls()])
    scale, axis = alt.Scale(reverse=True, domain=[0.5, last + 0.5]), alt.Axis(tickMinStep=1, format="d")
    return lines.draw_lines(
        frame,
        "prevalence",
        y=alt.Y(field="rank", type="quantitative", title="rank (1 is best)", scale=scale, axis=axis),
        what="rank",
        numbers={"prevalence": "prevalence", "rank": "rank", "value": "value"},
        title="Rank over prevalence",
        subtitle=f"by {title_of(metric)}",
        models=models,
        observed=observed,
        interpolate="monotone",
    )
