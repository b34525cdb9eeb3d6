"""Options of commands that read logs: their columns, the thresholds to count at, and where to write."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

C = TypeVar("C", bound=Callable[..., object])


def thresholds_option(default: str | None, *, exact: bool = True) -> Callable[[C], C]:
    """Return the option of the thresholds to count at; *exact*: also at every distinct score."""
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
    """Read the score columns by model; None if there are none."""
    scores: dict[str, str] = {}
    for text in value:
        model, separator, column = text.partition("=")
        if not separator:
            column = model
        if not (model and column):
            raise click.BadParameter(f"{text!r} is not MODEL=COLUMN, e.g. forest=p_forest.")
        if model in scores:
            raise click.BadParameter(f"the model {model!r} is given twice.")
        scores[model] = column
    return scores or None


def _decision_columns(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> str | dict[str, str] | None:
    """Read the column of the decision, or those by model."""
    return value[0] if len(value) == 1 and "=" not in value[0] else _score_columns(ctx, param, value)


#: What a command may ask about the columns of a log.
_COLUMNS: dict[str, dict[str, Any]] = {
    "model": {"default": "model", "help": "Column with the model's name."},
    "label": {"default": "label", "help": "Column with the true class."},
    "score": {"default": "score", "help": "Column with the score."},
    "scores": {
        "multiple": True,
        "metavar": "[MODEL=]COLUMN",
        "callback": _score_columns,
        "help": "Score column of one model, for logs with a column per model; may be repeated. "
        "Without MODEL= the model has the name of its column.",
    },
    "decision": {
        "multiple": True,
        "metavar": "[MODEL=]COLUMN",
        "callback": _decision_columns,
        "help": "With --classes, the column with the class decided; or one for each model, repeated.  "
        "[default: decision, unless --scores are given]",
    },
    "fold": {"help": "Column with the cross-validation fold."},
    "repeat": {"help": "Column with the repeat of the cross-validation; areas are averaged over repeats."},
    "unit": {
        "help": "Column with the user, host or patient that a row belongs to; its rows are kept together."
    },
    "weight": {"help": "Column with the weight of each row."},
    "positive": {"help": "Label that means positive; 0/1 and Boolean labels need none."},
    "on_invalid": {
        "type": click.Choice(["raise", "drop"]),
        "default": "raise",
        "help": "What to do with rows without a valid label or score.",
    },
}


def column_options(*names: str) -> Callable[[C], C]:
    """Add options that say which column of a log plays which part; all of them if none is named."""

    def added(command: C) -> C:
        for name in reversed(names or tuple(_COLUMNS)):
            command = click.option(f"--{name.replace('_', '-')}", **_COLUMNS[name])(command)
        return command

    return added


def choice_option(name: str, words: Sequence[str], told: str) -> Callable[[C], C]:
    """Return an option that takes one of a few words, of which the first is the default."""
    return click.option(name, type=click.Choice(words), default=words[0], help=told)


verbose_option = click.option("--verbose", "-v", is_flag=True, help="Print the ranked tables, too.")


def out_option(default: str, told: str) -> Callable[[C], C]:
    """Return the option for the folder or file that a command writes; *told* is its help."""
    return click.option("--out", "-o", type=click.Path(path_type=Path), default=default, help=told)
