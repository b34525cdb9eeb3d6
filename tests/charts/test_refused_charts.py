"""What no chart can draw is refused, and the error says why."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import nci_frames as nf
from nci_frames.charts.parts.selection import MAX_ROWS
from tests.charts.drawn import apart, rates, surfaces
from tests.fuzz.calls import Call, calls
from tests.fuzz.odd_values import with_odd_value
from tests.logs import counts_at

#: Charts that mark a prevalence; of segments it is a frame.
OBSERVED = [
    call
    for call in calls().values()
    if call.name != "chart_segments" and "observed" in inspect.signature(call.function).parameters
]
ETA = 0.01
TWICE = ("1", "2")
NINE = tuple(f"m{place}" for place in range(9))
NOBODY = pl.lit(None, pl.Float64)


def projected(*metrics: str, models: tuple[str, ...] = ("a", "b"), prevalence: Any = ETA) -> pl.DataFrame:
    return nf.project_rates(rates(models), metrics=list(metrics), prevalence=prevalence)


def by_country(values: tuple[str | None, ...] = TWICE) -> pl.DataFrame:
    return apart(("a", "b"), "country", values)


def precision_by_country(values: tuple[str | None, ...] = TWICE) -> pl.DataFrame:
    return nf.project_rates(by_country(values), metrics="precision", prevalence=[0.01, 0.1])


def parts_by_country(values: tuple[str | None, ...] = TWICE) -> pl.DataFrame:
    return nf.decompose_difference(by_country(values), metric="precision", over="country")


def changed(name: str, place: int = 0, **columns: Any) -> Callable[[], Any]:
    """Return the valid call of a chart with other columns in one of its frames."""

    def call() -> Any:
        frames = list(calls()[name].frames)
        values = {
            key: value if isinstance(value, pl.Expr) else pl.lit(value) for key, value in columns.items()
        }
        frames[place] = frames[place].with_columns(**values)
        return calls()[name].function(*frames, **calls()[name].options)

    return call


def costs(*c_fn: int) -> pl.DataFrame:
    points = rates().filter(threshold=0.5)
    return pl.concat(
        nf.project_rates(points, metrics=[nf.expected_cost(c_fn=c)], prevalence=[ETA]) for c in c_fn
    )


def zigzag() -> pl.DataFrame:
    """Teeth of ten pixels, of which none can be left out."""
    grid = pl.DataFrame({"prevalence": [10 ** (i / 50 - 1) for i in range(50)]})
    teeth = grid.with_columns(value=pl.col("prevalence").rank("dense") % 2 * 1.0, threshold=0.5, beta=NOBODY)
    models = pl.DataFrame({"model": [f"m{i}" for i in range(101)]})
    return teeth.join(models, how="cross").with_columns(metric=pl.lit("precision"))


REFUSED: list[tuple[Callable[[], Any], str]] = [
    # Several rows for one place, and several charts in one frame.
    (lambda: nf.chart_roc(apart(("a", "b"), "fold", TWICE)), r"rows for one model and threshold\n.*'fold'"),
    (lambda: nf.chart_p3(pl.concat([projected("precision")] * 2)),
     "several rows for one model and prevalence"),
    (lambda: nf.chart_p3(projected("precision")), "4 rows that differ in 'threshold'"),
    (lambda: nf.chart_segments(pl.concat([precision_by_country()] * 2), segments="country"),
     "several rows for one country, model and prevalence"),
    (lambda: nf.chart_decomposition(
        pl.concat([parts_by_country().with_columns(month=pl.lit(m)) for m in TWICE]), over="country"),
     r"several rows for one country and model\n.*'month'"),
    (lambda: nf.chart_metric_surface(pl.concat([surfaces()] * 2)), "rows for one metric, ratio, tpr and tnr"),
    (lambda: nf.chart_cost(pl.concat([costs(2), costs(2).with_columns(threshold=0.9)])),
     r"one model and prevalence\n.*'threshold'"),
    (lambda: nf.chart_decision_map(nf.decision_map(by_country())),
     "one comparison\n  found: the key 'country'"),
    # One value must be selected, and one that the frame has.
    (lambda: nf.chart_cost(costs(2, 20)), r"several metrics.*\n.*'expected_cost\(c_fn=2\)', 'expected_cost"),
    (lambda: nf.chart_cost(costs(2), metric="precision"), "no rows of metric 'precision'"),
    (changed("chart_cost", metric="expected_cost(<script>)"), "the frame has no cost"),
    (changed("chart_rank_over_prevalence", metric=pl.Series(["recall", "f_beta"] * 2)),
     "several metrics, and the"),
    (lambda: nf.chart_f_beta_over_beta(projected("f_beta"), prevalence=0.3),
     r"rows of prevalence 0\.3\n.*0\.01"),
    (lambda: nf.chart_f_beta_over_prevalence(projected("f_beta"), beta=7), r"no rows of beta 7\n.*beta 1\n"),
    (lambda: nf.chart_pr(projected("precision")), "no rows of metric 'recall'"),
    (lambda: nf.chart_tpr_ppv(projected("precision", "recall"), nf.decision_map(rates()), prevalence=0.5),
     r"no rows of prevalence 0\.5"),
    (lambda: nf.chart_subsamples(pl.concat([nf.subsample_study(rates((m,)), prevalence=p, repeats=2)
                                            for m, p in (("a", 0.04), ("b", 0.05))])),
     r"several prevalences.*\n.*0\.04, 0\.05"),
    (lambda: nf.chart_segments(nf.compute_areas(rates(), prevalence=ETA).with_columns(country=pl.lit("1")),
                               segments="country"), r"several metrics.*\n.*'pr_auc', 'roc_auc'\n.*metric="),
    (lambda: nf.chart_decomposition(parts_by_country().with_columns(month=pl.lit("1"))),
     r"several keys\n.*'country', 'month'\n.*over="),
    (changed("chart_decomposition", metric=pl.Series(["precision", "mcc"])),
     r"several metrics.*\n.*'mcc', 'prec"),
    (lambda: nf.chart_metric_surface(surfaces(), ratio=7), "no rows of ratio 7"),
    (lambda: nf.chart_metric_surface(surfaces(), metric="mcc"), "no rows of metric 'mcc'"),
    (changed("chart_f_beta_plot", 1, over="prevalence"),
     r"no rows of over 'beta'\n.*'prevalence'\n.*winner_ranges"),
    (changed("chart_winner_ranges", over="time"), "over must be one of 'prevalence', 'beta'"),
    # There is nothing to draw.
    (lambda: nf.chart_roc(nf.compute_rates(counts_at(0, 2, 0, 3))), "no point to draw"),
    (changed("chart_pr", value=NOBODY), "no point to draw"),
    (changed("chart_p3", value=NOBODY), r"no precision to draw\n.*each undefined or at prevalence 0"),
    (changed("chart_cost", value=NOBODY), "no cost to draw"),
    (changed("chart_precision_uncertainty", value=NOBODY), "no precision to draw"),
    (changed("chart_segments", value=NOBODY), "no value to draw"),
    (changed("chart_intervals", value=NOBODY), "no value to draw"),
    (changed("chart_rank_over_prevalence", rank=pl.lit(None, pl.Int64)), "no rank to draw"),
    (changed("chart_metric_surface", value=NOBODY), "no surface to draw"),
    (changed("chart_f_beta_plot", mean=NOBODY), "no mean to draw"),
    (lambda: nf.chart_imbalance_sensitivity(calls()["chart_imbalance_sensitivity"].frames[0].clear()),
     "no sensitivity to draw"),
    (lambda: nf.chart_winner_ranges(calls()["chart_winner_ranges"].frames[0].clear()), "no winner to draw"),
    # It cannot be told apart, or has no place on the axis.
    (lambda: nf.chart_pr(projected("precision", "recall", prevalence=[0.01, 0.02, 0.03, 0.04, 0.05, 0.06])),
     r"at most 5 prevalences.*\n.*0\.01, 0\.02"),
    (lambda: nf.chart_pr(projected("precision", "recall", models=NINE, prevalence=[0.01, 0.1])),
     r"at most 8 models\n.*2 prevalences and 9 models"),
    (lambda: nf.chart_segments(precision_by_country(tuple("abcdefghijklm")), segments="country"),
     r"at most 12 segments\n.*13 values of 'country'\n.*select"),
    (lambda: nf.chart_decomposition(parts_by_country(tuple(f"s{i}" for i in range(50)))),
     "at most 40 segments"),
    (changed("chart_imbalance_sensitivity", ratio=0.0), "numbers above 0"),
    (changed("chart_precision_uncertainty", 1, prevalence=0.0), "numbers above 0"),
    (lambda: nf.chart_f_beta_plot(calls()["chart_f_beta_plot"].frames[0].filter(beta=1),
                                  calls()["chart_f_beta_plot"].frames[1]), "needs at least two betas"),
    (with_odd_value(calls()["chart_f_beta_plot"], "shown", ["x"]), r"has a mean\n.*'x'"),
    (lambda: nf.chart_pos_fraction(projected("pos_fraction", "recall"), tpr=1.5), "tpr must be a rate"),
    (lambda: nf.chart_metric_surface(surfaces(), ratio=-1), "ratio must be negatives per positive"),
    # There are too many rows.
    (lambda: nf.chart_p3(zigzag()), r"at most 5,000 rows\n.*5,050 rows, models: 101\n.*coarser grid"),
    (lambda: nf.chart_contingency_space(apart(("a",), "day", tuple(map(str, range(MAX_ROWS + 1))))),
     r"at most 5,000 rows\n.*\n.*select operating points"),
    (lambda: nf.chart_metric_surface(surfaces(42)), r"at most 5,000 rows\n.*\n.*resolution=40 or lower"),
    # Frames do not fit the chart, or one another.
    (lambda: nf.chart_roc(projected("precision")), "not a rates frame"),
    (lambda: nf.chart_p3(rates()), "not a projection frame"),
    (lambda: nf.chart_pr_auc_over_prevalence(projected("precision")), "areas frame"),
    (lambda: nf.chart_contingency_space(rates(("a",)).with_columns(model=pl.lit(None, pl.String))),
     "a model has no name"),
    (lambda: nf.chart_segments(precision_by_country(), segments="contry"),
     r"missing column 'contry'(.|\n)*did you mean 'country'"),
    (lambda: nf.chart_segments(precision_by_country(), segments="model"), "missing column 'model'"),
    (lambda: nf.chart_decomposition(parts_by_country(), over="week"), "missing column 'week'"),
    (changed("chart_tpr_ppv", 1, threshold=NOBODY), "a winner is not among the points"),
    (changed("chart_tpr_ppv", 1, model="c"), r"a winner is not among the points\n.*'c' at 0\.5"),
    (lambda: nf.chart_precision_uncertainty(calls()["chart_precision_uncertainty"].frames[0],
                                            nf.max_precision_uncertainty(rates(("linear",)).head(1))),
     r"different models\n.*'forest' in only one of them"),
]  # fmt: skip


@pytest.mark.parametrize(("draw", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_what_cannot_be_drawn_is_refused(draw: Callable[[], Any], told: str) -> None:
    with pytest.raises((nf.ParameterError, nf.SchemaError), match=told):
        draw()


@pytest.mark.parametrize("call", OBSERVED, ids=lambda call: call.name)
def test_an_impossible_observed_prevalence_is_refused(call: Call) -> None:
    for observed in (-0.1, 1.5, math.nan):
        with pytest.raises(nf.ParameterError, match="observed must be a prevalence"):
            with_odd_value(call, "observed", observed)()
