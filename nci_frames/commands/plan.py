"""The command ``plan``: arguments only."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from nci_frames.commands.ending import Command, show
from nci_frames.options.kinds import ROWS, Kind, grid, number

if TYPE_CHECKING:
    import polars as pl


_SHARE = number("within [0, 1]", least=0, most=1)
_PHI = number("within [-1, 1]", least=-1, most=1)
_NUMBERS = grid("within [0, 1]", most=1)


def _one_or_two(value: Any) -> Any:
    numbers = _NUMBERS.read(value) if isinstance(value, str) else value
    if isinstance(numbers, tuple) and len(numbers) > 2:
        raise ValueError("write one number, or two: 0.8,0.7")
    return numbers[0] if isinstance(numbers, tuple) and len(numbers) == 1 else numbers


_RATES = Kind("number[,number]", _one_or_two, {})


@click.command(cls=Command)
@click.option("--half-width", type=_RATES, help="Required half-width of the rates: one number, or TPR,FPR.")
@click.option(
    "--delta", type=_SHARE, help="Required maximum width of the precision band over all prevalences."
)
@click.option("--precision-half-width", type=_SHARE, help="Required half-width of precision at --prevalence.")
@click.option(
    "--prevalence", "-p", type=_SHARE, help="Prevalence for --precision-half-width, or for --compare."
)
@click.option("--tpr", type=_RATES, help="Expected true-positive rate; with --compare one per model.")
@click.option("--fpr", type=_RATES, help="Expected false-positive rate; with --compare one per model.")
@click.option("--compare", help="Metric by which two models are compared, e.g. recall.")
@click.option(
    "--power", type=_SHARE, help="With --compare: probability to detect a true difference.  [default: 0.8]"
)
@click.option(
    "--correlation",
    type=_PHI,
    help="With --compare: correlation (phi) of the decisions of both models on the same rows.",
)
@click.option("--positives", type=ROWS, help="Rows with y=1 in an existing test set.")
@click.option("--negatives", type=ROWS, help="Rows with y=0 in an existing test set.")
@click.option("--level", type=_SHARE, default=0.95, help="Confidence level of each rate's interval.")
@click.option(
    "--assurance", type=_SHARE, help="Probability that the test set reaches the goal.  [default: 0.8]"
)
def plan(positives: int | None, negatives: int | None, **goal: Any) -> None:
    """Compute the required size of a test set, or what a test set of a given size supports.

    \b
    Example:
      nci-frames plan --delta 0.1 --tpr 0.6 --fpr 0.001
      nci-frames plan --precision-half-width 0.1 --prevalence 0.001 --tpr 0.6 --fpr 0.001
      nci-frames plan --half-width 0.05,0.0005
      nci-frames plan --compare recall --tpr 0.8,0.7 --correlation 0.5
      nci-frames plan --positives 100 --negatives 100000 --tpr 0.6 --fpr 0.001
    """
    from rich.console import Console

    from nci_frames.evaluation.planning.planning import required_samples

    if positives is None and negatives is None:
        if goal["power"] is not None and goal["compare"] is None:
            raise click.UsageError("--power is of a comparison of two models: give --compare, or omit it.")
        for name in ("assurance", "power"):
            goal[name] = 0.8 if goal[name] is None else goal[name]
        samples = required_samples(**goal)
        of_each = "of the test" if goal["compare"] else "of each rate"
        show(samples, f"required rows, at confidence {goal['level']:g} {of_each}")
        return
    tpr, fpr, level, compare = (goal.pop(name) for name in ("tpr", "fpr", "level", "compare"))
    if any(value is not None for value in goal.values()):
        raise click.UsageError("Give either a goal or --positives and --negatives, not both.")
    if compare is not None:
        raise click.UsageError("--compare takes no --positives and --negatives: it says how many are needed.")
    if positives is None or negatives is None or not (isinstance(tpr, float) and isinstance(fpr, float)):
        raise click.UsageError("A test set needs --positives, --negatives, --tpr and --fpr.")
    for title, table in _support(positives, negatives, tpr, fpr, level):
        show(table.drop("model", "threshold", strict=False), title)
    # The last table has the lowest supported prevalence.
    lowest = table["prevalence"].item()
    if lowest:
        Console(highlight=False).print(_below(lowest / 10, tpr, fpr))


def _below(prevalence: float, tpr: float, fpr: float) -> str:
    """Return how many labels support precision at a prevalence too low for the test set."""
    from nci_frames.evaluation.labelling.cheapest import labels_in_words, labels_that_tell

    found = labels_that_tell("precision", recall=tpr, fpr=fpr, prevalence=prevalence)
    words = labels_in_words(found) or "no false positive is expected: labels of alerts would do"
    return f"below it, as at {prevalence:.2g}, the test set cannot tell; {words}"


def _support(
    positives: int, negatives: int, tpr: float, fpr: float, level: float
) -> Iterator[tuple[str, "pl.DataFrame"]]:
    from nci_frames.evaluation.areas.lowest import lowest_supported_prevalence
    from nci_frames.evaluation.planning.expected import expected_counts
    from nci_frames.evaluation.projection.bands import max_precision_uncertainty
    from nci_frames.evaluation.rates.rates import compute_rates

    counts = expected_counts(positives=positives, negatives=negatives, tpr=tpr, fpr=fpr)
    rates = compute_rates(counts, interval="wilson", level=level)
    columns = ["tpr", "tpr_lower", "tpr_upper", "fpr", "fpr_lower", "fpr_upper"]
    bounded = rates.select("model", "threshold", *columns)
    yield f"rates, with Wilson intervals of confidence {level:g}", bounded
    yield "where the precision band is widest (delta)", max_precision_uncertainty(rates)
    at = rates["threshold"].item()
    support = lowest_supported_prevalence(counts, metric="precision", threshold=at)
    yield "lowest prevalence at which the test set supports precision", support
