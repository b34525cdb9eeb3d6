"""Contingency paper, Fig. 2 and 3: the surface of F1, at 1:1 and at 1:49.

Source: F1 over the unit square of TPR and TNR. (The text calls Fig. 2 a surface of precision, its caption
one of F1.) At 1:49 only a TNR close to 1 gives a high F1; elsewhere TPR hardly matters. At 1:1 both matter
about equally. No numbers are printed.

Here: the same surfaces. The volume between them, the sensitivity of F1 at 1:49, is 0.41.
"""

import altair as alt
import numpy as np
import polars as pl

import nci_frames as nf
from examples.reproductions.record import CONTINGENCY, Number, Reproduction, show


def f_1(ratio: float, resolution: int = 101) -> pl.DataFrame:
    """Return the surface of F1 with *ratio* negatives per positive."""
    return nf.metric_surface("f_beta", ratio=ratio, resolution=resolution)


def drawn(*ratios: int) -> alt.Chart:
    """Draw surfaces side by side, with one scale of colours."""
    corner = {"right": pl.col("tnr") + 1 / 49, "top": pl.col("tpr") + 1 / 49}
    surfaces = (f_1(ratio, 50).with_columns(**corner, ratio=pl.lit(f"1:{ratio}")) for ratio in ratios)
    unit = alt.Scale(domain=[0, 1], clamp=True)
    return (
        alt.Chart(pl.concat(surfaces))
        .mark_rect()
        .encode(
            x=alt.X("tnr:Q", scale=unit, title="TNR"),
            x2="right",
            y=alt.Y("tpr:Q", scale=unit, title="TPR"),
            y2="top",
            color=alt.Color(
                "value:Q", bin=alt.Bin(maxbins=10), title="F1", scale=alt.Scale(scheme="viridis")
            ),
            column="ratio:N",
        )
    )


def reproduce() -> Reproduction:
    """Compare the two surfaces."""
    even, skewed = f_1(1), f_1(49)
    both = even.join(skewed, on=["tpr", "tnr"], suffix="_skewed")
    high = skewed.filter(pl.col("value") > 0.5)
    # Where TNR is a half, what does TPR change?
    at_half = pl.col("tnr") == 0.5
    reach = {
        name: s.filter(at_half).select(pl.col("value").max()).item()
        for name, s in (("1:1", even), ("1:49", skewed))
    }
    volume = nf.imbalance_sensitivity("f_beta", ratios=49)["sensitivity"].item()
    # F1 at 1:r is 2·TPR / (1 + TPR + r·FPR); the mean over midpoints of cells is their volume.
    middle = (np.arange(1000) + 0.5) / 1000
    tpr, fpr = middle[:, None], middle[None, :]
    sampled = np.mean(2 * tpr / (1 + tpr + fpr) - 2 * tpr / (1 + tpr + 49 * fpr))
    below = both.select((pl.col("value_skewed") <= pl.col("value") + 1e-12).all()).item()
    numbers = [
        Number("the lower surface", "1:49", "1:49" if below else "1:1"),
        Number(
            "smallest TNR with F1 > 0.5 at 1:49",
            "0.96 by 1-2/49",
            high.select(pl.col("tnr").min()).item(),
            "high values only at a very high TNR",
        ),
        Number("F1 at TNR 0.5, the highest, at 1:1", "0.8 by 2/(2+0.5)", reach["1:1"]),
        Number(
            "F1 at TNR 0.5, the highest, at 1:49",
            "0.0755 by 2/(2+49/2)",
            reach["1:49"],
            "TPR is almost irrelevant",
        ),
        Number("volume between the surfaces", f"{sampled:.4f} by a sum over cells", volume),
    ]
    charts = {"contingency_fig2": drawn(1), "contingency_fig3": drawn(1, 49)}
    return Reproduction(__doc__ or "", CONTINGENCY, numbers, charts)


if __name__ == "__main__":
    show(reproduce())
