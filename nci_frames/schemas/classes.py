"""Frames of decisions among more than two classes."""

from dataclasses import replace
from functools import partial

import polars as pl

from nci_frames.schemas.columns import *
from nci_frames.schemas.frame import MOST_ROWS, Column, FrameSchema
from nci_frames.schemas.keys import RESERVED
from nci_frames.schemas.pipeline import RANKS

#: Types of class names.
CLASS_TYPES: tuple[type[pl.DataType], ...] = (
    pl.String, pl.Boolean, pl.Int64, pl.Int32, pl.Int16, pl.Int8, pl.UInt64, pl.UInt32, pl.UInt16, pl.UInt8,
    pl.Float64, pl.Float32, pl.Date, pl.Datetime,
)  # fmt: skip

_frame = partial(FrameSchema, family="classes")
# The column ``score`` distinguishes a log of two classes.
RESERVED["classes"].add("score")

#: A class or another decision; its type is that of the log.
a_class = partial(Column, dtypes=CLASS_TYPES)

_TRUE = a_class("label", "true class; the column is absent if there are no labels", required=False)
_DECIDED = a_class("decision", "predicted class, or another decision, such as to abstain")
_CLASS = a_class("class", "the class")
_MIX = text("scenario", "name of the mix of classes")

CLASS_PREDICTIONS = _frame(
    "class predictions",
    "scan_classes(...)",
    MODEL,
    _TRUE,
    _DECIDED,
    Column(
        "scores",
        "score of each class, in a field named like the class; may be infinite, never NaN",
        dtypes=(pl.Struct,),
        required=False,
    ),
    ROW_WEIGHT,
    UNIT,
)
CLASS_COUNTS = _frame(
    "class counts",
    "count_classes(predictions)",
    MODEL,
    replace(STRATUM, required=False),
    text("scenario", "mix of classes to which scores were adjusted before the decision", required=False),
    _TRUE,
    _DECIDED,
    count("rows", "number of rows, or sum of weights", most=MOST_ROWS),
    brings_keys=True,
)
CLASS_PRIORS = _frame(
    "class priors",
    "vary_class_share(class_counts, of=..., shares=...)",
    replace(_MIX, required=False),
    _CLASS,
    share("prior", "share of the class among all rows, in [0, 1]"),
    *bounds(share, "lower confidence limit of an estimated share", "the share is known", required=False),
    derived=("fit_p_value", "supported", "reason"),
)
_OF_CLASS = replace(_CLASS, null="the metric covers all classes")
_TOLD = (
    flag("supported", "whether the value is defined, and each class it depends on has 10 independent rows"),
    text("reason", "why not supported or without bounds, or which classes a mean skips", "none of these"),
)
_PROJECTED = (MODEL, _MIX, METRIC, _OF_CLASS, VALUE, LOWER, UPPER)
CLASS_PROJECTION = _frame(
    "class projection", "project_classes(class_counts, priors=..., metrics=...)", *_PROJECTED, *_TOLD
)
CLASS_RANKING = _frame("class ranking", "rank_models(class projection)", *_PROJECTED, *RANKS, *_TOLD)
CLASS_WINNERS = _frame(
    "class winners",
    "class_winners(class_counts, metric=..., start=..., end=...)",
    share("start", "start of the range, as a fraction of the way from the first mix to the last"),
    share("end", "end of the range, as a fraction of the same way"),
    text("model", "best model in the range", "the metric is defined for no model"),
    replace(TIED, required=True),
)
_WHY = "see reason"
ESTIMATED_PRIORS = _frame(
    "estimated class priors",
    "estimate_class_priors(reference, traffic)",
    a_class("class", "class with rows in the reference"),
    share("prior", "share of the class in the traffic", _WHY),
    *bounds(share, "lower confidence limit of the share", _WHY),
    share("fit_p_value", "p-value of the hypothesis that the traffic is a mixture of the classes", _WHY),
    flag("supported", "whether an estimate exists"),
    text("reason", "why there is no estimate", "an estimate exists"),
)
CLASS_COMPARISONS = _frame(
    "class comparisons",
    "compare_class_models(class_counts, metric=..., priors=...)",
    _MIX,
    METRIC,
    text("model_a", "first model", "unnamed model"),
    text("model_b", "second model"),
    number("difference", "value of model_a - value of model_b", "undefined"),
    *bounds(number, "lower bound of the difference", _WHY),
    share("p_value", "p-value of the hypothesis of no difference, for this pair alone", _WHY),
    share("adjusted", "p-value adjusted by Holm's method over all pairs of the mix", _WHY),
    flag("distinguishable", "whether the models differ: adjusted is below 1 - level", _WHY),
    flag("supported", "whether the log has enough data for the comparison"),
    text("reason", "why not", "supported"),
)
