"""The command ``estimate``: arguments only."""

from typing import Any

import click

from nci_frames.commands.ending import Command, show
from nci_frames.options.kinds import INSIDE
from nci_frames.options.logs import choice_option, column_options, segments_option, thresholds_option


@click.command(cls=Command)
@click.argument("reference")
@click.argument("traffic")
@segments_option("Column to estimate by; may be repeated.")
@choice_option("--method", ["em", "adjusted_count", "matching"], "Method to fit the mixture.")
@thresholds_option("uniform:1001")
@click.option("--level", type=INSIDE, default=0.95, help="Confidence level of the intervals.")
@column_options("model", "label", "score", "scores", "positive", "on_invalid")
def estimate(
    reference: str, traffic: str, method: Any, thresholds: str, level: float, **columns: Any
) -> None:
    """Estimate the prevalence of TRAFFIC, a log without labels, from its scores.

    REFERENCE is a log with labels. If no mixture of the scores of its two classes has the scores of TRAFFIC,
    a reason is shown instead of a number.

    \b
    Example:
      nci-frames estimate labelled/ traffic/ --segments country
    """
    from nci_frames.counting.count import count_confusion, count_scores
    from nci_frames.counting.logs.scan import scan_predictions
    from nci_frames.counting.thresholds.grids import named_thresholds
    from nci_frames.evaluation.prevalence.estimate_prevalence import estimate_prevalence
    from nci_frames.schemas import with_key_texts

    grid = named_thresholds(thresholds)
    known = count_confusion(scan_predictions(reference, **columns), thresholds=grid)
    unlabelled = scan_predictions(traffic, **columns | {"label": None, "positive": None})
    unknown = count_scores(unlabelled, thresholds=grid)
    found = estimate_prevalence(known, unknown, method=method, level=level)
    # A column of nulls would only take width.
    shown = found if found["reason"].count() else found.drop("reason")
    shown = with_key_texts(shown.drop("fit_statistic", "supported"), columns["segments"])
    show(shown, f"prevalence, with intervals of confidence {level:g}")
