"""The columns ``supported`` and ``reason`` of a table of values."""

from collections.abc import Collection

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.evaluation.arrays.roc_steps import Curves
from nci_frames.evaluation.support.reasons import REASONS, number_of, reason_text, too_few_number
from nci_frames.evaluation.support.rule import (
    SupportRule,
    class_reason,
    independent_negatives,
    point_reason,
    point_support,
)
from nci_frames.schemas import beside

Flags = dict[str, pl.Expr]

#: What the flags of areas are made from.
_SUPPORT = ("__lowest", "__negatives", "__why")


def flags(
    lowest: pl.Expr, cost: pl.Expr, why: pl.Expr, prevalence: pl.Expr, rarity: pl.Expr | None = None
) -> Flags:
    """Return the columns for values at a prevalence.

    Parameters
    ----------
    lowest
        The lowest prevalence that the log supports; null where there is none.
    cost
        The ``log_cost`` of the log.
    why
        The number of the reason why there is no lowest prevalence; null where there is one.
    prevalence
        P(y=1) the value belongs to.
    rarity
        Its ``log_rarity``; computed by default.
    """
    supported = (prevalence >= lowest).fill_null(value=False)
    few = too_few_number(cost + (log_rarity(prevalence) if rarity is None else rarity))
    number = pl.when(~supported).then(pl.coalesce(why, few))
    return {"supported": supported, "reason": reason_text(number)}


def log_cost(lowest: pl.Expr, negatives: pl.Expr) -> pl.Expr:
    """Return the decimal logarithm of the negatives times the odds of the lowest prevalence.

    A log of that kind needs this product at every prevalence.
    """
    return (negatives * (lowest / (1 - lowest))).log10()


def log_rarity(prevalence: pl.Expr) -> pl.Expr:
    """Return the decimal logarithm of the negatives for each positive."""
    return ((1 - prevalence) / prevalence).log10()


def point_flags(columns: Collection[str], *, needs_fpr: bool) -> Flags:
    """Return the columns for values of operating points, beside their rates and ``prevalence``.

    The *columns* are those of the table.
    """
    if needs_fpr:
        lowest = point_support(columns)
        cost = log_cost(lowest, independent_negatives(columns))
        return flags(lowest, cost, point_reason(), pl.col("prevalence"))
    why = class_reason()
    return {"supported": why.is_null(), "reason": reason_text(why)}


def defined_flags(value: pl.Expr) -> Flags:
    """Return the columns for values that do not depend on the prevalence."""
    number = pl.when(value.is_null()).then(number_of("undefined"))
    return {"supported": value.is_not_null(), "reason": reason_text(number)}


def hidden_flags() -> Flags:
    """Return the columns for values whose prevalence is unknown."""
    return {"supported": pl.lit(None, pl.Boolean), "reason": pl.lit(REASONS["hidden"])}


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
    if curves.worth is not None and len(curves.start):
        negatives = pl.Series(np.maximum.reduceat(curves.worth[1], curves.start))
    elif shares is not None:
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
    known = beside(groups, worth, groups.columns)
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
