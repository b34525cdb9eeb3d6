"""Outcomes as a table, and the failing ones as lines that run them again."""

import shlex
from collections import Counter
from collections.abc import Sequence

from tests.fuzz.campaign import CLASSES, CLEAN, RIGHT
from tests.fuzz.runner import Outcome


def table(outcomes: Sequence[Outcome], seed: int, scale: float) -> str:
    """Return campaign by class: how many cases ended so; in brackets, how many of them are known limits."""
    columns = ["tried", *CLASSES, "seconds"]
    lines = [f"seed {seed}, scale {scale:g}; +n: of these, n are known limits"]
    rows = []
    for name in dict.fromkeys(sorted_names(outcomes)):
        mine = [outcome for outcome in outcomes if outcome.campaign == name]
        counted = Counter(outcome.found.kind for outcome in mine)
        known = Counter(outcome.found.kind for outcome in mine if outcome.known)
        cells = [f"{counted[kind]:,}" + (f" (+{known[kind]:,})" if known[kind] else "") for kind in CLASSES]
        rows.append([name, f"{len(mine):,}", *cells, f"{sum(outcome.seconds for outcome in mine):,.0f}"])
    widths = [max(len(row[place]) for row in [["campaign", *columns], *rows]) for place in range(9)]
    for row in [["campaign", *columns], *rows]:
        first, *rest = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join([row[0].ljust(widths[0]), *rest]))
    return "\n".join(lines)


def sorted_names(outcomes: Sequence[Outcome]) -> list[str]:
    return [outcome.campaign for outcome in outcomes]


def failing_lines(outcomes: Sequence[Outcome], seed: int) -> list[str]:
    """Return for every failing case the command that runs it again, and what came of it."""
    failing = sorted((o for o in outcomes if o.fails), key=lambda o: (o.campaign, o.number))
    return [
        f"make fuzz SEED={seed} CASE={shlex.quote(f'{o.campaign}/{o.number}')}"
        f"  # {o.found.kind}: {o.label}: {o.found.detail}"
        for o in failing
    ]
