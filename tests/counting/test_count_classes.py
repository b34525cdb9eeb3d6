"""Decisions among classes are counted as a plain loop counts them."""

import itertools
from datetime import date

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from tests.cases import first_quick
from tests.class_logs import plain_counts, plain_decisions, scored_log

CLASSES = {
    "text": ["dog", "ant", "cat"],
    "whole": [7, -1, 300],
    "number": [0.5, -0.0, 2.0],
    "truth": [True, False],
    "date": [date(2024, 1, 2), date(2023, 1, 2)],
    "many": list(range(25)),
}


def as_dict(counts, *columns):
    """The counts above 0 by the values of some columns."""
    rows = counts.group_by(columns).agg(pl.col("rows").sum()).filter(pl.col("rows") > 0)
    return {row[:-1]: row[-1] for row in rows.select(*columns, "rows").rows()}


@pytest.mark.parametrize("classes", CLASSES.values(), ids=CLASSES)
@pytest.mark.parametrize("lazy", [False, True], ids=["scan", "filtered"])
def test_scores_are_counted_as_by_a_loop(classes, lazy):
    log, columns = scored_log(classes)
    scan = nf.scan_classes(log, scores=columns, segments="country")
    counts = nf.count_classes(scan.filter(pl.lit(value=True)) if lazy else scan)
    decided = plain_decisions(log, columns)
    plain = plain_counts(zip(log["model"], log["country"], log["label"], decided, strict=True))
    assert as_dict(counts, "model", "country", "label", "decision") == plain
    groups = log.select("model", "country").unique().height
    assert counts.height == groups * len(classes) ** 2
    assert counts["rows"].sum() == len(log)
    keys = ["model", "country", "label", "decision"]
    assert counts.columns == [*keys, "rows"]
    assert counts.equals(counts.sort(keys))


@pytest.mark.parametrize("classes", [CLASSES["text"], CLASSES["whole"], CLASSES["truth"]])
def test_decisions_are_counted_and_merged(classes, tmp_path):
    log, columns = scored_log(classes)
    log = log.with_columns(decision=pl.Series(plain_decisions(log, columns)))
    scan = nf.scan_classes(log.drop(columns.values()), segments="country", unit="unit")
    with pytest.warns(nf.IgnoredUnitsWarning):
        whole = nf.count_classes(scan, by=[])
    plain = plain_counts(log.select("model", "label", "decision").rows())
    assert as_dict(whole, "model", "label", "decision") == plain
    for number, part in enumerate((log[:100], log[100:])):
        part.write_parquet(tmp_path / f"{number}.parquet")
    parts = [nf.count_classes(nf.scan_classes(tmp_path / f"{n}.parquet", segments="country")) for n in (0, 1)]
    together = nf.count_classes(nf.scan_classes(tmp_path, segments="country"))
    assert nf.merge_class_counts(*parts).equals(together)


def test_every_pair_is_there_also_of_a_decision_that_is_no_class():
    # Large classes are not merged by a common type.
    classes = [2**53, 2**53 + 1]
    large = pl.DataFrame({"model": "a", "label": classes, "decision": classes})
    assert nf.count_classes(large)["rows"].to_list() == [1, 0, 0, 1]
    log = pl.DataFrame(
        {"model": ["a", "a", "b"], "label": ["x", "y", "x"], "decision": ["x", "abstain", "x"]}
    )
    counts = nf.count_classes(log)
    names = ["abstain", "x", "y"]
    assert counts.select("model", "label", "decision").rows() == list(itertools.product("ab", names, names))
    assert as_dict(counts, "model", "label", "decision") == {
        ("a", "x", "x"): 1, ("a", "y", "abstain"): 1, ("b", "x", "x"): 1,
    }  # fmt: skip


def test_more_pairs_than_the_memory_holds_are_refused():
    log = pl.DataFrame({"model": "a", "day": range(8), "label": range(8), "decision": 0})
    pairs = 8 * 8 * 8
    assert len(nf.count_classes(log, memory_limit=pairs * 96)) == pairs
    with pytest.raises(nf.ParameterError, match="8 groups x 64 pairs of classes"):
        nf.count_classes(log, memory_limit=pairs * 96 - 1)
    assert len(nf.count_classes(log, by=[], memory_limit=pairs * 96 - 1)) == 64


def test_a_few_weights_are_a_key_and_many_are_summed():
    log, columns = scored_log(["a", "b", "c"])
    decided = plain_decisions(log, columns)
    few = nf.count_classes(nf.scan_classes(log, scores=columns, weight="w"))
    plain = plain_counts(zip(log["model"], log["w"], log["label"], decided, strict=True))
    assert as_dict(few, "model", "weight", "label", "decision") == plain
    assert few.schema["rows"] == pl.Int64
    log = pl.concat([log] * 5).with_columns(w=pl.int_range(1500).cast(pl.Float64) / 8)
    many = nf.count_classes(nf.scan_classes(log, scores=columns, weight="w"))
    plain = plain_counts(zip(log["model"], log["label"], decided * 5, strict=True), log["w"])
    assert as_dict(many, "model", "label", "decision") == plain
    assert "weight" not in many.columns


def test_scores_are_moved_to_several_priors_in_one_pass():
    log, columns = scored_log(["a", "b", "c"])
    scan = nf.scan_classes(log, scores=columns)
    logged = {"a": 0.5, "b": 0.25, "c": 0.25}
    priors = {"rare": {"a": 0.125, "b": 0.0625, "c": 0.8125}, "without": {"a": 0.5, "b": 0.5, "c": 0.0}}
    counts = nf.count_classes(scan, priors=priors, logged_priors=logged)
    assert counts.columns == ["model", "scenario", "label", "decision", "rows"]
    for scenario, shares in priors.items():
        factors = [shares[name] / logged[name] for name in "abc"]
        decided = plain_decisions(log, columns, factors)
        plain = plain_counts(zip(log["model"], log["label"], decided, strict=True))
        assert as_dict(counts.filter(scenario=scenario), "model", "label", "decision") == plain
    shares = dict(log["label"].value_counts(normalize=True).rows())
    observed = nf.count_classes(scan, priors=priors)
    assert observed.equals(nf.count_classes(scan, priors=priors, logged_priors=shares))
    same = nf.count_classes(scan, priors="observed").drop("scenario")
    assert same.equals(nf.count_classes(scan))


def test_the_logged_shares_change_no_decision_even_for_a_class_without_rows():
    log = pl.DataFrame({"model": "m", "label": ["a", "b"], "a": [0.2, 0.3], "b": [0.1, 0.4], "c": [0.7, 0.3]})
    scan = nf.scan_classes(log, scores={name: name for name in "abc"})
    for logged in ("observed", {"a": 0.5, "b": 0.5, "c": 0.0}):
        found = nf.count_classes(scan, priors="observed", logged_priors=logged).drop("scenario")
        assert found.equals(nf.count_classes(scan))
        assert found.filter(label="a", decision="c")["rows"].item() == 1


def test_equal_scores_zeros_of_both_signs_and_infinities():
    log = pl.DataFrame(
        {
            "model": "m",
            "label": "a",
            "p": [0.0, -0.0, np.inf, -np.inf, 0.1],
            "q": [-0.0, 0.0, np.inf, -np.inf, 0.2],
        }
    )
    assert plain_decisions(log, {"a": "p", "b": "q"}) == ["a", "a", "a", "a", "b"]
    scan = nf.scan_classes(log, scores={"a": "p", "b": "q"})
    assert scan.collect()["decision"].to_list() == ["a", "a", "a", "a", "b"]
    assert as_dict(nf.count_classes(scan), "decision") == {("a",): 4, ("b",): 1}


@pytest.mark.parametrize("kind", ["text", "whole", "truth", "date"])
def test_classes_with_scores_may_be_named_by_their_text(kind):
    classes = CLASSES[kind]
    log = pl.DataFrame(
        {"model": "a", "label": classes, **{f"p{n}": [float(n)] * len(classes) for n in range(len(classes))}}
    )
    by_text = {str(name).lower(): f"p{n}" for n, name in enumerate(classes)}
    expected = nf.count_classes(
        nf.scan_classes(log, scores={name: f"p{n}" for n, name in enumerate(classes)})
    )
    assert_frame_equal(nf.count_classes(nf.scan_classes(log, scores=by_text)), expected)


def test_a_fraction_is_no_whole_class():
    log = pl.DataFrame({"model": "a", "label": [0, 1], "p": [0.1, 0.9], "q": [0.9, 0.1]})
    assert nf.scan_classes(log, scores={1.0: "p", 0.0: "q"}).collect()["decision"].to_list() == [0, 1]


def test_columns_of_each_model_and_logs_without_labels():
    log, columns = scored_log(["a", "b"])
    other = {"a": "p1", "b": "p0"}
    wide = nf.scan_classes(log.drop("model"), scores={"one": columns, "two": other})
    counts = nf.count_classes(wide)
    for model, of_model in (("one", columns), ("two", other)):
        plain = plain_counts(zip(log["label"], plain_decisions(log, of_model), strict=True))
        assert as_dict(counts.filter(model=model), "label", "decision") == plain
    decisions = log.select("label", one=pl.Series(plain_decisions(log, columns)),
                           two=pl.Series(plain_decisions(log, other)))  # fmt: skip
    for source in (decisions, decisions.lazy()):
        scan = nf.scan_classes(source, decision={"one": "one", "two": "two"})
        assert nf.count_classes(scan).equals(counts)
    unlabelled = nf.scan_classes(log.drop("label"), scores=columns, label=None)
    traffic = nf.count_classes(unlabelled)
    assert traffic.columns == ["model", "decision", "rows"]
    assert as_dict(traffic, "decision") == plain_counts((name,) for name in plain_decisions(log, columns))


def test_models_with_scores_of_two_types_are_compared_in_the_wider_one():
    log = pl.DataFrame({"label": ["x", "y"], "p": [0.7, 0.2], "q": [0.6, 0.8], "r": [0.7, 0.9]})
    single = {name: pl.col(name).cast(pl.Float32) for name in "pq"}
    of = {"one": {"x": "p", "y": "q"}, "two": {"x": "r", "y": "q"}, "three": {"x": "r", "y": "r"}}
    scan = nf.scan_classes(log.with_columns(**single), scores=of)
    assert scan.collect().select("model", "decision").rows() == [
        ("one", "x"), ("one", "y"), ("two", "x"), ("two", "x"), ("three", "x"), ("three", "x"),
    ]  # fmt: skip
    assert nf.count_classes(scan).equals(nf.count_classes(nf.scan_classes(log, scores=of)))


@pytest.mark.parametrize(
    "classes", first_quick(CLASSES[name] for name in ("truth", "text", "whole", "number"))
)
def test_texts_of_csv_files_are_read_as_classes_and_scores(classes, tmp_path):
    log, columns = scored_log(classes)
    log = log.with_columns(decision=pl.Series(plain_decisions(log, columns)))
    log.write_csv(tmp_path / "log.csv")
    for options in ({}, {"scores": columns}):
        expected = nf.count_classes(nf.scan_classes(log, **options))
        assert nf.count_classes(nf.scan_classes(tmp_path / "log.csv", **options)).equals(expected)
    named = log.with_columns(decision=pl.lit("none"))
    named.write_csv(tmp_path / "log.csv")
    assert nf.count_classes(nf.scan_classes(tmp_path / "log.csv")).schema["label"] == pl.String


def test_units_fall_into_the_buckets_of_binary_logs():
    log, columns = scored_log(["a", "b"])
    scan = nf.unit_buckets(nf.scan_classes(log, scores=columns, unit="unit"), buckets=8)
    binary = log.select("model", "unit", label=pl.col("label") == "a", score="p0")
    buckets = nf.unit_buckets(binary, buckets=8).collect()["bucket"]
    assert scan.collect()["bucket"].to_list() == buckets.to_list()
    assert as_dict(nf.count_classes(scan), "bucket") == plain_counts((bucket,) for bucket in buckets)


def test_types_that_differ_are_brought_together_or_refused():
    log = pl.DataFrame({"model": "a", "label": [0, 1, 2], "decision": [0.0, 1.0, 1.0]})
    assert nf.count_classes(log)["rows"].sum() == 3
    texts = log.with_columns(pl.col("label").cast(pl.String).cast(pl.Categorical), decision=pl.lit("0"))
    assert nf.count_classes(texts).schema["label"] == pl.String
    named = nf.scan_classes(log.with_columns(p=0.1, q=0.2, r=0.3), scores={"0": "p", "1": "q", "2": "r"})
    assert named.collect_schema()["decision"] == pl.Int64


BAD = {
    "label is null": {"label": ["a", None]},
    "score is null": {"p": [0.1, None]},
    "score is NaN": {"q": [0.1, np.nan]},
    "label is a class without a score": {"label": ["a", "c"]},
    "weight is not a finite number >= 0": {"w": [1.0, -1.0]},
}


@pytest.mark.parametrize(("reason", "change"), BAD.items(), ids=BAD)
def test_invalid_rows_are_refused_or_dropped_and_told(reason, change):
    good = {"model": ["m", "m"], "label": ["a", "b"], "p": [0.9, 0.4], "q": [0.1, 0.6], "w": [1.0, 2.0]}
    options = {"scores": {"a": "p", "b": "q"}, "weight": "w"}
    log = pl.DataFrame(good | change)
    with pytest.raises(nf.InvalidRowsError, match=f"1 row: {reason}"):
        nf.count_classes(nf.scan_classes(log, **options))
    with pytest.warns(nf.InvalidRowsWarning, match=rf"1 \({reason}\)"):
        assert nf.count_classes(nf.scan_classes(log, on_invalid="drop", **options))["rows"].sum() == 1


def test_what_is_not_valid_is_found_wherever_it_is():
    rows = 70_000
    label = pl.Series(["x", "y"]).gather(pl.Series(range(rows)) % 2).scatter(50_000, "z")
    log = pl.DataFrame({"model": "m", "label": label, "p": 0.5, "q": 0.25}).with_columns(
        p=pl.when(pl.int_range(rows) != 40_001).then("p"),
        q=pl.when(pl.int_range(rows) == rows - 1).then(float("nan")).otherwise("q"),
    )
    scores = {"x": "p", "y": "q"}
    with pytest.raises(
        nf.InvalidRowsError, match="1 row: score is null, 1 row: score is NaN, 1 row: label is"
    ):
        nf.count_classes(nf.scan_classes(log, scores=scores))
    with pytest.warns(nf.InvalidRowsWarning, match=r"1 \(score is null\), 1 \(score is NaN\), 1 \(label is"):
        found = nf.count_classes(nf.scan_classes(log, scores=scores, on_invalid="drop"))
    assert found.filter(decision="x")["rows"].to_list() == [34_999, 34_998]


def test_a_log_without_a_valid_row_has_counts_of_0_also_at_other_priors():
    log = pl.DataFrame({"model": "m", "label": pl.Series([None], dtype=pl.String), "p": 0.9, "q": 0.1})
    scan = nf.scan_classes(log, scores={"a": "p", "b": "q"}, on_invalid="drop")
    even = {"a": 0.5, "b": 0.5}
    with pytest.warns(nf.InvalidRowsWarning, match="label is null"):
        found = nf.count_classes(scan, priors=even, logged_priors=even)
    assert found["rows"].sum() == 0


@pytest.mark.parametrize(
    "weights", [None, [1.0, 2.0, 3.0], np.arange(1, 1202) / 7], ids=["none", "few", "many"]
)
def test_scores_of_several_models_are_counted_as_one_row_for_each(weights):
    """Also where a row is not valid for one of the models, and where its label or weight is not."""
    rng = np.random.default_rng(4)
    rows = 3000
    scores = {f"{model}{of}": rng.random(rows).round(1) for model in "ab" for of in "xyz"}
    scores["ay"][::7], scores["bz"][5::11] = np.nan, np.inf
    weight = np.ones(rows) if weights is None else rng.choice(weights, rows)
    weight[::501] = -1
    label = pl.Series(rng.choice(["x", "y", "z"], rows).tolist()).scatter([3, 1400], [None, "other"])
    log = pl.DataFrame({"label": label, "weight": weight, **scores})
    log = log.with_columns(bx=pl.when(pl.int_range(rows) % 13 > 0).then("bx"))
    options = {"weight": None if weights is None else "weight", "on_invalid": "drop"}
    of = {model: {name: f"{model}{name}" for name in "xyz"} for model in "ab"}
    long = pl.concat([
        log.select(pl.lit(model).alias("model"), "label", "weight", **{name: columns[name] for name in "xyz"})
        for model, columns in of.items()
    ])  # fmt: skip
    with pytest.warns(nf.InvalidRowsWarning) as wide_told:
        wide = nf.count_classes(nf.scan_classes(log, scores=of, **options))
    rows_of_each = nf.scan_classes(long, scores={name: name for name in "xyz"}, **options)
    with pytest.warns(nf.InvalidRowsWarning) as long_told:
        expected = nf.count_classes(rows_of_each)
    with pytest.warns(nf.InvalidRowsWarning):
        decided = rows_of_each.collect().drop("scores")
    assert_frame_equal(nf.count_classes(decided), expected, abs_tol=1e-9, rel_tol=0)
    assert_frame_equal(wide, expected, abs_tol=1e-9, rel_tol=0)
    dropped = [str(told[0].message).split(": ")[1].split(";")[0] for told in (wide_told, long_told)]
    assert dropped[0] == dropped[1]


def test_zero_is_one_class_without_a_sign():
    log = pl.DataFrame({"model": "a", "label": [-0.0, 0.0, 1.0], "decision": [0.0, -0.0, -0.0]})
    counts = nf.count_classes(nf.scan_classes(log))
    assert counts.filter(pl.col("rows") > 0).rows() == [("a", 0.0, 0.0, 2), ("a", 1.0, 0.0, 1)]
    assert not np.signbit(counts.select("label", "decision").to_numpy()).any()
