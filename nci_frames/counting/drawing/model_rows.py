"""The rows of one model of a log, and a draw from them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import Call, listed
from nci_frames.base.typing import Floats, Rows
from nci_frames.counting.count import need_whole_log
from nci_frames.counting.engine.batch import SLICE_ROWS, row_groups_ahead
from nci_frames.counting.engine.grid import joined
from nci_frames.counting.kernels.rows import Bins, CellCounts
from nci_frames.counting.log_warnings import marks, off_scale, warnings_of
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.rows import REASON
from nci_frames.counts.scores_as_counts import scores_as_counts


@dataclass(frozen=True)
class ModelRows:
    """The rows of one model of a log."""

    scan: Scan
    #: Rows of all models, including invalid ones, with the columns of the scan or of the whole log.
    rows: pl.LazyFrame
    #: None means the only model of the log.
    named: str | None

    @property
    def known(self) -> bool:
        """Whether the model is known before reading; only a full pass shows that there is a single one."""
        return self.named is not None or (self.scan.rows is not None and self.scan.source.elsewhere is None)

    @cached_property
    def model(self) -> str | None:
        """The model, if known: the named one, or that of the first row."""
        if self.named is not None:
            return self.named
        with self.scan.source.reading():
            first = self.scan.raw.select("model").head(1).collect()
        return first.item() if len(first) else None

    def read(
        self, columns: list[str], rows_by_code: dict[int, int], wanted: pl.Expr | None = None
    ) -> Iterator[pl.DataFrame]:
        """Read columns of the valid rows, filtered by *wanted*; count the rows by code.

        If the model is not known in advance, the batches also have the column ``model``.

        Raises
        ------
        ParameterError
            If no model is named, and the log has several.
        """
        rows = self.rows if wanted is None else self.rows.filter(wanted)
        if self.known:
            # This filter is pushed down, so rows of other models are not decoded.
            mine = rows.filter(pl.col("model").eq_missing(pl.lit(self.model, pl.String)))
            yield from valid_rows(self.scan, mine.select(*columns, REASON), rows_by_code)
        else:
            names = dict.fromkeys(["model", *columns, REASON])
            yield from _of_one_model(valid_rows(self.scan, rows.select(*names), rows_by_code))
        if self.named is not None or wanted is not None:
            self.scan.source.need_unchanged()
            return
        if self.scan.rows not in (None, sum(rows_by_code.values())):
            one_model(self.scan.models_there(), None)
        self.scan.need_all_rows(rows_by_code)

    def counted(self, grid: Floats) -> tuple[pl.DataFrame, tuple[UserWarning, ...]]:
        """Return the number of rows that reach each threshold, as counts of negatives, and warnings.

        Raises
        ------
        ParameterError
            If the log lacks the model; or if none is named, and the log has several.
        SourceError
            If there are no rows.
        """
        also = marks(grid)
        thresholds = joined(grid, also)
        bins = Bins(thresholds, self.scan.score_type)
        cells = CellCounts(len(bins), weighted=False)
        model = self.model if self.known else None
        rows_by_code: dict[int, int] = {}
        for batch in self.read(["score"], rows_by_code):
            model = model if self.known else batch["model"][0]
            for rows in batch.iter_slices(SLICE_ROWS):
                one_group = np.zeros(len(rows), np.int64)
                cells.add(bins.codes(one_group, None, rows["score"].to_numpy()))
        if not sum(rows_by_code.values()):
            there = self.scan.models_there()
            if not there:
                need_whole_log(self.scan, rows_by_code)
            one_model(there, self.named)
        below = cells.take().cumsum()
        scores = pl.DataFrame({"threshold": thresholds, "above": below[-1] - below[:-1], "below": below[:-1]})
        every = scores_as_counts(scores.with_columns(model=pl.lit(model, pl.String)))
        where = self.scan.source.where
        ends = None if also is None else every.filter(pl.col("threshold").is_in(also))
        told = [*warnings_of(self.scan, rows_by_code, every.select("model")), off_scale(ends, grid, where)]
        counts = every.filter(pl.col("threshold").is_in(grid))
        return counts, tuple(warning for warning in told if warning is not None)


def valid_rows(scan: Scan, rows: pl.LazyFrame, rows_by_code: dict[int, int]) -> Iterator[pl.DataFrame]:
    """Read the valid rows of a frame derived from a scan, and count all rows by code."""
    with row_groups_ahead(3, local=bool(scan.source.files)):
        for batch in scan.batches(rows, maintain_order=False):
            valid = scan.valid(batch, rows_by_code)
            # Faster than drop, which waits for the threads that read the next rows.
            valid.drop_in_place(REASON)
            yield valid


def one_model(models: Iterable[object], named: str | None) -> object:
    """Return the model whose scores the plan is based on.

    Raises
    ------
    ParameterError
        If the log lacks the named model, or has several and none is named.
    """
    there = sorted(models, key=str)
    if named is None and len(there) == 1:
        return there[0]
    if named is None or named not in there:
        what = "name one of them" if named is None else f"there is no model {named!r}"
        msg = f"the plan is by the scores of one model: {what}"
        hint = Call("name one with model=", "name one with --by-model")
        raise ParameterError(msg, found=f"models {listed(map(repr, there), 20)}", hint=f"{hint}")
    return named


def _of_one_model(batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield non-empty batches; raise as soon as a second model appears."""
    models: set[object] = set()
    for batch in batches:
        names = batch["model"]
        if len(names):
            models.update(names[:1] if names.eq_missing(names[:1]).all() else names.unique())
            one_model(models, None)
            yield batch


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
        if not counted.any() and "flagged_by" not in self.plan.columns:
            one_model(self.log.scan.models_there(), self.log.named)
        if (counted != planned).any():
            place = int((counted != planned).argmax())
            msg = "the plan is that of another log: its ranges have other rows"
            found = f"{counted[place]:,} rows in range {place}, and {planned[place]:,} in the plan"
            hint = "plan again, for the log to draw from, with its scan and model"
            raise ParameterError(msg, where=self.log.scan.source.where, found=found, hint=hint)
