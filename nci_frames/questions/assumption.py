"""Does the assumption hold that every projected number rests on?"""

import polars as pl

from nci_frames.base.messages import quantity
from nci_frames.questions.report_question import ReportQuestion


def read_assumption(shifts: pl.DataFrame | None) -> str:
    """Return a sentence on whether the tests support the assumption behind every projected number."""
    same = "each class has the same score distribution in all segments"
    if shifts is None:
        return f"Projection assumes that {same}; this was not tested, since there are no segments."
    tested = shifts.filter(pl.col("distinguishable").is_not_null())
    if tested.is_empty():
        return f"Projection assumes that {same}; this was not tested, since the segments have too few rows."
    differing = tested.filter("distinguishable")
    if differing.is_empty():
        # A test that finds nothing is no proof that there is nothing.
        return f"No test speaks against projection: none of {len(tested):,} rejects that {same}."
    reject = f"of {quantity(len(tested), 'test')} {'rejects' if len(differing) == 1 else 'reject'}"
    size = f"the largest distance is {max(differing['effect'].to_list()):.2g}"
    return f"Projection is in doubt: {len(differing):,} {reject} that {same}; {size}."


QUESTIONS = (
    ReportQuestion(
        name="assumption",
        title="Is projection valid?",
        section="answer",
        table=lambda comparison: pl.DataFrame() if comparison.shifts is None else comparison.shifts,
        say=lambda _, comparison: [read_assumption(comparison.shifts)],
    ),
)
