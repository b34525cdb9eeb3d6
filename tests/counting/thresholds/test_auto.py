"""Thresholds found by counting: as fine as the areas need, or between equal numbers of rows."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.counting import count as count_module
from nci_frames.counting.count import Tally, tally_scan
from nci_frames.counting.logs.scan import scan_behind
from nci_frames.counting.thresholds import auto, recall
from tests.cases import first_quick
from tests.logs import read_anew

ETAS = (1e-4, 1e-2, 0.5)


def scores(kind: str, rng: np.random.Generator, label: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    normal = rng.normal(label * 2.0, 1)
    return {
        "normal": normal,
        "probability": 1 / (1 + np.exp(3 - 4 * normal)),
        "single precision": (1 / (1 + np.exp(-4 * normal))).astype(np.float32),
        "rounded": np.round(normal, 2),
        "tied at an odd place": np.where(rng.random(len(label)) < 0.4, 0.123456789, normal),
        "infinite": np.where(normal > 2.5, np.inf, np.where(normal < -2, -np.inf, normal)),
        "all alike": np.full(len(label), 0.3),
        "far apart": np.exp(30 * normal),
    }[kind]


def log_of(kind: str, rows: int = 30_000) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    label = rng.random(rows) < 0.1
    score = scores(kind, rng, label)
    model = np.where(rng.random(rows) < 0.5, "a", "b")
    day = rng.integers(1, 4, rows)
    return pl.DataFrame({"model": model, "day": day, "label": label, "score": score})


@pytest.fixture
def never_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_module, "EXACT_ROWS", 0)


@pytest.fixture(params=[True, False])
def kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the positives are kept in memory; else a grid is refined."""
    if not request.param:
        monkeypatch.setattr(recall, "_PART_OF_MEMORY", float("inf"))
    return bool(request.param)


def test_weights_are_counted_on_a_grid_unless_every_score_takes_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_module, "EXACT_IN_PARTS", 10_000)
    monkeypatch.setattr(count_module, "USUAL_THRESHOLDS", 1_000)
    log = log_of("normal").with_columns(weight=1.0 + pl.int_range(pl.len()) % 2)
    wish = nf.auto_thresholds(tolerance=2e-3, prevalence=ETAS)

    def tally(*segments: str, frame: pl.DataFrame = log) -> Tally:
        return tally_scan(
            scan_behind(nf.scan_predictions(frame, weight="weight", segments=segments)), thresholds=wish
        )

    assert 0 < tally().reached <= 2e-3
    # Two models, two weights and ten parts: a grid would have more counts than the log has rows.
    parts = log.with_columns(part=pl.int_range(pl.len()) // 2 % 10)
    assert tally("part", frame=parts).reached == 0
    assert tally(frame=log[:9_000]).reached == 0


@pytest.mark.usefixtures("never_exact")
def test_many_groups_are_counted_at_every_score_since_a_grid_would_be_larger() -> None:
    """A log of 9 million rows with 51,000 segments was refused: a grid of them takes 13 GB."""
    log = log_of("normal", 60_000).with_columns(day=pl.int_range(pl.len()) % 5_000)
    counts = {
        by: nf.count_confusion(nf.scan_predictions(log, segments="day"), by=list(by)) for by in [(), ("day",)]
    }
    assert len(counts[()]) < 20_000
    assert "grid" in counts[()]["resolution"]
    wanted = nf.count_confusion(nf.scan_predictions(log, segments="day"), thresholds="exact")
    assert counts["day",].equals(wanted)


@pytest.mark.usefixtures("never_exact")
@pytest.mark.parametrize("weight", [None, "weight"])
def test_segments_are_counted_on_a_grid_although_that_is_larger_at_first(weight: str | None) -> None:
    """A report took twice as long with every score, and five times with those of strata, which multiply."""
    parts = 4 if weight else 12
    log = log_of("normal", 60_000).with_columns(
        part=pl.int_range(pl.len()) % parts, weight=1.0 + pl.col("day")
    )
    scan = nf.scan_predictions(log.drop("day"), weight=weight, segments="part")
    assert "grid" in set(nf.count_confusion(scan)["resolution"])


@pytest.mark.usefixtures("never_exact")
@pytest.mark.parametrize(
    "kind",
    first_quick([
        "normal", "probability", "single precision", "rounded", "tied at an odd place", "infinite",
        "all alike", "far apart",
    ], 2),
)  # fmt: skip
def test_areas_are_known_to_the_tolerance_and_contain_the_exact_ones(kind: str) -> None:
    log = log_of(kind)
    wish = nf.auto_thresholds(tolerance=2e-3, prevalence=ETAS)
    tally = tally_scan(scan_behind(log), thresholds=wish)
    assert tally.reached is not None
    assert tally.reached <= 2e-3
    # It takes far fewer thresholds than there are scores.
    assert tally.counts["threshold"].n_unique() < 5000
    found = nf.compute_areas(nf.pool_counts(tally.counts, over="day"), prevalence=ETAS)
    assert (found["upper"] - found["lower"]).max() <= tally.reached + 1e-12
    exact = nf.compute_areas(nf.count_confusion(log, thresholds="exact", by=[]), prevalence=ETAS)
    both = found.join(exact, on=["model", "metric", "prevalence"], nulls_equal=True, suffix="_exact")
    assert len(both) == len(exact) == 2 * (1 + len(ETAS))
    assert both.filter(
        (pl.col("value_exact") < pl.col("lower") - 1e-12) | (pl.col("value_exact") > pl.col("upper") + 1e-12)
    ).is_empty()


@pytest.mark.usefixtures("never_exact", "kept")
def test_areas_of_weighted_rows_are_known_to_the_tolerance() -> None:
    """Where a grid was refined, it was that of the rows, and heavy ones had too few thresholds."""
    weight = pl.when(pl.col("score") > 1).then(1.0).when(pl.col("score") > 0).then(10.0).otherwise(100.0)
    log = log_of("normal").with_columns(weight.alias("weight"))
    wish = nf.auto_thresholds(tolerance=4e-3, prevalence=ETAS)
    tally = tally_scan(scan_behind(nf.scan_predictions(log, weight="weight")), thresholds=wish)
    assert 0 < tally.reached <= 4e-3
    assert len(tally.counts) < 5_000
    found = nf.compute_areas(tally.counts, prevalence=ETAS)
    assert (found["upper"] - found["lower"]).max() <= tally.reached + 1e-12


@pytest.mark.usefixtures("never_exact", "kept")
def test_a_good_model_has_the_thresholds_that_budgets_of_alerts_need() -> None:
    """The areas of such a model need few thresholds, and none of them kept a small budget."""
    label = np.arange(100_000) % 20 == 0
    score = np.random.default_rng(1).normal(label * 6.0, 1)
    log = pl.DataFrame({"model": "a", "label": label, "score": score})
    every = {way: nf.compute_rates(nf.count_confusion(log, thresholds=way)) for way in ("auto", "exact")}
    assert len(every["auto"]) < 2_000
    for share in (1e-5, 1e-4, 1e-3):
        chosen = {
            way: nf.select_operating_points(rates, pos_fraction=share, prevalence=0.01)["tpr"].item()
            for way, rates in every.items()
        }
        found, best = np.sqrt(chosen["auto"]), np.sqrt(chosen["exact"])
        assert best - 0.0026 < found <= best


@pytest.mark.usefixtures("never_exact")
@pytest.mark.parametrize("kind", first_quick(["tied at an odd place", "normal", "infinite", "far apart"]))
def test_a_log_is_read_a_few_times(kind: str, kept: bool) -> None:
    """Its positives once, and all rows once or twice; more often only where the positives are too many."""
    log, passes = log_of(kind, 12_000), 0

    def rows() -> list[pl.DataFrame]:
        nonlocal passes
        passes += 1
        return [log]

    scan = nf.scan_predictions(read_anew(rows, log), on_invalid="drop")
    before = passes
    tally = tally_scan(scan_behind(scan), thresholds=nf.auto_thresholds(tolerance=2e-3, prevalence=ETAS))
    assert tally.reached is not None
    assert tally.reached <= 2e-3
    assert (passes - before <= 4) == kept


@pytest.mark.thorough
@pytest.mark.usefixtures("never_exact")
def test_many_models_with_few_positives_are_counted_in_few_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """They took a minute: nearly every positive has a bin of its own, so that more cuts did not help."""
    monkeypatch.delattr(auto, "refine_scan")
    model = pl.int_range(pl.len()) % 40
    log = log_of("probability", 200_000).with_columns(model.cast(pl.String).alias("model")).drop("day")
    log = log.filter(~pl.col("label") | (pl.int_range(pl.len()) % 7 == 0))
    tally = tally_scan(scan_behind(log), thresholds=nf.auto_thresholds(prevalence=ETAS))
    assert tally.reached is not None
    assert 0 < tally.reached <= 1e-3
    found, exact = (
        nf.compute_areas(counts, prevalence=ETAS)
        for counts in (tally.counts, nf.count_confusion(log, thresholds="exact"))
    )
    assert (found["upper"] - found["lower"]).max() <= tally.reached + 1e-12
    assert (exact["value"] - found["lower"]).min() >= -1e-12
    assert (found["upper"] - exact["value"]).min() >= -1e-12


@pytest.mark.long
@pytest.mark.usefixtures("never_exact")
def test_what_cannot_be_reached_is_said() -> None:
    log, wish = log_of("normal", 200_000), nf.auto_thresholds(tolerance=1e-12)
    # A bin of one positive and no negative is exact, so few positives need no other bins.
    assert tally_scan(scan_behind(log), thresholds=wish).reached <= 1e-12
    with pytest.warns(nf.ToleranceWarning, match=r"bounded to within .*, not 1e-12; more thresholds"):
        counts = nf.count_confusion(log.lazy().with_columns(~pl.col("label")), thresholds=wish)
    assert "grid" in set(counts["resolution"])


@pytest.mark.usefixtures("never_exact")
def test_choice_depends_on_neither_order_nor_lack_of_a_class() -> None:
    log = log_of("probability")
    wish = nf.auto_thresholds(tolerance=0.01, also=[0.5])
    counts = nf.count_confusion(log, thresholds=wish)
    assert counts.equals(nf.count_confusion(log.reverse(), thresholds=wish))
    assert 0.5 in counts["threshold"]
    one_class = pl.concat([log, log.filter("label").with_columns(model=pl.lit("c"))])
    tally = tally_scan(scan_behind(one_class), thresholds=wish)
    assert tally.reached is not None
    assert tally.reached <= 0.01
    no_positives = pl.concat([log, log.filter(~pl.col("label")).with_columns(model=pl.lit("c"))])
    assert nf.count_confusion(no_positives, thresholds=wish).filter(pl.col("model") != "c").equals(counts)


def test_a_small_log_is_counted_at_every_score() -> None:
    log = log_of("rounded")
    assert nf.count_confusion(log).equals(nf.count_confusion(log, thresholds="exact"))
    assert nf.count_confusion(log.lazy()).equals(nf.count_confusion(log))


@pytest.mark.usefixtures("never_exact")
@pytest.mark.parametrize("share", first_quick([0.01, 0.2, 0.9]))
@pytest.mark.parametrize("dtype", first_quick([pl.Float32, pl.Float64]))
def test_scores_of_minus_infinity_are_told_from_all_others(share: float, dtype: Any) -> None:
    rng = np.random.default_rng(6)
    log = log_of("normal", 60_000)
    lowest = pl.Series(rng.random(len(log)) < share)
    log = log.with_columns(score=pl.when(lowest).then(-np.inf).otherwise("score").cast(dtype))
    counts = nf.count_confusion(log, thresholds=nf.auto_thresholds(tolerance=2e-3), by=[])
    assert counts["threshold"].min() == -np.inf
    areas = nf.compute_areas(counts, prevalence=0.1)
    assert (areas["upper"] - areas["lower"]).max() <= 2e-3 + 1e-12


@pytest.mark.thorough
@pytest.mark.usefixtures("never_exact")
def test_scores_near_the_largest_number_have_thresholds() -> None:
    log = log_of("normal", 60_000).with_columns(pl.col("score") / 10 * 1.79e308)
    counts = nf.count_confusion(log, by=[])
    assert counts["threshold"].is_not_nan().all()
    exact = nf.compute_areas(nf.count_confusion(log, thresholds="exact", by=[]), prevalence=0.1)
    found = nf.compute_areas(counts, prevalence=0.1)
    assert (found["lower"] - 1e-12 <= exact["value"]).all()
    assert (exact["value"] <= found["upper"] + 1e-12).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_numbers_are_thresholds(dtype: type[np.floating]) -> None:
    """Differences and successors of them overflow, which was a warning of NumPy."""
    most = np.finfo(dtype).max
    scores = np.array([-most, -most, most, most, 0], dtype)
    log = pl.DataFrame({"model": "a", "label": [False, True] * 2 + [True], "score": scores})
    thresholds = [float(-most), 0.0, float(most)]
    assert nf.count_confusion(log, thresholds=thresholds)["tp"].to_list() == [3, 2, 1]
