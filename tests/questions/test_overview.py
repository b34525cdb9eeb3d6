"""What a notebook shows of a comparison, read as a parser reads it."""

from html.parser import HTMLParser

import pytest

from nci_frames.questions.notebook_view import overview_html
from tests.comparisons import comparison
from tests.hostile import NAMES


class Cells(HTMLParser):
    """The tags of a text, and the text of its cells by row."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "tr" in self.open:
            self.rows[-1][-1] += data


@pytest.mark.thorough
def test_the_answer_and_the_ranks() -> None:
    tables = comparison()
    source = tables._repr_html_()
    rows = Cells(source).rows
    assert rows[0] == ["prevalence", "best", "PR-AUC", "ahead of", "by"]
    assert rows[1] == ["0.0001", "forest", "0.01012", "boosted trees", "0.004532"]
    assert rows[6] == ["0.5012", "boosted trees", "0.8984", "logistic", "0.004323"]
    assert rows[7] == ["model", "0.0001", "0.0005012", "0.003162", "0.01585", "0.1", "0.5012"]
    assert [row[0] for row in rows[8:]] == ["forest", "boosted trees", "logistic"]
    assert rows[8][1] == "0.01012 (1)"
    assert "Models: 3; prevalences: 38; rank 1 is best; observed prevalence 0.02." in source
    table = tables.areas.filter(metric="pr_auc")
    first = table.filter(prevalence=0.0001).sort("rank")
    assert [f"{value:.4g} ({rank})" for value, rank in first.select("value", "rank").iter_rows()] == [
        row[1] for row in rows[8:]
    ]


@pytest.mark.thorough
def test_names_are_text() -> None:
    models = {name: (0.5, 0.01 * (i + 1)) for i, name in enumerate(NAMES[:20])}
    cells = Cells(comparison(models, prevalence=[0.1], beta=[1.0])._repr_html_())
    assert cells.tags == {"div", "p", "table", "caption", "thead", "tbody", "tr", "th", "td", "b"}
    shown = [row[0] for row in cells.rows[3:]]
    assert sorted(shown) == sorted(models)


@pytest.mark.thorough
@pytest.mark.parametrize(("models", "more"), [(20, False), (21, True)])
def test_many_models_are_cut_off_and_told(models: int, more: bool) -> None:
    tables = comparison(
        {f"{i:02}": (0.5, 0.01 * (i + 1)) for i in range(models)}, prevalence=[0.1], beta=[1.0]
    )
    source = tables._repr_html_()
    assert len(Cells(source).rows) == 3 + 20
    assert ("Models not shown: 1." in source) == more


@pytest.mark.thorough
def test_ties_and_the_undefined() -> None:
    tied = comparison({**dict.fromkeys("abcd", (0.5, 0.1)), "z": (None, 0.1)}, prevalence=[0.1], beta=[1.0])
    rows = Cells(tied._repr_html_()).rows
    assert rows[1][1] == "a, b, c and 1 more"
    assert rows[1][3:] == ["", "\N{EN DASH}"]
    assert rows[-1] == ["z", "\N{EN DASH}"]
    nothing = Cells(overview_html(tied.areas.clear(), observed=None))
    assert nothing.rows == [["prevalence", "best", "PR-AUC", "ahead of", "by"], ["model"]]
