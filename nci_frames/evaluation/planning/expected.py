"""Rates -> expected counts, for planned classifiers and test sets."""

import numpy as np
import polars as pl

from nci_frames.base.arguments import check_allowed, check_whole
from nci_frames.schemas import COUNTS, checked

#: Up to this number of rows, Float64 rounds a count times a rate to the right whole number.
_MOST_ROWS = 10**15


@checked
def expected_counts(
    *, tpr: float, fpr: float, positives: int, negatives: int, model: str = "planned"
) -> pl.DataFrame:
    """Return the expected counts of a classifier with given rates on a test set of a given size.

    Parameters
    ----------
    tpr, fpr
        True-positive and false-positive rate, each in [0, 1].
    positives, negatives
        Rows of each class, 1 to 10¹⁵.
    model
        Name of the classifier.

    Returns
    -------
    A counts frame with one row, at threshold 0.5. Counts are rounded to whole numbers, so the rates are exact
    to within half a row.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Examples
    --------
    >>> import nci_frames as nf
    >>> counts = nf.expected_counts(tpr=0.6, fpr=0.001, positives=100, negatives=10_000)
    >>> counts.select("tp", "fp", "fn", "tn").row(0)
    (60, 10, 40, 9990)
    """
    for name, rate in (("tpr", tpr), ("fpr", fpr)):
        check_allowed(0 <= rate <= 1, name, rate, "within [0, 1]")
    check_whole("positives", positives, 1, _MOST_ROWS)
    check_whole("negatives", negatives, 1, _MOST_ROWS)
    # Round the correct decisions of each class.
    tp, tn = (int(np.rint(share * rows)) for share, rows in ((tpr, positives), (1 - fpr, negatives)))
    cells = {"tp": [tp], "fp": [negatives - tn], "fn": [positives - tp], "tn": [tn]}
    return COUNTS.finish(pl.DataFrame({"model": [model], "threshold": [0.5], **cells}))
