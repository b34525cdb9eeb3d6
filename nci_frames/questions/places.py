"""The prevalences and betas of the tables and the summary of a comparison."""

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
import polars as pl

from nci_frames.base.arguments import (
    USUAL_PREVALENCES,
    check_allowed,
    grid_numbers,
    nearest,
    prevalence_values,
)
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Field
from nci_frames.evaluation.field.prevalences import field_of, is_field

#: Below, Float64 has fewer digits, and odds overflow.
LEAST_PREVALENCE = 1e-300

#: Largest number of prevalences: more would take minutes, and no table or chart shows them.
_MOST_PREVALENCES = 10_000

#: Steps of the prevalence grid of a field.
_FIELD_STEPS = 31

#: Steps of the prevalence slider of a page.
_STEPS = 48

#: Positions of the second slider of a page: multiples of the beta, the cost or the alerts of the question.
SLIDER = (0.5, 1.0, 2.0)


def main_beta(betas: Sequence[float]) -> float:
    """Return the beta nearest to 1, by ratio."""
    return nearest([beta for beta in betas if 0 < beta < float("inf")] or betas, 1.0)


def answer_prevalences(
    inside: Sequence[float], span: tuple[float, float], observed: float | None
) -> list[float]:
    """Return the prevalences of a grid, the observed one, and even steps in log odds between the ends."""
    low, high = (math.log(eta / (1 - eta)) for eta in span)
    steps = [1 / (1 + math.exp(-(low + (high - low) * step / _STEPS))) for step in range(1, _STEPS)]
    # Prevalences are rounded to four digits, so that the page shows exactly the values computed.
    round_ones = [float(f"{eta:.4g}") for eta in steps]
    own = [observed] if observed is not None and span[0] <= observed <= span[1] else []
    return sorted({*span, *inside, *own, *(eta for eta in round_ones if span[0] < eta < span[1])})


def with_asked(numbers: Sequence[float], asked: float | None) -> tuple[float, ...]:
    """Return numbers with that of the question, if it has one, in ascending order."""
    return tuple(numbers) if asked is None else tuple(sorted({*numbers, asked}))


def crossed(prevalence: Sequence[float], beta: Sequence[float]) -> pl.DataFrame:
    """Return each prevalence with each beta."""
    etas = pl.DataFrame({"prevalence": list(prevalence)}, schema={"prevalence": pl.Float64})
    return etas.join(pl.DataFrame({"beta": list(beta)}, schema={"beta": pl.Float64}), how="cross")


def compared(
    frame: pl.DataFrame, prevalence: float | Sequence[float] | Field | None, segments: Sequence[str]
) -> tuple[list[float], pl.DataFrame | None]:
    """Return the prevalences of tables over prevalence, and the frame of those per segment, if given."""
    if prevalence is None:
        return grid_numbers(USUAL_PREVALENCES), None
    if is_field(prevalence):
        field = field_of(prevalence, frame, segments)
        asked = field_grid(field)
    else:
        field, asked = None, prevalence_values(cast("float", prevalence)) or []
    check_grid(asked)
    return asked, field


def check_grid(prevalence: Sequence[float]) -> None:
    """Raise ParameterError if there are too many prevalences, or one is too near 0."""
    for eta in prevalence:
        allowed = eta == 0 or eta >= LEAST_PREVALENCE
        check_allowed(allowed, "prevalence", eta, f"0, or at least {LEAST_PREVALENCE:g}")
    if len(prevalence) > _MOST_PREVALENCES:
        msg = f"a comparison takes at most {_MOST_PREVALENCES:,} prevalences"
        hint = "its borders are exact whatever the grid is; project_rates takes longer grids"
        raise ParameterError(msg, found=f"{len(prevalence):,}", hint=hint)


def field_grid(field: pl.DataFrame) -> list[float]:
    """Return the prevalences at which all segments together are compared.

    They are log steps from the lowest prevalence of a segment to the highest, and the prevalence of the
    traffic if shares are known.

    >>> field_grid(pl.DataFrame({"prevalence": [0.1, 0.3], "share": [3.0, 1.0]}))[:2]
    [0.1, 0.1037...]
    >>> field_grid(pl.DataFrame({"prevalence": [0.1]}))
    [0.1]
    """
    etas = np.unique(field["prevalence"].to_numpy())
    inside = etas[etas > 0]
    # The ends are added exactly, as rounding would move them.
    steps = np.geomspace(inside[0], inside[-1], _FIELD_STEPS)[1:-1] if len(inside) > 1 else inside
    traffic = []
    if "share" in field.columns:
        traffic = [np.average(field["prevalence"].to_numpy(), weights=field["share"].to_numpy())]
    return [float(eta) for eta in np.unique([etas[0], etas[-1], *steps, *traffic])]
