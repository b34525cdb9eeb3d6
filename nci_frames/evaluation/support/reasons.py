"""Why a log does not support a value: the texts of the column ``reason``, by number.

Tables may have millions of rows but few texts, so a reason is a number until the table is complete.
"""

from collections.abc import Iterable
from functools import cache

import polars as pl

_CANNOT = "this log cannot tell the value: "
#: Reasons that do not depend on a number of negatives, each with its brief form, if any.
_BOTH = {
    "no_positives": ("there are no positives", "no positives"),
    "no_negatives": ("there are no negatives", "no negatives"),
    "no_point": ("there is no operating point", "no operating point"),
    "nobody": (_CANNOT + "no positive reaches the threshold", "no positive reaches the threshold"),
    "few_for_pr": (
        _CANNOT + "fewer than 10 independent positives reach any threshold",
        "fewer than 10 independent positives",
    ),
    "undefined": ("the value is undefined", None),
    "infinite": (_CANNOT + "it is infinite, since a rate is 0", "a rate is 0"),
    "hidden": ("the prevalence is unknown, since the expression hides it", None),
}
REASONS = {name: reason for name, (reason, _) in _BOTH.items()}
_HERE = "this log cannot tell: its negatives are too few "
#: Reasons with the end of the supported range: a prevalence, or a lambda.
TOO_FEW_BELOW, TOO_FEW_ABOVE = f"{_HERE}below prevalence {{}}", f"{_HERE}above lambda {{}}"
_NUMBERS = {name: number for number, name in enumerate(REASONS)}
#: Resolution of the numbers of negatives in reasons: 100 steps per decade, 2 % each.
_PER_DECADE, _DECADES = 100, 18


def first_number(*cases: tuple[pl.Expr | pl.Series, str]) -> pl.Expr:
    """Return the number of the reason, by name, of the first case that holds; null if none does."""
    return pl.coalesce(pl.when(holds).then(pl.lit(_NUMBERS[name], pl.UInt32)) for holds, name in cases)


def too_few_number(decades: pl.Expr) -> pl.Expr:
    """Return the number of the reason that 10 to the power *decades* negatives would be needed."""
    place = (decades * _PER_DECADE).clip(0, _PER_DECADE * _DECADES)
    return len(REASONS) + place.cast(pl.UInt32, strict=False)


def reason_text(number: pl.Expr) -> pl.Expr:
    """Return the text of a reason; null for null."""
    return pl.lit(pl.Series(_texts())).gather(number)


def first_reason(*cases: tuple[pl.Expr, str]) -> pl.Expr:
    """Return the text of the first case that holds; null if none does."""
    return pl.coalesce(pl.when(holds).then(pl.lit(text)) for holds, text in cases)


def too_few(negatives: float) -> str:
    """Return the reason that about this number of negatives would be needed.

    >>> too_few(416_667)
    'this log cannot tell the value: about 400,000 independent negatives would be needed'
    """
    return f"{_CANNOT}about {float(f'{negatives:.1g}'):,.0f} independent negatives would be needed"


def in_brief(reasons: Iterable[str | None]) -> str:
    """Return a brief form of the reasons why a log does not support some values.

    >>> in_brief([too_few(416_667), too_few(900), REASONS["nobody"]])
    'too few negatives, or no positive reaches the threshold'
    >>> in_brief([TOO_FEW_ABOVE.format(91)])
    'too few negatives'
    >>> in_brief([None])
    'this log cannot tell'
    """
    brief = {reason: words for reason, words in _BOTH.values() if words is not None}
    # Reasons with a number of negatives are recognised by their beginning.
    words = (
        brief.get(reason, "too few negatives" if reason.startswith((_CANNOT, _HERE)) else reason)
        for reason in reasons
        if reason is not None
    )
    return ", or ".join(dict.fromkeys(words)) or "this log cannot tell"


def why_doubtful(rows: pl.DataFrame) -> str | None:
    """Return briefly why a log does not support some rows of a table; None if it supports all of them."""
    if "supported" not in rows.columns or rows["supported"].all():
        return None
    untold = rows.filter(~pl.col("supported"))
    return in_brief(untold["reason"] if "reason" in rows.columns else ())


@cache
def _texts() -> list[str]:
    needed = (10 ** ((place + 0.5) / _PER_DECADE) for place in range(_PER_DECADE * _DECADES))
    return [*REASONS.values(), *map(too_few, needed), _CANNOT + "no number of negatives would be enough"]
