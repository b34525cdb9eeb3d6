"""``report --classes``: every form says what Python says, and what is wrong ends with its exit code."""

from pathlib import Path

import jsonschema
import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from tests.browsing import DESKTOP, PHONE, Visit, settled
from tests.comparisons import HOSTILE
from tests.small_jobs import ended, read_json

SCHEMA = read_json(Path(__file__).parents[2] / "docs/class-report.schema.json")
FIELD = {1: 0.1, 2: 0.2, 3: 0.7}


def log(models=("a", "b")):
    """Models that decide among three classes, or abstain, about the same units."""
    rng = np.random.default_rng(3)
    label = rng.integers(1, 4, 300)
    found = {"unit": np.arange(300) % 100, "label": label}
    for place, model in enumerate(models):
        right = rng.random(300) < np.where(label == place + 1, 0.95, 0.55)
        found[model] = np.where(right, label, rng.integers(0, 4, 300))
    return pl.DataFrame(found)


def counts(models=("a", "b")):
    scan = nf.scan_classes(log(models), decision={name: name for name in models}, unit="unit")
    return nf.count_classes(nf.unit_buckets(scan), by="bucket")


def report(folder, *arguments):
    log().write_parquet(folder / "log.parquet")
    return ended(0, "report", folder / "log.parquet", "-o", folder / "out", *arguments)


OF_MODELS = ("--classes", "--decision", "a=a", "--decision", "b")


def test_priors_and_costs_of_dates_and_of_booleans_are_read(tmp_path):
    for labels, more in ((["true", "false"], pl.Boolean()), (["2024-01-02", "2023-05-06"], pl.Date())):
        label = pl.Series(labels * 20)
        label = label == "true" if more == pl.Boolean else label.str.strptime(more)
        pl.DataFrame({"label": label, "a": label}).write_parquet(tmp_path / "log.parquet")
        mix, costs = f"{labels[0]}=0.2,{labels[1]}=0.8", f"{labels[0]}:{labels[1]}=3"
        asked = ("--classes", "--decision", "a=a", "--priors", mix, "--class-cost", costs, "--format", "json")
        ended(0, "report", tmp_path / "log.parquet", "-o", tmp_path / "out", *asked)
        found = read_json(tmp_path / "out/report.json")
        assert sorted(found["mixes"]["given"]) == [0.2, 0.8]


@pytest.mark.long
def test_the_command_writes_what_python_says(tmp_path):
    done = report(tmp_path, *OF_MODELS, "--unit", "unit", "--priors", "1=0.1,2=20%,3=0.7", "--beta", "2",
                  "--format", "html,md,json,txt", "--tables", "csv", "--charts", "svg")  # fmt: skip
    known = nf.compare_classes(counts(), priors=FIELD, beta=2)
    best = known.answer["model"][0]
    assert f"Choose {best}" in done.output
    summary = read_json(tmp_path / "out/report.json")
    assert [row["value"] for row in summary["answer"]] == pytest.approx(known.answer["value"].to_list())
    jsonschema.Draft202012Validator(SCHEMA).validate(summary)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**summary, "more": 1}, SCHEMA)
    assert summary["classes"] == [1, 2, 3]
    assert summary["tables"]["winners"] == known.winners.to_dicts()
    for kind in ("md", "txt", "html"):
        text = (tmp_path / "out" / f"report.{kind}").read_text().replace("\\", "")
        assert "At the mix given (3: 70 %, 2: 20 %, 1: 10 %), by macro F2" in text.replace("&#58;", ":")
        assert f"{known.answer['value'][0]:.3f}" in text
    winners = pl.read_csv(tmp_path / "out" / "tables" / "winners.csv")
    assert winners["model"].to_list() == known.winners["model"].to_list()
    assert {path.name for path in (tmp_path / "out" / "charts").iterdir()} == {
        "intervals.svg", "matrix.svg", "share.svg", "simplex.svg", "winners.svg",
    }  # fmt: skip


@pytest.mark.thorough
def test_a_file_has_several_mixes_and_costs_have_classes_of_the_labels(tmp_path):
    mixes = [("day", one, share) for one, share in FIELD.items()] + [("night", one, 1 / 3) for one in FIELD]
    pl.DataFrame(mixes, schema=["scenario", "class", "prior"], orient="row").write_csv(tmp_path / "mix.csv")
    report(tmp_path, *OF_MODELS, "--priors", tmp_path / "mix.csv", "--class-cost", "1:2=5,3:0=1",
           "--format", "json", "--tables", "md")  # fmt: skip
    summary = read_json(tmp_path / "out/report.json")
    assert summary["question"]["scenario"] == "day"
    assert list(summary["mixes"]) == ["day", "night", "observed", "uniform"]
    known = nf.compare_classes(counts(), priors=FIELD, cost={(1, 2): 5, (3, 0): 1}).answer
    assert [row["value"] for row in summary["answer"]] == pytest.approx(known["value"].to_list())


@pytest.mark.thorough
def test_score_columns_decide_and_dropped_rows_are_told(tmp_path):
    says = {f"p{name}": (pl.col("a") == name).cast(pl.Float64) for name in FIELD}
    scored = log().select(label=pl.when(pl.int_range(pl.len()) > 0).then("label"), model=pl.lit("a"), **says)
    scored.write_parquet(tmp_path / "scored.parquet")
    names = [word for name in FIELD for word in ("--scores", f"{name}=p{name}")]
    done = ended(0, "report", tmp_path / "scored.parquet", "--classes", *names, "--on-invalid", "drop",
                 "--format", "json", "-o", tmp_path / "out", "--metric", "accuracy")  # fmt: skip
    summary = read_json(tmp_path / "out/report.json")
    chosen = pl.when(pl.col("p2") == 1).then(2).when(pl.col("p3") == 1).then(3).otherwise(1)
    right = scored.drop_nulls().select(chosen == pl.col("label")).to_series()
    assert summary["answer"][0]["value"] == pytest.approx(right.mean())
    assert "warning: rows dropped" in done.output
    (warning,) = [fact["value"] for fact in summary["facts"] if fact["label"] == "warning"]
    assert warning.endswith("1 (label is null)")


@pytest.mark.browser
@pytest.mark.long
def test_the_page_says_at_every_share_what_python_says(browser, tmp_path):
    known = nf.compare_classes(counts(("a", "b", HOSTILE[1])), priors=FIELD)
    path = nf.write_report(known, tmp_path / "report.html")
    with Visit(browser, path) as visit:
        page = visit.page
        for number, name in enumerate(("1", "2", "3")):
            page.select_option("#asked-slider", index=number)
            settled(page)
            assert page.locator("#live-answer").inner_text().startswith("At the mix given (3: 70 %")
            assert page.locator("#prevalence-words").inner_text().endswith(" %, the mix asked")
            for share in (0, 0.3, 0.9):
                page.fill("#prevalence-number", str(share))
                page.keyboard.press("Enter")
                settled(page)
                rows = known.curves.filter(pl.col("class") == name, pl.col("share") == share)
                text = page.locator("#live-answer").inner_text()
                assert text.startswith(f"Where class {name} has {100 * share:g} %, the others in proportion")
                cells = page.locator("#table-live tbody tr").evaluate_all(
                    "rows => rows.map(row => [row.cells[0].textContent, row.cells[2].textContent])"
                )
                assert cells == [[row["model"], f"{row['value']:.3f}"] for row in rows.iter_rows(named=True)]
        drawn = page.evaluate(
            "nci.chartOf(document.querySelector('[data-rule=share]')).view.data('live').map(row => row.share)"
        )
        assert drawn == [0.9]
        for viewport in (DESKTOP, PHONE):
            page.set_viewport_size(viewport)
            assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        visit.check_silence()


def test_sums_of_many_weights_are_not_called_rows_or_predictions(tmp_path):
    many = pl.concat([log()] * 4)
    weight = pl.Series("weight", np.random.default_rng(0).uniform(1, 9, len(many)))
    many.with_columns(weight).write_parquet(tmp_path / "log.parquet")
    asked = (*OF_MODELS, "--weight", "weight", "--format", "md")
    done = ended(0, "report", tmp_path / "log.parquet", "-o", tmp_path / "out", *asked)
    assert f"a weight of {2 * weight.sum():,.6g} counted" in done.stdout
    text = (tmp_path / "out/report.md").read_text(encoding="utf-8")
    assert "| model | class | decision | weight |" in text
    assert "| class | model | weight |" in text
    assert "| weight counted |" in text
