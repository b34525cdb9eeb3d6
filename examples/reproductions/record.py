"""What a reproduction returns: numbers beside those of the source, and charts."""

import argparse
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import nci_frames as nf

EVALUATION = "Brabec et al. (2020), doi:10.1007/978-3-030-50423-6_6"
CONTINGENCY = (
    "Ahmadzadeh and Angryk (2022), Measuring class-imbalance sensitivity of deterministic performance "
    "evaluation metrics, ICIP, doi:10.1109/ICIP46576.2022.9897445, arXiv:2206.09981"
)
F_BETA_PLOT = "Wojciechowski and Woźniak (2024), arXiv:2404.08709"
SLIDES = "A. Ghosh, Class imbalance problem (slides of a lecture, no DOI)"
COST = "Landgrebe et al. (2004), doi:10.1007/978-3-540-27868-9_83"


class Number(NamedTuple):
    """A number or a statement of the source, and what was found here.

    ``source`` is as printed; or, as in "0.5 by (8)", a formula of the source or a closed form, computed
    without the library. It is empty where the source draws a curve but prints no number. ``about`` says that
    the two are not the same experiment (other data, another seed), so that they need not agree.
    """

    quantity: str
    source: str
    here: float | str
    note: str = ""
    about: bool = False

    @property
    def printed(self) -> tuple[float, float] | None:
        """Return the number that the source prints, and half a unit of its last decimal; 0 if it is whole."""
        found = re.search(r"([-+]?\d+)(?:\.(\d+))?(?:e([-+]?\d+))?", self.source)
        if isinstance(self.here, str) or found is None:
            return None
        _, decimals, exponent = found.groups()
        if not decimals:
            return float(found[0]), 0.0
        return float(found[0]), 0.5 * 10.0 ** (int(exponent or 0) - len(decimals))

    @property
    def difference(self) -> float | None:
        """Return what was found here less what the source prints."""
        return None if self.printed is None else float(self.here) - self.printed[0]

    @property
    def agrees(self) -> bool | None:
        """Return whether both are equal, to the decimals printed; None if they cannot be compared."""
        if not self.source or self.about:
            return None
        if self.printed is None:
            return self.source == self.here
        value, rounding = self.printed
        return abs(float(self.here) - value) <= rounding + 1e-12 * abs(value)


class Reproduction(NamedTuple):
    """One figure or table, computed again."""

    text: str
    source: str
    numbers: list[Number]
    charts: dict[str, Any]

    def number(self, quantity: str) -> float:
        """Return a number by its name."""
        (found,) = (number.here for number in self.numbers if number.quantity == quantity)
        return float(found)


def cells(number: Number) -> tuple[str, ...]:
    """Return the cells of a number's row."""
    here = number.here if isinstance(number.here, str) else f"{number.here:.6g}"
    agrees = {True: "yes", False: "**no**", None: ""}[number.agrees]
    return (number.quantity, number.source or "-", here, agrees, number.note)


def table(numbers: list[Number]) -> str:
    """Return a table in Markdown; without the column of notes if there is none."""
    width = 5 if any(number.note for number in numbers) else 4
    head = ("quantity", "source", "here", "agrees", "note")
    rows = [row[:width] for row in (head, ("---",) * 5, *map(cells, numbers))]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)


def save_charts(reproduction: Reproduction, folder: Path, scale: float = 2.0) -> list[Path]:
    """Write every chart as PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        nf.save_chart(chart, folder / f"{name}.png", scale=scale)
        for name, chart in reproduction.charts.items()
    ]


def show(reproduction: Reproduction) -> None:
    """Print a reproduction, and write its charts into the folder that the command line names."""
    parser = argparse.ArgumentParser(description=reproduction.text.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="for the charts; a temporary one if not given")
    folder = parser.parse_args().folder or Path(tempfile.mkdtemp(prefix="reproduction-"))
    print(reproduction.text.strip(), "", reproduction.source, "", table(reproduction.numbers), sep="\n")
    for path in save_charts(reproduction, folder):
        print(path)
