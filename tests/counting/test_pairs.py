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
    for unit, positive in label.items():
        one, other = (score[m][unit] >= THRESHOLDS[m] for m in (a, b))
        cell = {(True, True): "both", (True, False): "a", (False, True): "b", (False, False): "none"}[
            one, other
        ]
        found[f"{'tp' if positive else 'fp'}_{cell}"] += 1
    return found


@pytest.mark.parametrize("by", [None, []])
def test_equals_a_brute_force(by: list[str] | None) -> None:
    rows = log()
    pairs = nf.count_pairs(rows, thresholds=THRESHOLDS, by=by)
    assert pairs.height == 3 * (2 if by is None else 1)
    for row in pairs.iter_rows(named=True):
        mine = rows if by == [] else rows.filter(country=row["country"])
        expected = brute_force(mine, row["model_a"], row["model_b"])
        assert {name: row[name] for name in expected} == expected
        assert (row["threshold_a"], row["threshold_b"]) == tuple(
            THRESHOLDS[row[name]] for name in ("model_a", "model_b")
        )


def test_margins_are_the_counts_of_each_model() -> None:
    rows = log(seed=3)
    pairs = nf.count_pairs(rows, thresholds=0.5)
    counts = nf.count_confusion(rows.drop("unit"), thresholds=[0.5])
    for row in pairs.iter_rows(named=True):
        for side in ("a", "b"):
            mine = counts.row(
                by_predicate=(pl.col("model") == row[f"model_{side}"])
                & (pl.col("country") == row["country"]),
                named=True,
            )
            for kind in ("tp", "fp"):
                assert row[f"{kind}_both"] + row[f"{kind}_{side}"] == mine[kind]


def test_float32_scores_are_compared_in_their_own_precision() -> None:
    rows = log(dtype=pl.Float32)
    pairs = nf.count_pairs(rows, thresholds=0.7, by=[])
    counts = nf.count_confusion(rows.drop("unit"), thresholds=[0.7], by=[])
    flagged = dict(counts.select("model", "tp").rows())
    for row in pairs.iter_rows(named=True):
        assert row["tp_both"] + row["tp_a"] == flagged[row["model_a"]]


def test_many_parts_give_the_same_and_more_models_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = log()
    once = nf.count_pairs(nf.scan_predictions(rows, unit="unit"), thresholds=THRESHOLDS)
    assert nf.count_pairs(nf.scan_predictions(rows, unit="unit"), thresholds=THRESHOLDS).equals(once)
    many = (
        rows.filter(model="tree")
        .drop("model")
        .join(pl.DataFrame({"model": [f"m{i}" for i in range(32)]}), how="cross")
    )
    with pytest.raises(nf.ParameterError, match=r"at most 31 models(.|\n)*32 models"):
        nf.count_pairs(many, thresholds=0.5, by=[])
    most = nf.count_pairs(many.filter(pl.col("model") != "m0"), thresholds=0.5, by=[])
    assert len(most) == 31 * 30 / 2
    assert most["tp_a"].sum() == most["fp_b"].sum() == 0


def test_order_of_rows_plays_no_part() -> None:
    rows = log()
    assert nf.count_pairs(rows.sort("unit").lazy(), thresholds=0.5).equals(
        nf.count_pairs(rows, thresholds=0.5)
    )


def test_an_arrow_table_is_a_frame() -> None:
    log = pl.DataFrame({"model": ["a", "b"] * 2, "label": [1, 1, 0, 0], "score": 0.5, "unit": [1, 1, 2, 2]})
    pairs = nf.count_pairs(log.to_arrow(), thresholds=0.5)
    assert pairs.equals(nf.count_pairs(log, thresholds=0.5))


def test_models_can_be_chosen() -> None:
    rows = log()
    some = nf.count_pairs(rows, thresholds=0.5, models=["tree", "forest"], by=[])
    everyone = nf.count_pairs(rows, thresholds=0.5, by=[])
    assert some.rows() == everyone.filter(model_a="forest", model_b="tree").rows()
    assert nf.count_pairs(rows, thresholds={"tree": 0.5, "forest": 0.5}, by=[]).equals(some)


def test_every_pair_once() -> None:
    pairs = nf.count_pairs(log(), thresholds=0.5, by=[])
    assert pairs.select("model_a", "model_b").rows() == list(itertools.combinations(sorted(THRESHOLDS), 2))
