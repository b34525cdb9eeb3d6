"""The size of a test set for a required uncertainty."""

import math
from collections.abc import Sequence
from typing import Any, Literal, cast

import polars as pl

from nci_frames.base.arguments import beta_value, check_allowed, number_list
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import Call, Option
from nci_frames.base.typing import Frame
from nci_frames.evaluation.planning.assurance import Promise, assured_rows, half_width_at
from nci_frames.evaluation.planning.fixed_sizes import exact_rows, hoeffding_rows
from nci_frames.evaluation.planning.two_models import need_within, samples_to_compare
from nci_frames.evaluation.rates.intervals import Interval
from nci_frames.schemas import SAMPLES, checked

PlanningMethod = Literal["hoeffding", "exact"]

#: By Hoeffding's inequality, smaller half-widths need more rows than can be counted.
_NARROWEST = 2e-9


@checked
def required_samples(
    *,
    half_width: float | tuple[float, float] | None = None,
    delta: float | None = None,
    precision_half_width: float | None = None,
    prevalence: float | None = None,
    tpr: float | tuple[float, float] | None = None,
    fpr: float | tuple[float, float] | None = None,
    level: float = 0.95,
    assurance: float | None = 0.8,
    method: PlanningMethod | Sequence[PlanningMethod] = ("exact", "hoeffding"),
    compare: str | pl.Expr | None = None,
    power: float = 0.8,
    correlation: float | tuple[float, float] | None = None,
    pairs: Frame | None = None,
    auc: float | tuple[float, float] | None = None,
    ratio: float | None = None,
    beta: float = 1.0,
) -> pl.DataFrame:
    """Return the numbers of positives and negatives that a test set needs.

    Give one of four goals: *half_width*, *delta*, *precision_half_width* at a *prevalence*, or *compare*, to
    tell two models apart.

    Parameters
    ----------
    half_width
        Required half-width of TPR and FPR, in (0, 1): one for both, or a pair.
    delta
        Required maximum width of the precision band over all prevalences (``max_precision_uncertainty``), in
        (0, 1); needs *tpr* and *fpr*.
    precision_half_width
        Required half-width of the precision band at *prevalence*, in (0, 0.5); needs *tpr* and *fpr*.
    prevalence
        P(y=1) in (0, 1), for *precision_half_width*; with *compare*, the prevalence of the metric.
    tpr, fpr
        Expected rates, in (0, 1). With *half_width* the default is 0.5, the rate that needs the most rows.
        With *compare*, a pair: the rates of the first and of the second model; a rate that the metric does
        not use may be omitted.
    level
        Confidence of each rate's interval, in (0, 1). Both rates, and hence the precision band, hold together
        with probability level² or more. With *compare*, 1 minus the size of the two-sided test.
    assurance
        Share of studies of this size whose measured intervals reach the goal, in (0, 1). None plans for a
        study that measures exactly the expected rates, as in the paper; then only some of the studies reach
        the goal: 40 to 80 % with *delta*.
    method
        Interval of the study. "exact": Wilson's, by the binomial distribution at the expected rates.
        "hoeffding": by Hoeffding's inequality, which holds for any rate. Without *assurance*, "exact" means
        that the measured rate lies within the half-width with probability *level* or more.

    compare
        Metric in which the two models differ: a name, alias or called metric of operating points, or
        "roc_auc".
    power
        With *compare*: probability that the test detects the difference, in (0, 1).
    correlation
        With *compare*: correlation (phi) of the models' decisions about the same positives, or a pair (of
        positives, of negatives); for areas, the correlation of the two estimates. None: each model has its
        own rows.
    pairs
        With *compare*: joint counts of a pilot (``count_pairs``), one row, instead of rates and correlation.
    auc
        With ``compare="roc_auc"``: expected areas of both models, or of one model, to compare with 0.5.
    ratio
        With *compare*: negatives per positive in the test set. By default that of the *prevalence*; without
        either, the metric must depend on one class, and only rows of that class are needed.
    beta
        With *compare*: weight of recall in [0, inf], for a metric that has one.

    Returns
    -------
    A row per method, sorted by it:

    %(columns of samples)s

    ``assurance`` is the value that these rows attain, at least the required one. With *compare*, one row:

    %(columns of comparison samples)s

    Raises
    ------
    ParameterError
        If not exactly one goal is given, a rate or the prevalence that it needs is missing, an argument is
        not used by the goal, or a value is out of range.

    Notes
    -----
    A study that measures a lower rate than expected has a wider relative interval, so a plan for the expected
    rates alone fails in many studies. The share of studies that reach the goal is summed over the outcomes of
    both classes. For *delta* and *precision_half_width* both rates get the same relative half-width, the
    largest that reaches the goal often enough.

    Without *assurance*, Hoeffding's n is ln(2/(1-level)) / (2·half_width²), and a precision band of width Δ
    follows from rates whose half-widths are both Δ times the rate (Theorem 1, where equality holds). At odds
    o, with s = o·TPR/FPR and a half-width w of precision, the half-widths are c times the rates with c =
    (g-1)/(g+1), where g is the larger root of s(1-2w)·g² - 2w(1+s²)·g - s(1+2w) = 0.

    With *compare*, n rows are needed such that (z·√V₀ + z'·√V)/√n equals the difference, with the normal
    quantiles z of the level and z' of the power. V is the variance of the difference for one row, linearised
    in the rates (delta method); V₀ is the variance without a difference. For a rate, V₀ is the share of rows
    on which the models differ (McNemar's test), or with two samples the variance at the mean rate; for other
    metrics V₀ = V; for areas it is Obuchowski's, as in pROC.

    References
    ----------
    Connor (1987), Sample size for testing differences in proportions for the paired-sample design,
    doi:10.2307/2531961; Obuchowski, Lieber and Wians (2004), doi:10.1373/clinchem.2004.031823.

    Brabec et al. (2020), section 5, doi:10.1007/978-3-030-50423-6_6; Kupper and Hafner (1989), How
    appropriate are popular sample size formulas?, doi:10.1080/00031305.1989.10475628; Hoeffding (1963),
    doi:10.1080/01621459.1963.10500830.

    Examples
    --------
    Delta 0.1 at TPR 0.6 and FPR 0.001, the paper's operating point: first reached by eight of ten studies,
    then as in the paper, by half-widths of 0.06 and 0.0001.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> wanted = {"delta": 0.1, "tpr": 0.6, "fpr": 0.001}
    >>> nf.required_samples(**wanted).select("method", "positives", "negatives").rows()
    [('exact', 269, 402778), ('hoeffding', 529, 190080001)]
    >>> nf.required_samples(**wanted, assurance=None).select("method", "positives", "negatives").rows()
    [('exact', 266, 389091), ('hoeffding', 513, 184443973)]

    Two models find 80 and 70 % of the positives, and mostly the same ones.

    >>> two = nf.required_samples(compare="recall", tpr=(0.8, 0.7), correlation=0.5, power=0.8)
    >>> two.select("positives", "negatives", pl.col("discordant_positives", "power").round(2)).row(0)
    (153, 0, 30.09, 0.8)
    """
    weight_of_recall = beta_value(beta)
    goals = {"half_width": half_width, "delta": delta, "precision_half_width": precision_half_width}
    if compare is not None:
        if any(goal is not None for goal in goals.values()):
            msg = f"{Option('compare')} is a goal of its own"
            raise ParameterError(msg, found="two goals", hint="omit the other one")
        return samples_to_compare(
            compare, level, power, tpr=tpr, fpr=fpr, auc=auc, prevalence=prevalence, ratio=ratio,
            correlation=correlation, pairs=pairs, beta=weight_of_recall,
        )  # fmt: skip
    _need_compare(tpr=tpr, fpr=fpr, correlation=correlation, pairs=pairs, auc=auc, ratio=ratio)
    methods = sorted({method} if isinstance(method, str) else set(method))
    check_allowed(methods, "method", method, "at least one method")
    rates = cast("tuple[float | None, float | None]", (tpr, fpr))
    promise = _goal(goals, prevalence, *rates)
    if assurance is not None:
        need_within("assurance", assurance, 1)
    rows = [(name, *_planned(name, promise, level, assurance)) for name in methods]
    return SAMPLES.finish(pl.DataFrame(rows, schema=SAMPLES.dtypes(), orient="row"))


def _need_compare(**options: object) -> None:
    """Raise ParameterError if an option is given that needs *compare*."""
    for name, value in options.items():
        if value is None or (name in ("tpr", "fpr") and isinstance(value, int | float)):
            continue
        what = "a rate of each of two models" if name in ("tpr", "fpr") else str(Option(name))
        raise ParameterError(f"{what} is for {Option('compare')} only", found=f"{value!r}"[:80])


def _planned(
    method: PlanningMethod, promise: Promise, level: float, assurance: float | None
) -> tuple[int, int, float, float, float | None]:
    """Return the rows of each class, the half-widths of the rates, and the attained assurance."""
    widths = promise.half_widths
    for rate, width in zip((promise.tpr, promise.fpr), widths, strict=True):
        # Hoeffding's inequality takes the variance of the rate 0.5 for that of any rate.
        assumed = 0.5 if method == "hoeffding" else rate
        if width < _NARROWEST * 2 * math.sqrt(assumed * (1 - assumed)):
            msg, fewer = "a rate this certain needs more rows than can be counted", 'use method="exact"'
            hint = str(Call(fewer, "ask for less certainty")) if method == "hoeffding" else None
            raise ParameterError(msg, found=f"{rate:g} ± {width:g}", hint=hint)
    if assurance is None:
        positives, negatives = (
            exact_rows(rate, width, level) if method == "exact" else hoeffding_rows(width, level)
            for rate, width in zip((promise.tpr, promise.fpr), widths, strict=True)
        )
        return positives, negatives, *widths, None
    interval: Interval = "wilson" if method == "exact" else "hoeffding"
    *rows, share = assured_rows(promise, interval, level, assurance)
    rates = (promise.tpr, promise.fpr)
    of_tpr, of_fpr = (half_width_at(interval, level, rate, n) for rate, n in zip(rates, rows, strict=True))
    return rows[0], rows[1], of_tpr, of_fpr, share


def _goal(goals: dict[str, Any], prevalence: float | None, tpr: float | None, fpr: float | None) -> Promise:
    """Check and return the goal."""
    given = [name for name, value in goals.items() if value is not None]
    named = " and ".join(f"{Option(name)}" for name in given)
    if len(given) != 1:
        first, second, third = map(Option, goals)
        msg = f"exactly one of {first}, {second} and {third} must be given"
        compared = "to compare two models, give --compare; to see what a test set supports, --positives"
        hint = None if given else str(Call("to compare two models, give compare", compared))
        raise ParameterError(msg, found=named or "none of them", hint=hint)
    (goal,) = given
    if (prevalence is None) == (goal == "precision_half_width"):
        msg = f"{Option('precision_half_width')} and {Option('prevalence')} must be given together"
        found = f"only {named}" if prevalence is None else f"{Option('prevalence')} and {named}"
        raise ParameterError(msg, found=found)
    for name, value in (("tpr", tpr), ("fpr", fpr), ("prevalence", prevalence)):
        if value is not None:
            need_within(name, value, 1)

    if goal == "half_width":
        widths = number_list(goals[goal])
        for value in widths:
            need_within("half_width", value, 1)
        tpr, fpr = (0.5 if rate is None else rate for rate in (tpr, fpr))
        return Promise.of_rates(tpr, fpr, (widths[0], widths[-1]))
    if tpr is None or fpr is None:
        msg = f"{named} needs the expected rates, {Option('tpr')} and {Option('fpr')}"
        missing = [name for name, rate in (("no TPR", tpr), ("no FPR", fpr)) if rate is None]
        raise ParameterError(msg, found=", ".join(missing))
    if prevalence is not None:
        need_within(goal, goals[goal], 0.5)
        return Promise.of_precision(tpr, fpr, goals[goal], prevalence)
    need_within(goal, goals[goal], 1)
    return Promise.of_band(tpr, fpr, goals[goal])
