"""A comparison -> the numbers of the page's table of segments, and of the charts of those that are chosen."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from nci_frames.charts.parts.selection import finite
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.worst_segments import is_worse
from nci_frames.schemas import beside, key_text, missing_name
from nci_frames.tables.names import drawable
from nci_frames.tables.numbers import format_threshold
from nci_frames.tables.packed import packed

#: So many segments are drawn until others are chosen.
CHARTED = 6

#: The column that names a segment in a chart, where several keys are one text.
LABEL = "segment"

#: What the table shows of ``segment_ranks``.
_SHOWN = (
    "positives", "value", "lower", "upper", "supported", "observed_prevalence", "difference", "due_to_rates",
    "due_to_rates_lower", "due_to_rates_upper", "adjusted", "verdict",
)  # fmt: skip


def segment_numbers(comparison: Comparison, models: Sequence[str], /) -> dict[str, Any] | None:
    """Return the table of segments as values that JSON has; None without segments.

    =========== ======================================================================================
    key         value
    =========== ======================================================================================
    keys        the names of the keys
    names       of each key its value in every segment as text; null where it is missing
    labels      how charts name the segments
    table       the columns of ``rank_segments`` that are shown, those of the segments not tested null, and
                ``verdict`` and ``field`` (the prevalence in the field)
    models      the models that charts show, by their place among all
    points      of each of these ``[tp, fp, positives, negatives]``, each a list over the segments
    prevalence  the prevalences of the charts
    =========== ======================================================================================
    """
    points = comparison.segment_points
    if not comparison.segments or points is None:
        return None
    keys = list(comparison.segments)
    rows = worst_first(comparison)
    if comparison.field is not None:
        field = comparison.field.select(*keys, field="prevalence")
        rows = beside(rows, field, keys)
    names = sorted(comparison.points["model"].unique())
    table = finite(rows.select(name for name in (*_SHOWN, "field") if name in rows.columns))
    return {
        "keys": keys,
        "names": [[None if value is None else str(value) for value in rows[key].to_list()] for key in keys],
        "labels": [drawable(label) for label in rows.select(segment_labels(rows, keys))[LABEL]],
        "table": packed(table.to_dicts()),
        "models": [names.index(model) for model in models],
        "points": [_points(points.filter(model=model), rows.select(keys)) for model in models],
        "prevalence": comparison.answer_prevalences,
    }


def worst_first(comparison: Comparison, /) -> pl.DataFrame:
    """Return a row for each segment, the worst first, with a ``verdict``; by size where none was tested."""
    ranks, sizes = comparison.segment_ranks, comparison.segment_sizes
    keys = list(comparison.segments)
    if ranks is None:
        points = comparison.segment_points
        rows = pl.DataFrame(schema=dict.fromkeys(keys, pl.Null)) if sizes is None else sizes.drop("rows")
        if points is None:
            return rows.with_columns(verdict=pl.lit("not tested"))
        classes = points.group_by(keys).agg(pl.col("positives", "observed_prevalence").max())
        rows = beside(rows, classes, keys)
        return rows.with_columns(verdict=pl.lit("not tested"))
    worse = is_worse(comparison)
    return ranks.with_columns(
        verdict=pl.when(pl.col("value").is_null())
        .then(pl.col("reason").fill_null("undefined"))
        .when(pl.col("distinguishable") & worse)
        .then(pl.lit("worse"))
        .when(pl.col("distinguishable"))
        .then(pl.lit("better"))
        .when("shifted")
        .then(pl.lit("other scores"))
        .otherwise(pl.lit("as the rest"))
    )


def why_untested(comparison: Comparison, /) -> str | None:
    """Return why segments were not compared with the rest, and what to do; None where they were."""
    if comparison.segment_ranks is not None:
        return None
    if comparison.weighted:
        return "Sums of weights cannot be tested. Count whole rows to see where the model is worse"
    if comparison.segment_sizes is not None and len(comparison.segment_sizes) < 2:
        return "There is one segment only, so there is no rest to compare it with"
    return (
        f"The threshold {format_threshold(comparison.segment_threshold)} was not counted in every segment. "
        "Count at it, or compare at a threshold that was counted, to see where the model is worse"
    )


def segment_labels(frame: pl.DataFrame, keys: Sequence[str], /) -> pl.Expr:
    """Return one text for the values of all keys; different segments have different ones.

    >>> frame = pl.DataFrame({"country": ["DE", None], "tier": [1, 2]})
    >>> frame.select(segment_labels(frame, ["country", "tier"]))[LABEL].to_list()
    ['DE · 1', 'missing · 2']
    """
    texts = []
    for key in keys:
        text = key_text(key, frame.schema[key])
        # A dot in a value is not taken for one between two values.
        text = text.str.replace_all("·", "··") if len(keys) > 1 else text
        texts.append(text.fill_null(missing_name(frame[key])))
    return pl.concat_str(texts, separator=" · ").alias(LABEL)


def _points(points: pl.DataFrame, segments: pl.DataFrame) -> list[list[float | None]]:
    """Return the counts of one model in each segment; null where there are none."""
    columns = ["tp", "fp", "positives", "negatives"]
    rows = beside(segments, points.select(*segments.columns, *columns), segments.columns)
    return [column.to_list() for column in finite(rows.select(columns))]
