"""Scores calibrated at one prevalence -> scores calibrated at another."""

from typing import Literal

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.schemas import checked

#: The prevalence at which scores are calibrated: a number, or each group's own.
Logged = float | Literal["observed"]


@checked
def adjust_scores(
    score: str | pl.Expr, *, prevalence: float | pl.Expr, logged_prevalence: float | pl.Expr
) -> pl.Expr:
    """Return an expression of scores moved to another prevalence, over the rows of a log.

    Parameters
    ----------
    score
        Column of the scores, or an expression: probabilities in [0, 1], calibrated at *logged_prevalence*.
    prevalence
        P(y=1) in [0, 1] to move the scores to; or an expression, such as a column.
    logged_prevalence
        P(y=1) in (0, 1) at which the scores are calibrated: that of the rows on which the model was trained
        or calibrated; or an expression.

    Returns
    -------
    Expression, Float64 in [0, 1], with the name of the score. Scores of 0 and 1 do not change; null where the
    score is null or outside [0, 1].

    Raises
    ------
    ParameterError
        If a prevalence is out of range.

    Notes
    -----
    The odds are multiplied by (odds of *prevalence* / odds of *logged_prevalence*). This is Bayes' rule if
    the distribution of scores within each class does not change. The order of scores stays the same.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a priori
    probabilities, doi:10.1162/089976602753284446; Elkan (2001), The foundations of cost-sensitive learning,
    theorem 2.

    Examples
    --------
    A score of 0.8 from a balanced log means little where one row in a thousand is positive.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"score": [0.1, 0.8]})
    >>> adjusted = log.select(nf.adjust_scores("score", prevalence=0.001, logged_prevalence=0.5))
    >>> adjusted["score"].round(6).to_list()
    [0.000111, 0.003988]
    """
    if isinstance(prevalence, float | int) and not 0 <= prevalence <= 1:
        raise ParameterError.out_of_range("prevalence", prevalence, "within [0, 1]")
    if isinstance(logged_prevalence, float | int) and not 0 < logged_prevalence < 1:
        allowed = "between 0 and 1, both excluded"
        raise ParameterError.out_of_range("logged_prevalence", logged_prevalence, allowed)
    given = pl.col(score) if isinstance(score, str) else score
    eta = prevalence if isinstance(prevalence, pl.Expr) else pl.lit(prevalence)
    logged = logged_prevalence if isinstance(logged_prevalence, pl.Expr) else pl.lit(logged_prevalence)
    p = given.cast(pl.Float64)
    up, down = p * (eta * (1 - logged)), (1 - p) * ((1 - eta) * logged)
    # Scores of 0 and 1 do not change, even where the other class does not occur.
    moved = pl.when(up + down == 0).then(p.round()).otherwise(up / (up + down))
    moved = pl.when(eta == logged).then(p).otherwise(moved)  # without rounding
    return pl.when(p.is_between(0, 1)).then(moved).alias(given.meta.output_name())


def check_logged(logged: Logged) -> None:
    """Raise ParameterError if scores cannot be calibrated at this prevalence."""
    if logged != "observed" and not 0 < float(logged) < 1:
        allowed = 'between 0 and 1, both excluded, or "observed"'
        raise ParameterError.out_of_range("logged_prevalence", logged, allowed)
