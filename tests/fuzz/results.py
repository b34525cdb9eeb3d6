"""What is wrong with the result of a public function, as far as its schema and plain sense can tell."""

import inspect
import json
from typing import Any

import altair as alt
import polars as pl

import nci_frames as nf
from nci_frames.schemas.frame import FrameSchema

#: Points at which the expression of a metric is evaluated.
_POINTS = pl.DataFrame(
    {
        "tpr": [0.0, 0.5, 1.0, None],
        "fpr": [0.0, 0.1, 1.0, 0.2],
        "prevalence": [0.0, 0.3, 1.0, 0.5],
        "beta": [1.0, 0.0, 2.0, 1.0],
        "nothing": [0.1, 0.2, 0.3, 0.4],
    }
)

#: Functions that make a frame of another's kind.
_OTHERS: dict[str, FrameSchema] = {
    **dict.fromkeys(("merge_counts", "pool_counts", "expected_counts"), nf.schemas.COUNTS),
    **dict.fromkeys(("roc_convex_hull", "select_operating_points"), nf.schemas.RATES),
    "predictive_value_interval": nf.schemas.PROJECTION,
    "rank_models": nf.schemas.RANKING,
    "required_samples": nf.schemas.SAMPLES,
}


def schema_of(function: str) -> FrameSchema | None:
    """Return the schema of what a public function returns; None if it is none of ours."""
    by_maker = {frame.maker.split("(")[0]: frame for frame in nf.schemas.FRAMES}
    return _OTHERS.get(function, by_maker.get(function))


def computed(result: Any) -> Any:
    """Do what a function left to be done later: read a scan, walk a generator, build a chart."""
    if isinstance(result, pl.LazyFrame):
        return result.collect()
    if isinstance(result, pl.Expr):
        # The scores that an expression moves may have any name.
        others = sorted({*result.meta.root_names()} - {*_POINTS.columns})
        return _POINTS.with_columns(pl.lit(0.5).alias(name) for name in others).select(value=result)
    if isinstance(result, alt.TopLevelMixin):
        return result.to_dict()
    if inspect.isgenerator(result) or isinstance(result, map):
        return [computed(part) for part in result]
    return result


def wrong(function: str, result: Any) -> str | None:
    """Return what is wrong with a computed result, or None."""
    if isinstance(result, list):
        return next((found for part in result if (found := wrong(function, part))), None)
    if isinstance(result, dict):
        try:
            json.dumps(result, allow_nan=False)
        except (TypeError, ValueError) as error:
            return f"the chart is no JSON: {error}"
    if not isinstance(result, pl.DataFrame):
        return None
    for name, dtype in result.schema.items():
        if dtype.is_float() and result[name].is_nan().any():
            return f"NaN in column {name!r}"
    beyond = _beyond_range(result) if {"metric", "value"} <= set(result.columns) else None
    return beyond or _against_schema(function, result)


def _beyond_range(result: pl.DataFrame) -> str | None:
    """Return a value that its metric cannot have."""
    ranges = nf.metrics().select(pl.col("name").alias("metric"), least="lower", most="upper")
    values = result.select("metric", "value").join(ranges, on="metric")
    beyond = values.filter(~pl.col("value").is_between(pl.col("least") - 1e-9, pl.col("most") + 1e-9))
    return "{} is {}".format(*beyond.row(0)) if len(beyond) else None


def _against_schema(function: str, result: pl.DataFrame) -> str | None:
    schema = schema_of(function)
    if function == "scan_predictions" and "label" not in result.columns:
        # Of a log without labels (label=None), everything else is as with them.
        result = result.with_columns(label=pl.lit(value=False))
    if schema is not None:
        try:
            schema.check(result)
        except nf.SchemaError as error:
            return str(error).splitlines()[0]
    return None
