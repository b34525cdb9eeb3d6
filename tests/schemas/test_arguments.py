"""Arguments of the wrong kind end in an error that says what to pass."""

import inspect
import itertools
import linecache
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.base.arguments import beta_values, grid_numbers, nearest, prevalence_values
from nci_frames.schemas.checked import checked
from tests.fuzz import odd_values
from tests.fuzz.calls import calls, function_of, log, public_functions

COUNTS = calls()["compute_rates"].frames[0]
RATES = calls()["project_rates"].frames[0]


@pytest.mark.long
def test_odd_values_end_in_a_result_or_in_a_clean_error(tmp_path):
    cases = [odd_values.SINGLE.case(0, number) for number in range(1500)]
    assert [(case.label, found) for case in cases if (found := case.run(tmp_path))] == []


@pytest.mark.parametrize("name", public_functions())
def test_every_argument_of_every_public_function_is_checked(name):
    function, strange = function_of(name), object()
    frames = calls()[name].frames if name in calls() else ()
    parameters = inspect.signature(function).parameters.values()
    for place, parameter in enumerate(parameters):
        by_place = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL)
        args = (*frames[:place], strange) if by_place else ()
        options = {} if by_place else {parameter.name: strange}
        with pytest.raises(nf.NciFramesError, match=f"^{parameter.name} must be ") as caught:
            function(*args, **options)
        assert caught.value.found == "object"


def test_a_checked_function_keeps_its_signature_and_name():
    assert list(inspect.signature(nf.project_rates).parameters)[:2] == ["rates", "metrics"]
    assert (nf.project_rates.__name__, nf.project_rates.__module__.split(".")[-1]) == (
        "project_rates",
        "projection",
    )
    assert "P(y=1)" in (inspect.getdoc(nf.project_rates) or "")
    with pytest.raises(TypeError, match=r"project_rates\(\) missing .* 'metrics' and 'prevalence'"):
        nf.project_rates(RATES)
    with pytest.raises(
        TypeError, match=r"compute_rates\(\) got an unexpected keyword argument 'levels'"
    ) as told:
        nf.compute_rates(COUNTS, levels=0.9)
    assert told.value.__context__ is None


def test_a_warning_names_the_line_of_the_caller():
    with pytest.warns(nf.OutsideGridWarning) as caught:
        nf.count_confusion(log().drop("unit"), thresholds=[0.0, 0.1, 0.5, 0.9, 1.0])
    (place,) = {(warning.filename, warning.lineno) for warning in caught}
    assert place[0] == __file__
    assert linecache.getline(*place).strip().startswith("nf.count_confusion(")


@checked
def of_many_kinds(
    number: float = 0,
    *names: str,
    whole: int = 0,
    pair: tuple[float, float] | None = None,
    listed: Sequence[float] = (),
    one_or_several: str | Sequence[str] = (),
    word: Literal["macro", "micro"] | None = None,
    columns: Mapping[str, str] | None = None,
    flag: bool = False,
) -> None:
    """Take arguments of many kinds."""


def test_what_fits_the_annotation_is_taken():
    for number in (1, np.float32(0.5), float("inf")):
        of_many_kinds(number, "a", "b", whole=np.uint8(3), flag=np.True_, columns={"a": "b"}, word="macro")
    for pair in ([0.1, 1], np.array([0.1, 1]), None):
        of_many_kinds(pair=pair, word=None)
    for listed in (range(3), pl.Series([1.0, 2.5]), np.arange(3), (1, np.float64(2))):
        of_many_kinds(listed=listed)
    for names in ("country", ["country"], np.array(["country"])):
        of_many_kinds(one_or_several=names)


def test_predictions_may_be_an_arrow_table_but_no_path():
    rows = log().drop("unit")
    expected = nf.count_confusion(rows, thresholds=[0.5])
    for table in (rows.lazy(), rows.to_pandas(), duckdb.sql("select * from rows"), rows.to_arrow()):
        assert_frame_equal(nf.count_confusion(table, thresholds=[0.5]), expected)
    with pytest.raises(nf.SchemaError, match=r"turn a relation into a Polars frame with its method pl\(\)"):
        nf.compute_rates(duckdb.sql("select 1"))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "option", "value", "same"),
    [
        ("required_samples", "half_width", [0.05, 0.1], (0.05, 0.1)),
        ("required_samples", "half_width", np.float32(0.25), 0.25),
        ("required_samples", "level", np.float16(0.9), float(np.float16(0.9))),
        ("compute_rates", "level", np.longdouble(0.75), 0.75),
        ("compute_rates", "level", Fraction(1, 2), 0.5),
        ("expected_counts", "tpr", Fraction(1, 4), 0.25),
        ("expected_counts", "positives", np.int8(100), 100),
        ("rank_segments", "threshold", np.float32(0.5), 0.5),
        ("find_crossovers", "beta", 1e160, 1e308),
        ("scan_predictions", "segments", pl.Series(["fold"]), ["fold"]),
    ],
)
def test_equal_arguments_of_other_types_give_the_same(name, option, value, same):
    found, expected = (odd_values.with_odd_value(calls()[name], option, one)() for one in (value, same))
    if isinstance(found, Iterator):
        found, expected = pl.concat(found), pl.concat(expected)
    assert_frame_equal(found, expected)


OF_NUMBERS = [
    (name, option)
    for name, call in calls().items()
    for option, parameter in inspect.signature(call.function).parameters.items()
    if any(kind in str(parameter.annotation) for kind in ("Sequence[float]", "Betas", "Prevalences"))
]


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "option"), OF_NUMBERS)
def test_numbers_in_an_array_or_a_series_are_those_of_a_list(name, option):
    def outcome(numbers: object) -> object:
        try:
            return odd_values.with_odd_value(calls()[name], option, numbers)()
        except nf.NciFramesError as refused:
            return type(refused)

    expected = outcome([0.2, 0.5])
    for found in map(outcome, (np.array([0.2, 0.5]), pl.Series([0.2, 0.5]), (0.2, 0.5))):
        if isinstance(expected, pl.DataFrame):
            assert_frame_equal(found, expected)
        else:
            assert type(found) is type(expected)


def test_numbers_are_ascending_and_distinct():
    assert prevalence_values([0.5, 0.1, 0.5]) == [0.1, 0.5]
    assert prevalence_values("observed") is None
    assert beta_values(np.array([2, 0, np.inf])) == [0.0, 2.0, np.inf]


def test_a_round_grid_has_its_ends_and_numbers_of_two_digits():
    grid = grid_numbers("1e-4:0.5:round")
    assert grid[0] == 1e-4
    assert grid[-1] == 0.5
    assert grid == sorted(set(grid))
    assert all(float(f"{number:.2g}") == number for number in grid)
    assert max(after / before for before, after in itertools.pairwise(grid)) < 1.34
    assert grid_numbers("0.0123:0.02:round") == [0.0123, 0.015, 0.02]
    for wrong in ("0:1:round", "1:0.5:round", "1:inf:round", "nan:1:round"):
        with pytest.raises(ValueError, match="a round grid must start above 0 and below its stop"):
            grid_numbers(wrong)


def test_the_nearest_is_nearest_by_ratio():
    assert nearest([0.001, 0.1], 0.02) == 0.1
    assert nearest([0.0, 0.1], 0.001) == 0.1
    assert nearest([0.0, 0.1], 0.0) == 0.0
