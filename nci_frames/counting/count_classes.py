"""Class predictions -> how many rows of each class got each decision: one lazy pass, exact."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.errors import InvalidRowsError, ParameterError
from nci_frames.base.typing import Floats
from nci_frames.counting.count import by_weight, need_weight, need_whole_log
from nci_frames.counting.engine.batches import read_rows
from nci_frames.counting.engine.grid import Codes, Counted, count_codes
from nci_frames.counting.engine.groups import GroupNumbers, with_group_numbers
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.kernels.rows import highest
from nci_frames.counting.log_warnings import warn_of_units, warnings_of
from nci_frames.counting.logs.opening import Predictions
from nci_frames.counting.logs.reading import Scan, kept_keys
from nci_frames.counting.logs.rows import REASON
from nci_frames.counting.logs.scan_classes import class_scan_behind
from nci_frames.counts.class_counts import Priors, every_pair, read_priors
from nci_frames.schemas import checked


@checked
def count_classes(
    predictions: Predictions,
    /,
    *,
    by: str | Sequence[str] | None = None,
    priors: Priors | None = None,
    logged_priors: Literal["observed"] | Mapping[Any, float] = "observed",
    memory_limit: float | None = None,
    progress: bool = False,
) -> pl.DataFrame:
    """Count the rows of each true class by decision (a confusion matrix of any number of classes).

    Parameters
    ----------
    predictions
        The result of ``scan_classes``, which may have been filtered or changed since; or a frame or Arrow
        table with the columns of class predictions, whose other columns are keys.
    by
        Keys to keep besides the model; counts are summed over the others. None keeps all keys.
    priors
        Mixes of the classes to which the scores are adjusted before they decide: ``{class: share}``; several
        as ``{scenario: {class: share}}`` or a frame with the columns scenario, class and prior; "uniform"; or
        "observed", which changes nothing. All are counted in one pass. None counts the logged decisions.
    logged_priors
        Shares of the classes at which the scores are probabilities: "observed" for those of the whole log,
        which needs an additional pass over the labels; or ``{class: share}``.
    memory_limit
        Maximum number of bytes for the counts, above 0; None means half of the machine's memory.
    progress
        Whether to show progress, if standard error is a terminal.

    Returns
    -------
    One sorted row per group and pair of class and decision, including pairs with 0 rows:

    %(columns of class counts)s

    The keys of the predictions are kept; null is a key value of its own. Every group has all classes and
    decisions of the log, and all classes with scores. Without labels there is no column ``label``. With up
    to 1,000 different weights, ``weight`` is a key and ``rows`` counts rows; with more it sums weights.

    Raises
    ------
    InvalidRowsError
        If a row is not valid, and the scan does not drop such rows; or with *priors* if a score is below 0.
    ParameterError
        If *priors* are not shares of all classes, or there are no scores.
    SchemaError
        If *predictions* lacks a column or a key of *by*.
    SourceError
        If the numbers of rows counted and dropped do not add up to the rows in the file footers.

    Warns
    -----
    IgnoredUnitsWarning
        As ``count_confusion`` does.
    InvalidRowsWarning
        If rows were dropped; it gives the number of rows by reason.
    NearlyUniqueKeyWarning
        If a key has nearly as many values as a model has rows.

    Notes
    -----
    The adjusted score of a class is p·prior/logged prior. The class with the highest one is decided, but
    never a class with prior 0. Scores need not add up to 1.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), doi:10.1162/089976602753284446.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": ["cat", "cat", "dog"], "decision": ["cat", "dog", "dog"]})
    >>> nf.count_classes(nf.scan_classes(log)).rows()
    [('a', 'cat', 'cat', 1), ('a', 'cat', 'dog', 1), ('a', 'dog', 'cat', 0), ('a', 'dog', 'dog', 1)]
    """
    scan = class_scan_behind(predictions)
    keys = ["model", *kept_keys(scan.keys, by)]
    budget = Budget.of(memory_limit)
    factors = {} if priors is None else _factors(scan, priors, logged_priors)
    counted = by_weight(scan, keys, partial(_counted, factors=factors, budget=budget, progress=progress))
    need_whole_log(scan, counted.rows_by_code)
    need_weight(scan, counted.counts)
    warn_of_units(scan)
    for warning in warnings_of(scan, counted.rows_by_code, counted.groups.select(keys).unique()):
        warnings.warn(warning, stacklevel=3)
    return every_pair(counted.counts, scan.classes, budget.need_pairs)


def _factors(scan: Scan, priors: Priors, logged: Any) -> dict[str, Floats]:
    """Return the factor for the scores of each class, by scenario; 0 for a class with prior 0."""
    classes = scan.classes
    if classes.is_empty():
        hint = "open the log with scan_classes(..., scores={class: column})"
        raise ParameterError("decisions without scores cannot be moved to other priors", hint=hint)
    observed = _observed(scan) if isinstance(logged, str) else None
    before = read_priors({"": logged}, classes, observed=observed)[""]
    factors = {}
    for scenario, shares in read_priors(priors, classes, observed=before).items():
        unknown = (before == 0) & (shares > 0)
        if unknown.any():
            missing = classes.filter(unknown).to_list()
            msg = "scores of a class whose logged share is 0 cannot be moved to other priors"
            raise ParameterError(msg, found=repr(missing), hint="give logged_priors={class: share}")
        # The logged shares change nothing, not even for a class without rows.
        same = np.full(len(shares), float(shares is before))
        factors[scenario] = np.divide(shares, before, out=same, where=shares > 0)
    return factors


def _places(found: list[NDArray[Any]], factors: Mapping[str, Floats]) -> Iterator[NDArray[np.integer] | int]:
    """Yield the cell of each row's decision within its group, given its scores, once per scenario.

    Without scenarios, the place of the decision is given, or the decision is a key.
    """
    if not factors:
        yield found[0] if found else 0
    for number, of_classes in enumerate(factors.values()):
        possible = np.flatnonzero(of_classes)
        places, _ = highest([found[place] * of_classes[place] for place in possible])
        yield possible[places] + number * len(found)


def _observed(scan: Scan) -> Floats:
    """Return the shares of the classes in the whole log."""
    if scan.label is None:
        hint = "give logged_priors={class: share}"
        raise ParameterError("the shares of the classes are unknown without labels", hint=hint)
    rows = scan.raw.filter(pl.col(REASON) == 0).group_by("label")
    weight = pl.col("weight") if scan.weighted else 1.0 - pl.col(REASON)
    with scan.source.reading():
        sums = rows.agg(weight.sum()).collect(engine="streaming")
    of_class = dict(sums.rows())
    found = np.array([of_class.get(name, 0) for name in scan.classes], np.float64)
    if not found.any():
        raise InvalidRowsError("no valid row of the log has a weight", where=scan.source.where)
    return np.asarray(found / found.sum())


def _counted(
    scan: Scan, keys: list[str], *, factors: Mapping[str, Floats], budget: Budget, progress: bool
) -> Counted:
    """Count the rows, or sum the weights, of each label and decision."""
    schema, classes = scan.raw.collect_schema(), len(scan.classes)
    told = [*keys, *(["label"] if scan.label is not None else []), *([] if classes else ["decision"])]
    size = max(1, classes) * max(1, len(factors))

    def count(groups: GroupNumbers) -> Counted:
        rows_by_code: dict[int, int] = {}

        def codes() -> Iterator[Codes]:
            decide = classes > 0 and not factors
            rows = read_rows(scan, groups, rows_by_code, classes, decide=decide, progress=progress)
            for numbers, found, weights in rows:
                if factors and min(score.min(initial=0) for score in found) < 0:
                    msg = "a score is below 0: no probability, which could be moved to other priors"
                    raise InvalidRowsError(msg, where=scan.source.where)
                first = np.multiply(numbers, size, out=numbers)
                for places in _places(found, factors):
                    yield first + places, weights

        cells = count_codes(codes(), groups, 1, size, weighted=scan.weighted, budget=budget)
        return Counted(_table(groups, scan.classes, factors, cells[:, 0]), rows_by_code, groups.frame())

    return with_group_numbers({key: schema[key] for key in told}, count)


def _table(
    groups: GroupNumbers, classes: pl.Series, scenarios: Iterable[str], cells: NDArray[Any]
) -> pl.DataFrame:
    """Return the positive counts with their keys and decisions."""
    row, cell = np.nonzero(cells)
    table = groups.frame()[row].with_columns(pl.Series("rows", cells[row, cell]))
    if classes.is_empty():
        return table
    way, place = np.divmod(cell, len(classes))
    table = table.with_columns(classes.gather(place).alias("decision"))
    named = pl.Series("scenario", [*scenarios], pl.String)
    return table.with_columns(named.gather(way)) if len(named) else table
