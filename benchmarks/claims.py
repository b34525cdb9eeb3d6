"""What a claim is told with, and the logs that several are simulated on."""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl


@dataclass(frozen=True, slots=True)
class Seen:
    """How often a claim held in logs of one kind: a cell of a table."""

    claim: str
    condition: str
    promised: str
    share: float
    logs: int
    #: Standard error; None if it is that of a share.
    error: float | None = None

    @property
    def standard_error(self) -> float:
        of_share = math.sqrt(max(self.share * (1 - self.share), 1 / self.logs) / self.logs)
        return of_share if self.error is None else self.error

    @property
    def cell(self) -> str:
        number = f"{self.share:.3f} ± {self.standard_error:.3f}"
        return f"*{number}*" if self.promised == "none" else number


def table(found: list[Seen]) -> str:
    """Return a row for each kind of log and a column for each claim."""
    claims, conditions = (
        list(dict.fromkeys(values))
        for values in ([seen.claim for seen in found], [seen.condition for seen in found])
    )
    cells = {(seen.condition, seen.claim): seen.cell for seen in found}
    promised = {seen.claim: seen.promised for seen in found if seen.promised != "none"}
    rows = [
        ["simulated logs", *claims],
        ["---", *("---:" for _ in claims)],
        ["promised", *(promised.get(claim, "") for claim in claims)],
        *([where, *(cells.get((where, claim), "") for claim in claims)] for where in conditions),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def names(logs: int) -> list[str]:
    """Return a model name for each of so many logs: all are then analysed by one call."""
    return [f"{log:06}" for log in range(logs)]


def held(table: pl.DataFrame, truth: float) -> float:
    """Return the share of intervals that are there and hold the truth."""
    return float(
        table.select(pl.lit(truth).is_between("lower", "upper").fill_null(value=False).mean()).item()
    )


def drawn(rng: np.random.Generator, tpr: float, fpr: float, rows: tuple[int, int], logs: int) -> pl.DataFrame:
    tp, fp = rng.binomial(rows[0], tpr, logs), rng.binomial(rows[1], fpr, logs)
    cells = {"tp": tp, "fp": fp, "fn": rows[0] - tp, "tn": rows[1] - fp}
    return pl.DataFrame({"model": names(logs), "threshold": 0.5, **cells})
