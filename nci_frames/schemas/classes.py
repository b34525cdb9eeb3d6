"""The frames of decisions among more than two classes."""

from dataclasses import replace
from functools import partial

import polars as pl

from nci_frames.schemas.columns import *
from nci_frames.schemas.frame import MOST_ROWS, Column, FrameSchema
from nci_frames.schemas.keys import RESERVED
from nci_frames.schemas.pipeline import RANKS

#: What can name a class.
CLASS_TYPES: tuple[type[pl.DataType], ...] = (
    pl.String, pl.Boolean, pl.Int64, pl.Int32, pl.Int16, pl.Int8, pl.UInt64, pl.UInt32, pl.UInt16, pl.UInt8,
    pl.Float64, pl.Float32, pl.Date, pl.Datetime,
)  # fmt: skip

#: A frame into which the keys of such a log come.
_frame = partial(FrameSchema, family="classes")
# What tells a log of two classes from them.
RESERVED["classes"].add("score")

#: A class, or another decision, of the type of the log.
a_class = partial(Column, dtypes=CLASS_TYPES)

_TRUE = a_class("label", "the true class; without labels the column is not there", required=False)
_DECIDED = a_class("decision", "the class decided, or another decision, such as to abstain")
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
        "the score of each class, as fields of its name; may be infinite, never NaN",
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
    text("scenario", "the priors to which the scores were moved before they decided", required=False),
    _TRUE,
    _DECIDED,
    count("rows", "rows, or the sum of their weights", most=MOST_ROWS),
    brings_keys=True,
)
CLASS_PRIORS = _frame(
    "class priors",
    "vary_class_share(class_counts, of=..., shares=...)",
    replace(_MIX, required=False),
    _CLASS,
    share("prior", "its share of the rows, in [0, 1]"),
    derived=("lower", "upper", "fit_p_value", "supported", "reason"),
)
_OF_CLASS = replace(_CLASS, null="the metric is one of all classes")
_TOLD = (
    flag("supported", "whether the value is defined, and each class that matters has 10 independent rows"),
    text("reason", "why not, or which classes a mean skips", "all classes tell"),
)
_PROJECTED = (MODEL, _MIX, METRIC, _OF_CLASS, VALUE, LOWER, UPPER)
CLASS_PROJECTION = _frame(
    "class projection", "project_classes(class_counts, priors=..., metrics=...)", *_PROJECTED, *_TOLD
)
CLASS_RANKING = _frame("class ranking", "rank_models(class projection)", *_PROJECTED, *RANKS, *_TOLD)
CLASS_WINNERS = _frame(
    "class winners",
    "class_winners(class_counts, metric=..., start=..., end=...)",
    share("start", "where the range begins: the share of the way from the first mix to the last"),
    share("end", "where it ends"),
    text("model", "the best model in the range", "the metric is defined for none"),
    replace(TIED, required=True),
)
_WHY = "see reason"
ESTIMATED_PRIORS = _frame(
    "estimated class priors",
    "estimate_class_priors(reference, traffic)",
    a_class("class", "the class: one of those with rows in the reference"),
    share("prior", "its share of the traffic", _WHY),
    *bounds(share, "the share is at least this, at the confidence asked for", _WHY),
    share("fit_p_value", "probability of such decisions if they are a mixture of the classes", _WHY),
    flag("supported", "whether there is an estimate"),
    text("reason", "why there is no estimate", "there is one"),
)
CLASS_COMPARISONS = _frame(
    "class comparisons",
    "compare_class_models(class_counts, metric=..., priors=...)",
    _MIX,
    METRIC,
    text("model_a", "the first model", "a model of its own"),
    text("model_b", "the second one"),
    number("difference", "the value of model_a less that of model_b", "undefined"),
    *bounds(number, "lower bound of the difference", _WHY),
    share("p_value", "of the difference being 0, this pair alone", _WHY),
    share("adjusted", "Holm's, over all pairs of the mix", _WHY),
    flag("distinguishable", "whether the models differ: adjusted is below 1 - level", _WHY),
    flag("supported", "whether the log can tell"),
    text("reason", "why it cannot", "it can"),
)
