"""Joint counts of two models, against a brute force over the rows."""

import itertools

import numpy as np
import polars as pl
import pytest

import nci_frames as nf

THRESHOLDS = {"forest": 0.4, "linear": 0.55, "tree": 0.7}


def log(units: int = 500, *, seed: int = 0, dtype: type[pl.DataType] = pl.Float64) -> pl.DataFrame:
    """Return three models that scored the same units, in random order."""
    rng = np.random.default_rng(seed)
    label = rng.random(units) < 0.3
    hidden = rng.normal(label)
    parts = [
        pl.DataFrame(
            {
                "model": model,
                "unit": [f"u{i}" for i in range(units)],
                "country": np.where(np.arange(units) % 3 == 0, "de", "at"),
                "label": label,
                "score": pl.Series(1 / (1 + np.exp(-hidden - rng.normal(0, 0.5, units))))
                .round(2)
                .cast(dtype),
            }
        )
        for model in THRESHOLDS
    ]
    return pl.concat(parts).sample(fraction=1, shuffle=True, seed=seed)


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


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64], ids=str)
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


def test_margins_are_the_counts_of_each_model() -> None:
    rows = log(seed=3)
    pairs = nf.count_pairs(rows, thresholds=0.5)
    counts = nf.count_confusion(rows.drop("unit"), thresholds=[0.5])
    for side in ("a", "b"):
        mine = pairs.join(counts, left_on=[f"model_{side}", "country"], right_on=["model", "country"])
        assert len(mine) == len(pairs)
        for kind in ("tp", "fp"):
            assert (mine[f"{kind}_both"] + mine[f"{kind}_{side}"] == mine[kind]).all()


def test_more_models_are_refused() -> None:
    many = (
        log().filter(model="tree").drop("model")
        .join(pl.DataFrame({"model": [f"m{i}" for i in range(32)]}), how="cross")
    )  # fmt: skip
    with pytest.raises(nf.ParameterError, match=r"at most 31 models(.|\n)*32 models"):
        nf.count_pairs(many, thresholds=0.5, by=[])
    most = nf.count_pairs(many.filter(pl.col("model") != "m0"), thresholds=0.5, by=[])
    assert len(most) == 31 * 30 / 2
    assert most["tp_a"].sum() == most["fp_b"].sum() == 0


def test_models_can_be_chosen() -> None:
    rows = log()
    some = nf.count_pairs(rows, thresholds=0.5, models=["tree", "forest"], by=[])
    everyone = nf.count_pairs(rows, thresholds=0.5, by=[])
    assert some.rows() == everyone.filter(model_a="forest", model_b="tree").rows()
    assert nf.count_pairs(rows, thresholds={"tree": 0.5, "forest": 0.5}, by=[]).equals(some)
