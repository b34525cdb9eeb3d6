"""Scores that hold at one prevalence -> scores that hold at another."""

from typing import Literal

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.schemas import checked

#: The prevalence at which scores are probabilities: a number, or that of each group.
Logged = float | Literal["observed"]


@checked
def adjust_scores(
    score: str | pl.Expr, *, prevalence: float | pl.Expr, logged_prevalence: float | pl.Expr
) -> pl.Expr:
    """Return scores moved to another prevalence, as an expression over the rows of a log.

    Parameters
    ----------
    score
        The column of the scores, or an expression: probabilities in [0, 1] that hold at *logged_prevalence*.
    prevalence
        P(y=1) in [0, 1] where they are to hold; or an expression, such as a column.
    logged_prevalence
        P(y=1) between 0 and 1, both excluded, where they hold: that of the rows that the model was trained
        or calibrated on.

    Returns
    -------
    Expression, Float64 in [0, 1], with the name of the score. 0 and 1 stay as they are; null where the score
    is null or outside [0, 1].

    Raises
    ------
    ParameterError
        If a prevalence is out of range.

    Notes
    -----
    The odds are multiplied by (odds of *prevalence* / odds of *logged_prevalence*), which is Bayes' rule if
    the scores of each class are distributed as they were. The order of scores stays.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a priori
    probabilities, doi:10.1162/089976602753284446; Elkan (2001), The foundations of cost-sensitive learning,
    theorem 2.

    Examples
    --------
    An alarm with 0.8 that holds in a balanced log says little where one row in a thousand is positive.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"score": [0.1, 0.8]})
    >>> adjusted = log.select(nf.adjust_scores("score", prevalence=0.001, logged_prevalence=0.5))
    >>> adjusted["score"].round(6).to_list()
    [0.000111, 0.003988]
    """
    if isinstance(prevalence, float | int) and not 0 <= prevalence <= 1:
        raise ParameterError.out_of_range("prevalence", prevalence, "within [0, 1]")
    if isinstance(logged_prevalence, float | int):
        check_logged(logged_prevalence)
    given = pl.col(score) if isinstance(score, str) else score
    eta, logged = (
        pl.lit(number) if isinstance(number, float | int) else number
        for number in (prevalence, logged_prevalence)
    )
    p = given.cast(pl.Float64)
    up, down = p * (eta * (1 - logged)), (1 - p) * ((1 - eta) * logged)
    # What is certain stays certain, also where the other class does not occur.
    moved = pl.when(up + down == 0).then(p.round()).otherwise(up / (up + down))
    return pl.when(p.is_between(0, 1)).then(moved).alias(given.meta.output_name())


def check_logged(logged: Logged) -> None:
    """Raise ParameterError unless scores can hold at a prevalence."""
    if logged != "observed" and not 0 < float(logged) < 1:
        allowed = 'between 0 and 1, both excluded, or "observed"'
        raise ParameterError.out_of_range("logged_prevalence", logged, allowed)
