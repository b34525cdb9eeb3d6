"""Rates -> expected counts, for planned classifiers and test sets."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from nci_frames.base.arguments import check_whole, number_list, prevalence_of_ratio
from nci_frames.base.errors import ParameterError
from nci_frames.schemas import COUNTS
from nci_frames.schemas.checked import checked

#: Up to here a count times a rate is rounded to the right whole number.
_MOST_ROWS = 10**15


@checked
def expected_counts(
    *,
    tpr: float,
    fpr: float,
    positives: int | None = None,
    negatives: int | None = None,
    ratio: float | Sequence[float] | None = None,
    size: int | None = None,
    model: str = "planned",
) -> pl.DataFrame:
    """Return the expected counts of a classifier with given rates on a test set of given size.

    The size is either the rows of each class, or one or several ratios and the total number of rows. Several
    ratios give a family of relatively identical confusion matrices: one classifier, tested on logs that
    differ only in class balance.

    Parameters
    ----------
    tpr, fpr
        True-positive and false-positive rate, each in [0, 1].
    positives, negatives
        Rows of each class, 1 to 10¹⁵.
    ratio
        Negatives per positive, each > 0.
    size
        Rows of each test set, 2 to 10¹⁵.
    model
        Name of the classifier.

    Returns
    -------
    A counts frame at threshold 0.5: one row, or with *ratio* one row for each value of the key ``ratio``,
    sorted by it. Counts are rounded to whole numbers, so the rates are exact to within half a row.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the size is not given in exactly one of the two ways.

    References
    ----------
    Ahmadzadeh and Angryk (2022), for the families.

    Examples
    --------
    >>> import nci_frames as nf
    >>> counts = nf.expected_counts(tpr=0.6, fpr=0.001, positives=100, negatives=10_000)
    >>> counts.select("tp", "fp", "fn", "tn").row(0)
    (60, 10, 40, 9990)
    >>> family = nf.expected_counts(tpr=0.6, fpr=0.1, ratio=[1, 9], size=1000)
    >>> family.select("ratio", "tp", "fp", "fn", "tn").rows()
    [(1.0, 300, 50, 200, 450), (9.0, 60, 90, 40, 810)]
    """
    for name, rate in (("tpr", tpr), ("fpr", fpr)):
        if not 0 <= rate <= 1:
            raise ParameterError.out_of_range(name, rate, "within [0, 1]")
    given = [value is not None for value in (positives, negatives, ratio, size)]
    if given not in ([True, True, False, False], [False, False, True, True]):
        raise ParameterError(
            "the size of the test set must be given in exactly one way",
            found=f"positives={positives}, negatives={negatives}, ratio={ratio}, size={size}",
            hint="give positives and negatives, or ratio and size",
        )
    ratios = None if ratio is None else np.unique(number_list(ratio))
    if ratios is None:
        check_whole("positives", positives, 1, _MOST_ROWS)
        check_whole("negatives", negatives, 1, _MOST_ROWS)
        rows = np.array([[positives, negatives]], np.int64).T
    else:
        check_whole("size", size, 2, _MOST_ROWS)
        found = np.rint(size * np.array([prevalence_of_ratio(r) for r in ratios])).astype(np.int64)
        rows = np.stack([found, np.asarray(size, np.int64) - found])
    # In each class the correct decisions are rounded: tp and tn.
    tp, tn = (np.rint(share * n).astype(np.int64) for share, n in ((tpr, rows[0]), (1 - fpr, rows[1])))
    key = {} if ratios is None else {"ratio": ratios}
    names = {"model": [model] * len(tp), **key, "threshold": [0.5] * len(tp)}
    return COUNTS.finish(pl.DataFrame({**names, "tp": tp, "fp": rows[1] - tn, "fn": rows[0] - tp, "tn": tn}))
