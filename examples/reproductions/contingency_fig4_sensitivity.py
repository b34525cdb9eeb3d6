"""Contingency paper, Fig. 4: the sensitivity of metrics to the ratio of the classes.

Source: precision is the most sensitive, then F1, accuracy and HSS; recall, TSS and Youden's J do not
depend on the ratio. The growth is called logarithmic. Curves only, no numbers.

Here: the same order where the classes are nearly balanced, with HSS halved into [0, 1], as the definition
of the space has it; unscaled, HSS exceeds accuracy from 1:4 on. Growth is not logarithmic: accuracy tends
to 1/6 and precision to 1/2 (closed forms). The paper's formulas call tp/p both precision and recall;
precision is tp/p'. Its sum lacks the area of a cell.
"""

import math

import altair as alt
import polars as pl

import nci_frames as nf
from examples.reproductions.record import CONTINGENCY, Number, Reproduction, show

ORDER = ["precision", "f_beta", "accuracy", "hss"]


def closed_precision(r: float) -> float:
    """Return the sensitivity of precision at a ratio."""
    return 0.5 - ((1 - r * r) / 2 * math.log(1 + r) + r * r / 2 * math.log(r) + r / 2) / r


def reproduce() -> Reproduction:
    """Compute sensitivities at many ratios."""
    ratios = [2, 3, 9, 10, 49, 100, 1000, 99_999]
    found = nf.imbalance_sensitivity([*ORDER, "recall", "youden_j"], ratios=ratios)
    value = {
        (metric, ratio): s for metric, ratio, s in found.select("metric", "ratio", "sensitivity").iter_rows()
    }
    agnostic = found.filter(pl.col("metric").is_in(["recall", "youden_j"]))["sensitivity"] == 0
    unscaled = nf.imbalance_sensitivity(["accuracy", "hss"], ratios=[2, 3, 4, 5, 6], rescale=False)
    raw = unscaled.pivot(on="metric", index="ratio", values="sensitivity").filter(
        pl.col("hss") > pl.col("accuracy")
    )
    crossing = float(raw["ratio"].min())  # type: ignore[arg-type]

    def order(ratio: float) -> str:
        return " > ".join(sorted(ORDER, key=lambda metric: -value[metric, ratio]))

    numbers = [Number(f"order at 1:{ratio}", " > ".join(ORDER), order(ratio)) for ratio in (2, 3, 9)]
    numbers += [
        Number("recall, TSS and Youden's J are", "agnostic", "agnostic" if agnostic.all() else "not"),
        *(
            Number(
                f"accuracy at 1:{r}", f"{(r - 1) / (6 * (r + 1)):.4f} in closed form", value["accuracy", r]
            )
            for r in (9, 49, 99_999)
        ),
        *(
            Number(f"precision at 1:{r}", f"{closed_precision(r):.3f} in closed form", value["precision", r])
            for r in (9, 49)
        ),
        *(Number(f"{metric} at 1:49", "", value[metric, 49]) for metric in ("f_beta", "hss")),
        Number("unscaled HSS exceeds accuracy from 1:", "", crossing),
        Number(
            "precision: growth over a decade of ratios, over that of the next",
            "1.0 if logarithmic",
            (value["precision", 100] - value["precision", 10])
            / (value["precision", 1000] - value["precision", 100]),
            "it saturates: the limit is 1/2",
        ),
    ]
    grid = nf.imbalance_sensitivity(
        [*ORDER, "recall", "youden_j"], ratios=[10 ** (k / 5) for k in range(1, 16)]
    )
    chart = (
        alt.Chart(grid)
        .mark_line(point=True)
        .encode(x=alt.X("ratio:Q", scale=alt.Scale(type="log")), y="sensitivity:Q", color="metric:N")
    )
    return Reproduction(__doc__ or "", CONTINGENCY, numbers, {"contingency_fig4": chart})


if __name__ == "__main__":
    show(reproduce())
