"""Operating points between recall and precision or share of positives, and what they cost."""

import math

import polars as pl
import pytest

import nci_frames as nf
from nci_frames.errors import ParameterError
from tests.chart_specs import layer, rows_of, without_data
from tests.comparisons import HOSTILE

ETA = 0.01


def rates_of(models=("a", "b")):
    rows = [
        {"model": m, "threshold": t, "tp": 100 - 10 * i + k, "fp": round(400 / 4**i) + 5 * k}
        for k, m in enumerate(models)
        for i, t in enumerate((0.1, 0.3, 0.5, 0.7))
    ]
    frame = pl.DataFrame(rows)
    return nf.compute_rates(frame.with_columns(fn=110 - pl.col("tp"), tn=1000 - pl.col("fp")))


def projection_of(rates, metrics=("precision", "recall"), prevalence=(ETA,)):
    return nf.project_rates(rates, metrics=list(metrics), prevalence=list(prevalence))


def no_hostile_name(spec):
    rest = repr(without_data(spec))
    return not [n for n in HOSTILE if n in rest or repr(n)[1:-1] in rest]


def draw_tpr_ppv(rates):
    return nf.chart_tpr_ppv(projection_of(rates), nf.decision_map(rates), prevalence=ETA)


def test_every_point_is_shown_and_the_winners_are_ringed():
    rates = rates_of()
    spec = draw_tpr_ppv(rates).to_dict()
    assert len(rows_of(spec, "points")) == rates.height
    ringed = {(row["model"], row["threshold"]) for row in rows_of(spec, "winners")}
    assert ringed == set(nf.decision_map(rates).select("model", "threshold").rows())
    assert f"({len(ringed)} of {rates.height} points)" in spec["title"]["subtitle"]
    assert layer(spec, "winners")["mark"]["size"] > layer(spec, "points")["mark"]["size"]


def test_points_are_where_their_rates_put_them():
    rates = rates_of()
    row = rows_of(draw_tpr_ppv(rates).to_dict(), "points")[0]
    tpr, fpr = rates.filter(model=row["model"], threshold=row["threshold"]).select("tpr", "fpr").row(0)
    assert row["recall"] == tpr
    assert row["precision"] == pytest.approx(ETA * tpr / (ETA * tpr + (1 - ETA) * fpr), rel=1e-12)


def test_hostile_names_of_points_occur_only_as_data():
    spec = draw_tpr_ppv(rates_of(HOSTILE)).to_dict()
    assert {row["model"] for row in rows_of(spec, "points")} == set(HOSTILE)
    assert no_hostile_name(spec)


def test_infinite_thresholds_leave_valid_json():
    rates = rates_of().with_columns(
        threshold=pl.when(pl.col("threshold") == 0.1).then(-math.inf).otherwise("threshold")
    )
    assert "Infinity" not in draw_tpr_ppv(rates).to_json()


def test_winners_of_other_rates_are_refused():
    rates = rates_of()
    with pytest.raises(ParameterError, match=r"not among the points\n.*'c' at 0\."):
        nf.chart_tpr_ppv(projection_of(rates), nf.decision_map(rates_of(["c"])), prevalence=ETA)
    with pytest.raises(ParameterError, match=r"no rows at prevalence 0\.5"):
        nf.chart_tpr_ppv(projection_of(rates), nf.decision_map(rates), prevalence=0.5)
