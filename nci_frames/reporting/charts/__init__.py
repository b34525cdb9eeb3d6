"""Frames -> charts; each function draws one picture and returns an Altair chart as a value.

A chart selects rows and draws them. Names of models are data: they occur in the rows and in the domain
of the colour scale, both of which Vega takes literally, and in no title, field name or expression.
"""

from nci_frames.reporting.charts.bands import chart_precision_uncertainty
from nci_frames.reporting.charts.costs import chart_cost
from nci_frames.reporting.charts.curves import (
    chart_f_beta_over_beta,
    chart_f_beta_over_prevalence,
    chart_p3,
    chart_pr_auc_over_prevalence,
)
from nci_frames.reporting.charts.f_beta_plot import chart_f_beta_plot
from nci_frames.reporting.charts.pos_fraction import chart_pos_fraction
from nci_frames.reporting.charts.roc_pr import chart_pr, chart_roc
from nci_frames.reporting.charts.selection import MAX_ROWS, check_rows, finite
from nci_frames.reporting.charts.subsamples import chart_subsamples
from nci_frames.reporting.charts.tpr_ppv import chart_tpr_ppv

__all__ = [
    "MAX_ROWS",
    "chart_cost",
    "chart_f_beta_over_beta",
    "chart_f_beta_over_prevalence",
    "chart_f_beta_plot",
    "chart_p3",
    "chart_pos_fraction",
    "chart_pr",
    "chart_pr_auc_over_prevalence",
    "chart_precision_uncertainty",
    "chart_roc",
    "chart_subsamples",
    "chart_tpr_ppv",
    "check_rows",
    "finite",
]
