"""Areas of groups -> the columns ``supported`` and ``reason``."""

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.evaluation.arrays.roc_steps import Curves
from nci_frames.evaluation.support.flags import defined_flags, flags, log_cost
from nci_frames.evaluation.support.reasons import number_of
from nci_frames.evaluation.support.rule import SupportRule

_SUPPORT = ("__lowest", "__negatives", "__why")


def with_curve_support(
    curves: Curves, rule: SupportRule | None, worth: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return the groups of some curves with what their flags are made from; null without a *rule*.

    With *worth*, a table of ``class_worth``, the rows of a group count as so many independent ones.
    """
    if rule is None:
        nulls = zip(_SUPPORT, (pl.Float64, pl.Float64, pl.UInt32), strict=True)
        return curves.groups.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in nulls)
    shares = None if worth is None else _shares(curves.groups, worth)
    lowest = rule.lowest(curves, shares)
    positives, negatives = pl.Series(curves.positives), pl.Series(curves.negatives)
    if shares is not None:
        negatives = negatives * pl.Series(shares[1])
    return curves.groups.with_columns(
        pl.Series("__lowest", lowest, nan_to_null=True),
        negatives.alias("__negatives"),
        pl.when(positives == 0)
        .then(number_of("no_positives"))
        .when(negatives == 0)
        .then(number_of("no_negatives"))
        .when(pl.Series(np.isnan(lowest)))
        .then(number_of(rule.too_few))
        .alias("__why"),
    )


def _shares(groups: pl.DataFrame, worth: pl.DataFrame) -> tuple[Floats, Floats]:
    known = groups.join(worth, on=groups.columns, how="left", nulls_equal=True, maintain_order="left")
    positives, negatives = (
        known[name].fill_null(1.0).to_numpy() for name in ("positives_worth", "negatives_worth")
    )
    return positives, negatives


def with_curve_flags(areas: pl.DataFrame, depends: pl.Expr) -> pl.DataFrame:
    """Put the flags in place of what they are made from; *depends* is where the area needs the prevalence."""
    lowest, negatives, why = (pl.col(name) for name in _SUPPORT)
    at_prevalence = flags(lowest, log_cost(lowest, negatives), why, pl.col("prevalence"))
    defined = defined_flags(pl.col("value"))
    columns = {name: pl.when(depends).then(at_prevalence[name]).otherwise(defined[name]) for name in defined}
    return areas.with_columns(**columns).drop(_SUPPORT)
