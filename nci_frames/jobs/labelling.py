"""Label plans: which rows of a log to label, and the intervals to expect."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.files import file_kind
from nci_frames.base.folders import check_apart
from nci_frames.counting.drawing.draw_labels import draw_labels
from nci_frames.counting.logs.opening import Predictions
from nci_frames.files.save_table import save_table
from nci_frames.jobs.field_file import read_table
from nci_frames.jobs.label_plans import PlanOptions
from nci_frames.schemas import LABEL_PLAN, checked

_KINDS = ("csv", "parquet")


@checked
def plan_labels(
    scored: Predictions,
    /,
    *,
    budget: int,
    metric: str | pl.Expr,
    threshold: float | Mapping[str, float] | None = None,
    alerts: int | None = None,
    beta: float = 1.0,
    pilot: Predictions | None = None,
    prevalence: float | None = None,
    compare: tuple[str, str] | None = None,
    model: str | None = None,
    units: bool = False,
) -> pl.DataFrame:
    """Plan which rows of a log to label, for the narrowest interval of a metric that the budget allows.

    If positives are rare, a simple random sample contains hardly any. The plan divides the rows into ranges
    of scores, and assigns most labels to the most informative ranges. Each labelled row then represents
    ``rows / labels`` rows of its range, whatever was expected: wrong expectations widen the interval, but
    cause no bias. ``draw_labels`` draws the rows.

    Parameters
    ----------
    scored
        A log without labels, ``scan_predictions(..., label=None)``, or a frame with ``model`` and ``score``
        (labels are ignored); or its score counts (``count_scores``), whose thresholds are the possible ends
        of ranges. Keys are summed over.
    budget
        Number of rows to label, 4 or more. A log with fewer rows is labelled completely.
    metric
        Metric to estimate: the name or alias of a metric of operating points, or a called metric. It refers
        to this log: "precision" is precision at the prevalence of this traffic. Costs must be given, as in
        "expected_cost(c_fp=1, c_fn=20)".
    threshold
        Decision threshold of the metric; with *compare*, one for both models, or ``{model: threshold}``.
    alerts
        Instead of *threshold*: maximum number of flagged rows. The threshold is the lowest counted one that
        flags no more.
    beta
        Weight of recall in [0, inf], for metrics that depend on it.
    pilot
        A labelled log to estimate rates from: its counts (``count_confusion``) or predictions; with
        *compare*, joint counts (``count_pairs``) or predictions with units. Its class balance and weights do
        not matter. Without a pilot, the scores are taken as probabilities in this log, and must lie in [0,
        1].
    prevalence
        Expected share of positives in the log, in (0, 1); only with a pilot. None estimates it from the
        scores.
    compare
        Two models that scored the same units: plan for the difference of their metrics, which depends only on
        units that exactly one of the two flags. *scored* must then have ``unit``.
    model
        Model whose scores the plan is based on, if *scored* has several models.
    units
        Whether to label whole units (users, hosts, patients): the range of a unit is that of its highest
        score, and ``rows`` and ``labels`` count units. ``draw_labels(..., units=True)`` draws their rows.

    Returns
    -------
    One row per range, from the lowest scores to the highest; with *compare*, per pair of decisions:

    %(columns of label plan)s

    ``labels`` add up to the budget. If it has enough rows, a range has at least 10 labels (2 if the budget is
    small, 1 if it is below 8 with *compare*) and 0.5 % of the budget. ``flagged_by`` and the last four
    columns exist only with *compare*.
    ``expected_half_widths`` returns the intervals to expect.

    Raises
    ------
    ParameterError
        If an option is out of range, costs are not given, no row reaches the threshold, the pilot lacks a
        class or the model, or there is no pilot and the scores are not probabilities.
    SchemaError
        If *scored* or *pilot* is a frame of the wrong kind, or lacks a column.
    SourceError
        If the log has no rows.
    InvalidRowsError
        If a row is not valid, or, with *compare*, the rows cannot be paired.
    UnknownMetricError
        If the metric is unknown.

    Warns
    -----
    FewLabelsWarning
        If a range has fewer than 10 labels, though it has more rows.

    Notes
    -----
    Let a range have N rows with a share p of positives and n labels, and let c be the change of the metric
    per positive row. The variance of the estimate is the sum of (N·c)²·p(1-p)/n over the ranges. Neyman's
    allocation minimises it: n in proportion to N·abs(c)·√(p(1-p)). The c are the derivatives of the metric by
    true positives and by positives, since the flagged rows are known. With few positives, the metric is not
    linear in them and its error is larger, and its interval must allow for unseen positives among rows of
    large weight. So several allocations are simulated: n in proportion to N·abs(c)^a·(p(1-p))^b with a in 0,
    1/2, 1 and b in 1/2, 3/4, 1, but at least 0.05 or 0.35 times the share of N·abs(c). The one with the
    smallest product of error and half-width is returned; with *compare*, the one with the smallest error. A
    share of positives estimated from the scores is often wrong with a small pilot: error and half-width are
    then geometric means of those with this share and with an eighth of it; with *compare*, of those with this
    share and the ends of its 95 % interval. In addition, 0.3 % of the positives are expected anywhere, since
    no pilot covers the rarest ones.

    The plan must be fixed before the labels are seen: ``docs/labelling.md`` describes the use of labels in
    batches.

    References
    ----------
    Neyman (1934), doi:10.2307/2342192; Cochran (1977), Sampling Techniques, chapters 5 and 5A; Marchant and
    Rubinstein (2017), In search of an entity resolution OASIS, doi:10.14778/3137628.3137642.

    Examples
    --------
    With 800 alerts among a million rows, a simple random sample of 1,000 rows would have hardly one alert.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> scores = pl.DataFrame({
    ...     "model": "a", "threshold": [0.001, 0.01, 0.1, 0.5],
    ...     "above": [200_000, 30_000, 4_000, 800], "below": [800_000, 970_000, 996_000, 999_200],
    ... })
    >>> plan = nf.plan_labels(scores, budget=1000, metric="recall", threshold=0.5)
    >>> plan.select("score_lower", "rows", "labels").rows()
    [(-inf, 800000, 279), (0.001, 170000, 284), (0.01, 26000, 235), (0.1, 3200, 83), (0.5, 800, 119)]
    >>> plan["labels"].sum()
    1000
    """
    asked = PlanOptions(metric, threshold, alerts, beta, pilot, prevalence, compare, model, units)
    return asked.plan(asked.planner(scored, budget), budget).table()


@checked
def expected_half_widths(
    scored: Predictions,
    /,
    *,
    budget: int,
    metric: str | pl.Expr,
    threshold: float | Mapping[str, float] | None = None,
    alerts: int | None = None,
    beta: float = 1.0,
    pilot: Predictions | None = None,
    prevalence: float | None = None,
    compare: tuple[str, str] | None = None,
    model: str | None = None,
    units: bool = False,
    level: float = 0.95,
) -> pl.DataFrame:
    """Return the expected half-widths with ``plan_labels``, a simple random sample, and twice the budget.

    Parameters
    ----------
    scored, budget, metric, threshold, alerts, beta, pilot, prevalence, compare, model, units
        As in ``plan_labels``.
    level
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Three rows:

    %(columns of label gains)s

    Raises
    ------
    ParameterError, SchemaError, InvalidRowsError, UnknownMetricError
        As ``plan_labels`` does; or if *level* is outside (0, 1).

    Notes
    -----
    The half-width is that of ``bootstrap`` for a log with the expected number of positives in each range. For
    a simple random sample it is the median of 40 simulated logs, null if most of these have no interval. It
    exceeds the error of the estimate, since it also allows for a positive row of large weight by chance.
    With ten positives or fewer in the pilot it may be too narrow by a factor of two, and of ten or more if
    the prevalence is estimated (docs/labelling.md). With *units*, it is that of as many rows: intervals by
    units may be several times as wide. With *compare*, it is the normal quantile times the root mean squared
    error of 2,000 samples; if a pilot tells the prevalence, the largest one at the estimate and at the ends
    of its 95 % interval, by 400 resampled pilots.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> scores = pl.DataFrame({
    ...     "model": "a", "threshold": [0.001, 0.01, 0.1, 0.5],
    ...     "above": [200_000, 30_000, 4_000, 800], "below": [800_000, 970_000, 996_000, 999_200],
    ... })
    >>> found = nf.expected_half_widths(scores, budget=1000, metric="recall", threshold=0.5)
    >>> found.select("labels", pl.col("value", "half_width").round(3)).rows()
    [(1000, 0.138, 0.085), (1000, 0.138, 0.313), (2000, 0.138, 0.06)]
    """
    asked = PlanOptions(metric, threshold, alerts, beta, pilot, prevalence, compare, model, units)
    planner = asked.planner(scored, budget)
    return asked.plan(planner, budget).expected(asked.plan(planner, 2 * budget, warn=False), level)


def planned_files(
    scored: pl.LazyFrame, out: Path, *, sources: Sequence[str], budget: int, level: float, **options: Any
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Plan which rows to label, write the plan, and return it with the expected half-widths.

    *sources* are the logs, which the plan must not replace.
    """
    file_kind(out, _KINDS, what="plan")
    check_apart(sources, out)
    asked = PlanOptions(**options)
    planner = asked.planner(scored, budget)
    plan = asked.plan(planner, budget)
    gains = plan.expected(asked.plan(planner, 2 * budget, warn=False), level)
    save_table(plan.table(), out)
    return plan.table(), gains


def drawn_file(log: pl.LazyFrame, plan: str, out: Path, *, source: str, seed: int, **options: Any) -> int:
    """Write the rows to label by a plan in a file, and return their number; *source* is where the log is.

    Raises
    ------
    ParameterError
        If the plan cannot be read, or the output file does not end in .csv or .parquet, or would replace the
        log or the plan.
    """
    file_kind(out, _KINDS, what="sample")
    check_apart([source, plan], out)
    hint = "nci-frames plan-labels writes one"
    table = read_table(plan, "the plan", where=repr(plan), hint=hint)
    try:
        numbers = {name: dtype for name, dtype in LABEL_PLAN.dtypes().items() if name in table.columns}
        read = table.cast(numbers)  # type: ignore[arg-type]
    except pl.exceptions.PolarsError as error:
        msg = "the plan has a column that is no number"
        raise ParameterError(msg, where=repr(plan), found=str(error).splitlines()[0], hint=hint) from error
    rows = draw_labels(log, read, seed=seed, **options).collect()
    save_table(rows, out)
    return len(rows)
