"""Class counts of a labelled log, and decisions in unlabelled traffic -> the class mix of the traffic."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import listed
from nci_frames.base.normal import normal_quantile
from nci_frames.base.typing import FloatPair, Floats, Frame
from nci_frames.counts.class_counts import collect_class_counts
from nci_frames.evaluation.classes.class_log import LEAST_ROWS, ClassLog, class_logs, collected, rates_of
from nci_frames.schemas import BUCKET, CLASS_COUNTS, ESTIMATED_PRIORS, checked

#: Largest number of EM steps, the change of a share at which they stop, and the largest share of a class that
#: is 0, since they stop before they reach it.
_STEPS, _STILL, _NOTHING = 20_000, 1e-10, 1e-6
#: Most rows of the traffic per row of the reference, in any class; with more, EM steps are too short.
_MOST_EACH = 20
#: Least singular value of the distributions of decisions; below it the classes cannot be separated.
_DETERMINED = 1e-6
_MISFIT = (
    "the decisions are no mixture of the classes of the reference: "
    "some class is decided otherwise there, or is a new one"
)


@checked
def estimate_class_priors(reference: Frame, traffic: Frame, /, *, level: float = 0.95) -> pl.DataFrame:
    """Estimate the class mix of unlabelled traffic from the decisions there.

    The decisions are modelled as a mixture of the decisions about each class in a labelled log.

    Parameters
    ----------
    reference
        Class counts of the labelled log, of whole rows. Keys that the traffic lacks are pooled.
    traffic
        The result of ``count_classes`` for an unlabelled log: of the same models, and of whole rows.
    level
        Confidence of the interval, in (0, 1). A mixture does not fit if its p-value is below 1 - level.

    Returns
    -------
    A row per class and keys of the traffic, sorted:

    %(columns of estimated class priors)s

    ``project_classes`` takes the frame as its priors.

    Raises
    ------
    ParameterError
        If *level* is not in (0, 1), rows are sums of weights, or a decision of the traffic is of another type
        than the classes.
    SchemaError
        If a frame is of another kind, or the two have no model in common.

    Notes
    -----
    Each class is assumed to get each decision as often in the traffic as in the reference; only the mix
    differs. The estimate is the maximum likelihood mix of both logs together, within the simplex, since the
    rates of the reference are estimates, too. Traffic counts as at most 20 rows per row of the reference of
    any class, whose sampling error is negligible. Several models count as one that decides by a random model,
    so that shared rows do not count twice.

    The interval is that of the least-squares mix without the bounds of the simplex, clipped to [0, 1], and
    joins those by the rates of the reference and by their maximum likelihood estimates. It includes the
    sampling error of both logs, with z² more rows of each class and of the traffic, spread over all
    decisions, as Agresti and Coull add for one share: what was never seen may be rare. Errors of several
    models are taken as fully dependent.

    ``fit_p_value`` is that of the likelihood ratio of the mixture, with Bonferroni's correction for several
    models. With as many decisions as classes some mix usually fits, so a misfit shows only where no mix
    within the simplex does; more decisions and more models add degrees of freedom.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), doi:10.1162/089976602753284446; Rogan and Gladen (1978),
    doi:10.1093/oxfordjournals.aje.a112510; Dempster, Laird and Rubin (1977),
    doi:10.1111/j.2517-6161.1977.tb01600.x.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> labelled = pl.DataFrame({
    ...     "model": "a", "label": ["cat", "cat", "dog", "dog"], "decision": ["cat", "dog"] * 2,
    ...     "rows": [900, 100, 200, 800],
    ... })
    >>> traffic = pl.DataFrame({"model": "a", "decision": ["cat", "dog"], "rows": [4100, 5900]})
    >>> found = nf.estimate_class_priors(labelled, traffic)
    >>> found.select("class", pl.col("prior", "lower", "upper").round(3)).rows()
    [('cat', 0.3, 0.27, 0.33), ('dog', 0.7, 0.67, 0.73)]
    """
    labelled, field = collected(reference), collect_class_counts(traffic)
    for frame in (labelled, field):
        if not frame.schema["rows"].is_integer() or "weight" in frame.columns or "scenario" in frame.columns:
            msg = "the mix of traffic is estimated from whole rows, decided in one way"
            raise ParameterError(msg, found="weights or scenarios", hint="count without weights and priors")
    known = field.join(labelled, on="model", how="semi", nulls_equal=True)
    if known.is_empty():
        names = [listed(map(repr, frame["model"].unique().sort())) for frame in (labelled, field)]
        raise SchemaError("the reference and the traffic have no model in common", found="; ".join(names))
    keys = [key for key in CLASS_COUNTS.keys(known.columns) if key != BUCKET]
    pooled = labelled.drop(key for key in CLASS_COUNTS.keys(labelled.columns) if key not in keys)
    logs = class_logs(pooled, known["decision"].unique().to_list())
    place, names = itemgetter("model", *logs.keys), logs.names.to_list()
    of_each = {place(log.group): log.total[logs.seen] for models in logs.groups for log in models}
    # The same kind of counts, in which every decision is right.
    decided = class_logs(known.cast({"decision": logs.names.dtype}).with_columns(label="decision"), names)

    def rows(models: list[ClassLog]) -> Iterator[dict[str, Any]]:
        there = [log for log in models if place(log.group) in of_each]
        found = _estimate([(of_each[place(log.group)], log.total.diagonal()) for log in there], level)
        told = {"class": logs.names.filter(pl.Series(logs.seen)), "supported": "prior" in found, **found}
        yield from pl.DataFrame(told).iter_rows(named=True)

    return decided.table(ESTIMATED_PRIORS, rows, "class")


def _estimate(both: list[FloatPair], level: float) -> dict[str, Any]:
    """Return the estimate from the rows of the reference and of the traffic, of each model."""
    if not both or not len(both[0][0]):
        return {"reason": "the reference has no counts for this group"}
    rows, traffic = (np.stack(side) for side in zip(*both, strict=True))
    if (rows.sum(axis=2) < LEAST_ROWS).any():
        return {"reason": f"fewer than {LEAST_ROWS} rows of a class in the reference"}
    if (traffic.sum(axis=1) < LEAST_ROWS).any():
        return {"reason": f"fewer than {LEAST_ROWS} rows in the traffic"}
    laws = rates_of(rows)
    if np.linalg.svd(np.concatenate(list(laws), axis=1), compute_uv=False)[-1] < _DETERMINED:
        return {"reason": "the decisions do not separate the classes of the reference"}
    mix, fitted, share = _likeliest(rows, traffic)
    p_value = _fit(rows, share * traffic, mix, fitted)
    if p_value < 1 - level:
        return {"reason": _MISFIT, "fit_p_value": p_value}
    z = normal_quantile(level)
    # With few rows for many decisions, shares of the reference alone draw all mixes to its own, by chance.
    free = [_free(rows, traffic, of, mix, z) for of in (laws, fitted)]
    lower = np.minimum.reduce([mix, *(center - z * error for center, error in free)]).clip(0, 1)
    upper = np.maximum.reduce([mix, *(center + z * error for center, error in free)]).clip(0, 1)
    return {"prior": mix, "lower": lower, "upper": upper, "fit_p_value": p_value}


def _likeliest(rows: Floats, traffic: Floats) -> tuple[Floats, Floats, float]:
    """Return the maximum likelihood mix, and distributions of decisions, of both logs together.

    Each EM step assigns every decision of the traffic to the classes in proportion to their probabilities.
    If there is much more traffic than reference, it counts as a share of its rows, the third result.
    """
    mix = np.full(rows.shape[1], 1 / rows.shape[1])
    # A decision that a class never got in the log may still be possible.
    laws = rates_of(rows + 0.5 / rows.shape[2])
    for _ in range(_STEPS):
        joint = mix[:, None] * laws
        below = joint.sum(axis=1, keepdims=True)
        shared = joint * np.divide(traffic[:, None], below, out=np.zeros_like(below), where=below > 0)
        step = shared.sum(axis=(0, 2))
        step /= step.sum()
        moved = np.abs(step - mix).max()
        share = min(1.0, _MOST_EACH / float((shared.sum(axis=2) / rows.sum(axis=2)).max()))
        mix, laws = step, rates_of(rows + share * shared)
        if moved < _STILL:
            break
    return mix, laws, share


def _fit(rows: Floats, traffic: Floats, mix: Floats, laws: Floats) -> float:
    """Return the p-value of the fit: the decisions of each model are a mixture over the classes."""
    from scipy.special import chdtrc, xlogy  # noqa: PLC0415  (SciPy is slow to import, and seldom needed)

    def likelihood(of_classes: Floats, of_traffic: Floats) -> Any:
        """Return the log-likelihood of the decisions of each model."""
        return xlogy(rows, of_classes).sum(axis=(1, 2)) + xlogy(traffic, of_traffic).sum(axis=1)

    free = likelihood(rates_of(rows), rates_of(traffic))
    statistic = np.maximum(2 * (free - likelihood(laws, np.einsum("c,mcd->md", mix, laws))), 0)
    met = (rows.sum(axis=1) + traffic > 0).sum(axis=1)
    # One model has as many degrees of freedom as decisions, minus the classes of the mix.
    freedom = met - (mix > _NOTHING).sum() if len(rows) == 1 else met - 1
    p_values = np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), statistic), 1.0)
    return float(min(1.0, len(rows) * p_values.min()))


def _free(rows: Floats, traffic: Floats, laws: Floats, mix: Floats, z: float) -> FloatPair:
    """Return the mix that solves the equations of all decisions, and its standard errors.

    *z* is the number of standard errors to the bounds.

    This is weighted least squares; the shares sum to 1, but may be negative.
    """
    shares = rates_of(traffic)
    models, size, decisions = laws.shape
    expected = np.einsum("c,mcd->md", mix, laws)
    # A decision that is expected in less than one row of the traffic says no more than one of one row.
    weight = 1 / np.maximum(expected, 1 / traffic.sum(axis=1, keepdims=True))
    basis = np.vstack([np.eye(size - 1), -np.ones(size - 1)])  # directions in which the shares add up to 0
    design = np.einsum("mcd,ck->mdk", laws, basis).reshape(models * decisions, size - 1)
    scaled = design * weight.reshape(-1, 1)
    solve = basis @ np.linalg.pinv(scaled.T @ design) @ scaled.T
    center = mix + solve @ (shares - expected).ravel()
    weights = solve.reshape(size, models, decisions)
    # A decision that was never seen may still be possible: z² more rows, as Agresti and Coull add.
    more = z * z / decisions
    likely = _variance(weights[:, :, None], rates_of(rows + more)) / rows.sum(axis=2)
    of_laws = np.einsum("kmc,c->km", likely, center**2)
    spread = _variance(weights, rates_of(traffic + more)) / traffic.sum(axis=1) + of_laws
    # Errors of several models add up as if fully dependent.
    return center, np.sqrt(spread).sum(axis=1)


def _variance(weights: Floats, law: Floats) -> Floats:
    """Return the variance of *weights*, on the last axis, under the probabilities *law*."""
    mean = (law * weights).sum(axis=-1, keepdims=True)
    return np.asarray((law * (weights - mean) ** 2).sum(axis=-1))
