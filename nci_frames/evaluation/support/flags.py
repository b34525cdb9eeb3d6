"""The columns ``supported`` and ``reason`` of a table of values."""

from collections.abc import Collection

import polars as pl

from nci_frames.evaluation.support.reasons import REASONS, number_of, reason_text, too_few_number
from nci_frames.evaluation.support.rule import class_reason, independent_rows, point_reason, point_support

Flags = dict[str, pl.Expr]


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
        cost = log_cost(lowest, independent_rows("negatives", columns))
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
