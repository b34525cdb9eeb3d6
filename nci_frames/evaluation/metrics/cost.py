"""Metrics of the cost of wrong decisions."""

import polars as pl

from nci_frames.base.arguments import check_cost
from nci_frames.base.errors import ParameterError
from nci_frames.evaluation.metrics.registry import metric
from nci_frames.evaluation.metrics.terms import *


@metric(
    "eta·(1-TPR)·c_fn + (1-eta)·FPR·c_fp + (eta·TPR + (1-eta)·FPR)·c_alert",
    LACKS_A_CLASS,
    direction="minimize",
    upper=float("inf"),
    linear_in_prevalence=True,
)
def expected_cost(
    *, c_fp: float = 1, c_fn: float = 1, c_alert: float = 0, prevalence: Parameter = None
) -> pl.Expr:
    """Mean cost of a decision.

    Parameters
    ----------
    c_fp
        Cost of a false positive, finite and >= 0.
    c_fn
        Cost of a false negative, in the same unit.
    c_alert
        Cost of reviewing each predicted positive, true or false.
    prevalence
        %(open_prevalence)s

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 >= 0, in the unit of the costs; null where a rate is null,
    unless its class has share 0.

    Raises
    ------
    ParameterError
        If the prevalence is outside [0, 1], or a cost is neither 0 nor within [1e-100, 1e100].

    References
    ----------
    Landgrebe et al. (2004), doi:10.1007/978-3-540-27868-9_83.

    Examples
    --------
    A missed positive costs as much as twenty false alarms.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.expected_cost(c_fn=20, prevalence=0.001)).item(), 4)
    0.009
    """
    eta = eta_of(prevalence)
    missed, false = share_of(eta, 1 - TPR), share_of(1 - eta, FPR)
    wrong = missed * check_cost("c_fn", c_fn) + false * check_cost("c_fp", c_fp)
    if c_alert == 0:
        return wrong
    return wrong + (share_of(eta, TPR) + false) * check_cost("c_alert", c_alert)


@metric(
    "expected cost / (eta·c_fn + (1-eta)·c_fp)",
    "no decision can cost anything: eta·c_fn + (1-eta)·c_fp = 0",
    direction="minimize",
)
def normalised_cost(*, c_fp: float = 1, c_fn: float = 1, prevalence: Parameter = None) -> pl.Expr:
    """Cost as a share of the highest possible cost, that of always being wrong.

    Parameters
    ----------
    c_fp
        Cost of a false positive, finite and >= 0.
    c_fn
        Cost of a false negative, in the same unit.
    prevalence
        %(open_prevalence)s

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where no decision can cost anything.

    Raises
    ------
    ParameterError
        If the prevalence is outside [0, 1], or a cost is neither 0 nor within [1e-100, 1e100].

    Notes
    -----
    With the probability-cost number PC = eta·c_fn / (eta·c_fn + (1-eta)·c_fp) it is PC·(1-TPR) + (1-PC)·FPR:
    the y of a cost curve over x = PC. Never predicting positive costs PC, always 1 - PC; see
    ``relative_cost``.

    References
    ----------
    Drummond and Holte (2006), Cost curves, doi:10.1007/s10994-006-8199-5.

    Examples
    --------
    At one positive in a thousand and twenty times the cost of a false alarm, PC is 0.02/1.019.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.normalised_cost(c_fn=20, prevalence=0.001)).item(), 4)
    0.0088
    """
    eta = eta_of(prevalence)
    return ratio(expected_cost(c_fp=c_fp, c_fn=c_fn, prevalence=prevalence), eta * c_fn + (1 - eta) * c_fp)


@metric("expected cost / min(eta·c_fn, (1-eta)·c_fp)", "it is 0/0", direction="minimize", upper=float("inf"))
def relative_cost(*, c_fp: float = 1, c_fn: float = 1, prevalence: Parameter = None) -> pl.Expr:
    """Cost as a share of the cost of the better trivial classifier: never positive or always positive.

    Parameters
    ----------
    c_fp
        Cost of a false positive, finite and >= 0.
    c_fn
        Cost of a false negative, in the same unit.
    prevalence
        %(open_prevalence)s

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, inf]; null where it is 0/0. At 1 and above the
    classifier is useless.

    Raises
    ------
    ParameterError
        If the prevalence is outside [0, 1], or a cost is neither 0 nor within [1e-100, 1e100].

    References
    ----------
    Drummond and Holte (2006), Cost curves, for the trivial classifiers, doi:10.1007/s10994-006-8199-5.

    Examples
    --------
    Less than half the cost of never predicting positive.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.relative_cost(c_fn=20, prevalence=0.001)).item(), 4)
    0.45
    """
    eta = eta_of(prevalence)
    cost = expected_cost(c_fp=c_fp, c_fn=c_fn, prevalence=prevalence)
    trivial = pl.min_horizontal(eta * c_fn, (1 - eta) * c_fp)
    return pl.when((cost > 0) | (trivial > 0)).then(cost / trivial)


@metric("eta·TPR - (1-eta)·FPR·t/(1-t)", LACKS_A_CLASS, lower=float("-inf"), linear_in_prevalence=True)
def net_benefit(*, threshold_probability: float = 0.5, prevalence: Parameter = None) -> pl.Expr:
    """Benefit per row: true positives minus false positives times the odds of a threshold probability.

    Parameters
    ----------
    threshold_probability
        Least probability at which one would act, in [0, 1); its odds are the cost of a false positive.
    prevalence
        %(open_prevalence)s

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in (-inf, 1]; null where a rate is null.

    Raises
    ------
    ParameterError
        If the prevalence is outside [0, 1], or the threshold probability outside [0, 1).

    References
    ----------
    Vickers and Elkin (2006), Decision curve analysis, doi:10.1177/0272989X06295361.

    Examples
    --------
    At one positive in ten, with a threshold probability of 10 %:

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.net_benefit(threshold_probability=0.1, prevalence=0.1)).item(), 4)
    0.0599
    """
    if not 0 <= threshold_probability < 1:
        raise ParameterError.out_of_range("threshold_probability", threshold_probability, "within [0, 1)")
    eta = eta_of(prevalence)
    price = threshold_probability / (1 - threshold_probability)
    return share_of(eta, TPR) - share_of(1 - eta, FPR) * price
