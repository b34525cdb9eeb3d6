"""Options of label plans: thresholds of one model or two, and the two models of a comparison."""

import click

from nci_frames.options.kinds import Kind, as_number, named_numbers


def _threshold(value: object) -> object:
    """Parse one threshold, or one per model: ``0.5`` or ``new=0.5,old=0.4``."""
    if not isinstance(value, str) or "=" not in value:
        return as_number(value)
    return named_numbers(value, "MODEL=NUMBER,MODEL=NUMBER")


THRESHOLD = Kind("number or model=number", _threshold, {"type": ["number", "string"]})
#: The plan checks that there are two.
TWO_MODELS = Kind("model,model", lambda names: tuple(names.split(",")), {})

units_option = click.option("--units", is_flag=True, help="Label whole units; needs --unit.")
by_model_option = click.option("--by-model", help="Model whose scores the plan uses, if the log has several.")
