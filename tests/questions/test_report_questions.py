"""What a report draws, and of whom; what is left out of long curves before they are drawn or resampled."""

import shlex
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.questions.answer_lines import answer_lines
from nci_frames.questions.drawn_curves import report_curves
from nci_frames.questions.log_tables import MOST_MODELS
from nci_frames.questions.report import report_charts
from nci_frames.questions.report_question import SECTIONS, shown_models
from nci_frames.tables.numbers import format_threshold
from tests.cases import first_quick
from tests.chart_specs import rows_of
from tests.comparisons import MODELS, comparison, questions
from tests.logs import counts_at, random_log, unit_log
from tests.small_jobs import ended


@pytest.mark.thorough
def test_the_models_shown_are_those_nearest_to_the_top():
    models = {f"m{i:02d}": (0.5, 0.3 - i / 100) for i in range(16)}
    tables = comparison(models, prevalence=[0.01, 0.1], beta=[1.0])
    assert shown_models(tables) == [f"m{i:02d}" for i in range(16 - MOST_MODELS, 16)]
    assert shown_models(tables, most=2) == ["m14", "m15"]


@pytest.mark.long
def test_curves_are_smooth_however_few_prevalences_and_betas_are_compared():
    drawn = report_charts(comparison(prevalence=[0.001, 0.5], beta=[1.0]))
    for name in ("value", "p3", "f-prevalence", "f-beta", "pr-auc"):
        rows = pl.DataFrame(rows_of(drawn[name].to_dict())).drop_nulls("value")
        x = "beta" if name == "f-beta" else "prevalence"
        for (_,), curve in rows.group_by("model"):
            assert curve.height > 30
            assert np.abs(np.diff(curve["value"].to_numpy())).max() < 0.1, name
            assert np.diff(np.log(curve[x].to_numpy())).max() < 0.5, name


@pytest.mark.long
def test_every_chart_holds_at_most_5000_rows():
    models = {f"m{i:02d}": (0.9 - i / 50, 0.3 / 1.2**i) for i in range(16)}
    for name, chart in report_charts(comparison(models, segments=["DE", None])).items():
        assert 0 < sum(map(len, chart.to_dict(validate=False)["datasets"].values())) <= 5_000, name


@pytest.mark.thorough
def test_long_curves_keep_their_shape_at_every_prevalence():
    log = unit_log({"a": 1.5, "b": 1.5}, 75_000, share=0.1)
    rates = nf.compute_rates(nf.count_confusion(log.drop("unit"), thresholds="exact"))
    thinned = report_curves(rates, ["a", "b"])
    assert thinned.height < rates.height / 10
    assert thinned.join(rates, on=["model", "threshold"], how="anti").is_empty()
    for model in ("a", "b"):
        every, kept = (
            table.filter(pl.col("model") == model, pl.col("fpr") > 0).sort("fpr", "tpr")
            for table in (rates, thinned)
        )
        x, y, kept_x, kept_y = every["fpr"].log(), every["tpr"], kept["fpr"].log(), kept["tpr"]
        # A riser is met from the side, a tread from above.
        above = np.abs(np.interp(x, kept_x, kept_y) - y.to_numpy())
        beside = np.abs(np.interp(y, kept_y, kept_x) - x.to_numpy()) / (x.max() - x.min())
        assert np.minimum(above, beside).max() < 7e-4  # a third of a pixel of the chart


def test_long_curves_keep_the_steps_of_recall_over_alerts():
    log = unit_log({"a": 2.5}, 20_000, share=0.1)
    rates = nf.compute_rates(nf.count_confusion(log.drop("unit"), thresholds="exact"))
    thinned = report_curves(rates, ["a"])
    assert thinned.height < rates.height / 3
    for eta in (1e-4, 0.1):
        places = np.geomspace(eta / 200, 1, 500)

        def attained(table, factor, eta=eta, places=places):
            flagged = eta * table["tpr"].to_numpy() + (1 - eta) * table["fpr"].to_numpy()
            order, recall = np.argsort(flagged), np.r_[0, np.sort(table["tpr"].to_numpy())]
            return recall[np.searchsorted(flagged[order], factor * places, side="right")]

        # Never more than is attained, and as much at most a pixel of the chart farther to the right.
        assert (attained(thinned, 1) <= attained(rates, 1)).all()
        assert (attained(thinned, 1.01) >= attained(rates, 1)).all()


def test_short_curves_are_left_as_they_are():
    rates = comparison().rates
    assert report_curves(rates, list(MODELS)).equals(rates)
    assert report_curves(rates, ["forest"]).equals(rates.filter(model="forest"))


def cheapest(
    prevalence: list[float], at: float | None = None, **question: Any
) -> tuple[pl.DataFrame | None, list[str]]:
    """Return what would tell what a small log cannot: the table of the question, and what it says."""
    counts = nf.expected_counts(tpr=0.8, fpr=0.0005, positives=200, negatives=20_000)
    counts = counts.with_columns(threshold=pl.lit(question.get("threshold", 0.5)))
    compared = nf.compare_models(
        counts, prevalence=prevalence, question=nf.Question(prevalence=at, **question), repeats=20
    )
    (asked,) = questions("cheapest")
    table = asked.table(compared)
    return table, [] if table is None else asked.sentences(table, compared) or []


def test_what_a_log_cannot_tell_stands_beside_the_labels_that_would_tell_it() -> None:
    table, said = cheapest([1e-5, 2e-5, 1e-4, 0.5], metric="precision", threshold=0.5)
    assert table is not None
    assert table["prevalence"].to_list() == [1e-5, 2e-5, 1e-4]
    assert (table["labels"] < table["random"]).all()
    assert [line.split(" this log cannot tell ")[0] for line in said] == [
        "At prevalence 10⁻⁵", "At prevalence 10⁻⁴",
    ]  # fmt: skip
    labels = table["labels"][0]
    assert said[0].endswith(
        f"plan-labels LOG --pilot THIS_LOG --budget {labels} --metric precision --threshold 0.5"
    )


def test_of_several_models_the_command_names_the_one_whose_scores_it_plans_by() -> None:
    counts = nf.expected_counts(tpr=0.8, fpr=0.0005, positives=200, negatives=20_000)
    both = pl.concat(counts.with_columns(model=pl.lit(name), threshold=0.5) for name in ("a", "new one"))
    better = both.with_columns(tp=pl.col("tp") + (pl.col("model") == "new one").cast(pl.Int64))
    question = nf.Question(prevalence=1e-5, metric="recall", threshold=0.5)
    compared = nf.compare_models(better, prevalence=[1e-5, 0.5], question=question, repeats=20)
    compared = compared.asking(metric="precision")
    (asked,) = questions("cheapest")
    table = asked.table(compared)
    assert table is not None
    (said,) = asked.sentences(table, compared) or []
    assert said.endswith(" --by-model 'new one'")


def test_the_labels_that_the_question_needs_are_the_only_ones_that_are_named() -> None:
    _, (said,) = cheapest([1e-5, 1e-4, 0.5], at=1e-4, metric="f_beta", beta=2.0, threshold=0.5)
    assert said.startswith("At prevalence 10⁻⁴ this log cannot tell F2 of ")
    assert " --metric f_beta --beta 2 --threshold 0.5" in said


def test_a_command_that_is_named_can_be_pasted() -> None:
    _, (said,) = cheapest([1e-5, 0.5], at=1e-5, metric="precision", threshold=-1.5e-5)
    assert f" at threshold {format_threshold(-1.5e-5)}; " in said
    assert said.endswith(" --threshold -1.5e-05")


@pytest.mark.thorough
def test_a_command_that_is_named_plans_for_the_metric_of_the_question(tmp_path) -> None:
    path, plan = tmp_path / "log.parquet", tmp_path / "plan.csv"
    random_log(400).filter(model="forest").write_parquet(path)
    with_costs = "net_benefit(threshold_probability=0.1)"
    for metric, asked in (("ppv", "precision"), ("expected_cost", "expected_cost(c_fp=1, c_fn=1)"),
                          (with_costs, with_costs)):  # fmt: skip
        _, (said,) = cheapest([1e-5, 0.5], at=1e-5, metric=metric, threshold=0.5)
        _, _, options = said.partition("nci-frames plan-labels LOG --pilot THIS_LOG ")
        command = shlex.split(options)
        assert command[command.index("--metric") + 1] == asked
    ended(0, "plan-labels", path, "--pilot", path, *command, "--out", plan)
    assert pl.read_csv(plan)["labels"].sum() > 0


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"metric": "pr_auc"}, "; nci-frames plan-labels does not plan for areas"),
        (
            {"metric": "precision", "threshold": 0.5},
            "no alert in it is false: labels of alerts of the traffic",
        ),
        ({"cost": (200, 5), "threshold": 0.5}, "no alert in it is false: labels of alerts of the traffic"),
    ],
)
def test_where_no_plan_of_labels_is_known_the_answer_says_why(question: dict[str, Any], said: str) -> None:
    counts = counts_at([80, 40], 0, 100, 999, model="a", threshold=[0.5, 0.7])
    asked = nf.Question(prevalence=1e-5, **question)
    compared = nf.compare_models(counts, prevalence=[1e-5, 0.5], question=asked, repeats=20)
    (line,) = (line for line in answer_lines(compared.said) if "cannot tell the value:" in line)
    assert said in line


@pytest.mark.parametrize(
    "question",
    [{"metric": "pr_auc"}, {"metric": "recall", "threshold": 0.5}, {"cost": (200, 5, 8), "threshold": 0.5}],
)
def test_nothing_is_said_of_areas_of_costs_and_of_what_the_log_can_tell(question: dict[str, Any]) -> None:
    assert cheapest([1e-5], **question) == (None, [])


@pytest.mark.thorough
@pytest.mark.parametrize(("changes", "order"), [({}, "descending"), ({"cost": (200, 5)}, "ascending")])
def test_the_best_model_stands_first_in_the_chart_of_values(changes, order):
    tables = comparison(prevalence=(0.01, 0.1), beta=(1.0,)).asking(prevalence=0.01, **changes)
    y = report_charts(tables, questions("intervals"))["intervals"].to_dict()["layer"][-1]["encoding"]["y"]
    assert (y["sort"]["field"], y["sort"]["order"]) == ("value", order)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "changes", [{"cost": (3, 1)}, {"metric": "mcc", "threshold": 0.5}, {"metric": "roc_auc"}], ids=str
)
def test_all_charts_are_drawn_whatever_is_asked(changes):
    tables = comparison(prevalence=(0.01, 0.1), beta=(1.0,))
    drawn = report_charts(tables.asking(prevalence=0.1, **changes))
    assert drawn.keys() > {"decisions", "intervals", "p3", "probability", "ranks", "value", "winners", "work"}
    assert all(chart.to_dict()["datasets"] for chart in drawn.values())


def of_zebras(section: str) -> list[nf.ReportQuestion]:
    """Return a question with a table, and one with a sentence."""

    def found(comparison: Any) -> pl.DataFrame:
        return comparison.points.select(pl.col("model").alias(f"{section} zebras"))

    title = f"How many {section} zebras?"
    return [
        nf.ReportQuestion(name=f"seen-{section}", title=title, section=section, table=found),
        nf.ReportQuestion(f"told-{section}", "", section, found, lambda _: [f"Told of {section}"]),
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", ["html", "md", "json", "txt"])
def test_every_form_has_the_answer_to_a_question_of_ones_own(suffix, tmp_path):
    own = [one for section in SECTIONS for one in of_zebras(section)]
    compared = comparison(segments=["DE", None], prevalence=(0.01, 0.1), beta=(1.0,))
    path = nf.write_report(compared, tmp_path / f"report.{suffix}", questions=(*nf.report_questions(), *own))
    text = path.read_text(encoding="utf-8")
    for section in SECTIONS:
        expected = (f"How many {section} zebras?", f"Told of {section}")
        assert all(part in text for part in expected), section
        assert text.count(f"{section} zebras") > 1, section


@pytest.mark.parametrize("suffix", first_quick(["txt", "json", "md", "html"], 2))
def test_a_form_has_what_is_asked_also_lists_a_plain_chart_and_a_section_that_is_empty(suffix, tmp_path):
    def ties(compared: Any) -> pl.DataFrame:
        return nf.winner_ranges(compared.points, metric="f_beta", over="prevalence").select("model", "tied")

    def drawn(table: pl.DataFrame) -> alt.Chart:
        return alt.Chart(table.select("model")).mark_tick().encode(x="model")

    own = [
        nf.ReportQuestion(name="ties", title="Which tie?", section="segments", table=ties),
        nf.ReportQuestion(name="plain", title="How plain?", section="data", table=ties, draw=drawn),
    ]
    compared = comparison(prevalence=(0.01, 0.1), beta=(1.0,))
    for asked, answered in (([*own, *questions("order")], False), (questions("answer", "order"), True)):
        path = nf.write_report(compared, tmp_path / f"report.{suffix}", questions=asked)
        text = path.read_text(encoding="utf-8")
        assert ("Choose forest" in text.split("<script", maxsplit=1)[0]) == answered
        assert [part in text for part in ("Which tie?", "How plain?")] == [not answered] * 2
        assert answered or "tied" in text


@pytest.mark.parametrize("suffix", first_quick(["txt", "md", "html"]))
def test_a_segment_is_named_as_text(suffix, tmp_path):
    counts = [counts_at([0, 0], 1, 0, 9, year=None), counts_at([3, 4], 1, 5, 9, year=2026)]
    compared = nf.compare_models(
        pl.concat(counts, how="vertical_relaxed"), prevalence=0.1, threshold=0.5, segments="year"
    )
    asked = questions("undefined", "segment-areas")
    told = nf.write_report(compared, tmp_path / f"r.{suffix}", questions=asked).read_text(encoding="utf-8")
    assert "2026" in told
    assert "2,026" not in told
    assert "missing" in told.split("<script", maxsplit=1)[0]


def test_the_chart_of_precision_names_its_threshold() -> None:
    counts = nf.expected_counts(tpr=0.8, fpr=0.0005, positives=200, negatives=20_000)
    compared = nf.compare_models(counts, prevalence=0.1, threshold=0.5, repeats=20)
    (asked,) = questions("uncertainty")
    assert asked.heading(compared) == "Where precision at threshold 0.5 is least certain"
