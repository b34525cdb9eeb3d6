"""A comparison in a notebook: the answer, its chart, and a ranked table."""

import base64
import html

from nci_frames.files.save_chart import chart_bytes
from nci_frames.questions.answer_lines import answer_lines
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report import report_charts
from nci_frames.questions.which_model import QUESTIONS
from nci_frames.tables.great_tables import ranked_table
from nci_frames.tables.numbers import format_grid


def notebook_html(comparison: Comparison) -> str | None:
    """Return the answer, its chart over prevalence, and the table of PR-AUC; None without areas."""
    if comparison.areas.is_empty():
        return None
    first, *rest = map(html.escape, answer_lines(comparison.said))
    # Charts are embedded as images, as ids in inline SVG would clash with those of other cells.
    charts = report_charts(comparison, QUESTIONS[-1:]).values()
    pictures = [base64.b64encode(chart_bytes(chart, "svg")).decode() for chart in charts]
    drawn = "".join(f'<img alt="{first}" src="data:image/svg+xml;base64,{picture}">' for picture in pictures)
    observed = comparison.observed_prevalence
    seen = "" if observed is None else f"; the log's own prevalence is {format_grid(observed)}"
    title = f"PR-AUC and rank over prevalence{seen}"
    table = ranked_table(comparison.areas, metric="pr_auc", title=title).as_raw_html()
    return f"<p><strong>{first}</strong><br>{'<br>'.join(rest)}</p>{drawn}{table}"
