"""DeLong's test where a unit has several rows: against Obuchowski's sums by hand, and its error rate."""

import numpy as np
import polars as pl
import pytest

import nci_frames as nf


def scored(times: int, *, units: int = 200, seed: int = 0) -> pl.DataFrame:
    """Two equally good models that score each unit once in each of several repeats."""
    rng = np.random.default_rng(seed)
    label = rng.random(units) < 0.3
    parts = []
    for model in "ab":
        shared = rng.normal(label * 1.2, 1.0)
        parts += [
            pl.DataFrame(
                {"model": model, "repeat": repeat, "unit": np.arange(units), "label": label,
                 "score": np.round(shared + rng.normal(0, 0.3, units), 1)}
            )
            for repeat in range(times)
        ]  # fmt: skip
    return pl.concat(parts)


def test_against_the_sums_by_hand() -> None:
    """Units with several rows, some of both classes."""
    rng = np.random.default_rng(1)
    rows = 60
    unit = rng.integers(0, 20, rows)
    label = rng.random(rows) < 0.4
    log = pl.DataFrame(
        {"model": ["a"] * rows + ["b"] * rows, "row": list(range(rows)) * 2, "unit": np.tile(unit, 2),
         "label": np.tile(label, 2), "score": np.round(rng.normal(np.tile(label, 2) * 1.0), 1)}
    )  # fmt: skip
    found = nf.compare_auc(log, by=[]).row(0, named=True)
    a, b = (log.filter(model=model)["score"].to_numpy() for model in "ab")

    def placed(score: np.ndarray, positive: bool) -> np.ndarray:
        mine, others = score[label == positive], score[label != positive]
        below = np.array([(others < x).mean() + (others == x).mean() / 2 for x in mine])
        return below if positive else 1 - below

    moved = [placed(a, c) - placed(b, c) for c in (True, False)]
    difference = moved[0].mean()
    assert found["difference"] == pytest.approx(difference)
    m, n = len(moved[0]), len(moved[1])
    of_unit = np.zeros((2, 20))
    for c, rows_of_class in enumerate((unit[label], unit[~label])):
        for place, number in enumerate(rows_of_class):
            of_unit[c, number] += moved[c][place] - difference
    i10, i01, i = len(set(unit[label])), len(set(unit[~label])), len(set(unit))
    variance = (
        i10 / (i10 - 1) * (of_unit[0] ** 2).sum() / m**2
        + i01 / (i01 - 1) * (of_unit[1] ** 2).sum() / n**2
        + 2 * i / (i - 1) * (of_unit[0] * of_unit[1]).sum() / (m * n)
    )
    assert found["std_error"] == pytest.approx(np.sqrt(variance))


def test_rows_that_are_copied_add_nothing() -> None:
    once = nf.compare_auc(scored(1).drop("repeat")).row(0, named=True)
    copies = pl.concat([scored(1).with_columns(pl.lit(copy).alias("repeat")) for copy in range(3)])
    thrice = nf.compare_auc(copies, by=[]).row(0, named=True)
    assert thrice["std_error"] == pytest.approx(once["std_error"])
    assert thrice["p_value"] == pytest.approx(once["p_value"])


def test_two_units_of_a_class_are_needed() -> None:
    log = scored(2, units=30)
    first = log.filter("label")["unit"].min()
    lone = log.filter((pl.col("unit") == first) | ~pl.col("label"))
    row = nf.compare_auc(lone, by=[]).row(0, named=True)
    assert (row["std_error"], row["p_value"]) == (None, None)
    assert row["difference"] is not None


@pytest.mark.thorough
def test_equal_models_scored_twice_seldom_differ() -> None:
    logs = 300
    rows = pl.concat(scored(2, seed=seed).with_columns(log=pl.lit(seed)) for seed in range(logs))
    found = nf.compare_auc(rows, by="log")
    assert len(found) == logs
    wrong = (found["p_value"] < 0.05).sum()
    assert 0 < wrong / logs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / logs)
