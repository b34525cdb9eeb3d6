"""Counts and rates as the library made them are not checked again; whatever was changed is."""

from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.schemas import COUNTS, RATES
from nci_frames.schemas.untouched import is_untouched
from tests.logs import random_log


def counted() -> pl.DataFrame:
    return nf.count_confusion(random_log(300), thresholds="exact", by="country")


def is_as_made(counts: pl.DataFrame) -> bool:
    return is_untouched(counts, COUNTS.looked_at(counts))


#: What was there first is kept, so that nothing else can come to lie in its place.
CHANGES: dict[str, Callable[[pl.DataFrame], object]] = {
    "value": lambda counts: counts.__setitem__((1, "tp"), 10**6),
    "value twice": lambda counts: [counts.__setitem__((1, "tp"), value) for value in (10**5, 10**6)],
    "column": lambda counts: counts.replace_column(counts.get_column_index("fp"), counts["fp"].reverse()),
    "names": lambda counts: setattr(
        counts, "columns", [{"tp": "fn", "fn": "tp"}.get(name, name) for name in counts.columns]
    ),
    "doubled": lambda counts: counts.extend(counts),
    "more rows": lambda counts: counts.vstack(counts[:1], in_place=True),
    "no key": lambda counts: counts.drop_in_place("country"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_counts_that_were_changed_in_place_are_checked(change: Callable[[pl.DataFrame], object]) -> None:
    counts = counted()
    assert is_as_made(counts)
    change(counts)
    assert not is_as_made(counts)
    with pytest.raises(nf.SchemaError):
        nf.compute_areas(counts, prevalence="observed")


def test_counts_do_not_change_with_what_was_taken_from_them() -> None:
    counts = counted()
    before = counts.clone()
    column = counts["tp"]
    column[1] = 10**6
    counts["threshold"].to_numpy(writable=True)[:] = np.nan
    assert is_as_made(counts)
    assert counts.equals(before)
    with pytest.raises(ValueError, match="read-only"):
        counts["fp"].to_numpy()[:] = 0


@pytest.mark.parametrize("change", [pl.DataFrame.clone, pl.DataFrame.rechunk, lambda counts: counts[:-1]])
def test_what_polars_makes_of_counts_is_checked(change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    counts = counted()
    assert not is_as_made(change(counts))
    # Another order of columns is another frame.
    counts.insert_column(0, counts.drop_in_place("tn"))
    assert not is_as_made(counts)
    assert nf.compute_areas(counts, prevalence="observed").equals(
        nf.compute_areas(counts.clone(), prevalence="observed")
    )


def test_rates_that_were_changed_in_place_are_checked() -> None:
    rates = nf.compute_rates(counted())
    assert is_untouched(rates, RATES.looked_at(rates))
    rates[1, "tpr"] = 0.25
    with pytest.raises(nf.SchemaError, match="tpr is not tp / positives"):
        nf.select_operating_points(rates, tpr=0.5)


def test_sums_of_weights_are_checked() -> None:
    log = random_log(300).with_columns(weight=pl.int_range(1, 301) * 1.0)
    assert is_as_made(nf.count_confusion(log.with_columns(weight=2.0), thresholds=[0.5]))
    log = pl.concat([log] * 5).with_columns(weight=pl.int_range(1, 1501) * 1e149)
    counts = nf.count_confusion(log, thresholds=[0.5])
    assert not is_as_made(counts)
    for function in (nf.compute_rates, partial(nf.compute_areas, prevalence=0.1)):
        with pytest.raises(nf.SchemaError):
            function(counts)
