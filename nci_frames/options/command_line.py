"""Options that several commands share, and the kinds of values that they take."""

import contextlib
import math
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from nci_frames.base.arguments import grid_numbers

__all__ = [
    "Grid",
    "Moment",
    "Value",
    "Words",
    "column_options",
    "comparison_options",
    "out_option",
    "output_options",
    "question_options",
    "thresholds_option",
]

PREVALENCE = "1e-4:0.5:round"
BETA = "0.25:4:log:33"


class Grid(click.ParamType[tuple[float, ...]]):
    """Numbers: ``0.001,0.01``, ``start:stop:round`` or ``start:stop:log:count`` (``lin`` for even steps)."""

    name = "grid"

    def __init__(self, largest: float) -> None:
        self.largest = largest

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Read the numbers."""
        if not isinstance(value, str):
            return cast("tuple[float, ...]", value)
        try:
            numbers = grid_numbers(value)
        except ValueError as error:
            self.fail(f"{value!r} is not a grid ({error}). Write 0.001,0.01 or 1e-4:0.5:round.", param, ctx)
        for number in numbers:
            if not 0 <= number <= self.largest:
                allowed = f"within [0, {self.largest:g}]" if self.largest < math.inf else "a number >= 0"
                percent = f" Did you mean {number / 100:g}?" if 1 < number <= 100 else ""
                self.fail(f"{number!r} in {value!r} must be {allowed}.{percent}", param, ctx)
        return tuple(numbers)


class PrevalenceGrid(Grid):
    """A grid, or the name of a CSV or Parquet file with the prevalence of each segment."""

    name = "grid or file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the numbers, or return the path."""
        if isinstance(value, str) and value.lower().endswith((".csv", ".parquet")):
            return Path(value)
        return super().convert(value, param, ctx)


class Value(click.ParamType[str | float | bool]):
    """A number, ``true`` or ``false``, or any other text."""

    name = "value"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,  # noqa: ARG002
        ctx: click.Context | None,  # noqa: ARG002
    ) -> str | float | bool:
        """Read the value; text in single quotes is text whatever it looks like."""
        if not isinstance(value, str):
            return cast("str | float | bool", value)
        if value.lower() in ("true", "false"):
            return value.lower() == "true"
        for kind in (int, float):
            # Python reads "1_0" as a number, and databases do not.
            with contextlib.suppress(ValueError):
                return value if "_" in value else kind(value)
        return value[1:-1] if len(value) > 1 and value[0] == value[-1] == "'" else value


class Share(click.ParamType[float]):
    """A prevalence between 0 and 1, both excluded."""

    name = "prevalence"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number."""
        try:
            number = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number.", param, ctx)
        if not 0 < number < 1:
            percent = f" Did you mean {number / 100:g}?" if 1 <= number < 100 else ""
            self.fail(f"{number!r} must be between 0 and 1, both excluded.{percent}", param, ctx)
        return number


class Costs(click.ParamType[tuple[float, float]]):
    """What a missed positive and a false alarm cost: ``200:1``."""

    name = "missed:false"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, float]:
        """Read the two numbers."""
        if not isinstance(value, str):
            return cast("tuple[float, float]", value)
        try:
            missed, false = (float(part) for part in value.split(":"))
        except ValueError:
            self.fail(f"{value!r} is not the cost of a miss and of a false alarm. Write 200:1.", param, ctx)
        if not (all(0 <= cost < math.inf for cost in (missed, false)) and missed + false > 0):
            self.fail(f"the costs {value!r} must be finite and >= 0, one of them above 0.", param, ctx)
        return missed, false


class Moment(click.ParamType[datetime]):
    """The beginning of a day or an hour in UTC: ``2026-03-01`` or ``2026-03-01T13``."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Read the date."""
        if isinstance(value, datetime):
            return value
        for form in ("%Y-%m-%d", "%Y-%m-%dT%H", "%Y-%m-%dT%H:%M:%S"):
            with contextlib.suppress(ValueError):
                return datetime.strptime(value, form).replace(tzinfo=UTC)
        return self.fail(
            f"{value!r} is not a date. Write 2026-03-01, or 2026-03-01T13 for an hour.", param, ctx
        )


class Words(click.ParamType[tuple[str, ...]]):
    """Some of a few words, separated by commas: ``html,md``."""

    name = "words"

    def __init__(self, *choices: str) -> None:
        self.choice = click.Choice(choices)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Show the words."""
        return f"{self.choice.get_metavar(param, ctx)},..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Read the words; each counts once."""
        if not isinstance(value, str):
            return cast("tuple[str, ...]", value)
        return tuple(self.choice.convert(word.strip(), param, ctx) for word in value.split(","))


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


def _together(
    _ctx: click.Context, _param: click.Parameter, value: tuple[tuple[str, ...], ...]
) -> tuple[str, ...]:
    """Join the words of a repeated option; each counts once."""
    return tuple(dict.fromkeys(word for words in value for word in words))


C = TypeVar("C", bound=Callable[..., object])


def thresholds_option(default: str | None, *, exact: bool = True) -> Callable[[C], C]:
    """Return the option of the thresholds to count at; *exact*: also at every distinct score."""
    forms = ['"exact"'] * exact + ['"logit:501"', '"uniform:101"', "start:stop:lin:count"]
    finest = "" if default else "  [default: as fine as the areas need]"
    return click.option(
        "--thresholds",
        default=default,
        show_default=True,
        help=f"Thresholds to count at: {', '.join(forms)}, or numbers separated by commas.{finest}",
    )


def comparison_options(command: C) -> C:
    """Add the options of a comparison."""
    options = [
        click.option(
            "--prevalence", "-p", type=PrevalenceGrid(1.0), default=PREVALENCE, show_default=True,
            help="Prevalences to compare at: numbers separated by commas, start:stop:round or "
            "start:stop:log:count; or a CSV or Parquet file with the "
            "prevalence of each segment: columns of segments, prevalence and perhaps share.",
        ),
        click.option(
            "--beta", "-b", type=Grid(float("inf")), default=BETA, show_default=True,
            help="Weights of recall in F-beta, in the same form.",
        ),
        click.option(
            "--threshold", "-t", type=float, default=0.5, show_default=True,
            help="A row is predicted positive if its score is at or above this.",
        ),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


#: What a command may ask about the columns of a log.
_COLUMNS: dict[str, dict[str, Any]] = {
    "model": {"default": "model", "show_default": True, "help": "Column with the model's name."},
    "label": {"default": "label", "show_default": True, "help": "Column with the true class."},
    "score": {"default": "score", "show_default": True, "help": "Column with the score."},
    "scores": {
        "multiple": True,
        "metavar": "[MODEL=]COLUMN",
        "callback": _score_columns,
        "help": "Score column of one model, for logs with a column per model; may be repeated. "
        "Without MODEL= the model has the name of its column.",
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
        "show_default": True,
        "help": "What to do with rows without a valid label or score.",
    },
}


def column_options(*names: str) -> Callable[[C], C]:
    """Add the options that say which column of a log plays which part."""

    def added(command: C) -> C:
        for name in reversed(names):
            command = click.option(f"--{name.replace('_', '-')}", **_COLUMNS[name])(command)
        return command

    return added


def question_options(command: C) -> C:
    """Add the options that ask which model to choose; ``question_of`` reads them."""
    options = [
        click.option(
            "--at", type=Share(), metavar="PREVALENCE",
            help="The prevalence of the field, at which a model is to be chosen.  [default: that of the log]",
        ),
        click.option(
            "--metric",
            help="Metric to choose by, or pr_auc or roc_auc.  [default: f_beta, or recall with --alerts]",
        ),
        click.option(
            "--cost", type=Costs(), metavar="MISSED:FALSE",
            help="Choose by expected cost: what a missed positive and a false alarm cost, e.g. 200:1.",
        ),
        click.option(
            "--alerts", type=click.FloatRange(0), metavar="NUMBER",
            help="At most this many alerts among --volume rows.",
        ),
        click.option(
            "--volume", type=click.FloatRange(0, min_open=True), metavar="ROWS",
            help="Rows in the field, e.g. of a day: alerts and costs are then given for this many.",
        ),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def output_options(command: C) -> C:
    """Add the options for the formats of a report, its tables and its charts."""
    options = [
        click.option(
            "--format", "formats", type=Words("html", "md", "json", "txt"), default=["html"],
            show_default=True,
            multiple=True, callback=_together,
            help="The report: a page with charts, a page for code hosts, a summary for programs.",
        ),
        click.option(
            "--tables", type=Words("parquet", "csv", "md"), default=["parquet"], show_default=True,
            multiple=True, callback=_together,
            help="The tables behind the report, in the folder tables.",
        ),
        click.option(
            "--charts", type=Words("svg", "png", "json"), default=(), multiple=True, callback=_together,
            help="Also write each chart to a file, in the folder charts; json is Vega-Lite.",
        ),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def out_option(default: str, what: str) -> Callable[[C], C]:
    """Return the option for the folder that a command writes; *what* begins its help."""
    return click.option(
        "--out",
        "-o",
        type=click.Path(path_type=Path),
        default=default,
        show_default=True,
        help=f"{what}; created if missing.",
    )
