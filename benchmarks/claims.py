"""What a claim is told with, and the logs that several are simulated on."""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl


@dataclass(frozen=True, slots=True)
class Seen:
    """A line of the table."""

    claim: str
    condition: str
    promised: str
    share: float
    logs: int
    #: Standard error; None if it is that of a share.
    error: float | None = None

    @property
    def line(self) -> str:
        of_share = math.sqrt(max(self.share * (1 - self.share), 1 / self.logs) / self.logs)
        error = of_share if self.error is None else self.error
        return f"| {self.claim} | {self.condition} | {self.promised} | {self.share:.3f} ± {error:.3f} |"


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
