"""How sure is it which model is best, and what does that depend on?"""

from collections.abc import Sequence
from functools import partial

import polars as pl

from nci_frames.base.arguments import LEAST_BUCKETS
from nci_frames.base.messages import quantity
from nci_frames.charts.best_model import chart_probability_best
from nci_frames.charts.intervals import chart_precision_uncertainty
from nci_frames.counts.score_scale import named_models
from nci_frames.evaluation.projection.bands import precision_band
from nci_frames.questions.answer_lines import percent
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report_question import Chart, note, of_several, of_shown, picture, shown_models
from nci_frames.schemas import beside
from nci_frames.tables.numbers import f_beta_name, format_count, format_threshold, format_value, sentence


def _by_f_beta(comparison: Comparison) -> pl.DataFrame | None:
    """Return how often each model is best at its own best threshold; None if the question is another."""
    asked = comparison.question.own and comparison.question.f_beta
    return of_shown(comparison.best_certainty, comparison) if asked else None


def _by_area(comparison: Comparison) -> pl.DataFrame | None:
    sure = comparison.certainty
    return None if sure is None else of_shown(sure.filter(metric="pr_auc"), comparison)


_CLASSES = ("positives", "negatives")
#: So many standard errors below 0.5, a ROC-AUC is not that of chance, even if some rows are dependent.
_FAR = 5
#: Largest number of models with bands: more bands are too small to read.
_MOST_BANDS = 6


def _bands(comparison: Comparison) -> pl.DataFrame | None:
    if comparison.weighted:
        return None
    points = of_shown(comparison.points, comparison, most=_MOST_BANDS)
    return precision_band(points, prevalence=comparison.answer_prevalences)


def _draw_bands(table: pl.DataFrame, comparison: Comparison) -> Chart:
    widest = comparison.precision_uncertainty
    few = table.clear() if widest is None else of_shown(widest, comparison, most=_MOST_BANDS)
    models, observed = shown_models(comparison), comparison.observed_prevalence
    return chart_precision_uncertainty(table, few, models=models, observed=observed)


def read_rows(comparison: Comparison) -> list[str]:
    """Return sentences if the models have different numbers of rows; none if they may have the same rows."""
    # Sums of the same weights in another order differ in their last digits.
    classes = pl.col(_CLASSES).cast(pl.Float64).round_sig_figs(9)
    sizes = comparison.sizes.with_columns(classes, rows=pl.col("positives") + pl.col("negatives"))
    ends = sizes.sort("rows", "positives", "model").gather([0, -1])
    if ends.select(_CLASSES).n_unique() == 1:
        return []
    fewest, most = (
        f"{row['model']} has {format_count(row['rows'])} ({percent(row['positives'] / row['rows'])} positive)"
        if row["rows"]
        else f"{row['model']} has none"
        for row in ends.iter_rows(named=True)
    )
    rows = "rows, or the same weights" if comparison.weighted or comparison.strata else "rows"
    return [
        f"The models do not have the same {rows}: {fewest}, {most}. Their values may differ because of the "
        "rows, and the tests do not see that. The prevalence of the log is that of all these rows together."
    ]


def read_direction(comparison: Comparison) -> list[str]:
    """Return a sentence if positives have lower scores than negatives, by more than chance; else none."""
    rows = pl.col(_CLASSES) / (comparison.repeat_count or 1)
    sizes = comparison.sizes.select("model", rows)
    # Under chance, the variance of ROC-AUC is that of the Mann-Whitney statistic.
    pairs = pl.col("positives") * pl.col("negatives")
    far = _FAR * ((pl.sum_horizontal(*_CLASSES) + 1) / (12 * pairs)).sqrt()
    areas = beside(comparison.areas.filter(metric="roc_auc").select("model", "value"), sizes, "model")
    turned = areas.filter(pl.col("value") < 0.5 - far).sort("value", "model")
    if turned.is_empty():
        return []
    return [
        f"Check the scores of {named_models(turned)}: positives have lower scores than negatives (ROC-AUC "
        f"{format_value(turned['value'][0])}). Is the other label the positive one? If a low score means "
        "positive, negate the scores."
    ]


def read_independence(comparison: Comparison) -> str:
    """Return sentences on what intervals and tests resample."""
    buckets, weighted, repeats = comparison.buckets, comparison.weighted, comparison.repeat_count
    drawn = read_resampled(buckets, weighted=weighted) + of_strata(comparison.strata, buckets)
    if repeats is not None:
        if buckets is None and not weighted:
            drawn = "No unit was named, so intervals are those of one repeat, and there are no tests."
        return (
            f"Rows are scored in {repeats:,} repeats: areas and own best thresholds are taken within each "
            f"repeat and averaged. {drawn}"
        )
    if comparison.unit_rows is not None:
        return (
            f"Every unit has {comparison.unit_rows:,} rows of each model, as in a repeated "
            "cross-validation: n is the number of units, not of rows. The scores of all its rows "
            "are pooled, since no column of repeats "
            f"was named (--repeat). {drawn}"
        )
    return drawn


def read_resampled(buckets: int | None, *, weighted: bool) -> str:
    """Return sentences on the units that intervals and tests resample."""
    if weighted:
        return (
            "The rows have more than 1,000 weights, so there are no intervals and tests. Rounded to fewer, "
            "each weight is a sample of its own, and there are."
        )
    if buckets is None:
        return (
            "No unit was named, so rows are taken as independent. If a user, host or patient has several "
            "rows, the intervals are too narrow, and the tests call too many differences significant."
        )
    if buckets < LEAST_BUCKETS:
        there = f"There {'is' if buckets == 1 else 'are'} {quantity(buckets, 'group')} of units."
        return (
            f"{there} Intervals and tests need {LEAST_BUCKETS}, so there are none, and"
            " the value at each own best threshold is that of the rows that chose it."
        )
    return f"Intervals and tests resample whole units, never single rows: {buckets:,} groups of units."


def of_strata(strata: int, buckets: int | None) -> str:
    """Return a sentence on how rows with weights are resampled."""
    if strata <= 1:
        return ""
    if buckets is not None:
        return " Their rows count for what they weigh."
    each = f"the rows of each of the {quantity(strata, 'weight')}"
    return f" {sentence(each)} are taken as a sample of their own, of fixed size."


def read_assumption(
    shifts: pl.DataFrame | None, segments: Sequence[str] = (), *, weighted: bool = False
) -> str:
    """Return sentences on whether tests contradict the assumption of projection.

    *weighted* counts, sums of too many weights, cannot be tested.
    """
    same = "that each class has the same score distribution in all segments"
    assumed = f"Values at other prevalences assume {same}."
    if shifts is None:
        why = "the counts are sums of weights" if weighted else "these segments allow no test"
        why = why if segments else "no segments were named"
        return f"{assumed} This was not tested: {why}."
    tested = shifts.filter(pl.col("distinguishable").is_not_null())
    if tested.is_empty():
        return f"{assumed} This was not tested: the segments have too few rows."
    differing = tested.filter("distinguishable")
    if differing.is_empty():
        # Tests without findings do not prove the assumption.
        return f"{assumed} {quantity(len(tested), 'test')} found nothing against it."
    size = f"the largest distance between two distributions is {max(differing['effect'].to_list()):.2g}"
    reject = "rejects" if len(differing) == 1 else "reject"
    told = f"{len(differing):,} of {quantity(len(tested), 'test')} {reject} it"
    return f"{assumed} This is in doubt: {told}; {size}."


def _leaders_title(comparison: Comparison) -> str:
    return f"Who is the best by {f_beta_name(comparison.main_beta)}, and how sure is that?"


def _bands_title(comparison: Comparison) -> str:
    return f"Where precision at threshold {format_threshold(comparison.threshold)} is least certain"


_sure = partial(picture, under="How sure is it which model is best, and how precise?")
_best = partial(_sure, draw=chart_probability_best, rule="prevalence")

QUESTIONS = (
    _best("leaders", _leaders_title, of_several(_by_f_beta)),
    note("direction", "Do high scores mean positives?", read_direction),
    note("same_rows", "Do all models have the same rows?", read_rows),
    note(
        "independence",
        "What do intervals and tests resample?",
        lambda comparison: [read_independence(comparison)],
    ),
    _best("probability", "Who is the best by PR-AUC, and how sure is that?", of_several(_by_area)),
    _sure("uncertainty", _bands_title, _bands, _draw_bands),
    note(
        "assumption",
        "Do values at other prevalences hold?",
        lambda comparison: [
            read_assumption(comparison.shifts, comparison.segments, weighted=comparison.weighted)
        ],
    ),
)
