"""Metrics of the agreement between decision and class."""

import polars as pl

from nci_frames.evaluation.metrics.registry import metric
from nci_frames.evaluation.metrics.terms import *


@metric("eta·TPR + (1-eta)·(1-FPR)", LACKS_A_CLASS, linear_in_prevalence=True, needs_fpr=False)
def accuracy(*, prevalence: Parameter = None) -> pl.Expr:
    """Share of correct decisions.

    Parameters
    ----------
    prevalence
        %(open_prevalence)s

    Returns
    -------
    %(of_all_rows)s

    Raises
    ------
    ParameterError
        %(outside_prevalence)s

    Examples
    --------
    The accuracy of a classifier that always predicts positive is the prevalence.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> pl.DataFrame({"tpr": [1.0], "fpr": [1.0]}).select(nf.accuracy(prevalence=0.2)).item()
    0.2
    """
    eta = eta_of(prevalence)
    return share_of(eta, TPR) + share_of(1 - eta, 1 - FPR)


@metric("eta·(1-TPR) + (1-eta)·FPR", LACKS_A_CLASS, direction="minimize", linear_in_prevalence=True)
def error_rate(*, prevalence: Parameter = None) -> pl.Expr:
    """Share of wrong decisions.

    Parameters
    ----------
    prevalence
        %(open_prevalence)s

    Returns
    -------
    %(of_all_rows)s

    Raises
    ------
    ParameterError
        %(outside_prevalence)s

    Examples
    --------
    TPR 0.6 and FPR 0.001 at one positive in a thousand.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.error_rate(prevalence=0.001)).item(), 4)
    0.0014
    """
    eta = eta_of(prevalence)
    return share_of(eta, 1 - TPR) + share_of(1 - eta, FPR)


@metric(
    "2·eta·(1-eta)·(TPR-FPR) / (eta·NEGfrac + (1-eta)·POSfrac)",
    "all rows are of one class and all are predicted to be",
    aliases=("cohen_kappa",),
    lower=-1.0,
    title="HSS",
)
def hss(*, prevalence: Parameter = None) -> pl.Expr:
    """Heidke skill score, Cohen's kappa: accuracy corrected for agreement by chance.

    Parameters
    ----------
    prevalence
        %(open_prevalence)s

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [-1, 1]; null where it is 0/0.

    Raises
    ------
    ParameterError
        %(outside_prevalence)s

    Notes
    -----
    NEGfrac = 1 - POSfrac.

    References
    ----------
    Cohen (1960), doi:10.1177/001316446002000104.

    Examples
    --------
    TPR 0.6 and FPR 0.001 at one positive in a thousand.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.hss(prevalence=0.001)).item(), 4)
    0.4611
    """
    eta = eta_of(prevalence)
    chance = eta * negatives_said(eta) + (1 - eta) * positives_said(eta)
    return ratio(2 * eta * (1 - eta) * (TPR - FPR), chance)


@metric(
    "eta·(1-eta)·(TPR-FPR) / ((1-eta)·POSfrac + eta·(1-TPR))",
    "no row is positive or predicted positive, or all rows are positive and predicted to be",
    aliases=("gilbert_skill_score",),
    lower=-1 / 3,
)
def gilbert(*, prevalence: Parameter = None) -> pl.Expr:
    """Gilbert's success ratio: Jaccard's index corrected for hits by chance.

    Parameters
    ----------
    prevalence
        %(open_prevalence)s

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [-1/3, 1]; null where it is 0/0.

    Raises
    ------
    ParameterError
        %(outside_prevalence)s

    Notes
    -----
    It is (tp-a)/(tp+fp+fn-a), with a the expected number of hits by chance.

    References
    ----------
    Schaefer (1990), doi:10.1175/1520-0434(1990)005<0570:TCSIAA>2.0.CO;2.

    Examples
    --------
    TPR 0.6 and FPR 0.001 at one positive in a thousand.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.gilbert(prevalence=0.001)).item(), 4)
    0.2996
    """
    eta = eta_of(prevalence)
    return ratio(eta * (1 - eta) * (TPR - FPR), (1 - eta) * positives_said(eta) + eta * (1 - TPR))


@metric(
    "(TPR-FPR)·√(eta·(1-eta) / (POSfrac·(1-POSfrac)))",
    "all rows are predicted alike",
    title="MCC",
    lower=-1.0,
)
def mcc(*, prevalence: Parameter = None) -> pl.Expr:
    """Matthews correlation coefficient of decision and class.

    Parameters
    ----------
    prevalence
        %(open_prevalence)s

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [-1, 1]; null where all rows are predicted alike.

    Raises
    ------
    ParameterError
        %(outside_prevalence)s

    References
    ----------
    Matthews (1975), doi:10.1016/0005-2795(75)90109-9.

    Examples
    --------
    TPR 0.6 and FPR 0.001 at one positive in a thousand.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.mcc(prevalence=0.001)).item(), 4)
    0.4738
    """
    eta = eta_of(prevalence)
    return (TPR - FPR) * ratio(eta * (1 - eta), positives_said(eta) * negatives_said(eta)).sqrt()


@metric("MCC²", "all rows are predicted alike", monotone=False)
def doolittle(*, prevalence: Parameter = None) -> pl.Expr:
    """Doolittle's index: the square of the Matthews correlation.

    Parameters
    ----------
    prevalence
        %(open_prevalence)s

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where all rows are predicted alike.

    Raises
    ------
    ParameterError
        %(outside_prevalence)s

    Examples
    --------
    TPR 0.6 and FPR 0.001 at one positive in a thousand.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.doolittle(prevalence=0.001)).item(), 4)
    0.2245
    """
    return mcc(prevalence=prevalence) ** 2


@metric(
    "eta·TPR / (eta + (1-eta)·FPR)",
    "no row is positive or predicted positive",
    aliases=("csi", "threat_score"),
)
def jaccard(*, prevalence: Parameter = None) -> pl.Expr:
    """Critical success index: true positives among all rows that are positive or predicted positive.

    Parameters
    ----------
    prevalence
        %(open_prevalence)s

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where it is 0/0.

    Raises
    ------
    ParameterError
        %(outside_prevalence)s

    Examples
    --------
    TPR 0.6 and FPR 0.001 at one positive in a thousand.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.jaccard(prevalence=0.001)).item(), 4)
    0.3002
    """
    eta = eta_of(prevalence)
    return ratio(eta * TPR, eta + (1 - eta) * FPR)


@metric("√(precision·TPR)", "no row is predicted positive")
def fowlkes_mallows(*, prevalence: Parameter = None) -> pl.Expr:
    """Geometric mean of precision and recall.

    Parameters
    ----------
    prevalence
        %(open_prevalence)s

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where nothing is predicted positive.

    Raises
    ------
    ParameterError
        %(outside_prevalence)s

    References
    ----------
    Fowlkes and Mallows (1983), doi:10.1080/01621459.1983.10478008.

    Examples
    --------
    TPR 0.6 and FPR 0.001 at one positive in a thousand.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.fowlkes_mallows(prevalence=0.001)).item(), 4)
    0.4745
    """
    eta = eta_of(prevalence)
    return TPR * ratio(eta, positives_said(eta)).sqrt()


@metric("precision + NPV - 1", "all rows are predicted alike", lower=-1.0)
def markedness(*, prevalence: Parameter = None) -> pl.Expr:
    """Youden's J with decision and class exchanged: precision + NPV - 1.

    Parameters
    ----------
    prevalence
        %(open_prevalence)s

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [-1, 1]; null where all rows are predicted alike.

    Raises
    ------
    ParameterError
        %(outside_prevalence)s

    References
    ----------
    Powers (2011), Evaluation: from precision, recall and F-measure to ROC, arXiv:2010.16061.

    Examples
    --------
    TPR 0.6 and FPR 0.001 at one positive in a thousand.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.markedness(prevalence=0.001)).item(), 4)
    0.3748
    """
    eta = eta_of(prevalence)
    return ratio(eta * (1 - eta) * (TPR - FPR), positives_said(eta) * negatives_said(eta))
