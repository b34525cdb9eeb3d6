# counting.logs
from .counting.logs.scan import scan_predictions as scan_predictions
from .counting.logs.scan_classes import scan_classes as scan_classes
from .counting.logs.units import unit_buckets as unit_buckets

# counting.thresholds
from .counting.thresholds.grids import auto_thresholds as auto_thresholds
from .counting.thresholds.grids import logit_thresholds as logit_thresholds
from .counting.thresholds.grids import uniform_thresholds as uniform_thresholds

# counting
from .counting.count import count_confusion as count_confusion
from .counting.count import count_scores as count_scores
from .counting.count_classes import count_classes as count_classes
from .counting.drawing.draw_labels import draw_labels as draw_labels
from .counting.exact_file import sink_exact_counts as sink_exact_counts
from .counting.pairs import compare_auc as compare_auc
from .counting.pairs import count_pairs as count_pairs
from .counting.sql import counting_sql as counting_sql

# counts
from .counts.class_counts import counts_at_mix as counts_at_mix
from .counts.class_counts import merge_class_counts as merge_class_counts
from .counts.pooling import merge_counts as merge_counts
from .counts.pooling import pool_counts as pool_counts
from .counts.read import read_counts as read_counts

# evaluation.metrics
from .evaluation.metrics.agreement import accuracy as accuracy
from .evaluation.metrics.agreement import doolittle as doolittle
from .evaluation.metrics.agreement import error_rate as error_rate
from .evaluation.metrics.agreement import fowlkes_mallows as fowlkes_mallows
from .evaluation.metrics.agreement import gilbert as gilbert
from .evaluation.metrics.agreement import hss as hss
from .evaluation.metrics.agreement import jaccard as jaccard
from .evaluation.metrics.agreement import markedness as markedness
from .evaluation.metrics.agreement import mcc as mcc
from .evaluation.metrics.cost import expected_cost as expected_cost
from .evaluation.metrics.cost import net_benefit as net_benefit
from .evaluation.metrics.cost import normalised_cost as normalised_cost
from .evaluation.metrics.cost import relative_cost as relative_cost
from .evaluation.metrics.predictive import calibrated_precision as calibrated_precision
from .evaluation.metrics.predictive import f_beta as f_beta
from .evaluation.metrics.predictive import npv as npv
from .evaluation.metrics.predictive import pos_fraction as pos_fraction
from .evaluation.metrics.predictive import precision as precision
from .evaluation.metrics.predictive import precision_gain as precision_gain
from .evaluation.metrics.predictive import recall_gain as recall_gain
from .evaluation.metrics.rates import balanced_accuracy as balanced_accuracy
from .evaluation.metrics.rates import diagnostic_odds_ratio as diagnostic_odds_ratio
from .evaluation.metrics.rates import fnr as fnr
from .evaluation.metrics.rates import fpr as fpr
from .evaluation.metrics.rates import g_mean as g_mean
from .evaluation.metrics.rates import index_of_balanced_accuracy as index_of_balanced_accuracy
from .evaluation.metrics.rates import lr_minus as lr_minus
from .evaluation.metrics.rates import lr_plus as lr_plus
from .evaluation.metrics.rates import recall as recall
from .evaluation.metrics.rates import specificity as specificity
from .evaluation.metrics.rates import youden_j as youden_j
from .evaluation.metrics.registry import metrics as metrics
from .evaluation.metrics.registry import register_metric as register_metric

# evaluation.rates
from .evaluation.rates.intervals import accuracy_interval as accuracy_interval
from .evaluation.rates.partial_labels import correct_partial_labels as correct_partial_labels
from .evaluation.rates.rates import compute_rates as compute_rates

# evaluation.support

# evaluation.projection
from .evaluation.projection.averaging import average_over as average_over
from .evaluation.projection.bands import max_precision_uncertainty as max_precision_uncertainty
from .evaluation.projection.bands import precision_band as precision_band
from .evaluation.projection.decomposition import decompose_difference as decompose_difference
from .evaluation.projection.operating_points import select_operating_points as select_operating_points
from .evaluation.projection.predictive_values import predictive_value_interval as predictive_value_interval
from .evaluation.projection.projection import project_rates as project_rates
from .evaluation.projection.ranking import rank_models as rank_models
from .evaluation.projection.roll_up import roll_up as roll_up

# evaluation.areas
from .evaluation.areas.areas import compute_areas as compute_areas
from .evaluation.areas.lowest import lowest_supported_prevalence as lowest_supported_prevalence

# evaluation.crossovers
from .evaluation.crossovers.crossovers import find_crossovers as find_crossovers
from .evaluation.crossovers.winners import decision_map as decision_map
from .evaluation.crossovers.winners import winner_ranges as winner_ranges

# evaluation.resampling
from .evaluation.resampling.bootstrap import bootstrap as bootstrap
from .evaluation.resampling.probability_best import probability_best as probability_best
from .evaluation.resampling.subsampling import subsample_study as subsample_study

# evaluation.significance
from .evaluation.significance.best import compare_best as compare_best
from .evaluation.significance.certified_map import certify_decision_map as certify_decision_map
from .evaluation.significance.cross_fitting import cross_fit as cross_fit
from .evaluation.significance.crossover_intervals import crossover_intervals as crossover_intervals
from .evaluation.significance.data_sets import compare_data_sets as compare_data_sets
from .evaluation.significance.delong import auc_interval as auc_interval
from .evaluation.significance.folds import compare_folds as compare_folds
from .evaluation.significance.pairs import compare_pairs as compare_pairs
from .evaluation.significance.segment_ranks import rank_segments as rank_segments
from .evaluation.significance.shift import check_projection as check_projection

# evaluation.planning
from .evaluation.planning.expected import expected_counts as expected_counts
from .evaluation.planning.planning import required_samples as required_samples

# evaluation.imbalance
from .evaluation.imbalance.sensitivity import imbalance_sensitivity as imbalance_sensitivity
from .evaluation.imbalance.sensitivity import metric_surface as metric_surface

# evaluation.prevalence
from .evaluation.prevalence.estimate_prevalence import estimate_prevalence as estimate_prevalence
from .evaluation.prevalence.project_traffic import project_traffic as project_traffic

# evaluation.probabilities
from .evaluation.probabilities.adjust import adjust_scores as adjust_scores
from .evaluation.probabilities.calibration import calibration_curve as calibration_curve
from .evaluation.probabilities.calibration_measures import calibration_measures as calibration_measures
from .evaluation.probabilities.decisions import cost_curve as cost_curve
from .evaluation.probabilities.decisions import decision_curve as decision_curve
from .evaluation.probabilities.decomposition import decompose_scores as decompose_scores
from .evaluation.probabilities.h_measure import h_measure as h_measure
from .evaluation.probabilities.proper_scores import proper_scores as proper_scores

# evaluation.classes
from .evaluation.classes.class_winners import class_winners as class_winners
from .evaluation.classes.compare_class_models import compare_class_models as compare_class_models
from .evaluation.classes.estimate_class_priors import estimate_class_priors as estimate_class_priors
from .evaluation.classes.mixes import vary_class_share as vary_class_share
from .evaluation.classes.project_classes import project_classes as project_classes

# questions
from .questions.class_comparison import ClassComparison as ClassComparison
from .questions.class_comparison import compare_classes as compare_classes
from .questions.comparison import compare_models as compare_models
from .questions.comparison import Comparison as Comparison
from .questions.question import Question as Question
from .questions.report import class_report_questions as class_report_questions
from .questions.report import report_questions as report_questions
from .questions.report_question import ReportQuestion as ReportQuestion

# tables
from .tables.great_tables import ranked_table as ranked_table

# charts
from .charts.best_model import chart_probability_best as chart_probability_best
from .charts.classes import chart_class_matrix as chart_class_matrix
from .charts.classes import chart_class_simplex as chart_class_simplex
from .charts.classes import chart_class_winners as chart_class_winners
from .charts.curves import chart_f_beta_over_beta as chart_f_beta_over_beta
from .charts.curves import chart_f_beta_over_prevalence as chart_f_beta_over_prevalence
from .charts.curves import chart_p3 as chart_p3
from .charts.curves import chart_pr_auc_over_prevalence as chart_pr_auc_over_prevalence
from .charts.decision_map import chart_decision_map as chart_decision_map
from .charts.f_beta_plot import chart_f_beta_plot as chart_f_beta_plot
from .charts.intervals import chart_critical_difference as chart_critical_difference
from .charts.intervals import chart_intervals as chart_intervals
from .charts.intervals import chart_precision_uncertainty as chart_precision_uncertainty
from .charts.operating_points import chart_pos_fraction as chart_pos_fraction
from .charts.operating_points import chart_pr as chart_pr
from .charts.operating_points import chart_roc as chart_roc
from .charts.parts.theme import dark_chart as dark_chart
from .charts.probabilities import chart_calibration as chart_calibration
from .charts.probabilities import chart_cost_curve as chart_cost_curve
from .charts.probabilities import chart_decision_curve as chart_decision_curve
from .charts.segments import chart_decomposition as chart_decomposition
from .charts.segments import chart_segments as chart_segments
from .charts.winners import chart_rank_over_prevalence as chart_rank_over_prevalence
from .charts.winners import chart_winner_ranges as chart_winner_ranges

# files
from .files.save_chart import save_chart as save_chart
from .files.save_table import save_table as save_table

# reporting
from .reporting.write import write_report as write_report

# jobs
from .jobs.labelling import expected_half_widths as expected_half_widths
from .jobs.labelling import plan_labels as plan_labels
from .jobs.ledger.ledger import CountsLedger as CountsLedger

# base
from .base.errors import ConflictError as ConflictError
from .base.errors import FewLabelsWarning as FewLabelsWarning
from .base.errors import IgnoredUnitsWarning as IgnoredUnitsWarning
from .base.errors import IgnoredWeightsWarning as IgnoredWeightsWarning
from .base.errors import InvalidRowsError as InvalidRowsError
from .base.errors import InvalidRowsWarning as InvalidRowsWarning
from .base.errors import LedgerError as LedgerError
from .base.errors import MissingPackageError as MissingPackageError
from .base.errors import MixedTypesWarning as MixedTypesWarning
from .base.errors import NciFramesError as NciFramesError
from .base.errors import NearlyUniqueKeyWarning as NearlyUniqueKeyWarning
from .base.errors import OutputError as OutputError
from .base.errors import OutsideGridWarning as OutsideGridWarning
from .base.errors import ParameterError as ParameterError
from .base.errors import SchemaError as SchemaError
from .base.errors import SkippedFilesWarning as SkippedFilesWarning
from .base.errors import SourceError as SourceError
from .base.errors import ToleranceWarning as ToleranceWarning
from .base.errors import UnknownMetricError as UnknownMetricError
