"""A log with a score column per model -> batches: the keys and the label of a row are read once for all."""

import math
from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.counting.engine.batch import SLICE_ROWS, Batch, endless_weights, one_row_group_ahead
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.progress import rows_shown
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.rows import REASON, score_name

#: Scores that are read at a time.
_SCORES = 1 << 20

Codes = NDArray[np.uint8]


class _Groups:
    """The number of a group of one model, by the number of its keys without the model."""

    def __init__(self, scan: Scan, groups: GroupNumbers) -> None:
        schema = scan.raw.collect_schema()
        self.keys = [key for key in groups.keys if key != "model"]
        self._alike = GroupNumbers({key: schema[key] for key in self.keys}, seed=groups.seed)
        self._groups, self._models = groups, scan.models
        self._known = np.empty((len(scan.models), 0), np.int64)

    @property
    def hash(self) -> pl.Expr:
        return self._alike.hash if self.keys else pl.lit(0, pl.UInt64)

    def alike(self, batch: pl.DataFrame) -> NDArray[np.int64]:
        """Return of each row the number of its keys."""
        if not self.keys:
            found, most = np.zeros(len(batch), np.int64), 1
        else:
            found = self._alike.numbers(batch["__hash"].to_numpy(), batch)
            most = len(self._alike)
        more = np.full((len(self._models), most - self._known.shape[1]), -1)
        self._known = np.hstack([self._known, more])
        return found

    def of_model(self, place: int, alike: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of groups of one of the models; those of which no row was met are learned."""
        numbers = self._known[place].take(alike)
        if len(numbers) and numbers.min() < 0:
            new = np.unique(alike[numbers < 0])
            model = pl.Series("model", [self._models[place]] * len(new))
            keys = self._alike.frame()[new] if self.keys else pl.DataFrame()
            rows = pl.DataFrame([model, *keys]).select(self._groups.keys)
            hashes = rows.select(self._groups.hash).to_series().to_numpy()
            self._known[place, new] = self._groups.numbers(hashes, rows)
            numbers = self._known[place].take(alike)
        return np.asarray(numbers)


def read_wide(
    scan: Scan, groups: GroupNumbers, rows_by_code: dict[int, int], *, progress: bool
) -> Iterator[Batch]:
    """Yield the valid predictions of a log with a score column per model, as ``read_batches`` does."""
    of_models = _Groups(scan, groups)
    # Weights that are a key are among the keys; they must be valid, too.
    weight = ["weight"] if scan.weighted else []
    names = [score_name(place) for place in range(len(scan.models))]
    columns = [*of_models.keys, of_models.hash.alias("__hash"), "label", REASON, *weight, *names]
    rows = scan.prepare(scan.source.frame, wide=True).select(columns)
    size = max(SLICE_ROWS, _SCORES // len(names))
    total = 0.0
    shown = rows_shown(scan.rows, len(scan.source.files), show=progress)
    with shown as advance, one_row_group_ahead(local=bool(scan.source.files)):
        for whole in scan.batches(rows, chunk_size=size, maintain_order=scan.weighted):
            for batch in whole.iter_slices(SLICE_ROWS):
                alike, labels = of_models.alike(batch), batch["label"].fill_null(value=False).to_numpy()
                weights = batch["weight"].to_numpy() if weight else None
                codes = batch[REASON].to_numpy()
                bad_weights = _bad(batch["weight"].to_numpy()) if "weight" in batch.columns else None
                for place, name in enumerate(names):
                    scores = batch[name].to_numpy()
                    mine = _codes(codes, batch[name], scores, bad_weights)
                    valid = _valid(scan, mine, rows_by_code, len(batch))
                    scan.met(rows_by_code)
                    if weights is not None:
                        total += float(weights[valid].sum())
                        if total == math.inf:
                            raise endless_weights(scan.source.where)
                    yield Batch(
                        of_models.of_model(place, alike[valid]),
                        scores[valid],
                        labels[valid],
                        None if weights is None else weights[valid],
                    )
            advance(len(whole) * len(names))
    scan.need_same_rows(sum(rows_by_code.values()))


def _bad(weights: NDArray[np.float64]) -> NDArray[np.bool_]:
    return ~(np.isfinite(weights) & (weights >= 0))


def _codes(
    codes: Codes, column: pl.Series, scores: NDArray[np.floating], bad_weights: NDArray[np.bool_] | None
) -> Codes | None:
    """Return why each prediction of a model is not valid; None where all are."""
    none = not codes.any() and (bad_weights is None or not bad_weights.any())
    if none and not np.isnan(scores).any():  # a score that is null is NaN here
        return None
    null = column.is_null().to_numpy()
    found = codes.copy()
    for code, holds in ((3, null), (4, np.isnan(scores)), (5, bad_weights)):
        if holds is not None:
            found[holds & (found == 0)] = code
    return found


def _valid(
    scan: Scan, codes: Codes | None, rows_by_code: dict[int, int], rows: int
) -> slice | NDArray[np.bool_]:
    """Count predictions by code, and return which of them are valid."""
    if codes is None:
        rows_by_code[0] = rows_by_code.get(0, 0) + rows
        return slice(None)
    if scan.on_invalid == "raise":
        scan.refuse()
    for code, count in enumerate(np.bincount(codes).tolist()):
        if count:
            rows_by_code[code] = rows_by_code.get(code, 0) + count
    return np.asarray(codes == 0)
