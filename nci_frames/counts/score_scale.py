"""Whether scores can be probabilities: the share of rows that counts place outside [0, 1].

Probabilities never lie there, so there are no false alarms; scores such as logits nearly always do.
"""

from collections.abc import Sequence

import polars as pl
import polars.selectors as cs

from nci_frames.base.messages import listed, short
from nci_frames.counts.resolution import one_score
from nci_frames.schemas import NEGATIVES, POSITIVES

#: Rounding may push a probability past 0 or 1, but not past these limits. The rows outside are known if both
#: limits are thresholds.
LOWEST, HIGHEST = -0.001, 1.001

#: A model is off the scale if at least this share of its positives or negatives lies outside.
_NOTABLE = 0.01


def share_off_scale(counts: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return for each model the share of rows known to have scores outside [0, 1].

    These are the rows below the highest threshold under 0, and those that reach the lowest one above 1.

    Parameters
    ----------
    counts
        A counts frame.
    keys
        Its keys besides the model.

    Returns
    -------
    ``model``, and the share outside [0, 1] of all rows (``rows``), ``positives`` and ``negatives``; null if
    there are none.
    """
    threshold = pl.col("threshold")
    below, above = threshold.filter(threshold <= LOWEST).max(), threshold.filter(threshold >= HIGHEST).min()
    ends = counts.group_by("model", *keys).agg(
        pl.col("tp", "fp", "fn", "tn").first().cast(pl.Float64),
        fn_below=pl.col("fn").filter(threshold == below).first(),
        tn_below=pl.col("tn").filter(threshold == below).first(),
        tp_above=pl.col("tp").filter(threshold == above).first(),
        fp_above=pl.col("fp").filter(threshold == above).first(),
    )
    of_model = ends.drop(keys).group_by("model").sum().sort("model")
    outside = pl.col("fn_below") + pl.col("tp_above"), pl.col("tn_below") + pl.col("fp_above")
    every = (outside[0] + outside[1]) / (POSITIVES + NEGATIVES)
    shares = {"rows": every, "positives": outside[0] / POSITIVES, "negatives": outside[1] / NEGATIVES}
    return of_model.select("model", **{name: share.fill_nan(None) for name, share in shares.items()})


def no_probabilities(shares: pl.DataFrame, where: str = "") -> str | None:
    """Return a sentence on the models whose scores are not probabilities; None if all may be.

    Parameters
    ----------
    shares
        The result of ``share_off_scale``.
    where
        Text to put after the names of the models.
    """
    off = shares.filter(pl.max_horizontal("positives", "negatives") >= _NOTABLE)
    if off.is_empty():
        return None
    share = max(off["rows"].to_list())
    lie = f"{share:.1%} of them lie below 0 or above 1"
    return f"the scores of {named_models(off)}{where} are not probabilities ({lie})"


def named_models(shares: pl.DataFrame) -> str:
    """Return the names of the models."""
    return f"{'models' if len(shares) > 1 else 'model'} {listed(map(short, shares['model']))}"


def are_probabilities(counts: pl.DataFrame) -> bool:
    """Return whether all scores lie in [0, 1], as far as counts show.

    Rows below a threshold <= 0, and rows that reach a threshold above 1, lie outside. For rows below the
    lowest threshold and rows that reach the highest one, counts show no more; in either class, they must be
    fewer than 1 %, unless the highest threshold is a score.

    Parameters
    ----------
    counts
        A counts frame without keys.
    """
    threshold, score = pl.col("threshold"), one_score(counts.columns)
    outside = ((threshold <= 0) & (pl.col("fn") + pl.col("tn") > 0)) | (score & (threshold < 0))
    outside |= (threshold > 1) & (pl.col("tp") + pl.col("fp") > 0)
    if counts.select(outside.any()).item():
        return False
    columns = pl.col("threshold", "tp", "fp", "fn", "tn"), cs.by_name("resolution", require_all=False)
    for end, (true, false), unknown in (
        (threshold.arg_min(), ("fn", "tn"), threshold > 0),
        (threshold.arg_max(), ("tp", "fp"), (threshold <= 1) & ~score),
    ):
        # One row per model is faster than a comparison with all rows.
        rows = counts.group_by("model").agg(column.get(end) for column in columns)
        many = (pl.col(true) / POSITIVES >= _NOTABLE) | (pl.col(false) / NEGATIVES >= _NOTABLE)
        if rows.select((unknown & many).any()).item():
            return False
    return True
