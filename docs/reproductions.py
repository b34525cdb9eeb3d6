"""Run examples/reproductions/, write reproductions.md with its pictures: `make reproductions`."""

import argparse
import ast
import importlib
import io
import time
from pathlib import Path

import vl_convert
from PIL import Image

from examples.reproductions.record import Number, Reproduction, table

PAGE = Path(__file__).with_name("reproductions.md")
PICTURES = PAGE.with_suffix("")

#: The examples, in the order of the page.
EXAMPLES = (
    "evaluation_fig1_p3",
    "evaluation_fig2_pr",
    "evaluation_fig3_f1",
    "evaluation_fig4_pr_auc",
    "evaluation_fig5_band",
    "evaluation_fig6_subsampling",
    "evaluation_section5_samples",
    "contingency_fig2_fig3_surfaces",
    "contingency_fig4_sensitivity",
    "f_beta_plot_fig1_points",
    "f_beta_plot_fig2_split",
    "f_beta_plot_fig3_fig4_folds",
    "f_beta_plot_fig5_isolines",
    "slides",
    "cost_table2",
    "cost_fig3_fig4_curves",
)

INTRODUCTION = """# Reproductions

The figures, tables and worked examples of five sources, computed again with `nci_frames`:

- **Evaluation paper**: Brabec et al. (2020), doi:10.1007/978-3-030-50423-6_6
- **Contingency paper**: Ahmadzadeh and Angryk (2022), doi:10.1109/ICIP46576.2022.9897445
- **F-beta plot**: Wojciechowski and Woźniak (2024), arXiv:2404.08709
- **Cost paper**: Landgrebe et al. (2004), doi:10.1007/978-3-540-27868-9_83
- **Slides**: A. Ghosh, Class imbalance problem (slides of a lecture)

Each is a program in `examples/reproductions/`, which the tests run. `make reproductions` runs them all and
writes this page and its pictures.

The column "source" has what the source prints or, as in "0.5 by (8)", what one of its formulas or a closed
form gives without the library. Two numbers agree if all printed decimals are equal. "agrees" is empty where
nothing can be compared: the source prints no number, or the data are different (other models, another
random draw).
"""


def reproduce(name: str, **size: bool) -> Reproduction:
    """Run one example."""
    return importlib.import_module(f"examples.reproductions.{name}").reproduce(**size)  # type: ignore[no-any-return]


def title(text: str) -> str:
    """Return the first line of an example's text, as a heading."""
    return text.strip().splitlines()[0].removesuffix(".")


def section(name: str, made: Reproduction) -> str:
    """Return the section of one example: its text, its numbers, its pictures."""
    text = made.text.strip().partition("\n\n")[2]
    program = f"[The program](../examples/reproductions/{name}.py). {made.source}"
    lines = [f"## {title(made.text)}", "", text, "", program, "", table(made.numbers)]
    for chart in made.charts:
        lines += ["", f"![{chart.replace('_', ' ')}](reproductions/{chart}.png)"]
    return "\n".join(lines) + "\n"


def row(made: Reproduction) -> str:
    """Return the row of one example in the table at the top."""
    compared = [number for number in made.numbers if number.agrees is not None]
    agree = sum(bool(number.agrees) for number in compared)
    differs = largest_difference(made.numbers).replace("|", "\\|")
    return f"| {title(made.text)} | {len(compared)} | {agree} | {differs} |"


def largest_difference(numbers: list[Number]) -> str:
    """Say what differs from the source: each number that does not agree, or the largest of other data."""
    wrong = [number for number in numbers if number.agrees is False]
    if wrong:
        return "; ".join(
            f"{n.quantity}: {n.source}, here {shown(n)}" + (f" ({n.note})" if n.note else "") for n in wrong
        )
    others = [number for number in numbers if number.about and number.difference is not None]
    if not others:
        return "none"
    most = max(others, key=lambda number: abs(number.difference or 0.0))
    return f"other data: {most.quantity}: {most.source}, here {shown(most)}"


def shown(number: Number) -> str:
    """Return what was found here, in few digits."""
    return number.here if isinstance(number.here, str) else f"{number.here:.4g}"


def page(parts: list[tuple[str, str]]) -> str:
    """Return the page of the row and the section of every example."""
    head = [
        "| figure or table | compared | agree | largest difference, or what differs |",
        "| --- | --- | --- | --- |",
    ]
    rows = [row for row, _ in parts]
    return "\n".join([INTRODUCTION, *head, *rows, "", *(section for _, section in parts)])


def written(text: str, name: str) -> tuple[str, str]:
    """Return the row and the section of an example that is not computed again."""
    source = (PAGE.parents[1] / "examples" / "reproductions" / f"{name}.py").read_text(encoding="utf-8")
    heading = title(ast.get_docstring(ast.parse(source)) or "")
    (found,) = [line for line in text.splitlines() if line.startswith(f"| {heading} |")]
    _, _, rest = text.partition(f"## {heading}\n")
    return found, f"## {heading}\n" + rest.split("\n## ")[0].rstrip("\n") + "\n"


def draw(made: Reproduction, folder: Path) -> None:
    """Write the charts of one example as small pictures."""
    folder.mkdir(exist_ok=True)
    for name, chart in made.charts.items():
        png = vl_convert.vegalite_to_png(chart.to_json(), scale=1)
        # A palette makes the file five times smaller, without a visible difference.
        picture = Image.open(io.BytesIO(png)).convert("RGB").quantize(255, dither=Image.Dither.NONE)
        picture.save(folder / f"{name}.png", optimize=True)


def main() -> None:
    """Run the named examples, or all, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="those to run; all if none is named")
    names = parser.parse_args().names or list(EXAMPLES)
    parts = {name: written(PAGE.read_text(encoding="utf-8"), name) for name in EXAMPLES if name not in names}
    for name in names:
        start = time.perf_counter()
        made = reproduce(name)
        parts[name] = (row(made), section(name, made))
        draw(made, PICTURES)
        print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
    PAGE.write_text(page([parts[name] for name in EXAMPLES]), encoding="utf-8")


if __name__ == "__main__":
    main()
