"""A ledger keeps the rows of each weight: files are added in any order, and stay exact."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf


def weighted_log(rows: int = 600) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    score = rng.random(rows).round(2)
    weight = np.where(score > 0.5, 1.0, 1 / 0.3)
    country, label = rng.choice(["at", "de"], rows), rng.random(rows) < score
    return pl.DataFrame({"model": "a", "country": country, "label": label, "score": score, "w": weight})


@pytest.mark.thorough
@pytest.mark.parametrize("thresholds", ["exact", [0.25, 0.5, 0.75]])
def test_files_in_any_order_give_the_counts_of_the_whole_log(
    tmp_path: Path, thresholds: str | list[float]
) -> None:
    log = weighted_log()
    for place, part in enumerate(log.iter_slices(200)):
        part.write_parquet(tmp_path / f"{place}.parquet")
    scan = nf.scan_predictions(log, segments="country", weight="w")
    whole = nf.count_confusion(scan, thresholds=thresholds)  # type: ignore[arg-type]
    for name, order in (("one", (0, 1, 2)), ("two", (2, 0, 1))):
        ledger = nf.CountsLedger(tmp_path / name)
        for place in order:
            ledger.append(
                tmp_path / f"{place}.parquet", thresholds=thresholds, segments="country", weight="w"
            )
        assert_frame_equal(ledger.read(), whole)
        pooled = nf.pool_counts(whole, over="country")
        assert_frame_equal(ledger.read(by=[]), pooled)
        assert_frame_equal(nf.compute_rates(ledger.read(by=[])), nf.compute_rates(pooled))


def test_scores_keep_their_weights(tmp_path: Path) -> None:
    log, grid = weighted_log(1).drop("label"), [0.25, 0.5, 0.75]
    ledger = nf.CountsLedger(tmp_path / "ledger")
    for place, part in enumerate((log[:100], log[100:])):
        part.write_parquet(tmp_path / f"{place}.parquet")
        ledger.append(
            tmp_path / f"{place}.parquet", thresholds=grid, segments="country", weight="w", label=None
        )
    scan = nf.scan_predictions(log, segments="country", weight="w", label=None)
    assert_frame_equal(ledger.read(), nf.count_scores(scan, thresholds=grid))


def test_too_many_weights_are_refused(tmp_path: Path) -> None:
    log = weighted_log(1500).with_columns(w=pl.int_range(pl.len()) / 7)
    log.write_parquet(tmp_path / "log.parquet")
    ledger = nf.CountsLedger(tmp_path / "ledger")
    with pytest.raises(nf.ParameterError, match="up to 1,000 weights") as error:
        ledger.append(tmp_path / "log.parquet", weight="w")
    assert "round the weights" in str(error.value)
