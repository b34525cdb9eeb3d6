"""What the slider of the page does to the question on probabilities: it says what Python says."""

import polars as pl
import pytest

import nci_frames as nf
from nci_frames.questions.report import answered
from tests.browsing import Visit, move
from tests.evaluation.probabilities import logs

pytestmark = pytest.mark.browser

_DRAWN = """name => {
  const chart = nci.chartOf(document.querySelector(`[data-spec='spec-${name}']`));
  return [...chart.sets.keys()].map(name => chart.view.data(name).map(row => ({...row})))
    .find(rows => rows.length && rows[0].model !== undefined);
}"""


@pytest.mark.long
def test_sentences_and_charts_follow_the_slider(browser, tmp_path):
    counts = logs.exact(logs.probability_log(300))
    asked = nf.Question(prevalence=0.01)
    comparison = nf.compare_models(counts, prevalence=[0.001, 0.01, 0.4], question=asked)
    (question,) = (each.question for each in answered(comparison) if each.question.name == "probabilities")
    with Visit(browser, nf.write_report(comparison, tmp_path / "report.html")) as visit:
        visit.page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        for place in (100, 500, 950):
            eta = move(visit.page, eta=place)
            said = visit.page.locator("[data-said=probabilities] p").all_inner_texts()
            assert said == question.say_at(comparison, [eta])[0]
            for name, table, columns in (
                ("decision_curve", nf.decision_curve, ["threshold_probability", "net_benefit", "treat_all"]),
                ("calibration", nf.calibration_curve, ["score_lower", "predicted", "observed", "share"]),
            ):
                rows = pl.DataFrame(visit.page.evaluate(_DRAWN, name), infer_schema_length=None)
                found = rows.filter(model="a").sort(columns[0])
                options = (
                    {"threshold_probabilities": found[columns[0]].to_list()} if len(columns) == 3 else {}
                )
                expected = table(counts.filter(model="a"), prevalence=eta, **options).sort(columns[0])
                for column in columns:
                    assert found[column].to_list() == pytest.approx(expected[column].to_list(), abs=1e-5)
        visit.check_silence()
