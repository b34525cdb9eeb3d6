"""A comparison -> the charts of its report, each under a name that can be that of a file."""

from collections.abc import Callable

import altair as alt

from nci_frames.errors import ParameterError
from nci_frames.evaluation.comparison import Comparison
from nci_frames.reporting import charts
from nci_frames.reporting.summary import main_beta, main_prevalence

__all__ = ["report_charts"]


def report_charts(comparison: Comparison, /) -> dict[str, alt.LayerChart]:
    """Draw the charts of a report; one that cannot be drawn, as with too many models, is left out."""
    projection, observed = comparison.projection, comparison.observed_prevalence
    beta, prevalence = main_beta(comparison), main_prevalence(comparison)
    wanted: dict[str, Callable[[], alt.LayerChart]] = {
        "p3": lambda: charts.chart_p3(projection, observed=observed),
        "f-prevalence": lambda: charts.chart_f_beta_over_prevalence(projection, beta=beta, observed=observed),
        "f-beta": lambda: charts.chart_f_beta_over_beta(projection, prevalence=prevalence, observed=observed),
        "pr-auc": lambda: charts.chart_pr_auc_over_prevalence(comparison.areas, observed=observed),
    }
    drawn = {name: _drawn(draw) for name, draw in wanted.items()}
    return {name: chart for name, chart in drawn.items() if chart is not None}


def _drawn(draw: Callable[[], alt.LayerChart]) -> alt.LayerChart | None:
    try:
        return draw()
    except ParameterError:
        return None
