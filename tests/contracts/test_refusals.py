"""What an option cannot be is refused: the error names the option, what was found and what is allowed."""

import inspect
import math
from typing import Any

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
        (["recall", "tpr"], "two metrics have the label 'recall'|'recall' is not an area"),
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
    "units": [("week", f"{MISSING.format('units')}|units must be True or False")],
    "observed": [(value, "observed must be a prevalence") for value in (-0.1, 1.5, math.nan)],
    "segments": [("week", MISSING.format("segments"))],
    "bins": [(value, "bins must be") for value in (0, [0.5], [0.5, 2.0])],
    "costs": [(value, "costs must be") for value in ((0.0, 1.0), (1.0,), (2.0, 1e9), [2.0])],
    "threshold_probabilities": [(value, "threshold_probabilities") for value in ([], 1.0, -0.1, [0.5, 2])],
    "probability_costs": [(value, "probability_costs must be") for value in ([], 1.1, -0.1)],
    "logged_prevalence": [(value, "logged_prevalence must be between 0 and 1") for value in (0.0, 1.0)],
}

#: What these functions mean by an option is another thing.
ELSEWHERE = {
    ("chart_segments", "observed"),  # of segments it is a frame
    ("chart_cost_curve", "costs"),  # a frame
    ("certify_decision_map", "units"),  # told as the "over" of pool_counts
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


@pytest.mark.parametrize("name", calls())
def test_what_no_function_takes(name):
    call = calls()[name]
    options = [*inspect.signature(call.function).parameters]
    for option in options:
        for value, told in REFUSED.get(option, ()) if (name, option) not in ELSEWHERE else ():
            with pytest.raises(nf.NciFramesError, match=f"(?s){told.replace('{value}', str(value))}"):
                with_odd_value(call, option, value)()


#: Options that take one key or several.
KEYS = (
    ("average_over", "over", "fold"),
    ("compare_auc", "by", "fold"),
    ("compare_folds", "over", "fold"),
    ("count_confusion", "by", "fold"),
    ("count_pairs", "by", "fold"),
    ("pool_counts", "over", "fold"),
    ("rank_models", "by", "prevalence"),
    ("rank_segments", "segments", "fold"),
    ("roll_up", "over", "fold"),
)


@pytest.mark.parametrize(("name", "option", "key"), KEYS)
def test_a_key_may_stand_alone_and_is_the_same_if_it_is_named_twice(name, option, key):
    alone, one, twice = (with_odd_value(calls()[name], option, keys)() for keys in (key, [key], [key, key]))
    assert alone.equals(one)
    assert alone.equals(twice)
