"""Charts, tables and comparisons -> files for other programs and for people."""

from nci_frames.reporting.exports.chart_files import CHART_KINDS, save_chart
from nci_frames.reporting.exports.table_files import TABLE_KINDS, save_table

__all__ = ["CHART_KINDS", "TABLE_KINDS", "save_chart", "save_table"]
