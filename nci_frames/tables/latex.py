"""Text of tables -> LaTeX that any engine compiles with the packages booktabs and caption."""

import re

#: Characters that pdfLaTeX lacks.
_SIGNS = str.maketrans(
    {
        "\N{GREEK SMALL LETTER ETA}": r"\ensuremath{\eta}",
        "\N{GREEK SMALL LETTER BETA}": r"\ensuremath{\beta}",
        "\N{MULTIPLICATION SIGN}": r"\ensuremath{\times}",
        "\N{MINUS SIGN}": r"\ensuremath{-}",
        "\N{EN DASH}": "--",
        "\N{INFINITY}": r"\ensuremath{\infty}",
    }
)
_POWER = re.compile("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def latex_signs(text: str) -> str:
    r"""Replace the special characters of formatted numbers by LaTeX; existing LaTeX is unchanged.

    >>> latex_signs("6.42 × 10⁻⁵ at η")
    '6.42 \\ensuremath{\\times} 10\\ensuremath{^{-5}} at \\ensuremath{\\eta}'
    """
    raised = _POWER.sub(lambda power: rf"\ensuremath{{^{{{power[0].translate(_DIGITS)}}}}}", text)
    return raised.translate(_SIGNS)
