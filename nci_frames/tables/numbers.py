"""Formatting of numbers and sentences in all pages, tables and texts."""

import math
from collections.abc import Callable

UNDEFINED = "\N{EN DASH}"
_MINUS, _TIMES = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"

#: Digits up to which a number can be rounded, and the least whole number that has more of them.
_EXACT = 15
_WHOLE = 10.0**_EXACT
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def format_value(value: float | None) -> str:
    """Format the value of a metric with three significant digits.

    >>> [format_value(v) for v in (0.9234, 0.04567, 1.0, 0.0000123, -0.0, None)]
    ['0.923', '0.0457', '1.000', '1.23 × 10⁻⁵', '0.000', '–']
    >>> [format_value(v) for v in (13.685, -1234.5)]
    ['13.7', '−1,234']
    """
    if value is None or math.isnan(value):
        return UNDEFINED
    if math.isinf(value):
        return "∞" if value > 0 else f"{_MINUS}∞"
    if abs(value) >= 9.995:
        return (f"{value:.1f}" if abs(value) < 99.95 else f"{value:,.0f}").replace("-", _MINUS)
    if value == 0 or abs(value) >= 0.0995:
        return f"{value:z.3f}".replace("-", _MINUS)
    if abs(value) >= 0.000995:
        return f"{value:#.3g}".replace("-", _MINUS)
    mantissa, power = _parts(value)
    return f"{mantissa} {_TIMES} {power}".replace("-", _MINUS)


def power_of_ten(exponent: int) -> str:
    """Format a power of ten.

    >>> power_of_ten(-4)
    '10⁻⁴'
    """
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}"


def _parts(value: float, digits: int = 3) -> tuple[str, str]:
    """Return the digits of a number, and its power of ten."""
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return mantissa, power_of_ten(int(exponent))


def format_grid(value: float) -> str:
    """Format a prevalence or beta of a grid, without insignificant digits.

    >>> [format_grid(v) for v in (0.5, 0.001, 0.0316228, 1e-4, 0.000316228, 10.0, 1234.0, 0.99995)]
    ['0.5', '0.001', '0.0316', '10⁻⁴', '3.16 × 10⁻⁴', '10', '1.23 × 10³', '0.99995']
    """
    return _short(value, 3, least=0.001)


def f_beta_name(beta: float) -> str:
    """Return the name of F-beta in print.

    >>> f_beta_name(1.0), f_beta_name(float("inf"))
    ('F1', 'F∞')
    """
    return f"F{format_grid(beta)}"


def format_threshold(value: float) -> str:
    """Format a threshold.

    >>> [format_threshold(t) for t in (0.5, 0.123456789, -12.0, -2e-5, math.inf)]
    ['0.5', '0.123457', '−12', '−2 × 10⁻⁵', '∞']
    >>> [format_threshold(t) for t in (0.99999987, 6421846.0)]
    ['0.99999987', '6421846']
    """
    whole = value.is_integer() and abs(value) < _WHOLE
    return _short(value, _EXACT if whole else 6, least=0.0001)


def format_limit(value: float) -> str:
    """Format the limit of a gate: four digits, or more just below 1.

    >>> [format_limit(limit) for limit in (0.6, -0.123456, 0.0, 0.99996)]
    ['0.6', '−0.1235', '0', '0.99996']
    """
    return _short(value, 4, least=0.0001)


def _short(value: float, digits: int, *, least: float) -> str:
    size = abs(value)
    if 0.9 < size < 1:
        # Two digits of the distance to 1, at least: 0.99995 is not 1.
        digits = max(digits, 1 - math.floor(math.log10(1 - size)))
    if value == 0 or least <= size < 10**digits - 0.5 or not math.isfinite(value):
        text = repr(size) if digits > _EXACT else f"{size:.{digits}g}".replace("inf", "∞")
    else:
        mantissa, power = _parts(size, digits)
        mantissa = mantissa.rstrip("0").rstrip(".")
        text = power if mantissa == "1" else f"{mantissa} {_TIMES} {power}"
    return _MINUS + text if value < 0 else text


def format_count(rows: float | None) -> str:
    """Format a number of rows, or a sum of weights.

    >>> [format_count(n) for n in (1234567, 1664293.25, 0.5, 1e30, None)]
    ['1,234,567', '1,664,293', '0.5', '1e+30', '']
    """
    if rows is None:
        return ""
    return f"{rows:,.0f}" if isinstance(rows, int) or 1e6 <= rows < 1e15 else f"{rows:,.6g}"


def format_cell(value: object, decimal: Callable[[float], str] = format_value) -> str:
    """Format a cell of a table of any kind; *decimal* formats numbers that are not whole.

    >>> [format_cell(value) for value in (None, True, 1234, 0.5, "de")]
    ['–', 'True', '1,234', '0.500', 'de']
    """
    if value is None or isinstance(value, float):
        return UNDEFINED if value is None else decimal(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def format_group(group: int | None) -> str:
    """Format a group of models as a letter: a may be the best, b may be the best without those, and so on.

    >>> [format_group(n) for n in (1, 2, 26, 27, None)]
    ['a', 'b', 'z', 'aa', '']
    """
    letters = ""
    while group:
        group, letter = divmod(group - 1, 26)
        letters = chr(ord("a") + letter) + letters
    return letters


def format_one_in(prevalence: float) -> str:
    """Format a prevalence as "1 in 5,000", with two digits.

    >>> format_one_in(0.000213), format_one_in(0.3)
    ('1 in 4,700', '1 in 3.3')
    """
    rows = float(f"{1 / prevalence:.2g}")
    return f"1 in {rows:,.0f}" if rows >= 10 else f"1 in {rows:g}"


def sentence(text: str) -> str:
    """Capitalise the first letter, for sentences, headings and titles of charts.

    >>> sentence("recall over prevalence")
    'Recall over prevalence'
    """
    return text[:1].upper() + text[1:]
