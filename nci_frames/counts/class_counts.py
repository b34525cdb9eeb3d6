"""Counts of decisions among classes, or by true class: sums, and shares of the classes."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from nci_frames.base.arguments import check_allowed
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import Option, listed, named_values
from nci_frames.base.typing import Flags, Floats, Frame
from nci_frames.counts.pooling import pool_counts, together
from nci_frames.counts.sums import check_sums
from nci_frames.schemas import CLASS_COUNTS, CLASS_PRIORS, COUNTS, TRUE_CLASS, WEIGHT, checked, collect

#: Shares by class, or by scenario and class.
Priors = Literal["observed", "uniform"] | Mapping[Any, Any] | pl.DataFrame

#: Name of a single unnamed scenario.
GIVEN = "given"
_WORDS = ("observed", "uniform")
#: Tolerance for the sum of shares.
_ROUNDING = 1e-9


@checked
def merge_class_counts(*class_counts: Frame) -> pl.DataFrame:
    """Add class counts of disjoint rows, for example of two days, files or machines.

    Parameters
    ----------
    *class_counts
        Class counts with the same columns.

    Returns
    -------
    Sorted class counts, with every pair of the classes of all frames.

    Raises
    ------
    ParameterError
        If no frame is given.
    SchemaError
        If a frame is not one of class counts, or its columns or type of classes differ from the first frame.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> day = pl.DataFrame({"model": "a", "label": ["cat"], "decision": ["cat"], "rows": [3]})
    >>> nf.merge_class_counts(day, day).rows()
    [('a', 'cat', 'cat', 6)]
    """
    check_allowed(class_counts, "class_counts", class_counts, "at least one frame of class counts")
    frames = [collect_class_counts(frame) for frame in class_counts]
    table = together(frames, ["rows"], "count with the same keys")
    group = [name for name in table.columns if name != "rows"]
    check_sums(table, ["rows"], group)
    return every_pair(added_rows(table, group))


def collect_class_counts(frame: Frame) -> pl.DataFrame:
    """Return checked class counts.

    Raises
    ------
    SchemaError
        If they are none, or decisions are of another type than labels.
    """
    collected = collect(frame, CLASS_COUNTS)
    label, decision = collected.schema.get("label"), collected.schema["decision"]
    if label not in (None, decision):
        wanted = f"{label}, as the labels"
        raise SchemaError.wrong_type("decision", "a class counts frame", str(decision), wanted)
    return collected


def added_rows(class_counts: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Sum the rows by *by*; the result is sorted. Weights are added in the order of the rows."""
    ordered = class_counts.sort(by, maintain_order=True)
    return ordered.group_by(by, maintain_order=True).agg(pl.col("rows").sum())


def class_values(*values: pl.Series) -> pl.Series:
    """Return all classes, sorted.

    >>> class_values(pl.Series(["b"]), pl.Series(["a", "b"])).to_list()
    ['a', 'b']
    """
    return pl.concat([one.rename("class") for one in values]).unique().sort()


def every_pair(
    table: pl.DataFrame, more: pl.Series | None = None, need: Callable[[Sequence[int]], None] = lambda _: None
) -> pl.DataFrame:
    """Return sorted class counts with a row for each group, class and decision; *more* adds classes.

    *need* may refuse the numbers of groups, classes and decisions.
    """
    table = CLASS_COUNTS.finish(table)
    pair = [name for name in ("label", "decision") if name in table.columns]
    classes = class_values(*(table[name] for name in pair), *([] if more is None else [more]))
    groups = table.drop(*pair, "rows").unique().sort(pl.all())
    sides = [groups, *(classes.alias(name).to_frame() for name in pair)]
    sizes = [*map(len, sides)]
    need(sizes)
    # Each row in its place: a join with all pairs would take several times their memory.
    every = np.unravel_index(np.arange(math.prod(sizes)), sizes)
    full = pl.concat([side[place] for side, place in zip(sides, every, strict=True)], how="horizontal")
    for number, side in enumerate(sides):
        at = side.with_row_index(f"__{number}")
        table = table.join(at, on=side.columns, how="left", nulls_equal=True, maintain_order="left")
    rows = np.zeros(len(full), table["rows"].to_numpy().dtype)
    places = [table[f"__{number}"].to_numpy() for number in range(len(sides))]
    rows[np.ravel_multi_index(places, sizes)] = table["rows"].to_numpy()
    return full.with_columns(rows=pl.Series(rows))


def read_priors(
    priors: Any, classes: pl.Series, *, observed: Floats | None, needed: Flags | None = None
) -> dict[str, Floats]:
    """Return the shares of the classes in each scenario.

    Parameters
    ----------
    priors
        Priors as given by the user.
    classes
        Classes that may have a share.
    observed
        Shares for "observed"; None if a mix must have shares and cannot be a word.
    needed
        Which classes must have a share, and have equal ones for "uniform"; None means all.

    Raises
    ------
    ParameterError
        If a class is missing or unknown, or shares are not numbers from 0 to 1 that add up to 1.
    """
    must = np.ones(len(classes), np.bool_) if needed is None else needed
    names, words = classes.to_list(), {"observed": observed, "uniform": must / max(must.sum(), 1)}
    read: dict[str, Any] = {}
    required = classes.filter(pl.Series(must)).to_list()
    for scenario, shares in scenarios_of(priors, required, words=observed is not None).items():
        if isinstance(shares, str):
            read[scenario] = words[shares]
            continue
        unknown = [name for name in shares if name not in names and shares[name] != 0]
        if unknown:
            hint = f"the classes are {listed(map(repr, names), 20)}"
            raise _wrong("have shares of classes alone", scenario, listed(map(repr, unknown)), hint)
        read[scenario] = np.array([shares.get(name, 0.0) for name in names], np.float64)
    return read


def one_mix(name: str, scenarios: Mapping[str, Any]) -> Any:
    """Return the mix of an option; raise ParameterError if there are several."""
    if len(scenarios) != 1:
        raise ParameterError(f"{Option(name)} must be one mix", found=f"{len(scenarios)} scenarios")
    return next(iter(scenarios.values()))


def by_scenario(priors: pl.DataFrame) -> dict[str, dict[Any, float]]:
    """Return the priors of a frame by scenario and class; an unnamed mix is called "given"."""
    named = priors if "scenario" in priors.columns else priors.with_columns(scenario=pl.lit(GIVEN))
    parts = named.group_by("scenario", maintain_order=True)
    return {str(name): dict(part.select("class", "prior").rows()) for (name,), part in parts}


def _wrong(must: str, scenario: str, found: str, hint: str | None = None) -> ParameterError:
    where = None if scenario in ("", GIVEN) else f"scenario {scenario!r}"
    option = Option("priors" if scenario else "logged_priors")
    return ParameterError(f"{option} must {must}", where=where, found=found, hint=hint)


def scenarios_of(
    priors: str | Mapping[Any, Any] | Frame, needed: Iterable[Any] = (), *, words: bool = True
) -> dict[str, Any]:
    """Return the checked shares of each scenario, or its word if *words*; an unnamed one is called "given".

    Raises
    ------
    ParameterError
        If there are none, they are not numbers from 0 to 1 that add up to 1, or a needed class is missing.
    """
    nested: Any = priors
    if isinstance(priors, Frame):
        frame = collect(priors, CLASS_PRIORS)
        nested = by_scenario(frame)
        if sum(map(len, nested.values())) < len(frame):
            raise SchemaError("a class has two priors in one scenario", hint="give each scenario a name")
    elif isinstance(priors, str):
        nested = {priors: priors}
    elif not all(isinstance(value, str | Mapping) for value in priors.values()):
        nested = {GIVEN: priors}
    check_allowed(nested, "priors", priors, "at least one scenario")
    for scenario, shares in nested.items():
        if words and shares in _WORDS:
            continue
        if not isinstance(scenario, str) or not isinstance(shares, Mapping):
            msg = "shares as {class: share}, or scenarios as {name: {class: share}}"
            raise ParameterError.out_of_range("priors", priors, msg)
        for name, value in shares.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise _wrong("be numbers within [0, 1]", scenario, f"{value!r} of class {name!r}")
        missing = [name for name in needed if name not in shares]
        if missing:
            found = f"missing: {listed(map(repr, missing))}"
            raise _wrong("have a share of every class", scenario, found, "0 is a share")
        total = math.fsum(shares.values())
        if abs(total - 1) > _ROUNDING:
            hint = "give a share of every class, and divide them by their sum"
            raise _wrong("add up to 1", scenario, f"{total:.12g}", hint)
    return dict(nested)


@checked
def counts_at_mix(by_class: Frame, /, *, priors: Priors) -> pl.DataFrame:
    """Combine counts by true class at a mix, to get the TPR and FPR of one class against the rest.

    Parameters
    ----------
    by_class
        Counts of one class against all others with the key ``true_class``, from ``count_confusion`` of a log
        with a segment of this name.
    priors
        Shares of the classes: ``{class: share}``, "uniform", or "observed" for those of each group.

    Returns
    -------
    A counts frame, sorted:

    %(columns of counts)s

    The keys are those of *by_class* without ``true_class``, and ``weight``: the rows of each class are a
    stratum, weighted to give the classes the shares *priors*. Every function that takes counts accepts the
    result; its observed prevalence is the share of the positive class.

    Intervals allow that a row of any weight might be positive, as in other strata. If the rows of the
    positive class weigh less than others, TPR therefore seems to depend on few rows. Give the class a larger
    share, and the others the same proportions: TPR and FPR stay the same, and later functions take the
    prevalence as an argument.

    Raises
    ------
    ParameterError
        If *priors* are not shares of all classes; if a class with a share has no rows in a group; or if the
        rows already have weights.
    SchemaError
        If *by_class* is not a counts frame with the key ``true_class``.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": "a", "true_class": ["cat", "dog", "owl"], "threshold": 0.5,
    ...     "tp": [80, 0, 0], "fp": [0, 30, 1], "fn": [20, 0, 0], "tn": [0, 70, 99],
    ... })
    >>> for dogs in (0.1, 0.7):
    ...     mix = {"cat": 0.2, "dog": dogs, "owl": 0.8 - dogs}
    ...     rates = nf.compute_rates(nf.counts_at_mix(counts, priors=mix))
    ...     print(rates.select(pl.col("tpr", "fpr", "observed_prevalence").round(3)).row(0))
    (0.8, 0.046, 0.2)
    (0.8, 0.264, 0.2)
    """
    frame = collect(by_class, COUNTS, strata=True)
    if TRUE_CLASS not in frame.columns:
        hint = "count a log with the true class as segment: scan_predictions(..., segments='true_class')"
        raise SchemaError("the counts are not by true class: column 'true_class' is missing", hint=hint)
    if WEIGHT in frame.columns or frame.schema["tp"].is_float():
        msg, hint = "rows that have weights cannot be weighted again", "count without weights"
        raise ParameterError(msg, found="weights", hint=hint)
    keys = ["model", *(key for key in COUNTS.keys(frame.columns) if key != TRUE_CLASS)]
    group = [*keys, TRUE_CLASS]
    rows, share, total = pl.col("__rows"), pl.col("__share"), pl.col("__rows").sum().over(keys)
    sizes = frame.group_by(group).agg(__rows=pl.sum_horizontal("tp", "fp", "fn", "tn").first())
    classes = frame[TRUE_CLASS].unique().sort()
    mix = one_mix("priors", read_priors(priors, classes, observed=np.full(len(classes), np.nan)))
    known = sizes.join(pl.DataFrame({TRUE_CLASS: classes, "__share": mix}), TRUE_CLASS, nulls_equal=True)
    known = known.with_columns(share.fill_nan(rows / total)).sort(group)
    lacking = known.filter(share.filter(rows > 0).sum().over(keys) < 1 - 2 * _ROUNDING)
    for part in lacking.partition_by(keys, maintain_order=True)[:1]:
        where = named_values(part.select(keys).row(0, named=True))
        empty = ~classes.is_in(part.filter(rows > 0)[TRUE_CLASS].implode()) & pl.Series(mix > 0)
        found = repr(classes.filter(empty).to_list())
        raise ParameterError("a class with a share has no rows", where=where, found=found)
    weight = pl.when(rows > 0).then(share * total / rows).otherwise(0.0).alias(WEIGHT)
    # Classes with the same weight are one stratum.
    mixed = frame.join(known.select(*group, weight), on=group, how="left", nulls_equal=True)
    return pool_counts(mixed, over=TRUE_CLASS)
