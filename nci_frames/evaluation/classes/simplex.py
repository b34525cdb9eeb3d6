"""Class counts of three classes -> the best model along lines that fill the triangle of all mixes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from nci_frames.base.arguments import beta_value
from nci_frames.base.errors import ParameterError
from nci_frames.evaluation.classes.class_log import class_logs, collected
from nci_frames.evaluation.classes.class_winners import ranges_between
from nci_frames.evaluation.classes.mixes import cost_table
from nci_frames.evaluation.classes.values import Setting
from nci_frames.evaluation.metrics.classes import metric_of_all

#: Lines on which the share of the third class stays the same.
_LINES = 120


def winners_in_triangle(
    class_counts: pl.DataFrame | pl.LazyFrame, *, metric: str, beta: float, cost: Mapping[Any, Any] | None
) -> tuple[pl.DataFrame, list[Any]]:
    """Return the best model in each range of parallel lines, and the three classes.

    ``low``, ``high``: the shares of the third class that a line in their middle stands for; and ``start``,
    ``end``, ``model`` and ``tied`` along the line from the first class to the second.

    Raises
    ------
    ParameterError
        If there are not three classes with rows, if there are keys, or the metric is one of each class.
    """
    known = metric_of_all(metric)
    logs = class_logs(collected(class_counts))
    logs.need_no_keys("the triangle")
    classes = np.flatnonzero(logs.seen)
    if len(classes) != 3:
        msg, hint = "the triangle is that of the mixes of three classes", "draw winners along lines"
        raise ParameterError(msg, found=f"{len(classes)} classes with rows", hint=hint)
    costs = cost_table(cost, logs, needed=known.name == "expected_cost")
    rows = []
    for line in range(_LINES):
        third, ends = (line + 0.5) / _LINES, np.zeros((2, len(logs.names)))
        ends[:, classes] = (1 - third, 0, third), (0, 1 - third, third)
        found = ranges_between(known, 0, logs.logs, Setting(ends, logs.seen, beta_value(beta), costs))
        rows += [{"low": line / _LINES, "high": (line + 1) / _LINES} | each for each in found]
    return pl.DataFrame(rows, schema_overrides={"model": pl.String}), logs.names[classes].to_list()
