"""What the report draws, and of whom."""

import pytest

from nci_frames.questions.log_tables import MOST_MODELS
from nci_frames.questions.report import report_charts
from nci_frames.questions.shown import shown_models
from tests.comparisons import comparison


def test_the_models_shown_are_those_nearest_to_the_top() -> None:
    models = {f"m{i:02d}": (0.5, 0.3 - i / 100) for i in range(16)}
    tables = comparison(models, prevalence=[0.01, 0.1], beta=[1.0])
    assert shown_models(tables) == [f"m{i:02d}" for i in range(16 - MOST_MODELS, 16)]
    assert shown_models(tables, most=2) == ["m14", "m15"]


@pytest.mark.thorough
def test_every_chart_holds_at_most_5000_rows() -> None:
    models = {f"m{i:02d}": (0.9 - i / 50, 0.3 / 1.2**i) for i in range(16)}
    for name, chart in report_charts(comparison(models, segments=["DE", None])).items():
        assert 0 < sum(map(len, chart.to_dict(validate=False)["datasets"].values())) <= 5_000, name
