"""The scores of one class -> counts by threshold and true class, to tell rows of the class from others."""

from collections.abc import Sequence
from datetime import date

import polars as pl

from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import Option, listed
from nci_frames.counting.count import count_confusion
from nci_frames.counting.logs.class_rows import classes_of_fields, field_names
from nci_frames.counting.logs.opening import Predictions
from nci_frames.counting.logs.reading import kept_keys, predictions_of
from nci_frames.counting.logs.scan_classes import class_scan_behind
from nci_frames.counting.thresholds.grids import Thresholds
from nci_frames.schemas.checked import checked
from nci_frames.schemas.columns import TRUE_CLASS


@checked
def count_class_scores(
    predictions: Predictions,
    /,
    *,
    of: str | float | bool | date,
    thresholds: Thresholds = "exact",
    by: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """Count, for "is it this class?", the rows of each true class whose score of it reaches each threshold.

    One class against the rest, with the rest not pooled: its false-positive rate depends on how the other
    classes mix, and ``counts_at_mix`` mixes them.

    Parameters
    ----------
    predictions
        What ``scan_classes`` returned with scores, also filtered or changed since.
    of
        The class that is asked about. Its rows are the positives, and its score is the score.
    thresholds
        As in ``count_confusion``.
    by
        The keys to keep besides the model and the true class; None keeps every key there is.

    Returns
    -------
    A row per group, true class and threshold, sorted:

    %(columns of counts)s

    Keys are those of the predictions and ``true_class``.

    Raises
    ------
    ParameterError
        If there are no scores, or none of this class; or as ``count_confusion`` does.
    InvalidRowsError, SchemaError, SourceError
        As ``count_classes`` does.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({
    ...     "model": "a", "label": ["cat", "dog", "owl"], "c": [0.8, 0.6, 0.1], "d": [0.1, 0.3, 0.2],
    ...     "o": [0.1, 0.1, 0.7],
    ... })
    >>> scan = nf.scan_classes(log, scores={"cat": "c", "dog": "d", "owl": "o"})
    >>> counts = nf.count_class_scores(scan, of="cat", thresholds=[0.5])
    >>> counts.select("true_class", "tp", "fp", "fn", "tn").rows()
    [('cat', 1, 0, 0, 0), ('dog', 0, 1, 0, 0), ('owl', 0, 0, 0, 1)]
    """
    scan = class_scan_behind(predictions)
    if scan.label is None:
        hint = "name the column with label="
        raise SchemaError("the predictions have no labels", where=scan.source.where, hint=hint)
    schema = scan.raw.collect_schema()
    struct = schema.get("scores")
    if not isinstance(struct, pl.Struct):
        hint = "open the log with scan_classes(..., scores={class: column})"
        raise ParameterError("the predictions have no scores", where=scan.source.where, hint=hint)
    classes = classes_of_fields([one.name for one in struct.fields], schema["label"])
    if of not in classes.to_list():
        known = listed(map(repr, classes), 20)
        raise ParameterError(
            f"{Option('of')} names no class with scores", found=f"{of!r}; the classes are {known}"
        )
    place = classes.to_list().index(of)
    keys = kept_keys(scan.keys, by)
    # A number with digits after the point is no key, but its text is.
    name = pl.col("label").cast(pl.String) if schema["label"].is_float() else pl.col("label")
    binary = predictions_of(scan).select(
        "model",
        *keys,
        name.alias(TRUE_CLASS),
        (pl.col("label") == pl.lit(classes).gather(place)).alias("label"),
        pl.col("scores").struct.field(field_names(classes)[place]).alias("score"),
        *(column for column in ("weight", "unit") if column in schema),
    )
    return count_confusion(binary, thresholds=thresholds)
