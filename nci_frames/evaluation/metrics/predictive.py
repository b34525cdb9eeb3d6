"""Metrics of predictive value: the share of positives among rows predicted positive."""

import polars as pl

from nci_frames.evaluation.metrics.registry import metric
from nci_frames.evaluation.metrics.terms import *


@metric(
    "eta·TPR / (eta·TPR + (1-eta)·FPR)",
    "no row is predicted positive: eta·TPR + (1-eta)·FPR = 0",
    aliases=("ppv", "purity"),
)
def precision(*, prevalence: Parameter = None) -> pl.Expr:
    """Positive predictive value: P(y=1 | predicted positive).

    Parameters
    ----------
    prevalence
        %(open_prevalence)s

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where nothing is predicted positive. At
    prevalence 0 it is 0 and at 1 it is 1, unless that is 0/0.

    Raises
    ------
    ParameterError
        %(outside_prevalence)s

    References
    ----------
    Brabec et al. (2020), eq. 8, doi:10.1007/978-3-030-50423-6_6 (arXiv:2001.05571).

    Examples
    --------
    Fig. 1 of the paper: TPR 0.6 and FPR 0.001, at one positive in a thousand.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.precision(prevalence=0.001)).item(), 4)
    0.3752
    """
    eta = eta_of(prevalence)
    # A function of FPR/TPR and eta, so that points with equal quotients have exactly equal precision. 0/0,
    # inf·0 and 0·inf occur where nothing is predicted positive.
    return (1 / (1 + (1 - eta) * (FPR / TPR / eta))).fill_nan(None)


@metric(
    "(1-eta)·(1-FPR) / ((1-eta)·(1-FPR) + eta·(1-TPR))",
    "no row is predicted negative",
    needs_fpr=False,
    title="NPV",
)
def npv(*, prevalence: Parameter = None) -> pl.Expr:
    """Negative predictive value: P(y=0 | predicted negative).

    Parameters
    ----------
    prevalence
        %(open_prevalence)s

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where nothing is predicted negative.

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
    >>> round(rates.select(nf.npv(prevalence=0.001)).item(), 4)
    0.9996
    """
    eta = eta_of(prevalence)
    return (1 / (1 + eta * ((1 - TPR) / (1 - FPR) / (1 - eta)))).fill_nan(None)


@metric(
    "(1+beta²)·eta·TPR / (beta²·eta + eta·TPR + (1-eta)·FPR)",
    "there are no positives and none is predicted; at beta = 0 as precision",
    title="F-beta",
)
def f_beta(*, beta: Parameter = None, prevalence: Parameter = None) -> pl.Expr:
    """Weighted harmonic mean of precision and recall; recall counts beta times as much.

    It is defined by counts, so a classifier that never predicts positive scores 0. At beta = 0 it is
    precision (null where precision is), at beta = inf recall.

    Parameters
    ----------
    beta
        Weight of recall in [0, inf], or an expression; by default the column ``beta``.
    prevalence
        %(open_prevalence)s

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where it is 0/0.

    Raises
    ------
    ParameterError
        If beta is negative or NaN, or the prevalence outside [0, 1].

    References
    ----------
    Wojciechowski and Woźniak (2024), F-beta-plot, eq. 5, arXiv:2404.08709.

    Examples
    --------
    The orchard of a textbook: 5 ripe apples picked, 2 left, 1 unripe picked, 2 left: F1 = 10/13.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [5 / 7], "fpr": [1 / 3]})
    >>> round(rates.select(nf.f_beta(beta=1, prevalence=0.7)).item(), 4)
    0.7692
    """
    eta, beta = eta_of(prevalence), beta_of(beta)
    # Weights that sum to 1 are finite at beta = 0 and beta = inf.
    precision_share = 1 / (1 + beta.pow(2))
    recall_share = 1 / (1 + beta.pow(-2))
    found = eta * TPR
    value = ratio(found, recall_share * eta + precision_share * (found + (1 - eta) * FPR))
    at_0 = precision(prevalence=prevalence)
    return pl.when(precision_share == 0).then(TPR).when(recall_share == 0).then(at_0).otherwise(value)


@metric(
    "eta·TPR + (1-eta)·FPR",
    LACKS_A_CLASS,
    aliases=("posfrac",),
    direction="target",
    linear_in_prevalence=True,
)
def pos_fraction(*, prevalence: Parameter = None) -> pl.Expr:
    """Share of rows predicted positive: the rows that must be followed up.

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

    References
    ----------
    Landgrebe et al. (2004), Cost-based classifier evaluation for imbalanced problems, eq. 5,
    doi:10.1007/978-3-540-27868-9_83.

    Examples
    --------
    Table 2 of the paper, Highleyman and LDC: TPR 0.8 and POSfrac 0.5214 at prevalence 0.5 give FPR 0.2428,
    and with it 0.2985 at prevalence 0.1.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.8], "fpr": [0.2428]})
    >>> round(rates.select(nf.pos_fraction(prevalence=0.1)).item(), 4)
    0.2985
    """
    return positives_said(eta_of(prevalence))


@metric("precision at a reference prevalence", "no row is predicted positive")
def calibrated_precision(*, reference: float = 0.5) -> pl.Expr:
    """Precision at a reference prevalence, to compare logs of different class balance.

    Parameters
    ----------
    reference
        Reference prevalence, in [0, 1].

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where nothing is predicted positive.

    Raises
    ------
    ParameterError
        If *reference* is outside [0, 1].

    References
    ----------
    Siblini et al. (2020), Master your metrics with calibration, doi:10.1007/978-3-030-44584-3_36.

    Examples
    --------
    At a reference of one in a thousand it is the precision there.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.calibrated_precision(reference=0.001)).item(), 4)
    0.3752
    """
    return precision(prevalence=reference)


@metric(
    "(precision-eta) / ((1-eta)·precision) = 1 - FPR/TPR",
    "neither class has a predicted positive: TPR = FPR = 0",
    scale=1.0,
    lower=float("-inf"),
)
def precision_gain() -> pl.Expr:
    """Precision on a harmonic scale: 0 for the always-positive classifier, 1 for the best.

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [-inf, 1]; null where both are 0, -inf where only TPR is
    0.

    Notes
    -----
    The prevalence cancels.

    References
    ----------
    Flach and Kull (2015), Precision-Recall-Gain curves, NIPS 28.

    Examples
    --------
    The loss is FPR/TPR.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.precision_gain()).item(), 4)
    0.9983
    """
    return pl.when((TPR > 0) | (FPR > 0)).then(1 - FPR / TPR)


@metric("(TPR-eta) / ((1-eta)·TPR)", "0/0: TPR and eta are 0, or both are 1", scale=1.0, lower=float("-inf"))
def recall_gain(*, prevalence: Parameter = None) -> pl.Expr:
    """Recall on a harmonic scale: 0 at TPR = eta, 1 for the best.

    Parameters
    ----------
    prevalence
        %(open_prevalence)s

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [-inf, 1]; null where it is 0/0, -inf where TPR is
    0 or the prevalence 1.

    Raises
    ------
    ParameterError
        %(outside_prevalence)s

    References
    ----------
    Flach and Kull (2015), Precision-Recall-Gain curves, NIPS 28.

    Examples
    --------
    At one positive in ten:

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.recall_gain(prevalence=0.1)).item(), 4)
    0.9259
    """
    eta = eta_of(prevalence)
    lost = eta * (1 - TPR)
    return pl.when((lost > 0) | ((1 - eta) * TPR > 0)).then(1 - lost / ((1 - eta) * TPR))
