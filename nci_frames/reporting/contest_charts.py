"""Winners, ranks and maps -> charts of who is best where."""

import math

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.errors import ParameterError
from nci_frames.reporting.charts import check_rows, finite
from nci_frames.reporting.theme import log_axis, log_scale, model_colour, model_style, titled

__all__ = [
    "chart_decision_map",
    "chart_probability_best",
    "chart_rank_over_prevalence",
    "chart_winner_ranges",
]

#: What the map shows: logit of the prevalence from 1e-6 to 1/2, beta from 0.1 to 10.
_ETA, _BETA = (1e-6, 0.5), (0.1, 10.0)


def chart_decision_map(decisions: pl.DataFrame | pl.LazyFrame, /) -> alt.LayerChart:
    """Draw who has the best F-beta at every prevalence and beta.

    Parameters
    ----------
    decisions
        What ``decision_map`` returned, of one value of the keys.

    Returns
    -------
    altair.LayerChart
        Bands, coloured by model, over the odds of the prevalence and beta, both logarithmic: there the
        borders are exactly straight. Model and threshold are shown under the pointer.

    Raises
    ------
    ParameterError
        The frame has keys, or too many rows.

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
    _one_comparison(frame, schemas.DECISION_MAP)
    style = model_style(frame["model"].cast(pl.String).fill_null("null"))
    low, high = (math.log(eta / (1 - eta)) for eta in _ETA)
    ends = pl.DataFrame({"t": [low, high]})
    # lambda = 1/(odds·beta²): at one place of the odds a range of lambda is a range of log beta.
    ln_beta = {
        side: (-pl.col(f"lambda_{end}").log() - pl.col("t")) / 2
        for side, end in (("beta_high", "start"), ("beta_low", "end"))
    }
    top, bottom = math.log(_BETA[1]), math.log(_BETA[0])
    rows = (
        frame.with_row_index("range")
        .join(ends, how="cross")
        .with_columns(**ln_beta)
        .with_columns(
            pl.col("beta_high").clip(upper_bound=top + 20).exp(), pl.col("beta_low").clip(bottom - 20).exp()
        )
        .with_columns(odds=pl.col("t").exp())
    )
    check_rows(rows)
    x_title = "odds of the prevalence η/(1-η), log scale"
    chart = (
        alt.Chart(finite(rows))
        .mark_area(clip=True, opacity=0.75, stroke="white", strokeWidth=0.7)
        .encode(
            x=alt.X(
                field="odds",
                type="quantitative",
                title=x_title,
                scale=log_scale(math.exp(low), math.exp(high)),
                axis=alt.Axis(format="~g", values=[10.0**d for d in range(-6, 1)]),
            ),
            y=alt.Y(
                field="beta_low",
                type="quantitative",
                title="β, log scale",
                scale=alt.Scale(type="log", domain=list(_BETA), clamp=False, nice=False),
                axis=alt.Axis(values=[0.1, 0.2, 0.5, 1, 2, 5, 10], format="~g"),
            ),
            y2=alt.Y2(field="beta_high"),
            detail=alt.Detail(field="range", type="nominal"),
            color=model_colour(style, filled=True),
            tooltip=[
                alt.Tooltip(field="model", type="nominal"),
                *(
                    alt.Tooltip(field=name, type="quantitative", format=".6~g")
                    for name in ("threshold", "lambda_start", "lambda_end")
                ),
            ],
        )
        .properties(name="bands")
    )
    subtitle = "the best model and threshold everywhere; borders exact"
    return titled(chart, "Decision map of F-beta", subtitle, style, height=380)


def chart_winner_ranges(winners: pl.DataFrame | pl.LazyFrame, /) -> alt.LayerChart:
    """Draw the ranges of prevalence or beta in which each model is best, as a bar.

    Parameters
    ----------
    winners
        What ``winner_ranges`` returned, of one value of the keys.

    Returns
    -------
    altair.LayerChart
        The ranges over a logarithmic axis, coloured by model, borders labelled.

    Raises
    ------
    ParameterError
        The frame has keys, is empty, or has too many rows.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> ranges = nf.winner_ranges(nf.compute_rates(counts), metric="f_beta", over="prevalence")
    >>> nf.chart_winner_ranges(ranges).to_dict()["title"]["text"]
    'Who is best over prevalence'
    """
    frame = schemas.collect(winners, schemas.WINNERS)
    _one_comparison(frame, schemas.WINNERS)
    if frame.is_empty():
        raise ParameterError("there is no winner to draw", hint="are both rates of the models defined?")
    over = frame["over"][0]
    inner = frame["start"][1:]
    smallest, largest = (1e-5, 1.0) if over == "prevalence" else (0.1, 10.0)
    low = min(smallest, *(x / 2 for x in inner if x > 0), smallest)
    high = largest if over == "prevalence" else max(largest, *(2 * x for x in inner), largest)
    rows = frame.with_columns(pl.col("start").clip(low), pl.col("end").clip(upper_bound=high)).filter(
        pl.col("start") < pl.col("end")
    )
    check_rows(rows)
    style = model_style(frame["model"].cast(pl.String).fill_null("null"))
    x = alt.X(field="start", type="quantitative", axis=log_axis(over, low, high), scale=log_scale(low, high))
    bars = (
        alt.Chart(finite(rows))
        .mark_bar(height=44, stroke="white", strokeWidth=1)
        .encode(
            x=x,
            x2=alt.X2(field="end"),
            color=model_colour(style, filled=True),
            tooltip=[
                alt.Tooltip(field="model", type="nominal"),
                *(
                    alt.Tooltip(field=name, type="quantitative", format=".6~g")
                    for name in ("threshold", "start", "end")
                ),
            ],
        )
        .properties(name="bars")
    )
    # A border is named where a model takes over from another; thresholds of one model change too often.
    borders = rows.filter(pl.col("model").ne_missing(pl.col("model").shift()) & (pl.col("start") > low))
    labels = (
        alt.Chart(borders.head(6))
        .mark_text(dy=-32, fontSize=11, color="#57606a")
        .encode(x=x, text=alt.Text(field="start", type="quantitative", format=".3~g"))
        .properties(name="borders")
    )
    subtitle = f"{frame['metric'][0]}; a border where another operating point takes over"
    return titled(alt.layer(bars, labels), f"Who is best over {over}", subtitle, style, height=110)


def chart_rank_over_prevalence(ranking: pl.DataFrame | pl.LazyFrame, /) -> alt.LayerChart:
    """Draw the rank of every model over prevalence: a bump chart.

    Parameters
    ----------
    ranking
        What ``rank_models`` returned, of one metric, with one row per model and prevalence.

    Returns
    -------
    altair.LayerChart
        Rank 1 on top, over a logarithmic axis; models without a rank are left out there.

    Raises
    ------
    ParameterError
        The frame has several metrics, or several rows of a model at a prevalence, or too many rows.

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
    rows = frame.filter((pl.col("prevalence") > 0) & pl.col("rank").is_not_null())
    if rows["metric"].n_unique() > 1:
        found = ", ".join(sorted(rows["metric"].unique()))
        raise ParameterError("a bump chart shows one metric", found=found, hint="filter the ranking")
    if rows.select("model", "prevalence").is_duplicated().any():
        msg = "a bump chart shows one row of each model and prevalence"
        raise ParameterError(msg, hint="filter one beta, one threshold and one value of the keys")
    check_rows(rows)
    style = model_style(frame["model"].cast(pl.String).fill_null("null"))
    low, high = float(rows["prevalence"].min() or 1e-3), float(rows["prevalence"].max() or 1.0)  # type: ignore[arg-type]
    if low == high:
        low, high = low / 10, high * 10
    lines = (
        alt.Chart(finite(rows))
        .mark_line(point=alt.OverlayMarkDef(size=60, filled=True), interpolate="monotone")
        .encode(
            x=alt.X(
                field="prevalence",
                type="quantitative",
                axis=log_axis("prevalence", low, high),
                scale=log_scale(low, high),
            ),
            y=alt.Y(
                field="rank",
                type="quantitative",
                title="rank (1 is best)",
                scale=alt.Scale(reverse=True, domain=[0.5, max([2, *rows["rank"]]) + 0.5]),
                axis=alt.Axis(tickMinStep=1, format="d"),
            ),
            color=model_colour(style),
            tooltip=[
                alt.Tooltip(field="model", type="nominal"),
                *(
                    alt.Tooltip(field=name, type="quantitative", format=".6~g")
                    for name in ("prevalence", "rank", "value")
                ),
            ],
        )
        .properties(name="lines")
    )
    metric = rows["metric"][0] if len(rows) else "no metric"
    return titled(lines, "Rank over prevalence", f"by {metric}", style)


def chart_probability_best(best: pl.DataFrame | pl.LazyFrame, /) -> alt.LayerChart:
    """Draw how probable it is that each model is the best, over prevalence.

    Parameters
    ----------
    best
        What ``probability_best`` returned, of one metric and beta and of one value of the keys.

    Returns
    -------
    altair.LayerChart
        Stacked areas, coloured by model, over a logarithmic axis.

    Raises
    ------
    ParameterError
        The frame has several rows of a model at a prevalence, or too many rows.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> best = nf.probability_best(counts, statistic="f_beta", prevalence=[0.001, 0.1], repeats=50)
    >>> nf.chart_probability_best(best).to_dict()["title"]["text"]
    'Probability of being the best'
    """
    frame = schemas.collect(best, schemas.BEST_MODELS).filter(pl.col("prevalence") > 0)
    if frame.select("model", "prevalence").is_duplicated().any():
        msg = "the chart shows one row of each model and prevalence"
        raise ParameterError(msg, hint="filter one metric, one beta and one value of the keys")
    check_rows(frame)
    style = model_style(frame["model"].cast(pl.String).fill_null("null"))
    low, high = float(frame["prevalence"].min() or 1e-3), float(frame["prevalence"].max() or 1.0)  # type: ignore[arg-type]
    if low == high:
        low, high = low / 10, high * 10
    areas = (
        alt.Chart(finite(frame))
        .mark_area(opacity=0.85, stroke="white", strokeWidth=0.7)
        .encode(
            x=alt.X(
                field="prevalence",
                type="quantitative",
                axis=log_axis("prevalence", low, high),
                scale=log_scale(low, high),
            ),
            y=alt.Y(
                field="probability",
                type="quantitative",
                stack="zero",
                title="probability of being the best",
                scale=alt.Scale(domain=[0, 1]),
            ),
            color=model_colour(style, filled=True),
            tooltip=[
                alt.Tooltip(field="model", type="nominal"),
                *(
                    alt.Tooltip(field=name, type="quantitative", format=".4~g")
                    for name in ("prevalence", "probability")
                ),
            ],
        )
        .properties(name="areas")
    )
    return titled(
        areas, "Probability of being the best", "share of resampled logs in which a model wins", style
    )


def _one_comparison(frame: pl.DataFrame, schema: schemas.FrameSchema) -> None:
    keys = schema.keys(frame.columns)
    if keys:
        msg = "the chart shows one comparison"
        raise ParameterError(msg, found=f"the key {keys[0]!r}", hint="filter one of its values, and drop it")
