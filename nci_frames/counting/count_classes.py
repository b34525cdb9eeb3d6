"""Class predictions -> how many rows of each class got each decision: one lazy pass, exact."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.errors import InvalidRowsError, ParameterError
from nci_frames.base.typing import Floats
from nci_frames.counting.count import nearly_unique, need_whole_log
from nci_frames.counting.engine.batch import SLICE_ROWS, endless_weights, one_row_group_ahead
from nci_frames.counting.engine.batches import BATCH_ROWS
from nci_frames.counting.engine.groups import GroupNumbers, TooManyWeightsError, with_group_numbers
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.engine.progress import rows_shown
from nci_frames.counting.logs.class_rows import classes_of_fields
from nci_frames.counting.logs.opening import Predictions
from nci_frames.counting.logs.reading import Scan, kept_keys
from nci_frames.counting.logs.rows import REASON
from nci_frames.counting.logs.scan_classes import class_scan_behind
from nci_frames.counts.class_counts import Priors, class_values, every_pair, read_priors
from nci_frames.schemas import CLASS_COUNTS
from nci_frames.schemas.checked import checked


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
    """Count the rows of each class by the decision that they got.

    Parameters
    ----------
    predictions
        What ``scan_classes`` returned, also filtered or changed since; or a frame or Arrow table with the
        columns of class predictions, of which all other columns are keys.
    by
        The keys to keep besides the model; the others are summed away. None keeps every key there is.
    priors
        The decisions to count: those after the scores, which are probabilities at *logged_priors*, were moved
        to these shares of the classes. Shares as ``{class: share}``, several as
        ``{scenario: {class: share}}`` or a frame with the columns scenario, class and prior; "uniform"; or
        "observed", which moves nothing. All are counted in one pass. None: the decisions as logged.
    logged_priors
        The shares of the classes at which the scores are probabilities: "observed", those of the whole log,
        for which its labels are read before; or ``{class: share}``.
    memory_limit
        Maximum number of bytes for the counts, above 0; None stands for half of the machine's memory.
    progress
        Whether to show progress, if standard error is a terminal.

    Returns
    -------
    A row per group and pair of a class and a decision, also where it is 0, sorted:

    %(columns of class counts)s

    Keys are those of the predictions; null is a key of its own. Classes and decisions are all that the log
    has anywhere, and those with scores. Without labels there is no column ``label``. Of a weight column with
    at most 1,000 values the weight is a key, and rows are counted; with more, ``rows`` is the sum of weights.

    Raises
    ------
    InvalidRowsError
        If a row is not valid and the scan was not told to drop such rows; or with *priors*, if a score is
        below 0.
    ParameterError
        If *priors* are no shares of all classes, or there are no scores.
    SchemaError
        If *predictions* lacks a column, or has no such key.
    SourceError
        If the rows counted and dropped are not the rows of the footers.

    Warns
    -----
    InvalidRowsWarning
        If rows were dropped: how many, by reason.
    NearlyUniqueKeyWarning
        If a key has nearly as many values as a model has rows.

    Notes
    -----
    A score p of a class moves to p·prior/logged prior, and the highest is decided; a class of prior 0 never
    is. Scores need not add up to 1.

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
    scan = class_scan_behind(predictions, labelled=False)
    keys = ["model", *kept_keys(scan.keys, by)]
    budget = Budget.of(memory_limit)
    ways = _Ways.of(scan, priors, logged_priors)
    counted = _counted(scan, keys, ways, budget, progress=progress)
    need_whole_log(scan, counted.rows_by_code)
    warned = (
        *scan.source.warnings,
        scan.dropped(counted.rows_by_code),
        nearly_unique(counted.groups, counted.rows_by_code.get(0, 0), scan.source.where),
    )
    for warning in warned:
        if warning is not None:
            warnings.warn(warning, stacklevel=3)
    labels = counted.table["label"] if "label" in counted.table.columns else None
    known = [values for values in (labels, counted.table["decision"], ways.classes) if values is not None]
    return CLASS_COUNTS.finish(every_pair(counted.table, class_values(*known)))


@dataclass(frozen=True, slots=True)
class _Ways:
    """The ways in which rows are decided: as logged, or by scores moved to some priors."""

    #: The classes that have scores, in their order.
    classes: pl.Series | None
    #: By what the scores of each class are multiplied, by scenario; a class of prior 0 by -1.
    factors: dict[str, Floats] = field(default_factory=dict)

    @property
    def decisions(self) -> int:
        """Cells of a group."""
        return max(1, len(self.factors)) * (1 if self.classes is None else len(self.classes))

    @classmethod
    def of(cls, scan: Scan, priors: Any, logged: Any) -> "_Ways":
        schema = scan.raw.collect_schema()
        struct = schema.get("scores")
        if not isinstance(struct, pl.Struct):
            if priors is not None:
                hint = "open the log with scan_classes(..., scores={class: column})"
                raise ParameterError("decisions without scores cannot be moved to other priors", hint=hint)
            return cls(None)
        classes = classes_of_fields([one.name for one in struct.fields], schema["decision"])
        if priors is None:
            return cls(classes)
        given = _observed(scan, classes) if isinstance(logged, str) else {"": logged}
        before = read_priors(given, classes, observed=None)[""]
        wanted = read_priors(priors, classes, observed=before)
        factors = {}
        for scenario, shares in wanted.items():
            unknown = (before == 0) & (shares > 0)
            if unknown.any():
                missing = classes.filter(unknown).to_list()
                msg = "scores of a class that no row of the log has cannot be moved to other priors"
                raise ParameterError(msg, found=repr(missing), hint="give logged_priors={class: share}")
            ratio = np.divide(shares, before, out=np.zeros(len(shares)), where=before > 0)
            factors[scenario] = np.where(shares > 0, ratio, -1.0)
        return cls(classes, factors)

    def decided(self, scores: list[NDArray[np.floating]], scenario: str | None) -> NDArray[np.int64]:
        """Return the place of the class that each row is decided for."""
        factors = None if scenario is None else self.factors[scenario]
        place = np.zeros(len(scores[0]), np.int64)
        best = np.full(len(scores[0]), -np.inf)
        for number, score in enumerate(scores):
            if factors is not None:
                # A class of prior 0 is below all others, which are not negative.
                score = score * factors[number] if factors[number] > 0 else np.full(len(score), -1.0)  # noqa: PLW2901
            if number == 0:
                best = score
                continue
            higher = score > best
            place[higher] = number
            best = np.where(higher, score, best)
        return place


def _observed(scan: Scan, classes: pl.Series) -> dict[str, dict[Any, float]]:
    """Return the shares of the classes in the whole log."""
    if scan.label is None:
        hint = "give logged_priors={class: share}"
        raise ParameterError("the shares of the classes are unknown without labels", hint=hint)
    weight = pl.col("weight") if scan.weighted else pl.lit(1.0)
    rows = scan.raw.filter(pl.col(REASON) == 0).select("label", weight.alias("weight"))
    with scan.source.reading():
        found = rows.group_by("label").agg(pl.col("weight").sum()).sort("label").collect(engine="streaming")
    total = float(found["weight"].sum())
    if not total:
        raise InvalidRowsError("no valid row of the log has a weight", where=scan.source.where)
    shares = dict(zip(found["label"].to_list(), (found["weight"] / total).to_list(), strict=True))
    return {"": {name: shares.get(name, 0.0) for name in classes.to_list()}}


@dataclass(frozen=True, slots=True)
class _Counted:
    table: pl.DataFrame
    rows_by_code: dict[int, int]
    groups: pl.DataFrame


def _counted(scan: Scan, keys: list[str], ways: _Ways, budget: Budget, *, progress: bool) -> _Counted:
    """Count with the weight as a key, or the sums of weights if they are many."""
    schema = scan.raw.collect_schema()
    pairs = [*(["label"] if scan.label is not None else []), *(["decision"] if ways.classes is None else [])]
    for sums in (False, True):
        stratum = ["weight"] if scan.weighted and not sums else []
        group = {key: schema[key] for key in (*keys, *stratum, *pairs)}

        def count(groups: GroupNumbers, sums: bool = sums) -> _Counted:
            return _one_pass(scan, groups, ways, budget, sums=scan.weighted and sums, progress=progress)

        try:
            found = with_group_numbers(group, count)
        except TooManyWeightsError:
            continue
        return _Counted(found.table, found.rows_by_code, found.groups.select(keys).unique())
    raise AssertionError  # sums have no limit


def _one_pass(
    scan: Scan, groups: GroupNumbers, ways: _Ways, budget: Budget, *, sums: bool, progress: bool
) -> _Counted:
    weight = ["weight"] if sums else []
    scored = ways.classes is not None
    names = [] if ways.classes is None else [f"__score_{place}" for place in range(len(ways.classes))]
    fields = [pl.col("scores").struct[place].alias(name) for place, name in enumerate(names)]
    rows = scan.raw.select(*groups.keys, groups.hash.alias("__hash"), REASON, *weight, *fields)
    cells: NDArray[Any] = np.zeros((0, ways.decisions), np.float64 if sums else np.int64)
    scenarios: list[str | None] = list(ways.factors) or [None]
    rows_by_code: dict[int, int] = {}
    total = 0.0
    shown = rows_shown(scan.rows, len(scan.source.files), show=progress)
    with shown as advance, one_row_group_ahead(local=bool(scan.source.files)):
        for whole in scan.batches(rows, chunk_size=BATCH_ROWS, maintain_order=scan.weighted):
            valid = scan.valid(whole, rows_by_code)
            for batch in valid.iter_slices(SLICE_ROWS):
                numbers = groups.numbers(batch["__hash"].to_numpy(), batch)
                if len(groups) > len(cells):
                    budget.need_cells(groups, ways.decisions)
                    more = np.zeros(
                        (max(len(groups), 2 * len(cells)) - len(cells), ways.decisions), cells.dtype
                    )
                    cells = np.vstack([cells, more])
                weights = batch["weight"].to_numpy() if sums else None
                if weights is not None and (total := total + float(weights.sum())) == math.inf:
                    raise endless_weights(scan.source.where)
                scores = [batch[name].to_numpy() for name in names]
                if ways.factors and min(score.min() for score in scores) < 0:
                    msg = "a score is below 0: no probability, which could be moved to other priors"
                    raise InvalidRowsError(msg, where=scan.source.where)
                for number, scenario in enumerate(scenarios):
                    codes = numbers * ways.decisions
                    if scored:
                        codes = codes + number * len(names) + ways.decided(scores, scenario)
                    add = np.bincount(codes, weights, len(groups) * ways.decisions)
                    cells[: len(groups)] += add.astype(cells.dtype).reshape(len(groups), -1)
            advance(len(whole))
    scan.need_same_rows(sum(rows_by_code.values()))
    return _Counted(_table(groups, ways, cells[: len(groups)]), rows_by_code, groups.frame())


def _table(groups: GroupNumbers, ways: _Ways, cells: NDArray[Any]) -> pl.DataFrame:
    """Return the counts above 0 with their keys and decisions."""
    row, cell = np.nonzero(cells)
    table = groups.frame()[row].with_columns(pl.Series("rows", cells[row, cell]))
    if ways.classes is None:
        return table
    scenario, place = np.divmod(cell, len(ways.classes))
    table = table.with_columns(ways.classes.gather(place).alias("decision"))
    if not ways.factors:
        return table
    return table.with_columns(pl.Series("scenario", list(ways.factors), pl.String).gather(scenario))
