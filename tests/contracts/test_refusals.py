"""What an option cannot be is refused: the error names the option, what was found and what is allowed."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import nci_frames as nf
from tests.fuzz.calls import calls
from tests.fuzz.odd_values import with_odd_value

MISSING = r"missing column 'week' \((option )?(the )?{}\)"

#: option -> values that no function takes, and what each tells: tried on every function with that option.
REFUSED: dict[str, list[tuple[Any, str]]] = {
    "level": [
        *((value, "level must be between 0 and 1, both excluded") for value in (0.0, 1.0, -0.1, 2, math.nan)),
        ("0.95", "level must be a number\n  found: '0.95'\n  hint:  did you mean the number 0.95?"),
    ],
    "prevalence": [
        *((value, "prevalence (must be .*found: )?.*{value}") for value in (1.5, -0.1, math.nan)),
        ("obs", "prevalence must be .*found: 'obs'"),
        (["x"], "prevalence must be .*'x'"),
        ([], r"prevalence must be .*found: \[\]"),
    ],
    "beta": [(-1, "beta must be a number >= 0|no rows of beta -1"), ([math.nan], "beta must be a number")],
    "metric": [("precison", "metric must be|metric 'precison'"), ([], r"metric must be .*found: \[\]")],
    "metrics": [
        ("precison", "unknown metric 'precison'.*did you mean 'precision'"),
        (["recall", "tpr"], "two metrics have the label 'recall'|'recall' is one of operating points"),
        ([], "metrics must be at least one metric"),
    ],
    "repeats": [
        *((value, r"repeats must be a whole number from \d+ to 1,000,000") for value in (0, 2**63)),
        (1.5, "repeats must be a whole number"),
    ],
    "seed": [(-1, "seed must be a whole number from 0 to"), (1.5, "seed must be a whole number")],
    "method": [("nosuch", "method must be .*found: 'nosuch'|no rows of method 'nosuch'")],
    "interval": [("nosuch", "interval must be .*found: 'nosuch'")],
    "threshold": [
        (math.nan, "threshold must be|no threshold is"),
        (0.3, "not one of the counted thresholds|threshold was not counted"),
    ],
    "thresholds": [(math.nan, "thresholds must be"), ([], "thresholds must be")],
    "by": [(["week"], MISSING.format("by"))],
    "over": [("week", f"{MISSING.format('over')}|over must be one of 'prevalence', 'beta'")],
    "units": [("week", MISSING.format("units"))],
    "segments": [("week", MISSING.format("segments"))],
}

#: What these functions mean by an option is another thing.
ELSEWHERE = {
    ("certify_decision_map", "units"),  # told as the "over" of pool_counts
    ("chart_metric_surface", "metric"),  # the name of an axis
    ("compare_models", "threshold"),  # the nearest counted one is taken
    ("counting_sql", "segments"),  # the table is not there to look at
    ("lowest_supported_prevalence", "threshold"),  # of areas there is none
    ("ranked_table", "prevalence"),  # which rows are shown
    ("ranked_table", "metric"),
    ("ranked_table", "beta"),
    ("required_samples", "prevalence"),  # it is asked for with another option
    *(("select_operating_points", option) for option in ("threshold", "metric", "prevalence")),
    ("crossover_intervals", "prevalence"),  # it cannot be fixed
    ("auto_thresholds", "prevalence"),  # how fine the grid is
}

CASES = [
    (name, option, value, told.replace("{value}", str(value)))
    for name, call in calls().items()
    for option in inspect.signature(call.function).parameters
    if (name, option) not in ELSEWHERE
    for value, told in REFUSED.get(option, ())
]


@pytest.mark.parametrize(("name", "option", "value", "told"), CASES)
def test_what_no_function_takes(name: str, option: str, value: Any, told: str) -> None:
    with pytest.raises(nf.NciFramesError, match=f"(?s){told}"):
        with_odd_value(calls()[name], option, value)()


NO_TABLES = ("log; DROP TABLE log", "SELECT * FROM log", "SELECT 1 UNION SELECT 2", "log WHERE label = 1", "")
NO_COUNTS = {"positives": None, "negatives": None}
PAIR = ["forest", "linear"]
OWN = nf.precision().alias("own")
AT_0_1, OF_ETA = nf.precision(prevalence=0.1), nf.precision(prevalence=pl.col("eta"))

#: function, options, what is told: what only some functions refuse.
OF_ONE: list[tuple[str, dict[str, Any], str]] = [
    ("accuracy_interval", {"correct": 5, "total": 4}, r"correct must be within \[0, 4\]"),
    ("accuracy_interval", {"correct": 0, "total": 0}, "total must be at least 1"),
    ("accuracy_interval", {"method": "waldo"}, "did you mean 'wald'"),
    ("auto_thresholds", {"prevalence": 1.5}, r"prevalence must be within \(0, 1\]"),
    ("band_coverage", {"fpr": 0}, r"fpr must be within \(0, 1\]"),
    ("band_coverage", {"positives": 0}, "found: 0"),
    ("beta_prevalence", {"a": 0}, "a must be a finite number > 0"),
    ("beta_prevalence", {"b": math.inf}, "b must be a finite number > 0"),
    ("bootstrap", {"repeats": 1}, "repeats must be a whole number from 2"),
    ("bootstrap", {"prevalence": "selected"}, "prevalence must be"),
    ("bootstrap", {"threshold": 0.25}, "0.25 is not one of the counted thresholds.*model 'forest'"),
    ("bootstrap", {"metric": ["f_beta", "roc_auc"], "threshold": 0.25}, "not one of the counted thresholds"),
    ("compare_best", {"metric": "pos_fraction"}, "'pos_fraction' cannot be ranked"),
    ("compare_best", {"repeats": 99}, "repeats must be"),
    ("compare_folds", {"test": "paired"}, "test must be one of 'paired_t'.*did you mean 'paired_t'"),
    ("compare_folds", {"correction": "bonferroni"}, "correction must be one of 'none', 'holm'"),
    ("compare_folds", {"test_train_ratio": 0.0}, "test_train_ratio must be a number > 0.*found: 0.0"),
    ("compare_folds", {"test": "paired_t", "test_train_ratio": 0.1}, "used with test='corrected_t' only"),
    ("compare_folds", {"ddof": 2}, "ddof must be a whole number from 0 to 1"),
    ("compare_folds", {"metric": "pos_fraction"}, "'pos_fraction' cannot be ranked"),
    ("compare_folds", {"metric": OWN}, "unknown metric 'own'"),
    ("compare_folds", {"repeats": 10}, "repeats must be a whole number from 100 to 1,000,000"),
    ("compare_pairs", {"repeats": 99}, "repeats must be a whole number from 100 to 1,000,000"),
    ("compute_rates", {"interval": "jeffrey"}, "did you mean 'jeffreys'"),
    ("compute_rates", {"half_width": (0.1, 0.1)}, "interval and half_width cannot be combined"),
    ("compute_rates", {"interval": None, "half_width": (0.1, -1.0)}, r">= 0 \(of fpr\)\n  found: -1.0"),
    ("compute_rates", {"interval": None, "level": -0.1}, "level must be between 0 and 1"),
    ("count_pairs", {"thresholds": {"forest": 0.1}, "models": PAIR}, "none for the model 'linear'"),
    ("count_pairs", {"models": ["forest"]}, "two models"),
    ("count_pairs", {"models": ["forest", "wood"]}, "no model 'wood'"),
    ("counting_sql", {"dialect": "mysql"}, "dialect must be one of"),
    ("counting_sql", {"thresholds": [0.5, math.inf]}, "thresholds must be finite"),
    *(("counting_sql", {"table": table}, "table must be a table or a function") for table in NO_TABLES),
    ("counting_sql", {"segments": ["\udcff"]}, "must be a text that UTF-8 can hold"),
    ("counting_sql", {"positive": "yes"}, "both of its values"),
    ("counting_sql", {"positive": "yes", "negative": "yes"}, "negative must be another value than positive"),
    ("counting_sql", {"positive": "yes", "negative": 0}, "negative must be of the type of positive"),
    ("counting_sql", {"segments": "threshold"}, "name that the tables need"),
    ("counting_sql", {"segments": ["country", "country"]}, "twice"),
    (
        "crossover_intervals",
        {"over": "betas"},
        "over must be one of 'prevalence', 'beta'.*did you mean 'beta'",
    ),
    ("crossover_intervals", {"prevalence": 0.1}, "prevalence cannot be fixed with over="),
    ("crossover_intervals", {"over": "beta"}, "prevalence must be within"),
    ("crossover_intervals", {"over": "beta", "prevalence": 1.0}, "between 0 and 1, both excluded"),
    ("crossover_intervals", {"beta": 0.0}, "beta must be a finite number > 0"),
    (
        "crossover_intervals",
        {"metric": "pr_auc", "over": "beta"},
        "PR-AUC depends on neither",
    ),
    ("crossover_intervals", {"metric": "pr_auc", "threshold": 0.5}, "PR-AUC depends on neither"),
    ("crossover_intervals", {"metric": "roc_auc"}, "metric must be one of 'f_beta', 'pr_auc'"),
    ("expected_counts", {"tpr": 2}, r"tpr must be within \[0, 1\]"),
    ("expected_counts", NO_COUNTS | {"ratio": 1, "size": 1}, "size must be a whole number from 2 to"),
    ("expected_values", {"metric": AT_0_1}, "called with a prevalence"),
    ("find_crossovers", {"metric": "accuracy", "over": "beta"}, "'accuracy' does not depend on beta"),
    ("find_crossovers", {"metric": nf.f_beta(beta=2), "over": "beta"}, "'f_beta' does not depend on beta"),
    ("find_crossovers", {"metric": "pr_auc", "over": "beta"}, "'pr_auc' does not depend on beta"),
    ("find_crossovers", {"metric": "pos_fraction"}, "'pos_fraction' cannot be ranked"),
    ("find_crossovers", {"metric": nf.f_beta(prevalence=0.1)}, "called with a prevalence"),
    ("find_crossovers", {"metric": "f1"}, "unknown metric 'f1'.*'f_beta', with beta=1"),
    ("interval_coverage", {"rate": 1.2}, r"rate must be within \[0, 1\]"),
    ("interval_coverage", {"trials": 0}, "trials must be a whole number from 1"),
    ("metric_surface", {"ratio": 0}, "ratio must be a finite number > 0"),
    ("metric_surface", {"resolution": 1}, "resolution must be a whole number from 2"),
    ("minimax_regret", {"start": 0.2, "end": 0.1}, "a range of prevalence"),
    ("prevalence_between", {"low": 0.1, "high": 0.01}, "ascending within"),
    ("prevalence_between", {"low": 0}, "ascending within"),
    ("prevalence_draws", {"draws": []}, "at least one number within"),
    ("prevalence_draws", {"draws": [0.1, 1.5]}, "found: 1.5"),
    ("probability_best", {"metric": "pos_fraction"}, "'pos_fraction' cannot be ranked"),
    ("probability_best", {"threshold": None, "metric": "recall"}, "one operating point.*found: 4 thresholds"),
    ("project_rates", {"metrics": [OF_ETA]}, "'precision' reads a column that the rates lack.*'eta'"),
    ("rank_segments", {"model": "z"}, "model must be"),
    ("rank_segments", {"threshold": {"linear": 0.5}}, "a model has no threshold"),
    ("rank_segments", {"metric": "pos_fraction"}, "cannot be ranked"),
    ("rank_segments", {"metric": "pr_auc"}, "area under a curve"),
    ("rank_segments", {"min_positives": 0}, "min_positives"),
    ("rank_segments", {"segments": []}, "at least one key"),
    ("subsample_study", {"prevalence": 0.0}, "prevalence must be between 0 and 1, both excluded"),
    ("subsample_study", {"prevalence": 1e-9}, "no log with prevalence 1e-09.*model 'forest'.*positives and"),
    ("unit_buckets", {"buckets": 1}, "buckets must be a whole number from 2 to 1,000,000"),
]


@pytest.mark.parametrize(("name", "options", "told"), OF_ONE)
def test_what_one_function_does_not_take(name: str, options: dict[str, Any], told: str) -> None:
    call = calls()[name]
    with pytest.raises(nf.NciFramesError, match=f"(?s){told}"):
        call.function(*call.frames, **call.options | options)


Change = Callable[[pl.DataFrame], pl.DataFrame]


def weighted(counts: pl.DataFrame) -> pl.DataFrame:
    return counts.with_columns(pl.col("tp", "fp", "fn", "tn") * 1.5)


def on_other_grids(counts: pl.DataFrame) -> pl.DataFrame:
    return counts.with_columns(threshold=pl.col("threshold") + (pl.col("fold") == "1") * 0.01)


def rates_of_weights(_: pl.DataFrame) -> pl.DataFrame:
    return nf.compute_rates(weighted(calls()["compute_rates"].frames[0]))


def in_one_country(counts: pl.DataFrame) -> pl.DataFrame:
    return counts.with_columns(country=pl.lit("x"))


def in_no_country(counts: pl.DataFrame) -> pl.DataFrame:
    return counts.with_columns(country=pl.lit(None, dtype=pl.String))


BY_COUNTRY = {"units": "country"}

#: function, what is done to its frame, options, what is told.
OF_FRAMES: list[tuple[str, Change, dict[str, Any], str]] = [
    ("check_projection", weighted, {}, "sums of weights"),
    (
        "check_projection",
        lambda counts: counts.filter(fold="1"),
        {},
        "all rows have the same fold.*found: '1'",
    ),
    ("check_projection", on_other_grids, {}, "different thresholds cannot be added"),
    ("check_projection", in_one_country, BY_COUNTRY, "too few values of 'country'.*20 are needed"),
    ("check_projection", in_no_country, BY_COUNTRY, "rows without a country"),
    ("compute_areas", lambda counts: counts.drop("tp"), {}, "not a counts frame: it lacks 'tp'"),
    ("compute_rates", weighted, {}, "intervals need counts of rows\n  found: sums of weights.*half_width"),
    ("predictive_value_interval", rates_of_weights, {}, "intervals need counts of rows"),
    ("rank_segments", weighted, {}, "sums of weights"),
    ("subsample_study", weighted, {}, "sums of weights"),
    ("bootstrap", weighted, {}, "sums of weights"),
    ("rank_segments", lambda counts: counts.filter(fold="1"), {}, "all rows have the same fold"),
    ("unit_buckets", lambda rows: rows.drop("unit"), {}, "missing column 'unit'"),
    ("unit_buckets", lambda rows: rows.with_columns(bucket=1), {}, "already have a key 'bucket'"),
]


@pytest.mark.parametrize(("name", "change", "options", "told"), OF_FRAMES)
def test_what_a_frame_cannot_be(name: str, change: Change, options: dict[str, Any], told: str) -> None:
    call = calls()[name]
    first, *others = call.frames
    with pytest.raises(nf.NciFramesError, match=f"(?s){told}"):
        call.function(change(first), *others, **call.options | options)


@pytest.mark.parametrize(
    "name", [name for name, call in calls().items() if call.kind in {"counts", "rates", "projection"}]
)
def test_an_empty_frame_has_the_columns_of_a_full_one(name: str) -> None:
    call = calls()[name]
    first, *others = call.frames
    full = call()
    if isinstance(full, pl.DataFrame) and name != "correct_partial_labels":
        empty = call.function(first.clear(), *others, **call.options)
        assert set(full.columns) - set(empty.columns) <= {"reason"}
        assert empty.is_empty() or name == "merge_counts"
