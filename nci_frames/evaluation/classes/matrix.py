"""Class counts -> the matrix of decisions at a mix of the classes, as a table."""

from typing import Any

import numpy as np
import polars as pl

from nci_frames.counts.class_counts import one_mix
from nci_frames.evaluation.classes.mixes import logs_and_priors, mixes_of
from nci_frames.evaluation.classes.values import rates_of


def matrix_at(class_counts: pl.DataFrame | pl.LazyFrame, priors: Any) -> pl.DataFrame:
    """Return for each model, class and decision the rows, their share of the class, and that of the mix.

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
        rates = rates_of(log.total)
        one, other = np.nonzero(
            np.logical_and.outer(given.classes, given.classes | (log.total.sum(axis=0) > 0))
        )
        table = pl.DataFrame({
            "label": names.gather(one), "decision": names.gather(other), "label_place": one,
            "decision_place": other, "rows": log.total[one, other], "rate": rates[one, other],
            "share": shares[one] * rates[one, other],
        })  # fmt: skip
        tables.append(table.select(pl.lit(log.group["model"], pl.String).alias("model"), pl.all()))
    return pl.concat(tables).with_columns(pl.col("rate", "share").fill_nan(None))
