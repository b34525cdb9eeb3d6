"""What can be asked of plans of labels: thresholds of one model or of two, and the two that are compared."""

import click

from nci_frames.options.kinds import Kind, as_number, named_numbers


def _threshold(value: object) -> object:
    """Read a threshold, or that of each of several models: ``0.5`` or ``new=0.5,old=0.4``."""
    if not isinstance(value, str) or "=" not in value:
        return as_number(value)
    return named_numbers(value, "MODEL=NUMBER,MODEL=NUMBER")


def _two(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[str, str] | None:
    """Read the names of two models."""
    if value is None:
        return None
    names = value.split(",")
    if len(names) != 2 or not all(names):
        raise click.BadParameter(f"{value!r} is not two models, e.g. new,old.")
    return names[0], names[1]


THRESHOLD = Kind("number or model=number", _threshold, {"type": ["number", "string"]})

compare_option = click.option(
    "--compare",
    metavar="MODEL,MODEL",
    callback=_two,
    help="Plan for the difference of two models that scored the same --unit.",
)
units_option = click.option("--units", is_flag=True, help="Label whole units, whose column --unit names.")
by_model_option = click.option("--by-model", help="Model whose scores the plan uses, if the log has several.")
