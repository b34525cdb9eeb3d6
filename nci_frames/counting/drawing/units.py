"""Draw whole units, by their decisions or their highest scores, in bounded memory.

A hash of its name and of the seed gives each unit a place in a random order. The first units of each stratum
are drawn.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Rows
from nci_frames.counting.drawing.model_rows import Draw, one_model, valid_rows
from nci_frames.counting.drawing.row_hashes import hash_rows
from nci_frames.counting.flags import best_scores, flagged_units, need_units
from nci_frames.counting.kernels.mixing import mixed


def drawn_units(draw: Draw, told: dict[int, int]) -> pl.DataFrame:
    """Return the rows of the drawn units; for a comparison, those of both models."""
    paired = "flagged_by" in draw.plan.columns
    labels = draw.plan["labels"].to_list()
    best = pl.DataFrame()
    counted = np.zeros(len(draw.plan), np.int64)
    salt = mixed(np.array([draw.seed], np.uint64))
    for units, stratum in _paired(draw) if paired else _ranged(draw):
        counted += np.bincount(stratum, minlength=len(labels))
        order = mixed(hash_rows(units) ^ salt)
        mine = units.with_columns(pl.Series("stratum", stratum), pl.Series("__order", order))
        best = _first(pl.concat([best, mine] if len(best) else [mine]), labels)
    draw.need_rows(counted)
    two = draw.plan.select("model_a", "model_b").row(0) if paired else ()
    wanted = pl.col("model").is_in(two) if paired else pl.lit(value=True)
    kept = [
        rows.filter(wanted).join(best, on="unit", how="inner")
        for rows in valid_rows(draw.log.scan, draw.log.rows, told)
    ]
    draw.log.scan.need_all_rows(told)
    drawn = pl.concat(kept).sort("stratum", "__order", "unit", "model", maintain_order=True)
    return drawn.drop("__order")


def _paired(draw: Draw) -> Iterator[tuple[pl.DataFrame, Rows]]:
    """Yield units, and the stratum of each: which of the two models flag it."""
    one = draw.plan.row(0, named=True)
    limits = {one["model_a"]: one["threshold_a"], one["model_b"]: one["threshold_b"]}
    names = ["both", one["model_a"], one["model_b"], "none"]
    place = {names.index(name): k for k, name in enumerate(draw.plan["flagged_by"])}
    units = flagged_units(draw.log.scan, limits).select("unit", "stratum", "paired")
    for batch in draw.log.scan.batches(units, maintain_order=False):
        stratum = batch["stratum"].replace_strict(place, default=-1, return_dtype=pl.Int64)
        if not batch["paired"].all() or stratum.min() == -1:
            msg = "the plan is that of another log: its units are flagged by others"
            raise ParameterError(msg, where=draw.log.scan.source.where, hint="plan again, for this log")
        yield batch.select("unit"), stratum.to_numpy()


def _ranged(draw: Draw) -> Iterator[tuple[pl.DataFrame, Rows]]:
    """Yield units, and the stratum of each: the range of its highest score."""
    lower = draw.plan["score_lower"].to_numpy()
    model = one_model(draw.log.scan.models_there(), draw.log.named)
    for batch in draw.log.scan.batches(best_scores(draw.log.scan, model), maintain_order=False):
        need_units(batch["unit"], draw.log.scan.source.where)
        score = batch["score"].to_numpy()
        yield batch.select("unit"), np.searchsorted(lower.astype(score.dtype), score, side="right") - 1


def _first(units: pl.DataFrame, labels: list[int]) -> pl.DataFrame:
    """Return the first units of each stratum in the random order."""
    ordered = units.sort("stratum", "__order", "unit")
    most = pl.col("stratum").replace_strict(dict(enumerate(labels)), return_dtype=pl.Int64)
    return ordered.filter(pl.int_range(pl.len()).over("stratum") < most)
