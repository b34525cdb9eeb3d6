"""The matrix of decisions, the winners between two mixes and the map of mixes draw what their tables say."""

from datetime import datetime

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.evaluation.classes.class_winners import LINES, winners_in_triangle
from nci_frames.questions.classes import QUESTIONS
from tests.cases import first_quick
from tests.chart_specs import layers, panel_rows, rows_of
from tests.charts.drawn import class_counts
from tests.class_logs import counts_of_models


def test_the_matrix_has_shares_of_the_class_and_of_the_mix():
    counts = class_counts(("a", "b"))
    rows = panel_rows(nf.chart_class_matrix(counts, priors={"x": 0.2, "y": 0.8}).to_dict())
    assert len(rows) == 2 * 2 * 3  # "none" is a decision, and no class
    cell = next(row for row in rows if (row["model"], row["label"], row["decision"]) == ("a", "x", "none"))
    assert (cell["rows"], cell["rate"], cell["share"], cell["percent"]) == (
        50,
        0.5,
        pytest.approx(0.1),
        "10.0",
    )


def test_the_matrix_names_classes_of_few_rows():
    pairs = {"label": ["x", "y", "x", "y"], "decision": ["x", "y", "x", "y"]}
    counts = pl.DataFrame({"model": ["a", "a", "b", "b"], **pairs, "rows": [20, 3, 20, 3]})
    for mix, ends in (
        ({"x": 0.2, "y": 0.8}, "as given; fewer than 10 independent rows of 'y'"),
        ({"x": 1.0, "y": 0.0}, "as given"),
    ):
        subtitle = nf.chart_class_matrix(counts, priors=mix).to_dict()["title"]["subtitle"]
        assert subtitle.endswith(ends)


def test_the_winners_are_bars_with_labelled_borders():
    ends = {"start": {"x": 1.0, "y": 0.0}, "end": {"x": 0.0, "y": 1.0}}
    winners = nf.class_winners(class_counts(("a", "b")), metric="accuracy", **ends)
    spec = nf.chart_class_winners(winners).to_dict()
    assert [row["model"] for row in rows_of(spec, "bars")] == ["b", "a"]
    assert [row["start"] for row in rows_of(spec, "borders")] == [pytest.approx(20 / 35)]
    of_class = winners.with_columns(pl.lit("x").alias("class"))
    marked = nf.chart_class_winners(of_class, priors={"x": 0.3, "y": 0.7}).to_dict()
    assert rows_of(marked, "mix") == [{"line": "x", "share": 0.3}]
    # The mark of the mix does not hide the label of a border.
    drawn = list(layers(marked))
    assert drawn.index("mix") < drawn.index("borders")


def test_a_missing_key_and_one_of_the_name_missing_have_a_bar_each():
    ends = {"start": {"x": 1.0, "y": 0.0}, "end": {"x": 0.0, "y": 1.0}}
    winners = nf.class_winners(class_counts(("a", "b")), metric="accuracy", **ends)
    keyed = pl.concat(winners.with_columns(day=pl.lit(day, pl.String)) for day in ("missing", None))
    rows = rows_of(nf.chart_class_winners(keyed).to_dict(), "bars")
    assert {row["line"] for row in rows} == {"missing", "missing (null)"}


def test_the_mix_is_marked_whatever_the_type_of_the_classes():
    for classes in ([False, True], [datetime(2026, 1, 2, 3), datetime(2026, 1, 3)]):
        kinds = pl.Series(classes).dt.cast_time_unit("ns") if classes[0] else pl.Series(classes)
        counts = counts_of_models("ab", 2).with_columns(
            pl.col("label", "decision").replace_strict([0, 1], kinds, return_dtype=kinds.dtype)
        )
        comparison = nf.compare_classes(counts, priors="uniform")
        (question,) = (each for each in QUESTIONS if each.name == "winners")
        spec = question.chart(question.table(comparison), comparison).to_dict()
        marks = [{"line": name, "share": 0.5} for name in comparison.classes]
        assert rows_of(spec, "mix") == marks
    of_class = comparison.winners.with_columns(pl.lit("false").alias("class")).head(1)
    marked = nf.chart_class_winners(of_class, priors={False: 0.3, True: 0.7}).to_dict()
    assert rows_of(marked, "mix") == [{"line": "false", "share": 0.3}]


def test_names_of_many_classes_do_not_overlap():
    for classes, angle, fewer in ((3, -45, None), (40, -90, True)):
        spec = nf.chart_class_matrix(counts_of_models("a", classes)).to_dict()
        axis = spec["spec"]["layer"][0]["encoding"]["x"]["axis"]
        assert (axis["labelAngle"], axis.get("labelOverlap")) == (angle, fewer)


def values_at(mixes, metric, cost, seed):
    """The rank and gap of each model at some mixes, by the public functions."""
    priors = {f"{n:03}": dict(enumerate(mix)) for n, mix in enumerate(mixes)}
    return nf.rank_models(
        nf.project_classes(counts_of_models("abcd", seed=seed), priors=priors, metrics=metric, cost=cost)
    )


def drawn_at(found, mixes):
    """The model that the map shows at some mixes: that of the nearest line."""
    lines = found["third"].unique().sort().to_numpy()
    shown = []
    for _, second, third in mixes:
        line = lines[np.abs(lines - third).argmin()]
        on_line = found.filter(third=line)
        # On the line the share of the second class is at most what the third leaves.
        place = min(second / (1 - third), 1) * on_line["end"].max()
        shown.append(on_line.filter(pl.col("end") >= place)["model"][0])
    return pl.DataFrame({"scenario": [f"{n:03}" for n in range(len(mixes))], "model": shown})


@pytest.mark.parametrize("seed", first_quick(range(2)))
@pytest.mark.parametrize("metric", first_quick(["macro_f_beta", "accuracy", "expected_cost", "mcc"]))
def test_the_model_of_a_place_is_the_best_of_its_mix(seed, metric):
    cost = {(0, 1): 3, (1, 2): 1, (2, 0): 2}
    found, classes = winners_in_triangle(
        counts_of_models("abcd", seed=seed), metric=metric, beta=1.0, cost=cost
    )
    assert classes == [0, 1, 2]
    rng = np.random.default_rng(seed)
    places = (rng.integers(0, LINES, (200, 2)) + 0.5) / LINES
    way, third = places.T
    on_lattice = np.stack([(1 - third) * (1 - way), (1 - third) * way, third], axis=1)
    for mixes, exact in ((on_lattice, True), (rng.dirichlet(np.ones(3), 200), False)):
        values = values_at(mixes, metric, cost, seed)
        shown = values.join(drawn_at(found, mixes), on=["scenario", "model"])
        assert len(shown) == len(mixes)
        # Between the mixes of the lattice another model may be a little better.
        assert shown.filter(pl.col("rank") > 1).height <= (0 if exact else 8)
        assert shown["gap"].abs().max() < 0.02


def test_equal_models_are_one_region_and_the_mix_is_a_dot():
    twins = pl.concat(
        [
            counts_of_models("abcd"),
            counts_of_models("abcd").filter(model="a").with_columns(model=pl.lit("twin")),
        ]
    )
    spec = nf.chart_class_simplex(twins, priors={"field": {0: 0.0, 1: 0.0, 2: 1.0}}).to_dict()
    equal = {row["equal"] for row in rows_of(spec, "regions")}
    assert all(("a" in names.split(", ")) == ("twin" in names) for names in equal)
    (dot,) = rows_of(spec, "mixes")
    assert (dot["scenario"], dot["across"], dot["third"]) == ("field", 0.5, 1.0)
