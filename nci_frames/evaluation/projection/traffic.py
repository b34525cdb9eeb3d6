"""Rates of segments, their prevalence and their share of the traffic -> the rates of all traffic together."""

from collections.abc import Sequence

import polars as pl


def mixed_rates(rates: pl.DataFrame, groups: Sequence[str], *, threshold: pl.Expr | None) -> pl.DataFrame:
    """Return the rates and the prevalence of the mix of segments in each group.

    With shares w of the traffic and prevalences eta, the mix has the prevalence sum(w·eta), the TPR
    sum(w·eta·TPR)/sum(w·eta), and the FPR sum(w·(1-eta)·FPR)/sum(w·(1-eta)).

    Parameters
    ----------
    rates
        Rates of the segments, with their ``prevalence`` and ``share``.
    groups
        The columns that remain, and the threshold if it is common to the segments.
    threshold
        The threshold of the mix, if it is not one of *groups*.

    Returns
    -------
    A row per group, with what expressions over rates may read: ``prevalence``, the rates (null if that of a
    segment with a part in it is), and the four cells, ``positives`` and ``negatives`` per row of traffic;
    ``segments`` (with both rates) and ``skipped`` (without one).
    """
    eta = pl.col("prevalence")
    share = pl.col("share") / pl.col("share").sum().over(groups)
    parts = rates.with_columns(__positive=share * eta, __negative=share * (1 - eta))

    def mean(rate: str, part: str) -> pl.Expr:
        inside = pl.col(part) > 0
        unknown = (inside & pl.col(rate).is_null()).any()
        weighted = (pl.col(rate) * pl.col(part)).filter(inside).sum() / pl.col(part).sum()
        return pl.when(~unknown & inside.any()).then(weighted).alias(rate)

    known = pl.col("tpr").is_not_null() & pl.col("fpr").is_not_null()
    mixed = parts.group_by(groups, maintain_order=True).agg(
        *([] if threshold is None else [threshold]),
        mean("tpr", "__positive"),
        mean("fpr", "__negative"),
        # Where the shares are unknown, so is the mix.
        prevalence=pl.when(pl.col("__positive").is_not_null().all()).then(pl.col("__positive").sum()),
        negatives=pl.when(pl.col("__negative").is_not_null().all()).then(pl.col("__negative").sum()),
        segments=known.sum().cast(pl.Int64),
        skipped=(~known).sum().cast(pl.Int64),
    )
    positives, negatives = pl.col("prevalence"), pl.col("negatives")
    return mixed.with_columns(
        positives=positives,
        observed_prevalence=positives,
        tp=positives * pl.col("tpr"),
        fn=positives * (1 - pl.col("tpr")),
        fp=negatives * pl.col("fpr"),
        tn=negatives * (1 - pl.col("fpr")),
    )
