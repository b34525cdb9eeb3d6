"""Rows drawn by a plan: how many, which, that files and order do not matter, and that they are a sample."""

import re

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.counting.logs.reading import Scan
from tests.cases import first_quick
from tests.logs import once

ROWS = 6000


def a_log(rows=ROWS, decimals=12, dtype=np.float64):
    """Rows with columns of many types that no scan was told of; with few decimals, many are equal."""
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "model": "a",
            "score": np.round(rng.beta(0.3, 6, rows), decimals).astype(dtype),
            "country": rng.choice(["at", "de", None], rows).tolist(),
        }
    )


def with_extras(log):
    number = pl.int_range(pl.len())
    return log.with_columns(
        id=number,
        text=pl.format("row {} é", number % 97),
        amount=number / 7,
        day=pl.date(2026, 1, 1) + pl.duration(days=number % 300),
        tags=pl.concat_list(number % 3, number % 5),
    )


def plan_of(log, budget=300, **options):
    return nf.plan_labels(log, budget=budget, metric="recall", threshold=0.3, **options)


def plan_at(edges, rows, labels):
    """A plan of ranges of scores between edges."""
    ends = [-np.inf, *edges, np.inf]
    plan = pl.DataFrame({"score_lower": ends[:-1], "score_upper": ends[1:], "rows": rows, "labels": labels})
    return plan.with_columns(share=pl.col("labels") / pl.col("rows"))


@pytest.mark.parametrize("decimals", [12, 2])
@pytest.mark.parametrize("dtype", first_quick([np.float32, np.float64]))
def test_each_stratum_has_its_labels(decimals, dtype):
    log = a_log(decimals=decimals, dtype=dtype)
    plan = plan_of(log)
    drawn = nf.draw_labels(log, plan, seed=2).collect()
    assert drawn.columns == [*log.columns, "stratum", "weight"]
    by_stratum = drawn.group_by("stratum").agg(pl.len().cast(pl.Int64), pl.col("weight").unique().first())
    found = by_stratum.sort("stratum")
    assert found["len"].to_list() == plan["labels"].to_list()
    assert found["weight"].to_list() == (1 / plan["share"]).to_list()
    assert drawn["weight"].sum() == pytest.approx(ROWS)
    # Each row is one of the log's, not more often than there, and in its range.
    counted = log.group_by(log.columns).len().cast({"len": pl.Int64})
    taken = drawn.group_by(log.columns).agg(pl.len().cast(pl.Int64).alias("taken"))
    both = taken.join(counted, on=log.columns, how="left", nulls_equal=True)
    assert (both["taken"] <= both["len"]).all()
    lower = plan["score_lower"].to_numpy().astype(dtype)
    strata = np.searchsorted(lower, drawn["score"].to_numpy(), "right") - 1
    assert drawn["stratum"].to_list() == strata.tolist()


@pytest.mark.thorough
def test_files_and_order_do_not_matter(tmp_path):
    log = with_extras(a_log())
    plan = plan_of(log)
    drawn = nf.draw_labels(log, plan, seed=7).collect()
    mixed = log.sample(fraction=1, shuffle=True, seed=1)
    for place, (begin, size) in enumerate([(0, 10), (10, 3000), (3010, ROWS)]):
        mixed[begin : begin + size].write_parquet(tmp_path / f"{place}.parquet", row_group_size=700)
    scan = nf.scan_predictions(tmp_path, label=None, segments="country")
    of_files = nf.draw_labels(scan, plan, seed=7).collect()
    assert set(of_files.columns) == set(drawn.columns)
    assert_frame_equal(of_files.select(drawn.columns), drawn)
    assert_frame_equal(nf.draw_labels(mixed.lazy(), plan, seed=7).collect(), drawn)
    again = nf.draw_labels(log, plan, seed=8).collect()
    assert not again.equals(drawn)
    some = nf.draw_labels(scan, plan, seed=7).filter(pl.col("stratum") == 1).select("id", "weight").collect()
    assert_frame_equal(some, drawn.filter(pl.col("stratum") == 1).select("id", "weight"))


@pytest.mark.thorough
def test_rows_of_few_scores_are_found_by_their_other_columns(monkeypatch):
    monkeypatch.setattr("nci_frames.counting.drawing.rows._MOST_KEPT", 0)
    log = with_extras(a_log(decimals=2))
    plan = plan_of(log)
    drawn = nf.draw_labels(log, plan, seed=2).collect()
    assert drawn["id"].n_unique() == plan["labels"].sum()
    assert drawn.group_by("stratum").len().sort("stratum")["len"].to_list() == plan["labels"].to_list()
    mixed = log.sample(fraction=1, shuffle=True, seed=1)
    assert_frame_equal(nf.draw_labels(mixed, plan, seed=2).collect(), drawn)


@pytest.mark.thorough
def test_other_columns_are_read_of_few_rows(tmp_path, monkeypatch):
    """Polars chooses the rows by their scores while it reads the file, and gives no others."""
    log = with_extras(a_log(200_000))
    plan = plan_of(log, budget=50)
    log.write_parquet(tmp_path / "log.parquet")
    scan = nf.scan_predictions(tmp_path / "log.parquet", label=None)
    read, plans, sizes = Scan.batches, [], []

    def batches(self, frame, **options):
        plans.append(frame.explain())
        sizes.append(0)
        for batch in read(self, frame, **options):
            sizes[-1] += len(batch)
            yield batch

    monkeypatch.setattr(Scan, "batches", batches)
    assert_frame_equal(nf.draw_labels(scan, plan).collect(), nf.draw_labels(log, plan).collect())
    assert sizes[0] == 200_000
    assert sizes[1] < 150_000
    assert "FILTER" not in plans[1]
    assert re.search(r"Parquet SCAN .*\n.*PROJECT.*\n.*SELECTION", plans[1])


def test_a_plan_of_many_ranges():
    log = pl.DataFrame({"model": "a", "score": np.arange(900) // 3})
    plan = plan_at(np.arange(1.0, 300), [3] * 300, [1] * 300)
    drawn = nf.draw_labels(log, plan).collect()
    assert drawn["score"].to_list() == drawn["stratum"].to_list() == list(range(300))


@pytest.mark.thorough
def test_rows_of_other_models_do_not_matter(tmp_path):
    log = a_log(2000)
    plan = plan_of(log)
    drawn = nf.draw_labels(log, plan).collect()
    other = log.with_columns(model=pl.lit("b"), score=pl.lit(np.nan))
    two = pl.concat([log, other])
    two.write_parquet(tmp_path / "two.parquet")
    for source in (two, two.lazy(), two.reverse(), nf.scan_predictions(tmp_path / "two.parquet", label=None)):
        assert_frame_equal(plan_of(source, model="a"), plan)
        found = nf.draw_labels(source, plan, model="a").collect()
        assert_frame_equal(found.select("model", "score"), drawn.select("model", "score"))
    valid = pl.concat([log, other.with_columns(score=pl.lit(0.5))])
    for source in (valid, valid.lazy()):
        with pytest.raises(nf.ParameterError, match=r"name one of them\n(.|\n)*'a', 'b'"):
            nf.draw_labels(source, plan).collect()


def test_a_column_of_the_log_with_the_name_of_another_is_named():
    log = a_log(400).with_columns(p=pl.col("score"), user=1)
    plan = nf.plan_labels(log, budget=20, metric="recall", threshold=0.05)
    scan = nf.scan_predictions(log, label=None, score="p")
    with pytest.raises(nf.SchemaError, match=r"'score', which the log has already\n *where: the DataFrame"):
        nf.draw_labels(scan, plan)
    # A column that no option names is looked for in the same log.
    with pytest.raises(nf.SchemaError, match=r"missing column 'unit'.*\n.*\n.*'user'"):
        nf.plan_labels(scan, budget=20, metric="recall", threshold=0.05, units=True)


def test_what_can_be_read_once_is_refused():
    log = a_log()
    with pytest.raises(nf.SourceError, match="gives other rows when it is read again"):
        nf.draw_labels(once(log), plan_at([], [ROWS], [300])).collect()


@pytest.mark.thorough
def test_equal_rows_are_drawn_each_on_its_own():
    """Of 3,000 rows of two contents, a sample of one in ten has both in their shares."""
    log = pl.DataFrame({"model": "a", "score": np.repeat([0.1, 0.2, 0.9], [1000, 2000, 10])})
    plan = plan_at([0.5], [3000, 10], [300, 5])
    counts = [(nf.draw_labels(log, plan, seed=s).collect()["score"] == 0.1).sum() for s in range(40)]
    assert np.mean(counts) == pytest.approx(100, abs=4 * 7.8 / np.sqrt(40))
    assert np.std(counts) == pytest.approx(np.sqrt(300 / 9 * 2 * 0.9), rel=0.4)


@pytest.mark.thorough
def test_every_row_is_drawn_as_often():
    log = pl.DataFrame({"model": "a", "score": np.linspace(0, 1, 200), "id": range(200)})
    plan = plan_at([0.5], [100, 100], [10, 50])
    ids = pl.concat([nf.draw_labels(log, plan, seed=seed).collect() for seed in range(60)])
    times = ids.group_by("id", "stratum").len()
    statistic = sum(
        (
            (np.append(times.filter(stratum=k)["len"], np.zeros(100 - len(times.filter(stratum=k)))) - mean)
            ** 2
        ).sum()
        / (mean * (1 - share))
        for k, (share, mean) in enumerate([(0.1, 6.0), (0.5, 30.0)])
    )
    assert 140 < statistic < 265  # chi-square with 198 degrees of freedom
    # The order within a stratum is random: its first rows are a sample, too.
    first = ids.filter(stratum=1).group_by(pl.arange(0, 60 * 50) // 50, maintain_order=True).first()["id"]
    assert first.n_unique() > 30


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["streaming", "in-memory"])
def test_weights_make_estimates_without_bias(engine):
    rng = np.random.default_rng(3)
    truth = rng.random(8000) < 0.03
    log = pl.DataFrame({"model": "a", "score": rng.normal(2 * truth), "truth": truth})
    pilot = log.head(3000).rename({"truth": "label"})
    plan = nf.plan_labels(log, budget=400, metric="recall", threshold=1.5, pilot=pilot)
    found = []
    for seed in range(25):
        drawn = nf.draw_labels(log, plan, seed=seed).collect(engine=engine)
        labelled = nf.scan_predictions(drawn.rename({"truth": "label"}), weight="weight")
        counts = nf.count_confusion(labelled, thresholds=[1.5])
        weighted = pl.col("tp", "fn", "fp") * pl.col("weight")
        found.append(counts.select(weighted.sum()).row(0))
    above = log["score"] >= 1.5
    positives, true = truth.sum(), (truth & above.to_numpy()).sum()
    sums = np.array(found)
    assert sums[:, 0] + sums[:, 2] == pytest.approx([above.sum()] * 25)
    for column, wanted in ((0, true), (1, positives - true)):
        error = sums[:, column].std() / 5
        assert abs(sums[:, column].mean() - wanted) < 3.5 * error


def two_models(rows=3000, shift=0.3):
    rng = np.random.default_rng(4)
    score = rng.random(rows)
    return pl.concat(
        [
            pl.DataFrame({"unit": [f"u{n}" for n in range(rows)], "model": name, "note": name,
                          "score": np.clip(score + rng.normal(0, shift, rows), 0, 1)})
            for name in ("old", "new", "third")
        ]
    )  # fmt: skip


def test_a_comparison_draws_both_models_of_a_unit(tmp_path):
    log = two_models()
    at = {"old": 0.7, "new": 0.6}
    plan = nf.plan_labels(log, budget=80, metric="recall", threshold=at, compare=("new", "old"))
    drawn = nf.draw_labels(log, plan, seed=3).collect()
    assert len(drawn) == 160
    assert drawn.columns == [*log.select("model", "score", "unit", "note").columns, "stratum", "weight"]
    units = drawn.group_by("unit").agg(pl.col("model").sort(), pl.col("stratum").unique(), "score")
    assert units["model"].to_list() == [["new", "old"]] * 80
    labels = drawn.filter(model="new").group_by("stratum").len().sort("stratum")["len"]
    assert labels.to_list() == plan["labels"].to_list()
    flags = drawn.with_columns(flag=pl.col("score") >= pl.col("model").replace_strict(at))
    wide = flags.pivot("model", index=["unit", "stratum"], values="flag")
    who = {(True, True): "both", (True, False): "new", (False, True): "old", (False, False): "none"}
    assert [who[new, old] for new, old in wide.select("new", "old").rows()] == [
        plan["flagged_by"][k] for k in wide["stratum"]
    ]
    log.sample(fraction=1, shuffle=True, seed=3).write_parquet(tmp_path / "log.parquet")
    scan = nf.scan_predictions(tmp_path / "log.parquet", label=None, unit="unit")
    assert_frame_equal(nf.draw_labels(scan, plan, seed=3).collect(), drawn)


def test_units_are_drawn_whole(monkeypatch):
    rng = np.random.default_rng(6)
    log = pl.DataFrame({"model": "a", "unit": rng.integers(0, 700, 4000), "score": rng.beta(0.3, 5, 4000)})
    asked = {"budget": 60, "metric": "recall", "threshold": 0.4}
    plan = nf.plan_labels(log, units=True, **asked)
    assert plan["rows"].sum() == log["unit"].n_unique()
    drawn = nf.draw_labels(log, plan, units=True, seed=1).collect()
    units = drawn.group_by("unit").agg(pl.len(), pl.col("stratum").unique(), best=pl.col("score").max())
    assert len(units) == 60
    every = log.group_by("unit").len().join(units, on="unit")
    assert every["len"].equals(every["len_right"], check_names=False)
    strata = np.searchsorted(plan["score_lower"], units["best"], "right") - 1
    assert units["stratum"].explode().to_list() == strata.tolist()
    # So they are in another order, and if few are read at a time.
    for limit in ("_FEWEST_ROWS", "_MOST_ROWS"):
        monkeypatch.setattr(f"nci_frames.counting.logs.reading.{limit}", 50)
    assert_frame_equal(
        nf.draw_labels(log.reverse(), plan, units=True, seed=1).collect(), drawn, check_row_order=False
    )
    with pytest.raises(nf.ParameterError, match="the plan is that of another log"):
        nf.draw_labels(log, plan).collect()
    anonymous = log.with_columns(unit=pl.when(pl.col("unit") > 0).then("unit"))
    with pytest.raises(nf.InvalidRowsError, match="no unit"):
        nf.plan_labels(anonymous, units=True, **asked)
    with pytest.raises(nf.SchemaError, match=r"'unit'(.|\n)*columns 'model', 'user', 'score'"):
        nf.plan_labels(log.rename({"unit": "user"}), units=True, **asked)


def test_a_log_with_a_column_for_each_model():
    wide = two_models().pivot("model", index="unit", values="score").with_columns(more=pl.lit(1))
    scan = nf.scan_predictions(wide, scores={m: m for m in ("old", "new")}, label=None, unit="unit")
    plan = nf.plan_labels(scan, budget=50, metric="precision", threshold=0.9, model="new")
    drawn = nf.draw_labels(scan, plan, model="new").collect()
    assert drawn["model"].unique().to_list() == ["new"]
    assert drawn["more"].unique().to_list() == [1]
    assert len(drawn) == 50


def test_invalid_rows_are_told_or_refused():
    log = a_log(1000).with_columns(score=pl.when(pl.int_range(pl.len()) % 100 > 0).then("score"))
    with pytest.raises(nf.InvalidRowsError):
        plan_of(log, budget=50)
    scan = nf.scan_predictions(log, label=None, on_invalid="drop")
    with pytest.warns(nf.InvalidRowsWarning):
        plan = plan_of(scan, budget=50)
    with pytest.warns(nf.InvalidRowsWarning, match="10"):
        drawn = nf.draw_labels(scan, plan).collect()
    assert len(drawn) == 50
