"""Units of strata of decisions, drawn in bounded memory, with their rows under both models.

Each unit has a place in a random order: a hash of its name and of the seed. The first ones of each stratum
are drawn.
"""

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.counting.drawing.draw import BATCH_ROWS, Draw
from nci_frames.counting.flags import flagged_units
from nci_frames.counting.logs.row_hashes import hash_rows, mixed
from nci_frames.counting.logs.rows import REASON


def drawn_units(draw: Draw, told: dict[int, int]) -> pl.DataFrame:
    """Return the rows of the units that are drawn, under both models."""
    one = draw.plan.row(0, named=True)
    limits = {one["model_a"]: one["threshold_a"], one["model_b"]: one["threshold_b"]}
    names = ["both", one["model_a"], one["model_b"], "none"]
    place = {names.index(name): k for k, name in enumerate(draw.plan["flagged_by"])}
    labels = draw.plan["labels"].to_list()
    best = pl.DataFrame()
    counted = np.zeros(len(draw.plan), np.int64)
    salt = mixed(np.array([draw.seed], np.uint64))
    units = flagged_units(draw.scan, limits).select("unit", "stratum", "paired")
    with draw.scan.source.reading():
        for batch in units.collect_batches(chunk_size=BATCH_ROWS, maintain_order=False):
            stratum = batch["stratum"].replace_strict(place, default=-1, return_dtype=pl.Int64)
            if not batch["paired"].all() or stratum.min() == -1:
                msg = "the plan is that of another log: its units are flagged by others"
                raise ParameterError(msg, where=draw.scan.source.where, hint="plan again, for this log")
            counted += np.bincount(stratum.to_numpy(), minlength=len(labels))
            order = mixed(hash_rows(batch.select("unit")) ^ salt)
            mine = batch.select("unit").with_columns(stratum, pl.Series("__order", order))
            best = _first(pl.concat([best, mine] if len(best) else [mine]), labels)
    draw.need_rows(counted)
    of_two = pl.col("model").is_in(list(limits))
    columns = [name for name in draw.rows.collect_schema() if name != REASON]
    kept = [rows.filter(of_two).join(best, on="unit", how="inner") for rows in draw.batches(told, columns)]
    drawn = pl.concat(kept).sort("stratum", "__order", "unit", "model")
    return drawn.drop("__order")


def _first(units: pl.DataFrame, labels: list[int]) -> pl.DataFrame:
    """Return the units of each stratum that are first in the random order."""
    ordered = units.sort("stratum", "__order", "unit")
    most = pl.col("stratum").replace_strict(dict(enumerate(labels)), return_dtype=pl.Int64)
    return ordered.filter(pl.int_range(pl.len()).over("stratum") < most)
