"""F-beta plot, Fig. 5: classifiers with equal F1 in the space of PPV and TPR.

Source: lines of equal F1 in PPV-TPR space. One F1 stands for many pairs of PPV and TPR, so a score alone
does not tell what kind of classifier it is.

Here: each line is PPV = F1·TPR / (2·TPR - F1), from TPR = F1/(2-F1), where PPV is 1. F1 computed from
counts at points of a line is the F1 of the line.
"""

import altair as alt
import numpy as np
import polars as pl

import nci_frames as nf
from examples.reproductions.record import F_BETA_PLOT, Number, Reproduction, show

LEVELS = [0.1, 0.3, 0.5, 0.7, 0.9]


def isoline(f_1: float, places: int = 60) -> pl.DataFrame:
    """Return points of equal F1, with the FPR that gives the PPV at prevalence 1/2."""
    # By the ratio of the two, points are as dense in one direction as in the other.
    ratio = np.geomspace(f_1 / (2 - f_1), (2 - f_1) / f_1, places)
    tpr, ppv = f_1 * (1 + 1 / ratio) / 2, f_1 * (1 + ratio) / 2
    # At prevalence 1/2 precision is TPR / (TPR + FPR).
    return pl.DataFrame({"F1": f_1, "tpr": tpr, "ppv": ppv, "fpr": tpr * (1 - ppv) / ppv})


def reproduce() -> Reproduction:
    """Draw lines of equal F1, and compute F1 along them."""
    lines = pl.concat(isoline(level) for level in LEVELS)
    # An FPR above 1 is no classifier at this prevalence, but one at a lower prevalence.
    along = lines.filter(pl.col("fpr") <= 1).with_columns(found=nf.f_beta(beta=1, prevalence=0.5))
    off = along.select((pl.col("found") - pl.col("F1")).abs().max()).item()
    numbers = [
        Number("largest distance of F1 from its line", "0.000000 by definition", off),
        Number(
            "pairs of PPV and TPR with F1 0.5", "many", "many" if len(along.filter(F1=0.5)) > 20 else "few"
        ),
        *(
            Number(
                f"TPR where the line of {level} meets PPV 1",
                f"{level / (2 - level):.4f} by F1/(2-F1)",
                lines.filter(F1=level).select(pl.col("tpr").min()).item(),
            )
            for level in LEVELS
        ),
    ]
    chart = (
        alt.Chart(lines, title="Lines of equal F1")
        .mark_line(strokeWidth=2.5)
        .encode(
            alt.X("ppv:Q", title="precision (PPV)").scale(domain=(0, 1)),
            alt.Y("tpr:Q", title="recall (TPR)").scale(domain=(0, 1)),
            alt.Color("F1:O", title="F1").scale(scheme="viridis", reverse=True),
        )
        .properties(width=380, height=380)
    )
    return Reproduction(__doc__ or "", F_BETA_PLOT, numbers, {"f_beta_plot_fig5": chart})


if __name__ == "__main__":
    show(reproduce())
