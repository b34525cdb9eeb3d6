"""Two models on the same units: joint counts by brute force, and DeLong's test by sums by hand."""

import itertools

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

import nci_frames as nf
from tests.cases import first_quick
from tests.logs import unit_log

THRESHOLDS = {"forest": -0.4, "linear": 0.2, "tree": 0.85}


def log(*, dtype: type[pl.DataType] = pl.Float64) -> pl.DataFrame:
    """Return three models that scored the same 500 units, in random order."""
    rows = unit_log(dict.fromkeys(THRESHOLDS, 1.0), 500, alike=0.8, digits=2).with_columns(
        country=pl.when(pl.col("unit") % 3 == 0).then(pl.lit("de")).otherwise(pl.lit("at")),
        score=pl.col("score").cast(dtype),
    )
    return rows.sample(fraction=1, shuffle=True, seed=0)


def brute_force(rows: pl.DataFrame, a: str, b: str) -> dict[str, int]:
    score = {m: dict(rows.filter(model=m).select("unit", "score").rows()) for m in (a, b)}
    label = dict(rows.filter(model=a).select("unit", "label").rows())
    found = dict.fromkeys([f"{k}_{c}" for k in ("tp", "fp") for c in ("both", "a", "b", "none")], 0)
    limit = {m: pl.Series([THRESHOLDS[m]], dtype=rows["score"].dtype)[0] for m in (a, b)}
    for unit, positive in label.items():
        said = tuple(score[m][unit] >= limit[m] for m in (a, b))
        cell = {(True, True): "both", (True, False): "a", (False, True): "b", (False, False): "none"}[said]
        found[f"{'tp' if positive else 'fp'}_{cell}"] += 1
    return found


@pytest.mark.parametrize("dtype", first_quick([pl.Float32, pl.Float64]), ids=str)
@pytest.mark.parametrize("by", [None, []])
def test_equals_a_brute_force(by: list[str] | None, dtype: type[pl.DataType]) -> None:
    rows = log(dtype=dtype)
    pairs = nf.count_pairs(rows, thresholds=THRESHOLDS, by=by)
    # Every pair once.
    combinations = list(itertools.combinations(sorted(THRESHOLDS), 2))
    assert pairs.select("model_a", "model_b").unique().sort("model_a", "model_b").rows() == combinations
    assert len(pairs) == 3 * (2 if by is None else 1)
    for row in pairs.iter_rows(named=True):
        mine = rows if by == [] else rows.filter(country=row["country"])
        expected = brute_force(mine, row["model_a"], row["model_b"])
        assert {name: row[name] for name in expected} == expected
        assert (row["threshold_a"], row["threshold_b"]) == tuple(
            THRESHOLDS[row[name]] for name in ("model_a", "model_b")
        )
    # The order of the rows plays no part, and an Arrow table is a frame.
    for same in (rows.sort("unit").lazy(), rows.to_arrow()):
        assert nf.count_pairs(same, thresholds=THRESHOLDS, by=by).equals(pairs)


@pytest.mark.thorough
def test_as_many_models_as_a_code_holds() -> None:
    tree = log().filter(model="tree")
    most = nf.count_pairs(
        pl.concat(tree.with_columns(model=pl.lit(f"m{i}")) for i in range(31)), thresholds=0.5, by=[]
    )
    assert len(most) == 31 * 30 / 2
    assert most["tp_a"].sum() == most["fp_b"].sum() == 0


def test_models_can_be_chosen() -> None:
    rows = log()
    some = nf.count_pairs(rows, thresholds=0.5, models=["tree", "forest"], by=[])
    everyone = nf.count_pairs(rows, thresholds=0.5, by=[])
    assert some.rows() == everyone.filter(model_a="forest", model_b="tree").rows()
    assert nf.count_pairs(rows, thresholds={"tree": 0.5, "forest": 0.5}, by=[]).equals(some)


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


def scored(times: int, *, units: int = 200, seed: int = 0) -> pl.DataFrame:
    """Two equally good models that score each unit once in each of several repeats."""
    log = unit_log({"a": 1.2, "b": 1.2}, units, times=times, noise=0.3, digits=1, seed=seed)
    return log.with_columns(repeat=pl.int_range(pl.len()).over("model", "unit"))


def test_two_units_of_a_class_are_needed() -> None:
    log = scored(2, units=30)
    first = log.filter("label")["unit"].min()
    lone = log.filter((pl.col("unit") == first) | ~pl.col("label"))
    row = nf.compare_auc(lone, by=[]).row(0, named=True)
    assert (row["std_error"], row["p_value"]) == (None, None)
    assert row["difference"] is not None


def test_few_or_uneven_units_have_few_degrees_of_freedom() -> None:
    """By the normal law, two positives told equal models apart in a sixth of logs."""
    rng = np.random.default_rng(0)
    rows = [2, 40, 400, 2]
    unit = np.concatenate([np.arange(100), np.repeat(np.arange(100, 104), rows)])
    label = np.concatenate([np.zeros(100, bool), np.ones(sum(rows), bool)])
    log = pl.concat(
        pl.DataFrame({"unit": unit, "row": np.arange(len(unit)), "label": label}).with_columns(
            model=pl.lit(model), score=pl.Series(rng.normal(label))
        )
        for model in "ab"
    )
    effective = sum(rows) ** 2 / sum(size**2 for size in rows)
    few = log.filter(pl.col("row").is_in([0, 1, 2, 100, 110, 200]))  # three units of each class
    for some, freedom in ((log, max(effective - 1, 1)), (few, 2)):
        row = nf.compare_auc(some, by=[]).row(0, named=True)
        assert row["p_value"] == pytest.approx(2 * t.sf(abs(row["z"]), freedom))
        half = t.ppf(0.975, freedom) * row["std_error"]
        assert row["upper"] - row["difference"] == pytest.approx(half)
