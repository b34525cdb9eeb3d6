"""Charts, tables and comparisons -> files for other programs and for people."""

from nci_frames.reporting.exports.chart_files import save_chart

__all__ = ["save_chart"]
