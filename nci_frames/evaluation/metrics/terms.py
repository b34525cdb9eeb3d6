"""The terms of which the expressions of metrics consist."""

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.evaluation.metrics.metric import Parameter

TPR = pl.col("tpr")
FPR = pl.col("fpr")
#: When a share of all rows is undefined.
LACKS_A_CLASS = "there are no positives, unless eta is 0, or no negatives, unless eta is 1"


def eta_of(prevalence: Parameter) -> pl.Expr:
    """Return P(y=1) as an expression; by default the column ``prevalence``."""
    if isinstance(prevalence, pl.Expr):
        return prevalence
    if prevalence is None:
        return pl.col("prevalence")
    if not 0 <= prevalence <= 1:
        raise ParameterError.out_of_range("prevalence", prevalence, "within [0, 1]")
    return pl.lit(float(prevalence))


def beta_of(beta: Parameter) -> pl.Expr:
    """Return beta as an expression: by default the column ``beta``."""
    if isinstance(beta, pl.Expr):
        return beta
    if beta is None:
        return pl.col("beta")
    if not beta >= 0:
        raise ParameterError.out_of_range("beta", beta, "a number >= 0 (inf is recall)")
    return pl.lit(float(beta))


def share_of(rows: pl.Expr, rate: pl.Expr) -> pl.Expr:
    """Return a rate of some rows as a share of all; without such rows 0, although there is no rate then."""
    return pl.when(rows == 0).then(0.0).otherwise(rows * rate)


def positives_said(eta: pl.Expr) -> pl.Expr:
    """Return the share of rows predicted positive."""
    return share_of(eta, TPR) + share_of(1 - eta, FPR)


def negatives_said(eta: pl.Expr) -> pl.Expr:
    """Return the share of rows predicted negative; as a sum, so that it is exact where it is small."""
    return share_of(eta, 1 - TPR) + share_of(1 - eta, 1 - FPR)


def ratio(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Divide, with 0/0 null instead of NaN; the denominator is not negative, and x/0 does not occur."""
    return pl.when(denominator > 0).then(numerator / denominator)
