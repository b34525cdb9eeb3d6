"""Evaluation paper, section 5: how many rows a low FPR needs.

Source: with 10,000 negatives, an FPR of 0.001 is 10 false positives, so a few more or fewer change it a
lot. By Hoeffding's inequality the number of rows grows with 1/σ²; usually fewer are enough.

Here: 10 false positives, a 95 % interval of FPR from 0.0005 to 0.0018, and a Δ of 0.30. For Δ = 0.1 the
exact plan has more than a hundred times fewer negatives than Hoeffding's, and both grow with 1/σ².
"""

import math

import altair as alt
import polars as pl

import nci_frames as nf
from examples.reproductions.record import EVALUATION, Number, Reproduction, show


def plan(delta: float) -> dict[str, int]:
    """Return the negatives that a band of width *delta* needs, by method."""
    samples = nf.required_samples(delta=delta, tpr=0.6, fpr=0.001, assurance=None)
    return dict(samples.select("method", "negatives").iter_rows())


def reproduce() -> Reproduction:
    """Compute the uncertainty of the paper's example, and plan a better one."""
    small = nf.expected_counts(tpr=0.6, fpr=0.001, positives=10_000, negatives=10_000)
    rates = nf.compute_rates(small, interval="wilson")
    lower, upper = rates.select("fpr_lower", "fpr_upper").row(0)
    uncertain = nf.max_precision_uncertainty(rates)["delta"].item()
    deltas = [0.025, 0.05, 0.1, 0.2, 0.4]
    plans = pl.DataFrame(
        [{"delta": delta, "method": m, "negatives": n} for delta in deltas for m, n in plan(delta).items()]
    )
    # A band of width Δ follows from half-widths of Δ times the rate; n = ln(2/0.05) / (2·σ²).
    hoeffding = math.ceil(math.log(2 / 0.05) / (2 * (0.1 * 0.001) ** 2))
    growth = {m: plan(0.05)[m] / plan(0.1)[m] for m in ("exact", "hoeffding")}
    numbers = [
        Number("false positives at FPR 0.001 of 10,000 negatives", "10", small["fp"].item()),
        Number("FPR, lower bound (Wilson, 95 %)", "", lower),
        Number("FPR, upper bound (Wilson, 95 %)", "", upper),
        Number("Δ with 10,000 rows of each class", "", uncertain),
        Number(
            "negatives for Δ = 0.1, Hoeffding", f"{hoeffding} by ln(2/0.05)/(2σ²)", plan(0.1)["hoeffding"]
        ),
        Number("negatives for Δ = 0.1, exact", "", plan(0.1)["exact"]),
        Number(
            "Hoeffding's bound is",
            "loose",
            "loose" if plan(0.1)["exact"] < plan(0.1)["hoeffding"] / 10 else "tight",
        ),
        Number("rows for half the σ, Hoeffding, factor", "4.0 by 1/σ²", growth["hoeffding"]),
        Number("rows for half the σ, exact, factor", "4.0 by 1/σ²", growth["exact"]),
    ]
    chart = (
        alt.Chart(plans, title="Negatives needed for a precision band of width Δ, at TPR 0.6 and FPR 0.001")
        .mark_line(point=True)
        .encode(
            alt.X("delta:Q", title="Δ").scale(type="log", domain=(0.02, 0.5)).axis(values=deltas),
            alt.Y("negatives:Q").scale(type="log").axis(values=[10.0**k for k in range(4, 11)], format=".0e"),
            alt.Color("method:N"),
        )
        .properties(width=520, height=320)
    )
    return Reproduction(__doc__ or "", EVALUATION, numbers, {"evaluation_section5": chart})


if __name__ == "__main__":
    show(reproduce())
