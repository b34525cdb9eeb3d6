"""The figures and tables of the sources, computed again: what agrees, and why some numbers do not."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.reproductions import EXAMPLES, PAGE, PICTURES, page, reproduce, row, section, written
from examples.reproductions import evaluation_fig6_subsampling
from examples.reproductions.record import Number, Reproduction, table
from nci_frames.demo import real

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "reproductions"
#: Deterministic: the page has exactly what they return. Fig. 4 of the contingency paper is of many integrals.
LONG = "contingency_fig4_sensitivity"
EXACT = (
    "evaluation_fig1_p3",
    "evaluation_fig3_f1",
    "evaluation_fig5_band",
    "f_beta_plot_fig1_points",
    "f_beta_plot_fig5_isolines",
    "contingency_fig2_fig3_surfaces",
    LONG,
    "evaluation_fig2_pr",
    "evaluation_fig4_pr_auc",
    "evaluation_section5_samples",
    "slides",
)
#: They train models: small versions are tested.
TRAINED = ("f_beta_plot_fig3_fig4_folds", "cost_table2", "cost_fig3_fig4_curves")
#: They train models quickly, or many that they do not draw.
WHOLE = ("f_beta_plot_fig2_split", "evaluation_fig6_subsampling")

#: What does not agree, and must not: errors of the sources.
WRONG_IN_THE_SOURCE = {
    "contingency_fig4_sensitivity": ["precision: growth over a decade of ratios, over that of the next"],
    "cost_table2": [
        "text on LDC, Highleyman: POSfrac at 0.5, %",
        "text on LDC, Highleyman: purity at 0.5, %",
    ],
    "slides": ["worst: f_beta", "ultra-liberal: accuracy", "ultra-conservative: f_beta"],
}


def check(name: str, made: Reproduction) -> None:
    """Assert that all numbers agree but those that are wrong in the source, each of which says why."""
    wrong = [number for number in made.numbers if number.agrees is False]
    assert [number.quantity for number in wrong] == WRONG_IN_THE_SOURCE.get(name, [])
    assert all(number.note for number in wrong)
    assert sum(number.agrees is True for number in made.numbers) >= 2
    quantities = [number.quantity for number in made.numbers]
    assert len(set(quantities)) == len(quantities)
    assert made.text.splitlines()[0].endswith(".")
    assert "Source: " in made.text
    assert "Here: " in made.text
    assert made.charts
    assert all("$schema" in chart.to_dict() for chart in made.charts.values())


def check_page(name: str, made: Reproduction) -> None:
    """Assert also that the page has these numbers."""
    check(name, made)
    assert written(PAGE.read_text(encoding="utf-8"), name) == (row(made), section(name, made)), (
        f"run `python -m docs.reproductions {name}`"
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == LONG)) for name in EXACT]
)
def test_the_numbers_are_those_of_the_source_and_of_the_page(name):
    check_page(name, reproduce(name))


@pytest.mark.long
@pytest.mark.parametrize("name", [*TRAINED, "f_beta_plot_fig2_split"])
def test_a_small_version_with_trained_models(name):
    check(name, reproduce(name, **({"small": True} if name in TRAINED else {})))


@pytest.mark.thorough
def test_sub_sampling_real_logs(monkeypatch):
    classifiers = real._classifiers
    drawn = evaluation_fig6_subsampling.MODELS
    monkeypatch.setattr(real, "_classifiers", lambda seed: {name: classifiers(seed)[name] for name in drawn})
    made = evaluation_fig6_subsampling.reproduce()
    check("evaluation_fig6_subsampling", made)
    # Few positives: the range is several times that of few negatives.
    at_01, at_50 = (made.number(f"range of precision at {eta}, largest") for eta in (0.01, 0.5))
    assert at_01 > 2 * at_50
    assert made.number("interquartile range at 0.01, largest") > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TRAINED, *WHOLE])
def test_the_whole_versions(name):
    check_page(name, reproduce(name))


@pytest.mark.slow
def test_table_2_differs_by_chance_only():
    made = reproduce("cost_table2")
    assert made.number("largest difference of LDC, QDC, PARZEN, in deviations") < 2
    assert made.number("largest difference of MOGC, in deviations") < 3
    # The table's deviations are those of a mean of 30 folds.
    assert 0.8 < made.number("deviations of the table over ours of the mean, median") < 1.5
    assert made.number("deviations of the table over ours of a fold, median") < 0.3


def test_every_example_is_on_the_page_and_is_tested_with_its_pictures():
    sources = {path.stem: path.read_text() for path in FOLDER.glob("*.py")}
    modules = {name for name, source in sources.items() if "def reproduce(" in source}
    assert modules == set(EXAMPLES) == {*EXACT, *TRAINED, *WHOLE}
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in EXAMPLES if f"examples/reproductions/{name}.py" not in text] == []
    shown = re.findall(r"^!\[.*/(.+)\.png\)$", text, re.MULTILINE)
    assert set(shown) == {path.stem for path in PICTURES.glob("*.png")}
    assert all(path.stat().st_size < 40_000 for path in PICTURES.glob("*.png"))


def test_examples_use_only_the_public_interface():
    for path in FOLDER.glob("*.py"):
        imports = re.findall(r"^(?:import|from) nci_frames.*", path.read_text(), re.MULTILINE)
        assert set(imports) <= {"import nci_frames as nf"} | {i for i in imports if ".demo import " in i}, (
            path
        )


def test_agreement_is_judged_by_the_decimals_that_are_printed():
    agree = [("0.83", 5 / 6), ("1.45e-3", 0.00144855), ("46.08 ± 0.51", 46.084), ("rises", "rises")]
    differ = [
        ("0.83", 0.8351),
        ("1.45e-3", 0.001456),
        ("0", 0.25),
        ("rises", "falls"),
        ("not applicable", 0.0),
    ]
    assert [Number("", told, here).agrees for told, here in (*agree, *differ)] == [True] * 4 + [False] * 5
    about = Number("", "46.08 ± 0.51", 45.0, about=True)
    assert about.agrees is Number("", "", 0.3).agrees is None
    assert about.difference == pytest.approx(-1.08)


def test_the_page_says_what_differs():
    numbers = [Number("a", "0.5", 0.5), Number("b|c", "0.5", 0.75, "a slip"), Number("d", "1", 3, about=True)]
    made = Reproduction("Title.\n\nSource: x\n\nHere: y\n", "A (2020)", numbers, {})
    assert row(made) == "| Title | 2 | 1 | b\\|c: 0.5, here 0.75 (a slip) |"
    assert "| b\\|c | 0.5 | 0.75 | **no** | a slip |" in table(numbers)
    assert "| a | 0.5 | 0.5 | yes |" in table(numbers[:1]).splitlines()
    other = made._replace(numbers=numbers[::2])
    assert row(other) == "| Title | 1 | 1 | other data: d: 1, here 3 |"
    assert row(made._replace(numbers=numbers[:1])) == "| Title | 1 | 1 | none |"


def test_a_page_is_written_again_from_its_parts():
    text = PAGE.read_text(encoding="utf-8")
    assert page([written(text, name) for name in EXAMPLES]) == text


@pytest.mark.long
def test_an_example_runs_alone(tmp_path):
    command = [sys.executable, "-m", "examples.reproductions.evaluation_fig1_p3", str(tmp_path / "charts")]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout
    assert "Source: " in printed
    assert "| precision at prevalence 0.001 | 0.3752 by (8) |" in printed
    (picture,) = (tmp_path / "charts").iterdir()
    assert picture.read_bytes().startswith(b"\x89PNG")
