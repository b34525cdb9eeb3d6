"""Options of commands that read logs: columns, thresholds, and output."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

C = TypeVar("C", bound=Callable[..., object])


def thresholds_option(default: str | None, *, exact: bool = True) -> Callable[[C], C]:
    """Return the option for the thresholds to count at; *exact* allows every distinct score."""
    forms = ['"exact"'] * exact + ['"logit:501"', '"uniform:101"', "start:stop:lin:count"]
    finest = "" if default else "  [default: as fine as the areas need]"
    return click.option(
        "--thresholds",
        default=default,
        help=f"Thresholds to count at: {', '.join(forms)}, or numbers separated by commas.{finest}",
    )


def _score_columns(
    _ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]
) -> dict[str, str] | None:
    """Parse the score columns by model; None if there are none."""
    scores: dict[str, str] = {}
    for text in value:
        model, separator, column = text.partition("=")
        if not separator:
            column = model
        if not (model and column):
            raise click.BadParameter(f"{text!r} is not MODEL=COLUMN, e.g. forest=p_forest.")
        if {",", "="} <= {*column}:
            raise click.BadParameter(f"{text!r} names several columns: repeat the option for each.")
        if model in scores:
            raise click.BadParameter(f"{model!r} is given twice.")
        scores[model] = column
    return scores or None


def _decision_columns(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> str | dict[str, str] | None:
    """Parse the decision column, or the decision columns by model."""
    return value[0] if len(value) == 1 and "=" not in value[0] else _score_columns(ctx, param, value)


#: Options for the columns of a log.
_COLUMNS: dict[str, dict[str, Any]] = {
    "model": {"default": "model", "help": "Column with the model name."},
    "label": {"default": "label", "help": "Column with the true class."},
    "score": {"default": "score", "help": "Column with the score."},
    "scores": {
        "multiple": True,
        "metavar": "[MODEL=]COLUMN",
        "callback": _score_columns,
        "help": "Score column of one model, for logs with one column per model; may be repeated. "
        "Without MODEL= the column name is the model name.",
    },
    "decision": {
        "multiple": True,
        "metavar": "[MODEL=]COLUMN",
        "callback": _decision_columns,
        "help": "With --classes: column with the predicted class; may be repeated for one column per model.  "
        "[default: decision, unless --scores is given]",
    },
    "fold": {"help": "Column with the cross-validation fold."},
    "repeat": {"help": "Column with the repeat of a cross-validation; areas are averaged over repeats."},
    "unit": {
        "help": "Column with the unit (user, host, patient) of a row; rows of a unit are kept together."
    },
    "weight": {"help": "Column with the weight of each row."},
    "positive": {"help": "Label that means positive; not needed for 0/1 and Boolean labels."},
    "on_invalid": {
        "type": click.Choice(["raise", "drop"]),
        "default": "raise",
        "help": "How to treat rows without a valid label or score.",
    },
}


def column_options(*names: str) -> Callable[[C], C]:
    """Add options for the columns of a log; all of them if no name is given."""

    def added(command: C) -> C:
        for name in reversed(names or tuple(_COLUMNS)):
            command = click.option(f"--{name.replace('_', '-')}", **_COLUMNS[name])(command)
        return command

    return added


def choice_option(name: str, words: Sequence[str], told: str) -> Callable[[C], C]:
    """Return an option that takes one of *words*; the first one is the default."""
    return click.option(name, type=click.Choice(words), default=words[0], help=told)


def segments_option(told: str) -> Callable[[C], C]:
    """Return the option for the columns to split a log by; *told* is its help text."""
    return click.option("--segments", "-s", multiple=True, help=told)


verbose_option = click.option("--verbose", "-v", is_flag=True, help="Print the ranked tables, too.")


def out_option(default: str, told: str) -> Callable[[C], C]:
    """Return the option for the output folder or file of a command; *told* is its help text."""
    return click.option("--out", "-o", type=click.Path(path_type=Path), default=default, help=told)
