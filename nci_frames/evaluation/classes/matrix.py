"""Class counts -> the matrix of decisions at a mix of the classes, as a table."""

from typing import Any

import numpy as np
import polars as pl

from nci_frames.counts.class_counts import one_mix
from nci_frames.evaluation.classes.mixes import logs_and_priors, mixes_of
from nci_frames.evaluation.classes.values import rates_of


def matrix_at(class_counts: pl.DataFrame | pl.LazyFrame, priors: Any) -> tuple[pl.DataFrame, list[str]]:
    """Return for each model, class and decision the rows, their share of the class, and that of the mix.

    Second, the names in the order of the classes.

    Raises
    ------
    ParameterError
        If the counts have keys or scenarios, or there are several mixes.
    """
    logs, given = logs_and_priors(class_counts, priors)
    logs.need_no_keys("the matrix")
    if not isinstance(given.asked, str):
        one_mix("priors", dict.fromkeys(given.asked.scenarios))
    names, tables = logs.names.cast(pl.String), []
    for log in logs.logs:
        (shares,) = mixes_of(log, given).priors
        rates, decisions = rates_of(log.total), given.classes | (log.total.sum(axis=0) > 0)
        one, other = np.nonzero(np.logical_and.outer(given.classes, decisions))
        tables.append(pl.DataFrame({
            "model": pl.Series([log.group["model"]] * len(one), dtype=pl.String),
            "label": names.gather(one), "decision": names.gather(other), "rows": log.total[one, other],
            "rate": rates[one, other], "share": shares[one] * rates[one, other],
        }))  # fmt: skip
    return pl.concat(tables).with_columns(pl.col("rate", "share").fill_nan(None)), names.to_list()
