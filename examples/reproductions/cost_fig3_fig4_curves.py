"""Cost paper, Fig. 3 and 4: the ROC and the POSfrac characteristic on Highleyman's data.

Source: ROC and POSfrac of the linear discriminant at prevalence 0.1, where TPR 80 % has a POSfrac of just
under 30 %; and the POSfrac of the linear and of the quadratic discriminant at 0.5, 0.1 and 0.001. The
quadratic one hardly depends on the balance: at a POSfrac of 0.1 it finds over 90 % of the targets, the
linear one 75 %.

Here: the same curves, from 30-fold cross-validation. The text does not say at which prevalence POSfrac is
0.1; its numbers fit 0.001.
"""

import polars as pl

import nci_frames as nf
from examples.reproductions.densities import held_out
from examples.reproductions.record import COST, Number, Reproduction, show

ETAS = [0.5, 0.1, 0.001]


def reproduce(small: bool = False) -> Reproduction:
    """Draw both characteristics."""
    size = {"rows": 150, "folds": 3} if small else {"rows": 1500, "folds": 30}
    log = held_out("Highleyman", classifiers=("LDC", "QDC"), **size)
    rates = nf.compute_rates(nf.count_confusion(nf.scan_predictions(log.drop("fold")), thresholds="exact"))
    linear = rates.filter(model="LDC")

    def pos_fraction(model: str, eta: float) -> float:
        point = nf.select_operating_points(rates.filter(model=model), tpr=0.8)
        return 100 * float(nf.project_rates(point, metrics="pos_fraction", prevalence=eta)["value"].item())

    def tpr(model: str, eta: float) -> float:
        point = nf.select_operating_points(rates.filter(model=model), pos_fraction=0.1, prevalence=eta)
        return 100 * float(point["tpr"].item())

    numbers = [
        Number(
            "LDC: POSfrac at 0.1, TPR 80 %",
            "29.85",
            pos_fraction("LDC", 0.1),
            "just under 30 %; other rows",
            about=True,
        ),
        Number("LDC: POSfrac at 0.01, TPR 80 %", "24.8", pos_fraction("LDC", 0.01), "other rows", about=True),
        Number("QDC: POSfrac at 0.5, TPR 80 %", "40.00", pos_fraction("QDC", 0.5)),
        Number("QDC: POSfrac at 0.001, TPR 80 %", "0.08", pos_fraction("QDC", 0.001)),
        Number(
            "LDC: TPR where POSfrac is 0.1, at 0.001, %", "75", tpr("LDC", 0.001), "other rows", about=True
        ),
        Number("LDC: TPR where POSfrac is 0.1, at 0.1, %", "", tpr("LDC", 0.1), "no fit"),
        Number(
            "QDC: TPR where POSfrac is 0.1, at 0.001",
            "over 90 %",
            "over 90 %" if tpr("QDC", 0.001) > 90 else "less",
        ),
    ]
    fractions = nf.project_rates(rates, metrics=["pos_fraction", "recall"], prevalence=ETAS)
    at_tenth = nf.project_rates(linear, metrics=["pos_fraction", "recall"], prevalence=0.1)
    charts = {
        "cost_fig3_roc": nf.chart_roc(linear),
        "cost_fig3_pos_fraction": nf.chart_pos_fraction(at_tenth),
        "cost_fig4_linear": nf.chart_pos_fraction(fractions.filter(pl.col("model") == "LDC")),
        "cost_fig4_quadratic": nf.chart_pos_fraction(fractions.filter(pl.col("model") == "QDC")),
    }
    return Reproduction(__doc__ or "", COST, numbers, charts)


if __name__ == "__main__":
    show(reproduce())
