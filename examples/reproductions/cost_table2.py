"""Cost paper, Table 2: POSfrac where 80 % of the targets are found, at prevalence 0.5, 0.1 and 0.001.

Source: four density classifiers on four artificial data sets of 1,500 examples in each class, 30 folds,
equal priors. The rarer the targets, the worse the classifiers that do not fit the data.

Here: the same protocol. Highleyman and Lithuanian are the published distributions, and TwoGaussians has
the Bayes error that the paper prints. The paper does not say where the modes of Multimodal lie; they were
placed so that POSfrac comes close to the table, so these rows prove nothing. What differs, and why:

- LDC, QDC and PARZEN differ by at most 1.4 standard deviations of the difference, as another random draw
  would. MOGC differs by up to 2.4: the paper does not say how many Gaussians it has; ours has three for
  each class.
- The table is consistent in itself: its second and third row of each data set follow from the first, since
  FPR is the same. The text is not: its 54.9 % and 77.9 % (LDC, Highleyman, at 0.5) fit neither the table
  (52.14 %) nor each other (80 % of half the rows out of 54.9 % is a purity of 72.9 %). Its 24.8 % at 0.01
  does fit the table.
- The standard deviations in the table seem to be those of the mean of 30 folds: those of the mean here are
  about as large, those of a fold several times larger. (With 50 negatives and FPR 0.12, chance alone gives
  a fold 2.3 % of POSfrac at prevalence 0.5; the table has 0.5 %.)
"""

import math
from statistics import NormalDist

import numpy as np
import polars as pl

import nci_frames as nf
from examples.reproductions.densities import CLASSIFIERS, DATA, held_out
from examples.reproductions.record import COST, Number, Reproduction, show

ETAS = [0.5, 0.1, 0.001]
#: POSfrac in per cent, by data set and prevalence, of LDC, QDC, MOGC and PARZEN.
PRINTED = {
    ("TwoGaussians", 0.5): ("46.08 ± 0.51", "45.99 ± 0.50", "47.86 ± 0.77", "45.58 ± 0.54"),
    ("TwoGaussians", 0.1): ("18.94 ± 0.92", "18.78 ± 0.90", "22.14 ± 1.38", "18.05 ± 0.98"),
    ("TwoGaussians", 0.001): ("12.22 ± 1.02", "12.05 ± 1.00", "15.78 ± 1.53", "11.24 ± 1.08"),
    ("Highleyman", 0.5): ("52.14 ± 1.23", "40.00 ± 0.00", "40.00 ± 0.00", "40.00 ± 0.00"),
    ("Highleyman", 0.1): ("29.85 ± 2.22", "8.00 ± 0.00", "8.00 ± 0.00", "8.00 ± 0.00"),
    ("Highleyman", 0.001): ("24.33 ± 2.46", "0.08 ± 0.00", "0.08 ± 0.00", "0.08 ± 0.00"),
    ("Multimodal", 0.5): ("69.00 ± 1.06", "50.25 ± 0.94", "41.20 ± 0.22", "40.93 ± 0.21"),
    ("Multimodal", 0.1): ("60.21 ± 1.90", "26.46 ± 1.68", "10.15 ± 0.40", "9.68 ± 0.38"),
    ("Multimodal", 0.001): ("58.03 ± 2.11", "20.57 ± 1.87", "2.47 ± 0.45", "1.94 ± 0.42"),
    ("Lithuanian", 0.5): ("46.81 ± 0.81", "42.10 ± 0.33", "40.16 ± 0.04", "40.06 ± 0.04"),
    ("Lithuanian", 0.1): ("20.26 ± 1.45", "11.77 ± 0.59", "8.28 ± 0.07", "8.11 ± 0.07"),
    ("Lithuanian", 0.001): ("13.68 ± 1.61", "4.27 ± 0.65", "0.39 ± 0.08", "0.21 ± 0.08"),
}

COMPARED = ["data", "prevalence", "classifier", "printed", "mean", "std", "error"]


def at_80_percent(counts: pl.DataFrame) -> pl.DataFrame:
    """Return the operating points where 80 % of the targets are found."""
    return nf.select_operating_points(nf.compute_rates(counts), tpr=0.8, interpolate=True)


def from_the_table() -> list[Number]:
    """Return what the text of section 3 says, beside what follows from the FPR that the table implies."""
    fpr = 2 * 0.5214 - 0.8
    point = pl.DataFrame({"tpr": [0.8], "fpr": [fpr]})

    def value(expression: pl.Expr) -> float:
        return 100 * float(point.select(expression.alias("value")).item())

    return [
        Number(
            "text on LDC, Highleyman: POSfrac at 0.01, %",
            "24.8",
            value(nf.pos_fraction(prevalence=0.01)),
        ),
        Number("text on LDC, Highleyman: POSfrac at 0.1, %", "29.85", value(nf.pos_fraction(prevalence=0.1))),
        Number(
            "text on LDC, Highleyman: POSfrac at 0.5, %",
            "54.9",
            value(nf.pos_fraction(prevalence=0.5)),
            "Table 2 has 52.14",
        ),
        Number(
            "text on LDC, Highleyman: purity at 0.5, %",
            "77.9",
            value(nf.precision(prevalence=0.5)),
            "a POSfrac of 54.9 would give 72.9",
        ),
    ]


def deviations(compared: pl.DataFrame) -> list[Number]:
    """Compare the differences from the table, and its deviations, with ours, at prevalence 0.5."""
    rows = compared.filter(prevalence=0.5).with_columns(
        pl.col("printed")
        .str.extract_all(r"[0-9.]+")
        .list.to_struct(fields=["value", "table_std"])
        .struct.unnest()
    )
    rows = rows.with_columns(pl.col("value", "table_std").cast(pl.Float64)).filter(pl.col("table_std") > 0)
    apart = (pl.col("value") - pl.col("mean")).abs() / (
        pl.col("table_std") ** 2 + pl.col("error") ** 2
    ).sqrt()
    placed, mixture = pl.col("data") == "Multimodal", pl.col("classifier") == "MOGC"

    def one(expression: pl.Expr, where: pl.Expr) -> float:
        return float(rows.filter(where).select(expression.alias("value")).item())

    return [
        Number(
            "largest difference of LDC, QDC, PARZEN, in deviations",
            "",
            one(apart.max(), ~placed & ~mixture),
            "Multimodal not counted",
        ),
        Number(
            "largest difference of MOGC, in deviations",
            "",
            one(apart.max(), ~placed & mixture),
            "Multimodal not counted",
        ),
        Number(
            "deviations of the table over ours of the mean, median",
            "",
            one((pl.col("table_std") / pl.col("error")).median(), pl.lit(True)),
        ),
        Number(
            "deviations of the table over ours of a fold, median",
            "",
            one((pl.col("table_std") / pl.col("std")).median(), pl.lit(True)),
        ),
    ]


def reproduce(small: bool = False) -> Reproduction:
    """Compute Table 2."""
    size = {"rows": 150, "folds": 3} if small else {"rows": 1500, "folds": 30}
    numbers = from_the_table()
    pooled = []
    compared = []
    for name in DATA:
        log = nf.scan_predictions(held_out(name, **size), fold="fold")  # type: ignore[arg-type]
        counts = nf.count_confusion(log, thresholds="exact")
        share = nf.project_rates(at_80_percent(counts), metrics="pos_fraction", prevalence=ETAS)
        table = nf.average_over(share, over="fold")
        pooled.append(at_80_percent(nf.pool_counts(counts, over="fold")).with_columns(data=pl.lit(name)))
        found = {
            (m, eta): (100 * mean, 100 * std)
            for m, eta, mean, std in table.select("model", "prevalence", "value", "std").iter_rows()
        }
        for eta in ETAS:
            for classifier, printed in zip(CLASSIFIERS, PRINTED[name, eta], strict=True):
                mean, std = found[classifier, eta]
                error = std / math.sqrt(size["folds"])
                compared.append((name, eta, classifier, printed, mean, std, error))
                numbers.append(
                    Number(
                        f"{name}, {eta}, {classifier}, %",
                        printed,
                        mean,
                        f"fold ± {std:.2f}, mean ± {error:.2f}",
                        about=True,
                    )
                )
    numbers += deviations(pl.DataFrame(compared, schema=COMPARED, orient="row"))
    exact = exact_linear_discriminant()
    numbers += [
        Number("TwoGaussians: FPR of the ideal classifier at TPR 0.8", "", exact["TwoGaussians"], "exact"),
        Number(
            "TwoGaussians: its POSfrac at 0.5, %",
            "",
            100 * (0.4 + exact["TwoGaussians"] / 2),
            "no classifier can be better",
        ),
        Number(
            "Highleyman: POSfrac at 0.5 of the ideal LDC, %",
            "52.14 ± 1.23",
            100 * (0.4 + exact["Highleyman"] / 2),
            "exact, of infinitely many rows",
            about=True,
        ),
    ]
    grid = [float(x) for x in np.logspace(-3, math.log10(0.5), 40)]
    curves = nf.project_rates(pl.concat(pooled), metrics="pos_fraction", prevalence=grid)
    chart = nf.chart_segments(curves, segments="data", metric="pos_fraction")
    return Reproduction(__doc__ or "", COST, numbers, {"cost_table2": chart})


def exact_linear_discriminant() -> dict[str, float]:
    """Return the FPR at TPR 0.8 of the linear discriminant that knows the distributions."""
    parameters = {
        "TwoGaussians": ((2 * NormalDist().inv_cdf(1 - 0.153), 0.0), (1.0, 1.0), (0.0, 0.0), (1.0, 1.0)),
        "Highleyman": ((1.0, 1.0), (1.0, 0.25), (2.0, 0.0), (0.01, 4.0)),
    }
    fpr = {}
    for name, values in parameters.items():
        mean, variance, other_mean, other_variance = (np.array(v) for v in values)
        direction = (mean - other_mean) / (variance + other_variance)
        threshold = direction @ mean + NormalDist().inv_cdf(0.2) * math.sqrt(direction**2 @ variance)
        fpr[name] = NormalDist().cdf(
            (direction @ other_mean - threshold) / math.sqrt(direction**2 @ other_variance)
        )
    return fpr


if __name__ == "__main__":
    show(reproduce())
