"""A draw: the log, the plan and the seed."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.errors import ParameterError
from nci_frames.counting.drawing.model_rows import ModelRows, one_model

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Draw:
    """What to draw, and from which rows."""

    #: The rows, with all columns of the log.
    log: ModelRows
    plan: pl.DataFrame
    seed: int
    #: Whether to draw whole units, that is, all rows of a unit together.
    whole_units: bool

    def need_rows(self, counted: Rows) -> None:
        """Raise ParameterError unless the strata have the numbers of rows in the plan."""
        planned = self.plan["rows"].to_numpy()
        if not counted.any():
            one_model(self.log.scan.models_there(), self.log.named)
        if (counted != planned).any():
            place = int((counted != planned).argmax())
            msg = "the plan is that of another log: its ranges have other rows"
            found = f"{counted[place]:,} rows in range {place}, and {planned[place]:,} in the plan"
            hint = "plan again, for the log to draw from, with its scan and model"
            raise ParameterError(msg, where=self.log.scan.source.where, found=found, hint=hint)
