"""The terms of metrics: the rates, prevalence and beta, and shares of rows, as expressions."""

import math

import polars as pl

from nci_frames.base.arguments import check_allowed

Parameter = float | pl.Expr | None

TPR = pl.col("tpr")
FPR = pl.col("fpr")
#: When a share of all rows is undefined.
LACKS_A_CLASS = "there are no positives, unless eta is 0, or no negatives, unless eta is 1"


def eta_of(prevalence: Parameter) -> pl.Expr:
    """Return P(y=1) as an expression; by default the column ``prevalence``."""
    return _parameter("prevalence", prevalence, 1, "within [0, 1]")


def beta_of(beta: Parameter) -> pl.Expr:
    """Return beta as an expression: by default the column ``beta``."""
    return _parameter("beta", beta, math.inf, "a number >= 0 (inf is recall)")


def _parameter(name: str, given: Parameter, most: float, allowed: str) -> pl.Expr:
    if isinstance(given, pl.Expr):
        return given
    if given is None:
        return pl.col(name)
    check_allowed(0 <= given <= most, name, given, allowed)
    return pl.lit(float(given))


def share_of(rows: pl.Expr, rate: pl.Expr) -> pl.Expr:
    """Return *rate* times the share *rows* of its class; 0 where the share is 0, even if the rate is null."""
    return pl.when(rows == 0).then(0.0).otherwise(rows * rate)


def positives_said(eta: pl.Expr) -> pl.Expr:
    """Return the share of rows predicted positive."""
    return share_of(eta, TPR) + share_of(1 - eta, FPR)


def negatives_said(eta: pl.Expr) -> pl.Expr:
    """Return the share of rows predicted negative; as a sum, which is precise even if the share is small."""
    return share_of(eta, 1 - TPR) + share_of(1 - eta, 1 - FPR)


def ratio(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Divide by a denominator >= 0; null where it is 0."""
    return pl.when(denominator > 0).then(numerator / denominator)
