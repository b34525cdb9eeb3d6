"""Draw rows of strata of scores in bounded memory, independent of the files and the order of the log.

The rows of a stratum are ordered by their hashes, which depend only on their contents. The seed determines
which places in this order are drawn. A first pass counts the rows of each stratum in cells, by the first bits
of a hash. A second pass reads the rows of the cells with a drawn place, which are then put in order. The hash
of the cells is that of the scores, which is the fastest. If too many rows have the same score, it is that of
all numbers, or of all columns.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from nci_frames.base.errors import SourceError
from nci_frames.base.typing import Rows
from nci_frames.counting.drawing.model_rows import Draw
from nci_frames.counting.drawing.row_hashes import hash_rows, is_quick
from nci_frames.counting.engine.batch import SLICE_ROWS
from nci_frames.counting.kernels.rows import CellCounts, cells_of_strata
from nci_frames.counting.logs.rows import REASON

#: Limits of the bits of the cell numbers; within these, about _KEPT rows are in the cells of drawn places.
_FEWEST_BITS, _MOST_BITS, _KEPT = 6, 18, 1 << 17
#: With more rows than this, a hash of more columns is tried.
_MOST_KEPT = 1 << 18


def drawn_rows(draw: Draw, told: dict[int, int]) -> pl.DataFrame:
    """Return the drawn rows; count the rows of the log in *told* by validity."""
    first = np.concatenate([[0], draw.plan["rows"].to_numpy().cumsum()])
    schema = draw.log.rows.collect_schema()
    columns = [name for name in schema if name not in ("model", REASON)]
    cells = _Cells(draw, ["score"], told)
    draw.need_rows(cells.of_strata)
    # Each stratum has a random stream of its own.
    streams = [np.random.PCG64(np.random.SeedSequence([draw.seed, k])) for k in range(len(draw.plan))]
    sizes = draw.plan.select("rows", "labels").rows()
    drawn = [
        np.random.Generator(stream).choice(rows, labels, replace=False)
        for stream, (rows, labels) in zip(streams, sizes, strict=True)
    ]
    places = np.concatenate(drawn) + first[:-1].repeat(draw.plan["labels"].to_numpy())
    for more in ([name for name in columns if is_quick(schema[name])], columns):
        if cells.rows_beside(places) > max(_MOST_KEPT, 8 * len(places)) and cells.hashed != more:
            cells = _Cells(draw, more, {})
    return cells.rows_at(places)


@dataclass(frozen=True)
class _Cells:
    """Counts of the rows of all strata by the first bits of the hash of some columns."""

    draw: Draw
    hashed: list[str]
    told: dict[int, int]

    @cached_property
    def bits(self) -> int:
        """Number of bits of the hash that number the cells of a stratum."""
        plan = self.draw.plan
        kept = float((plan["labels"] * plan["rows"].cast(pl.Float64)).sum()) / _KEPT
        return int(np.clip(np.ceil(np.log2(max(kept, 1))), _FEWEST_BITS, _MOST_BITS))

    @cached_property
    def counts(self) -> Rows:
        """Number of rows of each cell."""
        counts = CellCounts(len(self.draw.plan) << self.bits, weighted=False)
        for batch in self.draw.log.read(self._looked_at, self.told):
            for rows in batch.iter_slices(SLICE_ROWS):
                counts.add(self._cells_of(rows))
        return counts.take().astype(np.int64, copy=False)

    @cached_property
    def ends(self) -> Rows:
        """Cumulative number of rows of the cells."""
        found: Rows = self.counts.cumsum()
        return found

    @property
    def of_strata(self) -> Rows:
        """Number of rows of each stratum."""
        found: Rows = self.counts.reshape(len(self.draw.plan), -1).sum(axis=1)
        return found

    def rows_beside(self, places: Rows) -> int:
        """Return the number of rows in the cells of *places*."""
        return int(self.counts[np.unique(np.searchsorted(self.ends, places, side="right"))].sum())

    def rows_at(self, places: Rows) -> pl.DataFrame:
        """Return the rows at *places* in the order of cells and hashes, with the stratum of each."""
        chosen = np.zeros(len(self.counts), np.bool_)
        cells = np.searchsorted(self.ends, places, side="right")
        chosen[cells] = True

        def may_be_drawn(hashed: pl.Series) -> pl.Series:
            return pl.Series(chosen.take(self._cells_of(hashed.struct.unnest())))

        # For the other columns, Polars reads only these rows.
        drawable = pl.struct(self._looked_at).map_batches(
            may_be_drawn, return_dtype=pl.Boolean, is_elementwise=True
        )
        columns = [name for name in self.draw.log.rows.collect_schema() if name != REASON]
        wanted = np.flatnonzero(chosen)
        before = np.concatenate([[0], self.counts[wanted].cumsum()])
        kept = []
        for batch in self.draw.log.read(columns, {}, drawable):
            rows = batch.rechunk()
            one = pl.lit(1, pl.Int64)
            found = rows.with_columns(__cell=self._cells_of(rows), __hash=hash_rows(rows), __copies=one)
            # If there are many, equal rows are stored once, with their number.
            kept.append(_once(found) if before[-1] > _MOST_KEPT else found)
        if sum(rows["__copies"].sum() for rows in kept) != before[-1]:
            msg = "the source gives other rows when it is read again"
            hint = "collect what can be read only once"
            raise SourceError(msg, where=self.draw.log.scan.source.where, hint=hint)
        found = pl.concat(kept)
        order = found.select(pl.arg_sort_by("__cell", "__hash")).to_series()
        here = found["__copies"].gather(order).to_numpy().cumsum()
        offset = before[np.searchsorted(wanted, cells)] + places - (self.ends - self.counts)[cells]
        drawn: pl.DataFrame = found[order.gather(np.searchsorted(here, offset, side="right"))]
        stratum = pl.col("__cell") // (1 << self.bits)
        return drawn.select(pl.exclude("__cell", "__hash", "__copies"), stratum=stratum.cast(pl.Int64))

    @property
    def _looked_at(self) -> list[str]:
        return list(dict.fromkeys(["score", *self.hashed]))

    def _cells_of(self, rows: pl.DataFrame) -> Rows:
        """Return the cell of each row."""
        lower = self.draw.plan["score_lower"].to_numpy()
        hashes = None if self.hashed == ["score"] else hash_rows(rows.select(self.hashed))
        return cells_of_strata(rows["score"].to_numpy(), lower, self.bits, hashes)


def _once(rows: pl.DataFrame) -> pl.DataFrame:
    copies = pl.col("__copies").sum()
    return rows.group_by("__cell", "__hash").agg(pl.exclude("__copies").first(), copies).select(rows.columns)
