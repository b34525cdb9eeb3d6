"""Outcomes as a table, and the failing ones as lines that run them again."""

import shlex
from collections import Counter
from collections.abc import Sequence

from tests.fuzz.campaign import CLASSES
from tests.fuzz.campaigns import CAMPAIGNS
from tests.fuzz.runner import Outcome


def table(outcomes: Sequence[Outcome], seed: int, scale: float) -> str:
    """Return campaign by class: how many cases ended so; in brackets, how many of them are known limits."""
    head = ["campaign", "tried", *CLASSES, "seconds"]
    lines = [f"seed {seed}, scale {scale:g}; +n: of these, n are known limits"]
    rows = []
    for name in (campaign.name for campaign in CAMPAIGNS):
        mine = [outcome for outcome in outcomes if outcome.campaign.name == name]
        if not mine:
            continue
        counted = Counter(outcome.found.kind for outcome in mine)
        known = Counter(outcome.found.kind for outcome in mine if outcome.known)
        cells = [f"{counted[kind]:,}" + (f" (+{known[kind]:,})" if known[kind] else "") for kind in CLASSES]
        rows.append([name, f"{len(mine):,}", *cells, f"{sum(outcome.seconds for outcome in mine):,.0f}"])
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for name, *cells in (head, *rows):
        padded = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), *padded]))
    return "\n".join(lines)


def failing_lines(outcomes: Sequence[Outcome], seed: int) -> list[str]:
    """Return for every failing case the command that runs it again, and what came of it."""
    failing = sorted((o for o in outcomes if o.fails), key=lambda o: (o.campaign.name, o.number))
    return [
        f"make fuzz SEED={seed} CASE={shlex.quote(f'{o.campaign.name}/{o.number}')}"
        f"  # {o.found.kind}: {o.label}: {o.found.detail}"
        for o in failing
    ]
