"""Winner ranges and counts -> the same ranges, with an interval for every border between two models."""

import polars as pl

from nci_frames.evaluation.resampling.resampling import Resampling
from nci_frames.evaluation.significance.borders import area_curves_of, border_of, own_curves_of
from nci_frames.questions.certainty import Resampled

_LEVEL = 0.95
_SEED = 0
_NONE: dict[str, pl.Expr] = {name: pl.lit(None, pl.Float64) for name in ("lower", "upper")}


def with_intervals(
    winners: pl.DataFrame,
    logs: Resampled | None,
    points: pl.DataFrame | None,
    *,
    fixed: float | None,
) -> pl.DataFrame:
    """Add ``lower`` and ``upper``: where a range starts in 95 % of the resampled logs that have the border.

    They are null where the range does not begin where another model ends, or logs are not resampled.

    Parameters
    ----------
    winners
        Ranges of ``winner_ranges`` or ``area_winners``.
    logs
        What to resample; None for sums of weights.
    points
        The operating points that compete; None for areas.
    fixed
        The beta or the prevalence of the ranges; None for areas.
    """
    models = winners["model"]
    changes = [place for place in range(1, len(models)) if models[place] != models[place - 1]]
    if logs is None or not changes or fixed in (0.0, float("inf")):
        return winners.with_columns(**_NONE)
    axis = winners["over"][0]
    over = logs.over if points is None else None
    draws = Resampling(logs.units, over, repeats=logs.repeats, seed=_SEED, level=_LEVEL)
    frame = logs.steps if points is None else logs.at(points)
    kept = frame.filter(pl.col("model").is_in(models.unique().implode()))
    if points is None:
        found = area_curves_of(kept, draws)
    else:
        found = own_curves_of(kept, draws, axis, 1.0 if fixed is None else fixed)
    curves = found.get(())
    rows: list[tuple[float | None, float | None]] = [(None, None)] * len(models)
    for place in changes:
        at = winners["start"][place]
        crossing = {"model_a": models[place - 1], "model_b": models[place], axis: at}
        inside = 0 < at < (1 if axis == "prevalence" else float("inf"))
        if curves is not None and inside and {models[place - 1], models[place]} <= curves.values.keys():
            border = border_of(curves, crossing, draws)
            rows[place] = (border["lower"], border["upper"])
    lower, upper = zip(*rows, strict=True)
    return winners.with_columns(pl.Series("lower", lower, pl.Float64), pl.Series("upper", upper, pl.Float64))
