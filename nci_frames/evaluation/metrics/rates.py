"""Metrics of TPR and FPR alone, which do not depend on the prevalence."""

import polars as pl

from nci_frames.base.arguments import check_allowed
from nci_frames.evaluation.metrics.registry import metric
from nci_frames.evaluation.metrics.terms import *

_LACKS = "there are no positives or no negatives"


@metric("TPR", "there are no positives", aliases=("tpr", "sensitivity", "hit_rate"))
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
    return TPR


@metric("1 - FPR", "there are no negatives", aliases=("tnr",))
def specificity() -> pl.Expr:
    """True-negative rate: P(predicted negative | y=0).

    Returns
    -------
    Expression over ``fpr``, Float64 in [0, 1]; null where there are no negatives.

    Examples
    --------
    One negative in a thousand is called positive.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.specificity()).item(), 4)
    0.999
    """
    return 1 - FPR


@metric("FPR", "there are no negatives", aliases=("false_alarm_rate",), direction="minimize", title="FPR")
def fpr() -> pl.Expr:
    """False-positive rate: P(predicted positive | y=0).

    Returns
    -------
    Expression over ``fpr``, Float64 in [0, 1]; null where there are no negatives.

    Examples
    --------
    As in the rates.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.fpr()).item(), 4)
    0.001
    """
    return FPR


@metric("1 - TPR", "there are no positives", direction="minimize", title="FNR")
def fnr() -> pl.Expr:
    """False-negative rate: P(predicted negative | y=1).

    Returns
    -------
    Expression over ``tpr``, Float64 in [0, 1]; null where there are no positives.

    Examples
    --------
    1 minus recall.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.fnr()).item(), 4)
    0.4
    """
    return 1 - TPR


@metric("TPR - FPR", _LACKS, aliases=("tss", "informedness"), scale=1.0, lower=-1.0, title="Youden's J")
def youden_j() -> pl.Expr:
    """Youden's J, the true skill statistic: height of the point above chance, TPR - FPR.

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [-1, 1]; null where a rate is null.

    References
    ----------
    Youden (1950), doi:10.1002/1097-0142(1950)3:1<32::aid-cncr2820030106>3.0.co;2-3.

    Examples
    --------
    Far above the diagonal of the ROC plot.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.youden_j()).item(), 4)
    0.599
    """
    return TPR - FPR


@metric("(TPR + 1 - FPR) / 2", _LACKS)
def balanced_accuracy() -> pl.Expr:
    """Mean of recall and specificity: the accuracy at prevalence 1/2.

    Returns
    -------
    %(of_both_rates)s

    Examples
    --------
    It does not depend on the prevalence.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.balanced_accuracy()).item(), 4)
    0.7995
    """
    return (TPR + (1 - FPR)) / 2


@metric("√(TPR·(1-FPR))", _LACKS)
def g_mean() -> pl.Expr:
    """Geometric mean of recall and specificity.

    Returns
    -------
    %(of_both_rates)s

    Examples
    --------
    The square root of 0.6 times 0.999.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.g_mean()).item(), 4)
    0.7742
    """
    return (TPR * (1 - FPR)).sqrt()


@metric("(1 + alpha·(TPR - (1-FPR)))·TPR·(1-FPR)", _LACKS, aliases=("iba",), monotone=False)
def index_of_balanced_accuracy(*, alpha: float = 0.1) -> pl.Expr:
    """G-mean squared, weighted by which of the two rates is larger.

    Parameters
    ----------
    alpha
        Weight of the dominance TPR - (1-FPR), in [0, 1].

    Returns
    -------
    %(of_both_rates)s

    Raises
    ------
    ParameterError
        If *alpha* is outside [0, 1].

    References
    ----------
    García, Mollineda and Sánchez (2009), doi:10.1007/978-3-642-02172-5_57.

    Examples
    --------
    Slightly less than 0.6 times 0.999, since specificity dominates.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.index_of_balanced_accuracy(alpha=0.1)).item(), 4)
    0.5755
    """
    check_allowed(0 <= alpha <= 1, "alpha", alpha, "within [0, 1]")
    return (1 + alpha * (TPR - (1 - FPR))) * TPR * (1 - FPR)


@metric("TPR / FPR", "TPR and FPR are 0", upper=float("inf"), title="LR+")
def lr_plus() -> pl.Expr:
    """Positive likelihood ratio: the factor by which a positive decision multiplies the odds of y=1.

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, inf]; inf where only FPR is 0, null where both are.

    Examples
    --------
    Odds of 1 to 999 become 600 to 999.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.lr_plus()).item(), 4)
    600.0
    """
    return pl.when((TPR > 0) | (FPR > 0)).then(TPR / FPR)


@metric("(1-TPR) / (1-FPR)", "TPR and FPR are 1", direction="minimize", upper=float("inf"), title="LR-")
def lr_minus() -> pl.Expr:
    """Negative likelihood ratio: the factor by which a negative decision multiplies the odds of y=1.

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, inf]; inf where only FPR is 1, null where both are.

    Examples
    --------
    A negative decision changes the odds little.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.lr_minus()).item(), 4)
    0.4004
    """
    return pl.when((TPR < 1) | (FPR < 1)).then((1 - TPR) / (1 - FPR))


@metric("TPR·(1-FPR) / (FPR·(1-TPR))", "it is 0/0", upper=float("inf"))
def diagnostic_odds_ratio() -> pl.Expr:
    """Ratio of the two likelihood ratios.

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, inf]; null where it is 0/0.

    References
    ----------
    Glas et al. (2003), doi:10.1016/S0895-4356(03)00177-X.

    Examples
    --------
    600 over 0.4004.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.diagnostic_odds_ratio()).item(), 4)
    1498.5
    """
    right, wrong = TPR * (1 - FPR), FPR * (1 - TPR)
    return pl.when((right > 0) | (wrong > 0)).then(right / wrong)
