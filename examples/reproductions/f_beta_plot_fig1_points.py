"""F-beta plot, Fig. 1 and equation (7): five simulated classifiers and where their curves intersect.

Source: five pairs of TPR and PPV, drawn as F-beta over beta; each is the best in one range of beta. At
beta 1 the balanced classifier is preferred. Equation (7) gives every intersection.

Here: TPR 0.1, 0.3, 0.5, 0.7, 0.9 with PPV 0.9, 0.7, 0.5, 0.3, 0.1. All ten intersections are those of
equation (7); four of them are changes of the best.
"""

import itertools
import math

import numpy as np
import polars as pl

import nci_frames as nf
from examples.reproductions.record import F_BETA_PLOT, Number, Reproduction, show

#: TPR and PPV.
POINTS = [(0.1, 0.9), (0.3, 0.7), (0.5, 0.5), (0.7, 0.3), (0.9, 0.1)]
#: With so many negatives per positive, each PPV is a whole number of rows.
POSITIVES, NEGATIVES = 630, 63_000


def name(tpr: float, ppv: float) -> str:
    """Return the label of a point."""
    return f"TPR {tpr} PPV {ppv}"


def intersection(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return the beta of equation (7)."""
    (tpr_a, ppv_a), (tpr_b, ppv_b) = a, b
    return math.sqrt(tpr_a * tpr_b * (ppv_b - ppv_a) / (ppv_a * ppv_b * (tpr_a - tpr_b)))


def rates() -> pl.DataFrame:
    """Return the five operating points: FP follows from TP and PPV."""
    rows = [
        {
            "model": name(tpr, ppv),
            "threshold": 0.5,
            "tp": round(tpr * POSITIVES),
            "fp": round(tpr * POSITIVES * (1 - ppv) / ppv),
        }
        for tpr, ppv in POINTS
    ]
    frame = pl.DataFrame(rows).with_columns(fn=POSITIVES - pl.col("tp"), tn=NEGATIVES - pl.col("fp"))
    return nf.compute_rates(frame)


def reproduce() -> Reproduction:
    """Find every intersection, and the best in each range."""
    points = rates()
    found = nf.find_crossovers(points, metric="f_beta", over="beta")
    betas = {frozenset((a, b)): beta for a, b, beta in found.select("model_a", "model_b", "beta").iter_rows()}
    winners = nf.winner_ranges(points, metric="f_beta", over="beta")
    at_one = winners.filter(pl.col("start") <= 1, pl.col("end") > 1)["model"].item()
    numbers = [
        Number(
            f"{name(*a)} and {name(*b)}: beta",
            f"{intersection(a, b):.4f} by (7)",
            betas[frozenset((name(*a), name(*b)))],
        )
        for a, b in itertools.combinations(POINTS, 2)
    ]
    numbers += [
        Number("best at beta 1", name(0.5, 0.5), at_one),
        Number(
            "best in turn",
            ", ".join(str(tpr) for tpr, _ in POINTS),
            ", ".join(m.split()[1] for m in winners["model"]),
            "TPR, as beta rises",
        ),
    ]
    curves = nf.project_rates(
        points, metrics="f_beta", prevalence=0.01 / 1.01, beta=[float(x) for x in np.logspace(-1, 1, 101)]
    )
    charts = {
        "f_beta_plot_fig1": nf.chart_f_beta_over_beta(curves, prevalence=0.01 / 1.01),
        "f_beta_plot_fig1_best": nf.chart_winner_ranges(winners),
    }
    return Reproduction(__doc__ or "", F_BETA_PLOT, numbers, charts)


if __name__ == "__main__":
    show(reproduce())
