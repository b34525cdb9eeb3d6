"""What is drawn from which rows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import listed
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.rows import REASON

Rows = NDArray[np.int64]

BATCH_ROWS = 1 << 17


@dataclass(frozen=True, slots=True)
class Draw:
    """What to draw from which rows."""

    scan: Scan
    #: All columns, also of invalid rows.
    rows: pl.LazyFrame
    plan: pl.DataFrame
    seed: int
    model: str | None
    #: Whether all rows of a unit are drawn together.
    whole_units: bool

    def batches(
        self, rows_by_code: dict[int, int], columns: list[str], wanted: pl.Expr | None = None
    ) -> Iterator[pl.DataFrame]:
        """Read some columns of the valid rows, of all or of those that are wanted; count these by code."""
        rows = self.rows if wanted is None else self.rows.filter(wanted)
        rows = rows.select(*columns, REASON)
        for batch in self.scan.batches(rows, chunk_size=BATCH_ROWS, maintain_order=False):
            yield self.scan.valid(batch, rows_by_code).drop(REASON)
        if wanted is None:
            self.scan.need_all_rows(rows_by_code)
        else:
            self.scan.source.need_unchanged()

    def need_rows(self, counted: Rows) -> None:
        """Raise ParameterError unless the strata have the rows that the plan says."""
        planned = self.plan["rows"].to_numpy()
        if (counted != planned).any():
            place = int((counted != planned).argmax())
            msg = "the plan is that of another log: its ranges have other rows"
            found = f"{counted[place]:,} rows in range {place}, and {planned[place]:,} in the plan"
            hint = "plan again, for the log to draw from, with its scan and model"
            raise ParameterError(msg, where=self.scan.source.where, found=found, hint=hint)

    def of_model(self) -> pl.Expr | None:
        """Return which rows are of the model: the named one, or that of the first row, if it may be alone.

        None where only reading all rows tells.
        """
        model = self.model
        if model is None:
            if self.scan.rows is None:
                return None
            with self.scan.source.reading():
                first = self.scan.raw.select("model").head(1).collect()
            model = first.item() if len(first) else None
        return pl.col("model").eq_missing(pl.lit(model, pl.String))

    def need_one_model(self, rows_by_code: dict[int, int]) -> None:
        """Raise ParameterError if no model is named and there are other rows than those of ``of_model``."""
        if self.model is None and self.scan.rows not in (None, sum(rows_by_code.values())):
            one_model(self.scan.models_there(), None)
            self.scan.need_all_rows(rows_by_code)

    def stream(self, stratum: int) -> np.random.Generator:
        """Return the random stream of a stratum."""
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence([self.seed, stratum])))


def one_model(models: Iterable[object], named: str | None) -> object:
    """Return the model by whose scores labels are planned, of those that a log has.

    Raises
    ------
    ParameterError
        If the named one is not there, or there are several, and none is named.
    """
    there = sorted(models, key=str)
    if named is None and len(there) == 1:
        return there[0]
    if named is None or named not in there:
        what = "name one of them" if named is None else f"there is no model {named!r}"
        msg = f"the plan is by the scores of one model: {what}"
        hint = "model=... in Python, --by-model on the command line"
        raise ParameterError(msg, found=f"models {listed(map(repr, there), 20)}", hint=hint)
    return named
