"""Charts, tables and comparisons -> files for other programs and for people."""

from nci_frames.reporting.exports.chart_files import CHART_KINDS, save_chart
from nci_frames.reporting.exports.report_json import render_json
from nci_frames.reporting.exports.report_markdown import render_markdown
from nci_frames.reporting.exports.table_files import TABLE_KINDS, save_table

__all__ = ["CHART_KINDS", "TABLE_KINDS", "render_json", "render_markdown", "save_chart", "save_table"]
