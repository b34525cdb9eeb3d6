"""In which segments is the model worse, and why? Their table and charts."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from nci_frames.charts.intervals import draw_forest
from nci_frames.charts.parts.selection import finite
from nci_frames.charts.segments import chart_decomposition, chart_segments
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.evaluation.support.reasons import first_reason, in_brief
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report_question import Chart, ReportQuestion, of_shown, picture, shown_models
from nci_frames.questions.segment_lines import is_worse, judged_model, metric_name, said_of, segment_lines
from nci_frames.schemas import beside, key_text, with_key_texts
from nci_frames.tables.names import drawable
from nci_frames.tables.numbers import f_beta_name, format_grid, format_threshold, format_value, sentence
from nci_frames.tables.packed import packed

#: Largest number of segments drawn, the first until others are chosen; and the columns drawn.
MOST_CHARTED, CHARTED = 40, ("value", "lower", "upper", "supported", "reason", "verdict")

#: Column with the name of a segment in a chart, one text for all keys.
LABEL = "segment"

#: Columns of ``segment_ranks`` in the table.
_SHOWN = (
    "positives", "value", "lower", "upper", "supported", "observed_prevalence", "due_to_rates",
    "due_to_rates_lower", "due_to_rates_upper", "verdict", "field",
)  # fmt: skip


def segment_numbers(comparison: Comparison, /) -> dict[str, Any] | None:
    """Return the table of segments as JSON values; None without segments.

    =========== ======================================================================================
    key         value
    =========== ======================================================================================
    keys        the names of the keys
    by          what the page shows, one at a time: ``keys``, the places of the keys by which the segments are
                made, their ``count``, what is ``said`` of them, and the ``model`` that is judged; each key
                alone, then all keys together. Everything below has the segments of one after those of the
                other
    names       of each key its value in every segment as text; null where it is missing
    labels      how charts name the segments
    table       the columns of ``rank_segments`` that are shown, and ``verdict`` and ``field`` (the prevalence
                in the field)
    most        how many segments are drawn at most
    =========== ======================================================================================
    """
    if not comparison.segments or comparison.segment_points is None:
        return None
    keys, alone = list(comparison.segments), comparison.by_key
    shown = [*alone, *([comparison] if len(alone) > 1 else [])]
    tables = [_rows(each) for each in shown]
    rows = pl.concat(tables, how="diagonal_relaxed")
    table = finite(rows.select(name for name in _SHOWN if name in rows.columns))
    by, labels = [], list[str]()
    for each, of_each in zip(shown, tables, strict=True):
        at, model = list(map(keys.index, each.segments)), drawable(judged_model(each))
        by.append({"keys": at, "count": len(of_each), "said": said_of(each), "model": model})
        labels += segment_labels(of_each, each.segments).to_list()
    return {
        "keys": keys,
        "by": by,
        "names": [names.to_list() for names in rows.select(key_text(key, rows.schema[key]) for key in keys)],
        "labels": list(map(drawable, labels)),
        "table": packed(table.to_dicts()),
        "most": MOST_CHARTED,
    }


def _rows(comparison: Comparison) -> pl.DataFrame:
    """Return the rows of the table, with the prevalence of each segment in the field if known."""
    rows, keys = worst_first(comparison), list(comparison.segments)
    if comparison.field is None:
        return rows
    return beside(rows, comparison.field.select(*keys, field="prevalence"), keys)


def worst_first(comparison: Comparison, /) -> pl.DataFrame:
    """Return a row per segment with a ``verdict``, worst first; by size if segments were not tested."""
    ranks = comparison.segment_ranks
    if ranks is None:
        return _untested(comparison)
    apart = pl.col("distinguishable")
    verdict = first_reason(
        (apart & is_worse(comparison), "worse"),
        (apart, "better"),
        (pl.col("shifted"), "other scores"),
        (pl.lit(value=True), "as the rest"),
    )
    unknown = pl.col("reason").fill_null("undefined")
    alone = apart.is_null() & ~pl.col("shifted").fill_null(value=False)
    untold = pl.col("value").is_null() | alone
    return ranks.with_columns(verdict=pl.when(untold).then(unknown).otherwise(verdict))


def _untested(comparison: Comparison) -> pl.DataFrame:
    """Return the segments by size, with the value of the best model of the answer."""
    points, sizes, keys = comparison.segment_points, comparison.segment_sizes, list(comparison.segments)
    if points is None or sizes is None:
        return pl.DataFrame(schema=dict.fromkeys([*keys, *CHARTED], pl.Null))
    classes = points.group_by(keys).agg(pl.col("positives", "observed_prevalence").max())
    values = _judged(points, comparison, band="tpr_lower" in points.columns)
    none = {side: pl.lit(None, pl.Float64) for side in ("lower", "upper") if side not in values.columns}
    shown = values.with_columns(**none, verdict=pl.lit("not tested")).select(*keys, *CHARTED)
    return sizes.drop("rows").pipe(beside, classes, keys).pipe(beside, shown, keys)


def _judged(points: pl.DataFrame, comparison: Comparison, *, band: bool = False) -> pl.DataFrame:
    """Return the values at points of the best model of the answer, as its segments are judged."""
    mine = points.filter(pl.col("model").eq_missing(pl.lit(judged_model(comparison))))
    metric, eta, beta = comparison.segment_metric, comparison.asked_prevalence, comparison.main_beta
    return project_rates(mine, metrics=metric, prevalence=eta, beta=beta, band=band)


def _of_all_rows(comparison: Comparison) -> float | None:
    """Return the value of all rows at the threshold of the segments; an answer is judged on other rows."""
    points = comparison.segment_points
    if points is None or points["tp"].null_count():
        return None
    cells = points.group_by("model", "threshold").agg(pl.col("tp", "fp", "fn", "tn").sum())
    value: float | None = _judged(compute_rates(cells), comparison)["value"].item()
    return value


def segment_labels(frame: pl.DataFrame, keys: Sequence[str], /) -> pl.Series:
    """Return a text of the values of all keys, different for each segment.

    >>> frame = pl.DataFrame({"country": ["DE", None], "tier": [1, 2]})
    >>> segment_labels(frame, ["country", "tier"]).to_list()
    ['DE · 1', 'missing · 2']
    """
    texts = with_key_texts(frame.select(keys), keys)
    if len(keys) > 1:
        # Dots in values are doubled, to differ from the separator.
        texts = texts.select(pl.all().str.replace_all("·", "··"))
    return texts.select(pl.concat_str(pl.all(), separator=" · ").alias(LABEL)).to_series()


#: Largest number of panels of a chart, and of models whose differences between segments are explained.
_MOST_PANELS, _MOST_REASONS = 12, 3

#: Largest number of segments, and of models in each, whose areas are listed; the frames contain all.
_MOST_SEGMENTS, _MOST_MODELS = 24, 5

#: Columns of a decomposition that a segment with too few rows lacks.
_PARTS = ("difference", "due_to_prevalence", "due_to_rates")

#: Heading under which the page folds charts of all segments. Charts are by the first key alone.
_WHY = "How do the segments differ, and why?"


def traffic(comparison: Comparison) -> pl.DataFrame | None:
    """Return F-beta over all traffic, ranked; None unless the shares of the segments are known."""
    averages = comparison.field_averages
    if averages is None or comparison.field is None or "share" not in comparison.field.columns:
        return None
    rows = averages.filter(average="micro", metric="f_beta", beta=comparison.main_beta)
    return _told(rows)


def _traffic_title(comparison: Comparison) -> str:
    by = f"{f_beta_name(comparison.main_beta)}, each model at its threshold in the answer"
    return f"All traffic, with the shares and prevalences of its segments: {by}"


def _told(rows: pl.DataFrame, keys: Sequence[str] = ()) -> pl.DataFrame:
    """Return ranked values as shown: why the log cannot tell a value in a few words, instead of its rank."""
    ranks = (pl.when("supported").then(name).alias(name) for name in ("rank", "gap"))
    briefly = pl.col("reason").map_elements(lambda reason: in_brief([reason]), pl.String)
    shown = rows.select(*keys, "prevalence", "model", "value", *ranks, briefly)
    return shown if shown["reason"].count() else shown.drop("reason")


def _by(comparison: Comparison) -> str:
    return f"by {comparison.segments[0]}"


def _best_areas(comparison: Comparison) -> pl.DataFrame | None:
    """Return PR-AUC of the best models in the first segments, at one prevalence or each segment's own."""
    comparison = comparison.by_key[0]
    rows = comparison.field_areas
    if rows is None and comparison.segment_areas is not None:
        rows = comparison.segment_areas.filter(prevalence=comparison.middle_prevalence)
    if rows is None:
        return None
    keys = list(comparison.segments)
    ordered = rows.filter(metric="pr_auc").sort(*keys, "rank", "model", nulls_last=True)
    segment, model = pl.struct(keys).rle_id(), pl.int_range(pl.len()).over(keys)
    few = ordered.filter(segment < _MOST_SEGMENTS, model < _MOST_MODELS)
    return _told(few, keys)


def _areas_title(comparison: Comparison) -> str:
    if comparison.field is not None:
        return "PR-AUC by segment, each at its own prevalence in the field"
    return f"PR-AUC {_by(comparison)} at prevalence {format_grid(comparison.middle_prevalence)}"


def _chosen(comparison: Comparison) -> pl.DataFrame | None:
    """Return the value of the best model in the worst segments; on the page, others can be chosen."""
    comparison = comparison.by_key[0]
    if not comparison.segments:
        return None
    rows = worst_first(comparison)
    labels = segment_labels(rows, comparison.segments)
    told = rows.select(labels, *CHARTED, model=pl.lit(judged_model(comparison))).drop_nulls("value")
    return told.head(MOST_CHARTED).with_row_index("place")


def _chosen_title(comparison: Comparison) -> str:
    at = format_grid(comparison.asked_prevalence)
    return sentence(f"{metric_name(comparison)} in each segment at prevalence {at}")


def _draw_chosen(table: pl.DataFrame, comparison: Comparison) -> Chart:
    by_first = comparison.by_key[0]
    whole = _of_all_rows(by_first)
    dashed = "" if whole is None else f"; dashed: all rows ({format_value(whole)})"
    return draw_forest(
        table,
        name=metric_name(comparison),
        title=_chosen_title(comparison),
        subtitle=f"{judged_model(by_first)} at threshold {format_threshold(by_first.segment_threshold)}; "
        f"bars: 95 % intervals{dashed}; pale: as the rest; at most {MOST_CHARTED} segments",
        whole=whole,
        models=shown_models(comparison),
    )


def _panels_title(comparison: Comparison) -> str:
    return f"PR-AUC over prevalence {_by(comparison)}"


def _differences_title(comparison: Comparison) -> str:
    return f"Why {metric_name(comparison)} differs {_by(comparison)}"


def _few(comparison: Comparison) -> bool:
    """Return whether each value of the key can have a panel."""
    return len(comparison.segments) == 1 and len(worst_first(comparison)) <= _MOST_PANELS


def _areas(comparison: Comparison) -> pl.DataFrame | None:
    by_first = comparison.by_key[0]
    return of_shown(by_first.segment_areas, comparison) if _few(by_first) else None


def _draw_areas(table: pl.DataFrame, comparison: Comparison) -> Chart:
    key, points = comparison.segments[0], comparison.by_key[0].segment_points
    models = shown_models(comparison)
    return chart_segments(table, segments=key, metric="pr_auc", observed=points, models=models)


def _differences(comparison: Comparison) -> pl.DataFrame | None:
    by_first = comparison.by_key[0]
    if by_first.differences is None or not _few(by_first):
        return None
    leading = comparison.best_winners["model"].unique(maintain_order=True).head(_MOST_REASONS)
    reasons = of_shown(by_first.differences, comparison).filter(pl.col("model").is_in(leading.implode()))
    ranks, keys = by_first.segment_ranks, list(by_first.segments)
    if ranks is not None:
        # A segment with too few rows to be judged has no parts either.
        unjudged = ranks.filter(pl.col("value").is_null()).select(*keys, __why="reason")
        parts = [pl.when(pl.col("__why").is_null()).then(name).alias(name) for name in _PARTS]
        why = pl.coalesce("__why", "reason").alias("reason")
        reasons = beside(reasons, unjudged, keys).with_columns(*parts, why).drop("__why")
    return reasons if reasons["due_to_rates"].drop_nulls().len() else None


def _draw_differences(table: pl.DataFrame, comparison: Comparison) -> Chart:
    named = table.with_columns(metric=pl.lit(metric_name(comparison)))
    return chart_decomposition(named, over=comparison.segments[0])


def _ranked(comparison: Comparison) -> pl.DataFrame | None:
    """Return the ranks of the segments, or their sizes if not ranked; None without segments."""
    first = comparison.by_key[0]
    return first.segment_sizes if first.segment_ranks is None else first.segment_ranks


_picture = partial(picture, section="segments")

QUESTIONS = (
    ReportQuestion(
        "segments-worst",
        "In which segments is the best model worse than in the rest?",
        "segments",
        _ranked,
        lambda _, comparison: segment_lines(comparison),
    ),
    ReportQuestion("segment-areas", _areas_title, "segments", _best_areas),
    ReportQuestion("traffic", _traffic_title, "segments", traffic),
    _picture("chosen", _chosen_title, _chosen, _draw_chosen, chosen="segments"),
    _picture("segments", _panels_title, _areas, _draw_areas, under=_WHY),
    _picture("differences", _differences_title, _differences, _draw_differences, under=_WHY),
)
