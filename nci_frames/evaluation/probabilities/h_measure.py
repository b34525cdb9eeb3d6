"""Counts -> the H-measure: the cost saved by the order of scores, averaged over ratios of costs."""

from functools import partial
from typing import Literal

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Field, Floats, Frame, Prevalences
from nci_frames.evaluation.areas.area import LACKS, Area, Areas, Etas
from nci_frames.evaluation.areas.areas import areas_of
from nci_frames.evaluation.arrays.roc_steps import Curves
from nci_frames.evaluation.probabilities.blocks import hull_blocks
from nci_frames.evaluation.rates.strata import collect_counts
from nci_frames.evaluation.support.rule import PR_SUPPORT
from nci_frames.schemas import H_MEASURES, checked

#: Parameters of a beta distribution, or "prevalence" for parameters that depend on the prevalence.
Costs = tuple[float, float] | Literal["prevalence"]


@checked
def h_measure(
    counts: Frame, /, *, prevalence: Prevalences | Field, costs: Costs = (2.0, 2.0)
) -> pl.DataFrame:
    """Return the H-measure of every group of counts, at each prevalence.

    It is the share of the cost of the best constant decision that is saved by the best threshold, averaged
    over ratios of costs with the same weights for every model.

    Parameters
    ----------
    counts
        A counts frame; scores need not be probabilities.
    prevalence
        P(y=1), each in [0, 1]; "observed"; or a prevalence per segment, as in ``project_rates``.
    costs
        Parameters of the beta distribution of c = c_fp/(c_fp + c_fn), each in (0, 1,000]: (2, 2) puts most
        weight on equal costs (Hand, 2009). "prevalence": 1 + eta and 2 - eta, with the mode at the prevalence
        (Hand and Anagnostopoulos, 2014).

    Returns
    -------
    A row per group and prevalence, sorted by these:

    %(columns of h measures)s

    Raises
    ------
    ParameterError
        If an option is out of range, or a segment has no prevalence or several.
    SchemaError
        If *counts* is not a counts frame.

    Notes
    -----
    H = 1 - ∫ min over thresholds of (c·(1-eta)·FPR + (1-c)·eta·(1-TPR)) w(c) dc / ∫ min(c·(1-eta), (1-c)·eta)
    w(c) dc, exactly. The best thresholds are corners of the ROC convex hull. With costs (1, 1) it is the
    discrimination of the Brier score over its uncertainty.

    References
    ----------
    Hand (2009), Measuring classifier performance, doi:10.1007/s10994-009-5119-5; Hand and Anagnostopoulos
    (2014), A better Beta for the H measure, doi:10.1016/j.patrec.2013.12.011.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> found = nf.h_measure(nf.count_confusion(log), prevalence=0.5)
    >>> found.select("prevalence", pl.col("value").round(4)).row(0)
    (0.5, 0.5)
    """
    if not isinstance(costs, str) and (len(costs) != 2 or not all(0 < each <= 1000 for each in costs)):
        raise ParameterError.out_of_range("costs", costs, 'two numbers in (0, 1,000], or "prevalence"')
    area = Area(
        "h_measure",
        title="H-measure",
        formula="1 - mean cost / mean cost of the best constant decision",
        undefined_when=LACKS,
        computed_by="h_measure(counts, prevalence=...)",
        certified=partial(_certified, costs=costs),
        replicated=lambda *_: np.empty(0),
        support=PR_SUPPORT,
    )
    return H_MEASURES.finish(areas_of(collect_counts(counts), prevalence, [area]).drop("metric", "method"))


def _certified(curves: Curves, etas: Etas, costs: Costs) -> list[Areas]:
    known = hull_blocks(curves, best=False)
    orders = [known] if curves.tied.all() else [known, hull_blocks(curves, best=True)]
    found = []
    for given in etas:
        eta = np.broadcast_to(np.asarray(given, np.float64), curves.start.shape)
        shape = (1 + eta, 2 - eta) if isinstance(costs, str) else [np.full_like(eta, each) for each in costs]
        most = _least_cost(eta, 1 - eta, *shape)
        values = []
        for blocks in orders:
            share, calibrated = blocks.at(eta)
            mine = (each[blocks.group] for each in shape)
            cost = np.nan_to_num(_least_cost(calibrated.p, calibrated.q, *mine))
            saved = 1 - blocks.sum(np.nan_to_num(share) * cost, len(eta)) / most
            lacks = ~((curves.positives > 0) & (curves.negatives > 0) & (most > 0))
            values.append(np.where(lacks, np.nan, np.clip(saved, 0, 1)))
        found.append((values[0], values[0], values[-1]))
    return found


def _least_cost(p: Floats, q: Floats, a: Floats, b: Floats) -> Floats:
    """Return the mean cost of the best decision on rows with a share p of positives, q = 1 - p."""
    from scipy.special import betainc, betaincc  # noqa: PLC0415  (SciPy is slow to import, seldom needed)

    # The best decision is positive where c < p, at the cost c per negative. Of p and q the larger is rounded.
    rare, (low, high) = p < q, (np.clip(share, 0, 1) for share in (p, q))
    false = np.where(rare, betainc(a + 1, b, low), betaincc(b, a + 1, high))
    missed = np.where(rare, betaincc(a, b + 1, low), betainc(b + 1, a, high))
    return np.asarray(q * a / (a + b) * false + p * b / (a + b) * missed)
