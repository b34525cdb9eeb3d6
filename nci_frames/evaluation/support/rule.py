"""The support rule: at which prevalences a log has enough negatives.

At prevalence odds o, the N negatives of a log come with N·o positives, of which M = N·o·TPR are found. With
FP false positives, precision is M/(M + FP). FP varies by its square root, so the relative standard error of
precision is about √FP/(M + FP). That is at most 1/(2·√M), for any number of false positives, and at most
1/√FP. So M >= 25 or FP >= 100 keeps it at 10 % or less.
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.evaluation.arrays.roc_steps import Curves
from nci_frames.evaluation.support.reasons import REASONS, first_number, reason_text, too_few_number
from nci_frames.schemas import beside

#: Least expected true positives M at a threshold.
LEAST_FOUND = 25
#: False positives that suffice at any prevalence.
ENOUGH_FALSE = 100
#: Least true positives in the log itself, at a threshold chosen because it does well.
LEAST_POSITIVES = 10
#: Largest share of an area from the first thresholds, which have too few rows above them.
LARGEST_FIRST = 0.1


def independent_negatives(columns: Collection[str]) -> pl.Expr:
    """Return the effective number of negatives if rates with these *columns* have it, else the negatives."""
    known = "effective_negatives" in columns
    return pl.coalesce("effective_negatives", "negatives") if known else pl.col("negatives")


def point_support(columns: Collection[str]) -> pl.Expr:
    """Return the lowest prevalence that an operating point supports; null where a rate is null.

    It is 25/(25 + N·TPR) with N negatives, and 0 with 100 or more false positives. N is the effective number
    if the rates, with these *columns*, have it.
    """
    negatives = independent_negatives(columns)
    found = negatives * pl.col("tpr")
    false = negatives * pl.col("fpr")
    # A rate times its rows may miss the count by rounding.
    enough = false >= ENOUGH_FALSE * (1 - 1e-9)
    lowest = pl.when(enough).then(0.0).otherwise(LEAST_FOUND / (LEAST_FOUND + found))
    return pl.when(found.is_not_null() & false.is_not_null()).then(lowest)


def class_reason() -> pl.Expr:
    """Return the number of the reason why an operating point has no rates; null where it has."""
    undefined = pl.col("tpr").is_null() | pl.col("fpr").is_null()
    no_positives, no_negatives = pl.col("positives") == 0, pl.col("negatives") == 0
    cases = (no_positives, "no_positives"), (no_negatives, "no_negatives"), (undefined, "no_point")
    return first_number(*cases)


def point_reason() -> pl.Expr:
    """Return the number of the reason why a point supports no prevalence below 1; null if it does."""
    return pl.coalesce(class_reason(), first_number((pl.col("tpr") == 0, "nobody")))


def lowest_supported(columns: Collection[str], *, needs_fpr: bool) -> tuple[pl.Expr, pl.Expr]:
    """Return the lowest prevalence that operating points support, and the reason why there is none.

    Metrics that do not need FPR are supported at every prevalence.
    """
    if needs_fpr:
        return point_support(columns), reason_text(point_reason())
    return pl.lit(0.0), reason_text(class_reason())


class SupportRule(NamedTuple):
    """The lowest prevalence at which a log supports an area or another metric of a whole curve."""

    #: Returns the lowest prevalence of each curve, NaN if there is none. The second argument is the effective
    #: numbers of positives and of negatives at each step.
    lowest: Callable[[Curves, Sequence[Floats]], Floats]
    #: Name of the reason why there is none although both classes have rows.
    too_few: str


def _pr_support(curves: Curves, independent: Sequence[Floats]) -> Floats:
    """Return the lowest supported prevalence of PR-AUC, and of metrics at the best of all thresholds.

    They depend on the negatives above the threshold at which precision is one half. The log supports them at
    odds o if there is such a threshold with at least 10 true positives and N·o·TPR >= 25.

    A weak model has no such threshold at a low prevalence. Its area is also supported if the thresholds with
    fewer than 25 false positives or 10 true positives could not add a tenth to it, even with precision 1.
    """
    positives, negatives = independent
    true, false = curves.tpr1 * positives, curves.fpr1 * negatives
    enough = true >= LEAST_POSITIVES * (1 - 1e-9)
    # The odds at which precision is one half and 25 positives are found.
    odds = np.where(enough, np.maximum(false, LEAST_FOUND) / (negatives * curves.tpr1), np.inf)
    lowest = curves.reduce(np.minimum, odds)
    # Steps with enough rows of both classes above them; a tied step includes its own rows.
    begins = true, false
    if not curves.tied.all():
        begins = (
            np.where(curves.tied, true, curves.tpr0 * positives),
            np.where(curves.tied, false, curves.fpr0 * negatives),
        )
    solid = (begins[0] >= LEAST_POSITIVES * (1 - 1e-9)) & (begins[1] >= LEAST_FOUND * (1 - 1e-9))
    hits = np.where(solid, curves.tpr1 - curves.tpr0, 0.0)
    first = 1 - curves.sum(hits)
    # Where precision is below one half, it is at least half of o·TPR/FPR.
    slope = np.where(solid, hits * curves.tpr1 / curves.fpr1, 0.0)
    weak = 2 * first / LARGEST_FIRST / curves.sum(slope)
    lowest = np.minimum(lowest, np.where(np.isnan(weak), np.inf, weak))
    most, some = (curves.reduce(np.maximum, rows) for rows in (positives, negatives))
    known = (most >= LEAST_POSITIVES) & (some > 0) & np.isfinite(lowest)
    return np.where(known, lowest / (1 + lowest), np.nan)


PR_SUPPORT = SupportRule(_pr_support, "few_for_pr")


def _independent(curves: Curves, worth: pl.DataFrame | None) -> Sequence[Floats]:
    """Return the effective numbers of positives and negatives at each step."""
    rows = curves.worth or (curves.each_step(curves.positives), curves.each_step(curves.negatives))
    if worth is None:
        return rows
    known = beside(curves.groups, worth, curves.groups.columns).fill_null(1.0)
    shares = (known[f"{name}_worth"].to_numpy() for name in ("positives", "negatives"))
    return [of_class * curves.each_step(share) for of_class, share in zip(rows, shares, strict=True)]


Flags = dict[str, pl.Expr]

#: Columns from which the flags of areas are derived.
_SUPPORT = ("__lowest", "__negatives", "__why")


def flags(
    lowest: pl.Expr, cost: pl.Expr, why: pl.Expr, prevalence: pl.Expr, rarity: pl.Expr | None = None
) -> Flags:
    """Return ``supported`` and ``reason`` of values at a prevalence.

    Parameters
    ----------
    lowest
        Lowest prevalence that the log supports; null if there is none.
    cost
        The ``log_cost`` of the log.
    why
        Number of the reason why there is no lowest prevalence; null if there is one.
    prevalence
        P(y=1) of the value.
    rarity
        The ``log_rarity`` of *prevalence*; computed by default.
    """
    # A prevalence of sums of weights is rounded.
    supported = (prevalence >= lowest * (1 - 1e-9)).fill_null(value=False)
    few = too_few_number(cost + (log_rarity(prevalence) if rarity is None else rarity))
    number = pl.when(~supported).then(pl.coalesce(why, few))
    return {"supported": supported, "reason": reason_text(number)}


def log_cost(lowest: pl.Expr, negatives: pl.Expr) -> pl.Expr:
    """Return log10 of the negatives times the odds of the lowest prevalence.

    This product is constant for logs of this kind: a lower prevalence needs more negatives.
    """
    return (negatives * (lowest / (1 - lowest))).log10()


def log_rarity(prevalence: pl.Expr) -> pl.Expr:
    """Return log10 of the number of negatives per positive."""
    return ((1 - prevalence) / prevalence).log10()


def point_flags(columns: Collection[str], *, needs_fpr: bool) -> Flags:
    """Return ``supported`` and ``reason`` of operating points, for a table with rates and ``prevalence``.

    *columns* are the columns of the table.
    """
    if needs_fpr:
        lowest = point_support(columns)
        cost = log_cost(lowest, independent_negatives(columns))
        return flags(lowest, cost, point_reason(), pl.col("prevalence"))
    why = class_reason()
    return {"supported": why.is_null(), "reason": reason_text(why)}


def defined_flags(value: pl.Expr, *, finite: bool = False) -> Flags:
    """Return ``supported`` and ``reason`` of values that do not depend on the prevalence.

    *finite* says that an infinite value comes from a rate of 0, which may be small instead.
    """
    endless = [(value.is_infinite(), "infinite")] if finite else []
    why = first_number((value.is_null(), "undefined"), *endless)
    return {"supported": why.is_null(), "reason": reason_text(why)}


def where_defined(told: Flags, value: pl.Expr) -> Flags:
    """Return flags of values, of which undefined ones are not supported."""
    defined = defined_flags(value)
    return {
        "supported": told["supported"] & defined["supported"],
        "reason": pl.coalesce(told["reason"], defined["reason"]),
    }


def hidden_flags() -> Flags:
    """Return ``supported`` and ``reason`` of values whose prevalence is unknown."""
    return {"supported": pl.lit(None, pl.Boolean), "reason": pl.lit(REASONS["hidden"])}


def curve_support(curves: Curves, rule: SupportRule | None, worth: pl.DataFrame | None) -> Floats:
    """Return what decides the flags of some curves, of shape (3, curves); NaN without a *rule*.

    That is the lowest supported prevalence, NaN if there is none; the positives; and the effective number of
    negatives. *worth*, a table of ``class_worth``, reduces rows to effective numbers.
    """
    if rule is None:
        return np.full((3, len(curves.start)), np.nan)
    independent = _independent(curves, worth)
    negatives = curves.reduce(np.maximum, independent[1])
    return np.array([rule.lowest(curves, independent), curves.positives, negatives])


def with_support_of(groups: pl.DataFrame, rule: SupportRule | None, parts: Sequence[Floats]) -> pl.DataFrame:
    """Return groups with the columns for their flags, from the ``curve_support`` of all parts of them."""
    lowest, positives, negatives = map(pl.Series, np.concatenate(parts, axis=1))
    too_few = (lowest.is_nan(), "undefined" if rule is None else rule.too_few)
    return groups.with_columns(
        __lowest=lowest.fill_nan(None),
        __negatives=negatives,
        __why=first_number((positives == 0, "no_positives"), (negatives == 0, "no_negatives"), too_few),
    )


def with_curve_flags(areas: pl.DataFrame, ruled: pl.Expr) -> pl.DataFrame:
    """Replace the columns for flags by the flags; *ruled* tells which areas have a ``SupportRule``."""
    lowest, negatives, why = (pl.col(name) for name in _SUPPORT)
    at_prevalence = flags(lowest, log_cost(lowest, negatives), why, pl.col("prevalence"))
    at_prevalence = where_defined(at_prevalence, pl.col("value"))
    defined = defined_flags(pl.col("value"))
    columns = {name: pl.when(ruled).then(at_prevalence[name]).otherwise(defined[name]) for name in defined}
    return areas.with_columns(**columns).drop(_SUPPORT)
