"""Frames -> charts: each function draws one chart and returns it as an Altair object.

Charts only select rows and draw them. Model names are data: they occur only in the rows and in the domain of
the colour scale, which Vega takes literally, never in a title, a field name or an expression.
"""

from nci_frames.charts.best_model import chart_probability_best as chart_probability_best
from nci_frames.charts.contingency import chart_contingency_space as chart_contingency_space
from nci_frames.charts.contingency import chart_imbalance_sensitivity as chart_imbalance_sensitivity
from nci_frames.charts.contingency import chart_metric_surface as chart_metric_surface
from nci_frames.charts.curves import chart_cost as chart_cost
from nci_frames.charts.curves import chart_f_beta_over_beta as chart_f_beta_over_beta
from nci_frames.charts.curves import chart_f_beta_over_prevalence as chart_f_beta_over_prevalence
from nci_frames.charts.curves import chart_p3 as chart_p3
from nci_frames.charts.curves import chart_pr_auc_over_prevalence as chart_pr_auc_over_prevalence
from nci_frames.charts.f_beta_plot import chart_f_beta_plot as chart_f_beta_plot
from nci_frames.charts.intervals import chart_intervals as chart_intervals
from nci_frames.charts.intervals import chart_precision_uncertainty as chart_precision_uncertainty
from nci_frames.charts.intervals import chart_subsamples as chart_subsamples
from nci_frames.charts.operating_points import chart_pos_fraction as chart_pos_fraction
from nci_frames.charts.operating_points import chart_pr as chart_pr
from nci_frames.charts.operating_points import chart_roc as chart_roc
from nci_frames.charts.operating_points import chart_tpr_ppv as chart_tpr_ppv
from nci_frames.charts.parts.selection import MAX_ROWS as MAX_ROWS
from nci_frames.charts.segments import chart_decomposition as chart_decomposition
from nci_frames.charts.segments import chart_segments as chart_segments
from nci_frames.charts.winners import chart_decision_map as chart_decision_map
from nci_frames.charts.winners import chart_rank_over_prevalence as chart_rank_over_prevalence
from nci_frames.charts.winners import chart_winner_ranges as chart_winner_ranges
