"""Rates -> the best model for every prevalence and beta at once, and the points that are never best."""

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Frame
from nci_frames.evaluation.crossovers.contest import points_of, tied_models
from nci_frames.evaluation.crossovers.lines import f_beta_envelope
from nci_frames.evaluation.crossovers.winners import LOWEST, WHY, supported_lambdas
from nci_frames.evaluation.metrics import find_metric
from nci_frames.evaluation.support.reasons import reason_text
from nci_frames.evaluation.support.rule import point_reason, point_support
from nci_frames.schemas import DECISION_MAP, RATES, checked, collect


@checked
def decision_map(rates: Frame, /, *, metric: str = "f_beta") -> pl.DataFrame:
    """Return the model and threshold with the highest F-beta for every prevalence and every beta.

    The best point at (eta, beta) depends on a single number, lambda = k/beta² with k = (1-eta)/eta, so the
    whole plane is a list of ranges of lambda: from 0 (recall, or prevalence 1) to infinity (precision, or
    prevalence 0). Exact, over all models and thresholds, without a grid.

    Parameters
    ----------
    rates
        A rates frame with the operating points to compare, any number for each model. Points without TPR or
        FPR are ignored.
    metric
        "f_beta": only its order depends on lambda alone. For other metrics see ``winner_ranges``.

    Returns
    -------
    A row per range, sorted by keys and lambda; the first range begins at 0, the last ends at infinity:

    %(columns of decision map)s

    Keys are those of *rates*; each value of theirs is a map of its own.

    Of points that are equally good over a whole range, the first by model, then by threshold, is returned;
    ``tied`` names the models of all of them. A range is cut in two where the log no longer supports the value
    of its model.

    Raises
    ------
    ParameterError
        If *metric* is another one.
    SchemaError
        If *rates* is not a rates frame.

    Notes
    -----
    (1+beta²)/F_beta - 1 = beta²·(1 + lambda·FPR)/TPR, so the best point has the lowest of the lines
    1/TPR + lambda·FPR/TPR: the map is their lower envelope. In (logit eta, log beta) the borders are straight
    lines of slope -1/2: a beta is a prevalence in disguise.

    Exact for these counts. With several thresholds for each model, a winner's threshold is chosen on the rows
    that judge it: its F-beta is too high for new rows (``cross_fit`` returns an honest value), and another
    log may have other winners (``certify_decision_map`` returns where a model is certified to be the best).

    References
    ----------
    Flach and Kull (2015), Precision-Recall-Gain curves, for F-beta as harmonic mean, NIPS 28; Wojciechowski
    and Woźniak (2024), F-beta-plot, for the winners over beta, arXiv:2404.08709.

    Examples
    --------
    Model a has the lower TPR and FPR, so it wins if precision matters more; above lambda 24 it has too few
    negatives.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> whole = nf.decision_map(nf.compute_rates(counts))
    >>> whole.select(pl.col("lambda_start", "lambda_end").round(2), "model", "supported").rows()
    [(0.0, 17.86, 'b', True), (17.86, 24.0, 'a', True), (24.0, inf, 'a', False)]

    At prevalence 0.01 and beta 2, lambda is 99/4:

    >>> whole.filter(pl.col("lambda_start") <= 99 / 4, pl.col("lambda_end") > 99 / 4)["model"].item()
    'a'
    """
    if find_metric(metric).name != "f_beta":
        msg = f"a decision map of {metric!r} is not possible: its order does not depend on lambda alone"
        raise ParameterError(msg, hint="use metric='f_beta', or winner_ranges for other metrics")
    frame = collect(rates, RATES)
    maps = []
    for points in points_of(frame):
        envelope = f_beta_envelope(points.tpr, points.fpr)
        winners = points.frame[envelope.lines].with_columns(
            point_support(points.frame.columns).alias(LOWEST),
            reason_text(point_reason()).alias(WHY),
            tied=tied_models(points, envelope.lines),
            lambda_start=pl.Series(envelope.starts),
            lambda_end=pl.Series(np.append(envelope.starts[1:], np.inf)),
        )
        maps.append(supported_lambdas(winners))
    return DECISION_MAP.joined(maps, frame.select(RATES.keys(frame.columns)))


def own_maps(rates: pl.DataFrame) -> pl.DataFrame:
    """Return the decision map of each model alone: its own best threshold for every lambda."""
    return decision_map(rates.with_columns(pl.col("model").alias("alone"))).drop("alone")
