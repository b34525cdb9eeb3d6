"""The metrics: each one Polars expression of tpr, fpr, prevalence (and beta).

To add a metric, write its function here; projection, ranking, charts and ``metrics()`` follow by themselves.
Importing this module fills the registry, so what looks metrics up imports it from here.
"""

import polars as pl

from nci_frames.errors import ParameterError
from nci_frames.evaluation.registry import (
    CalledMetric,
    Direction,
    Parameter,
    find_metric,
    metric,
    metrics,
    register_metric,
)

__all__ = [
    "CalledMetric",
    "Direction",
    "accuracy",
    "f_beta",
    "find_metric",
    "metrics",
    "pos_fraction",
    "precision",
    "recall",
    "register_metric",
]

_TPR = pl.col("tpr")
_FPR = pl.col("fpr")


def _eta(prevalence: Parameter) -> pl.Expr:
    """Return P(y=1) as an expression: the column ``prevalence`` unless given."""
    if isinstance(prevalence, pl.Expr):
        return prevalence
    if prevalence is None:
        return pl.col("prevalence")
    if not 0 <= prevalence <= 1:
        raise ParameterError.out_of_range("prevalence", prevalence, "within [0, 1]")
    return pl.lit(float(prevalence))


def _beta(beta: Parameter) -> pl.Expr:
    """Return beta as an expression: the column ``beta`` unless given."""
    if isinstance(beta, pl.Expr):
        return beta
    if beta is None:
        return pl.col("beta")
    if not beta >= 0:
        raise ParameterError.out_of_range("beta", beta, "a number >= 0 (inf is recall)")
    return pl.lit(float(beta))


def _ratio(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Divide, with 0/0 null instead of NaN; both are non-negative and x/0 does not occur."""
    return pl.when(denominator > 0).then(numerator / denominator)


@metric(
    aliases=("ppv", "purity"),
    formula="eta·TPR / (eta·TPR + (1-eta)·FPR)",
    undefined_when="no row is predicted positive: eta·TPR + (1-eta)·FPR = 0",
)
def precision(*, prevalence: Parameter = None) -> pl.Expr:
    """Positive predictive value: P(y=1 | predicted positive).

    Parameters
    ----------
    prevalence
        P(y=1) in [0, 1], or an expression; the column ``prevalence`` unless given.

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where nothing is predicted positive. At
    prevalence 0 it is 0 and at 1 it is 1, unless that is 0/0.

    Raises
    ------
    ParameterError
        If the prevalence is outside [0, 1].

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
    eta = _eta(prevalence)
    found = eta * _TPR
    return _ratio(found, found + (1 - eta) * _FPR)


@metric(
    aliases=("tpr", "sensitivity", "hit_rate"),
    formula="TPR",
    undefined_when="there are no positives",
)
def recall() -> pl.Expr:
    """True-positive rate: P(predicted positive | y=1). It does not depend on the prevalence.

    Returns
    -------
    Expression over ``tpr``, Float64 in [0, 1]; null where there are no positives.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> pl.DataFrame({"tpr": [0.6], "fpr": [0.001]}).select(nf.recall()).item()
    0.6
    """
    return _TPR


@metric(
    formula="(1+beta²)·eta·TPR / (beta²·eta + eta·TPR + (1-eta)·FPR)",
    undefined_when="there are no positives and none is predicted; at beta = 0 as precision",
)
def f_beta(*, beta: Parameter = None, prevalence: Parameter = None) -> pl.Expr:
    """Weighted harmonic mean of precision and recall, recall counting beta times as much.

    Defined by counts, so a classifier that never says positive scores 0. At beta = 0 it is precision (null
    where precision is), at beta = inf recall.

    Parameters
    ----------
    beta
        Weight of recall in [0, inf], or an expression; the column ``beta`` unless given.
    prevalence
        P(y=1) in [0, 1], or an expression; the column ``prevalence`` unless given.

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
    eta, beta = _eta(prevalence), _beta(beta)
    # Shares of precision and recall that sum to 1 keep beta = 0 and beta = inf free of special cases.
    precision_share = 1 / (1 + beta.pow(2))
    recall_share = 1 / (1 + beta.pow(-2))
    found = eta * _TPR
    value = _ratio(found, recall_share * eta + precision_share * (found + (1 - eta) * _FPR))
    return pl.when(precision_share == 0).then(_TPR).otherwise(value)


@metric(
    formula="eta·TPR + (1-eta)·(1-FPR)",
    undefined_when="there are no positives or no negatives",
    linear_in_prevalence=True,
)
def accuracy(*, prevalence: Parameter = None) -> pl.Expr:
    """Share of right decisions.

    Parameters
    ----------
    prevalence
        P(y=1) in [0, 1], or an expression; the column ``prevalence`` unless given.

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where either is.

    Raises
    ------
    ParameterError
        If the prevalence is outside [0, 1].

    Examples
    --------
    A classifier that always says positive is right as often as there are positives.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> pl.DataFrame({"tpr": [1.0], "fpr": [1.0]}).select(nf.accuracy(prevalence=0.2)).item()
    0.2
    """
    eta = _eta(prevalence)
    return eta * _TPR + (1 - eta) * (1 - _FPR)


@metric(
    aliases=("posfrac",),
    formula="eta·TPR + (1-eta)·FPR",
    undefined_when="there are no positives or no negatives",
    direction="target",
    linear_in_prevalence=True,
)
def pos_fraction(*, prevalence: Parameter = None) -> pl.Expr:
    """Share of rows predicted positive: the work that the classifier makes for those who follow up.

    Parameters
    ----------
    prevalence
        P(y=1) in [0, 1], or an expression; the column ``prevalence`` unless given.

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where either is.

    Raises
    ------
    ParameterError
        If the prevalence is outside [0, 1].

    References
    ----------
    Landgrebe et al. (2004), Cost-based classifier evaluation for imbalanced problems, eq. 5,
    doi:10.1007/978-3-540-27868-9_74.

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
    eta = _eta(prevalence)
    return eta * _TPR + (1 - eta) * _FPR
