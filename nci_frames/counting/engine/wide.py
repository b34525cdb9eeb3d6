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
from nci_frames.counting.logs.rows import REASON, reason_of_row, score_name

#: Scores that are read at a time.
_SCORES = 1 << 20


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
                bad_weights = "weight" in batch.columns and _some_bad(batch["weight"])
                doubtful = bad_weights or bool(batch[REASON].max())
                for place, name in enumerate(names):
                    valid = _valid(scan, batch, name, rows_by_code, doubtful=doubtful)
                    scan.met(rows_by_code)
                    if weights is not None:
                        total += float(weights[valid].sum())
                        if total == math.inf:
                            raise endless_weights(scan.source.where)
                    yield Batch(
                        of_models.of_model(place, alike[valid]),
                        batch[name].to_numpy()[valid],
                        labels[valid],
                        None if weights is None else weights[valid],
                    )
            advance(len(whole) * len(names))
    scan.need_same_rows(sum(rows_by_code.values()))


def _some_bad(weights: pl.Series) -> bool:
    values = weights.to_numpy()
    return not bool((np.isfinite(values) & (values >= 0)).all())


def _valid(
    scan: Scan, batch: pl.DataFrame, score: str, rows_by_code: dict[int, int], *, doubtful: bool
) -> slice | NDArray[np.bool_]:
    """Count the predictions of a model, whose scores are a column, by code; return which are valid."""
    if not (doubtful or np.isnan(batch[score].to_numpy()).any()):  # a score that is null is NaN here
        rows_by_code[0] = rows_by_code.get(0, 0) + len(batch)
        return slice(None)
    reason = reason_of_row(weighted="weight" in batch.columns).alias(REASON)
    codes = batch.with_columns(pl.col(score).alias("score")).select(reason)
    scan.valid(codes, rows_by_code)
    return (codes[REASON] == 0).to_numpy()
