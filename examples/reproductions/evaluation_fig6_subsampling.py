"""Evaluation paper, Fig. 6 and section 5.1: the error of sub-sampling.

Source: PR curves of a ResNet-50 for one class of the ImageNet validation set. The full set has a
prevalence of 0.001. Sub-sampled 30 times to 0.01, each time to 5,000 images, the curves scatter widely
around the one that is computed from all images and adjusted by (8).

Here: two classifiers of the demonstration, the digit 8 against the rest, with 10 % positives. Their logs
are sub-sampled 30 times to 0.5, by removing negatives as in the paper, and to 0.01, by removing positives.
The adjusted curve is inside the range of the sub-samples. At 0.01, where 1 positive in 10 is left, that
range is twice as wide on average, and five times at its widest.
"""

import tempfile

import altair as alt
import polars as pl

import nci_frames as nf
from examples.reproductions.record import EVALUATION, Number, Reproduction, show
from nci_frames.demo import write_demo_logs

MODELS = ["linear_discriminant", "logistic_regression"]


def demo_counts() -> pl.DataFrame:
    """Write logs of the demonstration and count them."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_demo_logs(folder, datasets=["digits"])
        log = nf.scan_predictions(path / "dataset=digits").filter(pl.col("model").is_in(MODELS))
        return nf.count_confusion(log, thresholds=nf.logit_thresholds(200))


def drawn(study: pl.DataFrame) -> alt.FacetChart:
    """Draw the range and the quartiles of the sub-samples, their mean dashed, and the adjusted curve."""
    base = alt.Chart().encode(x=alt.X("tpr:Q", title="recall"))
    shades = [
        base.mark_area(opacity=shade, order=False).encode(y=alt.Y(f"{low}:Q", title="precision"), y2=high)
        for low, high, shade in (("min", "max", 0.15), ("q25", "q75", 0.3))
    ]
    mean = base.mark_line(order=False, strokeDash=[4, 3]).encode(y="mean:Q")
    adjusted = base.mark_line(order=False).encode(y="adjusted:Q")
    rows = study.drop_nulls("adjusted").drop("threshold").sort("model", "tpr")
    return alt.layer(*shades, mean, adjusted, data=rows).properties(width=250, height=170).facet("model:N")


def reproduce() -> Reproduction:
    """Sub-sample real logs to two balances."""
    counts = demo_counts()
    first = counts.row(0, named=True)
    positives, negatives = first["tp"] + first["fn"], first["fp"] + first["tn"]
    numbers = [
        Number("images of a sub-sample in the paper", "5000", 50 / 0.01, "50 positives of 50,000 at 0.01"),
        Number(
            "prevalence of the log",
            "0.001",
            positives / (positives + negatives),
            "another data set",
            about=True,
        ),
    ]
    charts = {}
    for eta in (0.5, 0.01):
        # Nearer the ends, precision is that of a handful of rows, or that of flagging every row.
        study = nf.subsample_study(counts, prevalence=eta).filter(pl.col("tpr").is_between(0.1, 0.999))
        inside = study.select(
            pl.col("adjusted").is_between(pl.col("min") - 1e-9, pl.col("max") + 1e-9).mean()
        ).item()
        gaps = study.select(full=pl.col("max") - pl.col("min"), middle=pl.col("q75") - pl.col("q25"))
        numbers += [
            Number(f"range of precision at {eta}, mean over thresholds", "", float(gaps["full"].mean())),  # type: ignore[arg-type]
            Number(f"range of precision at {eta}, largest", "", float(gaps["full"].max())),  # type: ignore[arg-type]
            Number(f"interquartile range at {eta}, largest", "", float(gaps["middle"].max())),  # type: ignore[arg-type]
            Number(
                f"thresholds at {eta} with the adjusted precision in the range",
                "all",
                "all" if inside == 1 else f"{inside:.1%}",
            ),
        ]
        charts[f"evaluation_fig6_{eta}".replace(".", "_")] = drawn(study)
    return Reproduction(__doc__ or "", EVALUATION, numbers, charts)


if __name__ == "__main__":
    show(reproduce())
