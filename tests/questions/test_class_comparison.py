"""A comparison of decisions among classes: its tables are those of the public functions, at every mix."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.questions.answer_lines import percent
from nci_frames.questions.classes import (
    QUESTIONS,
    assumption_lines,
    class_answer_lines,
    opening_class,
    order_in_words,
)
from tests.cases import first_quick
from tests.class_logs import counts_of_models

FIELD = {"ant": 0.2, "bee": 0.1, "cat": 0.7}


def log(rows=240, seed=1):
    """Three models, each good at another class, that decide about the same units."""
    rng = np.random.default_rng(seed)
    names = np.array(["ant", "bee", "cat"])
    label = names[rng.integers(0, 3, rows)]
    columns = {}
    for place, model in enumerate(("a", "b", "c")):
        right = rng.random(rows) < np.where(label == names[place], 0.9, 0.6)
        columns[model] = np.where(right, label, names[rng.integers(0, 3, rows)])
    return pl.DataFrame({"unit": np.arange(rows) % 120, "label": label, **columns})


def counts(units=True, **options):
    scan = nf.scan_classes(log(**options), decision={name: name for name in "abc"}, unit="unit")
    return nf.count_classes(
        nf.unit_buckets(scan, buckets=60) if units else scan.drop("unit"), by=["bucket"] if units else []
    )


def test_the_answer_is_that_of_the_public_functions():
    found = nf.compare_classes(counts(), priors=FIELD, metric="accuracy")
    values = nf.project_classes(counts(), priors=FIELD, metrics="accuracy", interval="delta")
    told, wanted = (table.select("model", "value", "lower", "upper") for table in (found.answer, values))
    # Of the first, the lower bound allows for its choice.
    first_wanted = wanted.filter(model=told["model"][0])
    assert told["lower"][0] < first_wanted["lower"].item()
    told = told.with_columns(lower=pl.when(pl.int_range(pl.len()) > 0).then("lower"))
    lower = pl.when(pl.col("model") != told["model"][0]).then("lower")
    wanted = wanted.with_columns(lower=lower)
    assert_frame_equal(told, wanted, check_row_order=False, rel_tol=0, abs_tol=1e-15)
    first, *others = found.answer["model"].to_list()
    pairs = nf.compare_class_models(counts(), metric="accuracy", priors=FIELD)
    for other in others:
        pair = pairs.filter(pl.col("model_a").is_in([first, other]), pl.col("model_b").is_in([first, other]))
        told = found.answer.filter(model=other)["distinguishable"].item()
        assert told == pair["distinguishable"].item()
    assert found.answer["distinguishable"][0] is None


@pytest.mark.long
def test_the_bounds_of_the_first_of_many_models_hold():
    """Those of a model that was named before held the accuracy of the first one in 0.68 of such logs."""
    rng, held, logs = np.random.default_rng(3), 0, 60
    for _ in range(logs):
        right = rng.binomial(300, 0.75, (20, 2))
        cells = [
            {"model": f"m{model:02}", "label": label, "decision": decision, "rows": rows}
            for model, hits in enumerate(right.tolist())
            for label, other, hit in zip("ab", "ba", hits, strict=True)
            for decision, rows in ((label, hit), (other, 300 - hit))
        ]
        answer = nf.compare_classes(pl.DataFrame(cells), metric="accuracy").answer
        held += answer["lower"][0] <= 0.75 <= answer["upper"][0]
    assert held / logs > 0.93


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"units": False}, "In this log the best model changes"),  # models are not compared
        (
            {"rows": 24},
            "This log cannot tell the value: fewer than 10 independent rows of 'ant', 'bee', 'cat'. Nor",
        ),
    ],
)
def test_no_model_is_to_be_chosen_before_others_that_may_be_as_good(given, told):
    lines = class_answer_lines(nf.compare_classes(counts(**given), priors=FIELD))
    assert lines[1].startswith("Best in this log: ")
    assert lines[-1].startswith(told)


def test_models_without_a_value_are_named_with_the_reason():
    long = log().unpivot(on=["a", "b"], index="label", variable_name="model", value_name="decision")
    seen = long.filter((pl.col("model") == "b") | (pl.col("label") != "cat"))
    lines = class_answer_lines(nf.compare_classes(nf.count_classes(seen), priors=FIELD))
    assert lines[1].startswith("Choose b: ")
    assert lines[-1] == "Not compared, since no row of 'cat': a"


@pytest.mark.parametrize("metric", first_quick(["accuracy", "macro_f_beta", "mcc"]))
def test_the_ranges_are_those_in_which_the_curves_lead(metric):
    found = nf.compare_classes(counts(units=False), priors=FIELD, metric=metric)
    own = found.curves.filter(pl.col("class") == "cat", share=0.7)
    assert own.sort("model")["value"].to_list() == pytest.approx(
        found.answer.sort("model")["value"].to_list(), abs=1e-12
    )
    for name in FIELD:
        ranges = found.winners.filter(pl.col("class") == name)
        # With one class alone, several metrics are equal for all models.
        inside = found.curves.filter(pl.col("class") == name, pl.col("share").is_between(0, 1, closed="none"))
        best = inside.filter(rank=1).group_by("share").agg("model")
        for share, models in best.rows():
            here = ranges.filter(pl.col("start") - 1e-9 <= share, pl.col("end") + 1e-9 >= share)
            assert set(models) <= {model for tied in here["tied"] for model in tied}
    assert found.winners["model"].n_unique() > 1


@pytest.mark.thorough
def test_the_others_keep_their_proportions():
    found = nf.compare_classes(counts(units=False), priors=FIELD, metric="macro_f_beta")
    row = found.curves.filter(pl.col("class") == "cat", share=0.4, model="b").row(0, named=True)
    mix = {"ant": 0.6 * 2 / 3, "bee": 0.6 / 3, "cat": 0.4}
    expected = nf.project_classes(counts(units=False), priors=mix, metrics="macro_f_beta", interval="delta")
    for name in ("value", "lower", "upper"):
        assert row[name] == pytest.approx(expected.filter(model="b")[name].item(), abs=1e-12)


def test_every_mix_is_compared_and_the_first_is_asked_for():
    mixes = {"day": FIELD, "night": {"ant": 1.0, "bee": 0.0, "cat": 0.0}}
    found = nf.compare_classes(counts(units=False), priors=mixes, metric="accuracy")
    assert found.other_mixes["scenario"].unique(maintain_order=True).to_list() == [
        "day", "night", "observed", "uniform",
    ]  # fmt: skip
    assert found.scenario == "day"
    assert found.other_mixes.filter(scenario="day")["value"].to_list() == found.answer["value"].to_list()
    shares = dict(zip(found.classes, found.mixes["observed"].values(), strict=True))
    known = log()["label"].value_counts(normalize=True)
    assert shares == pytest.approx(dict(known.rows()))


def test_what_is_said_names_the_mix_the_model_and_the_nearest_change():
    found = nf.compare_classes(counts(), priors=FIELD, metric="macro_f_beta", beta=2)
    first, second, *_ = class_answer_lines(found)
    assert first == "At the mix given (cat: 70 %, ant: 20 %, bee: 10 %), by macro F2:"
    assert second.startswith("Choose ")
    assert f"macro F2 {found.answer['value'][0]:.3f}" in second
    assert "the best model changes with the share of" in order_in_words(found)
    # The page opens with the share of the class that is named first.
    assert f"class {opening_class(found)} (here" in order_in_words(found).partition(";")[0]
    assert "groups of units" in assumption_lines(found)[0]
    alone = nf.compare_classes(counts(units=False), metric="mcc")
    assert alone.measure == "MCC"
    assert alone.answer["distinguishable"].null_count() == 3
    assert "No unit was named" in assumption_lines(alone)[0]


@pytest.mark.parametrize("name", ["uniform", "observed"])
def test_a_mix_with_the_name_of_another_is_not_called_so(name):
    found = nf.compare_classes(counts(units=False), priors={name: FIELD})
    assert class_answer_lines(found)[0].startswith(
        f"At the mix '{name}' (cat: 70 %, ant: 20 %, bee: 10 %), by"
    )
    word = nf.compare_classes(counts(units=False), priors={name: name})
    assert class_answer_lines(word) == class_answer_lines(
        nf.compare_classes(counts(units=False), priors=name)
    )


@pytest.mark.thorough
def test_borders_are_percentages_as_the_shares_beside_them_are(tmp_path):
    found = nf.compare_classes(counts(), priors=FIELD)
    name = opening_class(found)
    border = found.leads[name][0].end
    assert f"up to {percent(border)}, then" in order_in_words(found)
    page = nf.write_report(found, tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"up to {percent(border)}, then" in page


def test_the_best_models_along_each_share_are_those_of_the_public_function():
    of_models = counts_of_models("abc", 4)
    heavy = of_models.with_columns(pl.col("rows") // 3, weight=pl.lit(7.0))
    found = nf.compare_classes(pl.concat([of_models.with_columns(weight=pl.lit(1.0)), heavy]), metric="mcc")
    for place, name in enumerate(found.varied):
        rest = 1 - found.mix[place]
        ends = {
            end: {of: share if of == place else (1 - share) * own / rest for of, own in found.mix.items()}
            for end, share in (("start", 0.0), ("end", 1.0))
        }
        known = nf.class_winners(found.counts, metric="mcc", **ends)
        assert_frame_equal(found.winners.filter(pl.col("class") == name).drop("class"), known)


@pytest.mark.parametrize(
    ("classes", "models", "moved"),
    [
        (12, "ab", 12),
        *(pytest.param(*many, marks=pytest.mark.long) for many in [(80, "ab", 34), (80, "abc", 27)]),
    ],
)
def test_the_page_of_many_classes_moves_those_that_change_the_best_model(classes, models, moved):
    found = nf.compare_classes(counts_of_models(models, classes), metric="accuracy")
    assert len(found.moved) == moved
    assert len(found.curves) == len(models) * moved * len(found.places) <= 12_000
    assert len(found.places) > 10
    largest = sorted(set(found.varied) - {*found.changing}, key=lambda name: -found.shares[name])
    assert {*found.moved} == {*[*found.changing, *largest][:moved]}
    assert opening_class(found) in found.moved


def test_the_page_says_where_no_model_has_a_value(tmp_path):
    found = nf.compare_classes(counts(units=False), priors={"ant": 0.5, "bee": 0.3, "cat": 0.1, "dog": 0.1})
    page = nf.write_report(found, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "In this log no model leads whatever the share of class ant, the others in proportion" in page


@pytest.mark.thorough
def test_of_one_model_nothing_is_said_of_an_order(tmp_path):
    alone = nf.compare_classes(counts().filter(model="a"), priors=FIELD)
    assert not any("leads" in line for line in class_answer_lines(alone))
    page = nf.write_report(alone, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "1 model that decides among 3 classes" in page
    assert " leads " not in page
    assert "Best model by" not in page


def test_costs_choose_the_metric_and_the_lowest_is_best():
    found = nf.compare_classes(counts(units=False), priors=FIELD, cost={("cat", "ant"): 5, ("ant", "cat"): 1})
    assert found.metric == "expected_cost"
    named = nf.compare_classes(counts(units=False), metric="expected_cost", cost={("cat", "ant"): 5})
    assert named.metric == "expected_cost"
    assert found.answer["value"].is_sorted()
    assert f"expected cost {found.answer['value'][0]:.3f} a row (95 %" in class_answer_lines(found)[1]
    assert found.answer["rank"].to_list() == [1, 2, 3]
    (values,) = [question for question in QUESTIONS if question.name == "intervals"]
    drawn = values.chart(values.table(found), found).to_dict()
    assert {layer["encoding"]["y"]["sort"]["order"] for layer in drawn["layer"]} == {"ascending"}


def test_a_mix_of_one_class_varies_only_the_others():
    found = nf.compare_classes(counts(units=False), priors={"ant": 1.0, "bee": 0.0, "cat": 0.0})
    assert set(found.winners["class"]) == {"bee", "cat"}


def test_a_log_of_one_class_lacks_another_whose_share_could_vary():
    found = nf.compare_classes(counts(units=False).filter(label="ant"), metric="accuracy")
    assert found.answer["value"].null_count() == 0
    with pytest.raises(nf.SchemaError, match="no other class has a share to vary"):
        _ = found.winners


def test_models_that_tie_everywhere_lead_together():
    one = counts(units=False).filter(model="a")
    both = nf.compare_classes(pl.concat([one, one.with_columns(model=pl.lit("twin"))]), priors=FIELD)
    assert "In this log a or twin lead whatever the share of any one class" in class_answer_lines(both)


def test_of_equal_models_those_lead_that_have_a_value_for_every_class():
    each = {"label": ["x", "y", "z"], "decision": ["x", "y", "z"]}
    models = [
        pl.DataFrame({"model": name, **each, "rows": [30, 40, rows]}) for name, rows in (("a", 0), ("b", 10))
    ]
    both = nf.compare_classes(pl.concat(models), priors={"x": 0.5, "y": 0.5, "z": 0.0})
    assert "In this log b leads whatever the share of any one class" in class_answer_lines(both)


def test_a_model_without_a_name_may_lead():
    unnamed = counts(units=False).with_columns(pl.col("model").replace("a", ""))
    found, known = (nf.compare_classes(each, priors=FIELD) for each in (unnamed, counts(units=False)))
    for name, leads in known.leads.items():
        assert ["a" if lead.models == ("(no name)",) else lead.models[0] for lead in found.leads[name]] == [
            lead.models[0] for lead in leads
        ]


@pytest.mark.thorough
def test_every_question_has_an_answer_and_a_chart_if_it_draws_one():
    found = nf.compare_classes(counts(), priors=FIELD)
    for question in QUESTIONS:
        table = question.table(found)
        assert question.sentences(table, found) is not None or table.height
        if question.draw is not None:
            assert question.chart(table, found).to_dict()["description"]


@pytest.mark.thorough
def test_the_matrix_and_the_mistakes_of_weighted_rows_count_rows():
    """Their shares are those of the weights."""
    rows = log().with_columns(weight=pl.when(pl.col("label") == "ant").then(4.0).otherwise(1.0))
    scan = nf.scan_classes(rows, decision={name: name for name in "abc"}, weight="weight")
    found = nf.compare_classes(nf.count_classes(scan), priors=FIELD)
    assert found.matrix["rows"].sum() == 3 * len(rows)
    (asked,) = (each for each in QUESTIONS if each.name == "mistakes")
    for row in asked.table(found).iter_rows(named=True):
        of_class = rows.filter(label=row["class"])
        assert row["rows"] == (of_class[row["model"]] == row["decision"]).sum()
        assert row["share of class"] == pytest.approx(row["rows"] / len(of_class))


def weighted(weight, units=True):
    rows = log().with_columns(weight=weight)
    scan = nf.scan_classes(rows, decision={name: name for name in "abc"}, weight="weight", unit="unit")
    return nf.compare_classes(
        nf.count_classes(nf.unit_buckets(scan, buckets=60) if units else scan.drop("unit"))
    )


def test_the_report_says_how_rows_with_weights_are_resampled():
    two = pl.when(pl.int_range(pl.len()) % 3 == 0).then(4.0).otherwise(1.0)
    assert assumption_lines(weighted(two))[0].endswith(" Their rows count for what they weigh.")
    said = assumption_lines(weighted(two, units=False))[0]
    assert said.endswith(
        " The rows of each of the 2 weights are taken as a sample of their own, of fixed size."
    )
    assert "models are not compared" in said
    alone = nf.compare_classes(counts(units=False).filter(model="a"))
    assert assumption_lines(alone)[0] == "No unit was named: rows are taken as independent in intervals."


@pytest.mark.thorough
def test_charts_of_values_without_intervals_name_and_draw_none():
    rng = np.random.default_rng(0)
    rows = pl.concat([log(seed=seed) for seed in range(5)])
    rows = rows.with_columns(weight=pl.Series(rng.uniform(1, 9, len(rows))))
    scan = nf.scan_classes(rows, decision={name: name for name in "abc"}, weight="weight")
    found = nf.compare_classes(nf.count_classes(scan))
    assert found.answer["lower"].null_count() == 3
    for question in QUESTIONS:
        if question.name in ("intervals", "share"):
            drawn = question.chart(question.table(found), found).to_dict()
            assert not {"bars", "band"} & {layer.get("name") for layer in drawn["layer"]}
            assert "bound" not in str(drawn["title"])
