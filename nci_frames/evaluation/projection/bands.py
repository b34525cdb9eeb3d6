"""Rates with bounds -> the band of precision, and its width."""

import polars as pl

from nci_frames.base.typing import Field, Frame, PointPrevalences
from nci_frames.evaluation.projection.grids import require_bounds
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.support.reasons import first_reason
from nci_frames.schemas import BAND, RATES, UNCERTAINTY, checked, collect

_WIDE = "the half-width of {} is not below {}: delta tends to 1 as prevalence tends to {}"


@checked
def precision_band(rates: Frame, /, *, prevalence: PointPrevalences | Field) -> pl.DataFrame:
    """Return precision at each prevalence, with bounds that hold if TPR and FPR are within theirs.

    Parameters
    ----------
    rates
        A rates frame with bounds: ``compute_rates(counts, interval="wilson")``.
    prevalence
        P(y=1), each in [0, 1]; or "observed", "selected" or a prevalence per segment, as in
        ``project_rates``.

    Returns
    -------
    A row per operating point and prevalence, sorted by all columns left of ``value``:

    %(columns of precision band)s

    Keys are those of *rates*. Bounds are also null where the value is.

    Raises
    ------
    ParameterError
        If a prevalence is outside [0, 1].
    SchemaError
        If *rates* is not a rates frame, or has no bounds.

    Notes
    -----
    The band holds at all prevalences at once if both rates are within their bounds: its confidence is at
    least the product of theirs (Corollary 1). For a simultaneous 95 % band use intervals of level √0.95.

    References
    ----------
    Brabec et al. (2020), eqs. 12 and 13, doi:10.1007/978-3-030-50423-6_6.

    Examples
    --------
    One false positive among 1,000 negatives: at one positive in a thousand, precision may be a tenth or more.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a"], "threshold": [0.5], "tp": [60], "fp": [1], "fn": [40], "tn": [999]
    ... })
    >>> rates = nf.compute_rates(counts, interval="wilson")
    >>> nf.precision_band(rates, prevalence=0.001).select(pl.col("value", "lower", "upper").round(4)).row(0)
    (0.3752, 0.0818, 0.7966)
    """
    frame = collect(rates, RATES)
    band = project_rates(frame, metrics="precision", prevalence=prevalence, band=True).drop("metric", "beta")
    return BAND.finish(band)


@checked
def max_precision_uncertainty(rates: Frame, /) -> pl.DataFrame:
    """Return the maximum width of the precision band over prevalence, and where it is reached.

    Parameters
    ----------
    rates
        A rates frame with bounds: ``compute_rates(counts, interval="wilson")``, or with ``half_width=...``.

    Returns
    -------
    A row per operating point, sorted by model, keys and threshold:

    %(columns of precision uncertainty)s

    Keys are those of *rates*. ``delta`` is null where a lower bound is 0, since the width then tends to 1.

    Raises
    ------
    SchemaError
        If *rates* is not a rates frame, or has no bounds.

    Notes
    -----
    With L+ = TPR_upper/FPR_lower and L- = TPR_lower/FPR_upper, Δ = (√L+ - √L-)/(√L+ + √L-), reached at the
    odds 1/√(L+·L-). This is exact, also for asymmetric bounds. Δ ≤ max(CV of TPR, CV of FPR); for symmetric
    bounds equality holds if and only if the two are equal.

    References
    ----------
    Brabec et al. (2020), eq. 14, Theorem 1 and footnote 4, doi:10.1007/978-3-030-50423-6_6.

    Examples
    --------
    Footnote 4: TPR 0.6 ± 0.06 and FPR 0.001 ± 0.0005. The bound of the theorem is 0.5; the width is 0.313859.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a"], "threshold": [0.5], "tp": [60], "fp": [1], "fn": [40], "tn": [999]
    ... })
    >>> rates = nf.compute_rates(counts, half_width=(0.06, 0.0005))
    >>> found = nf.max_precision_uncertainty(rates)
    >>> found.select(pl.col("delta", "theorem_bound").round(6), pl.col("prevalence").round(8)).row(0)
    (0.313859, 0.5, 0.00144855)
    """
    frame = collect(rates, RATES)
    require_bounds(frame)
    # The smallest and the largest TPR/FPR within the bounds.
    lower, upper = pl.col("tpr_lower") / pl.col("fpr_upper"), pl.col("tpr_upper") / pl.col("fpr_lower")
    odds = 1 / (lower * upper).sqrt()
    defined = (pl.col("tpr_lower") > 0) & (pl.col("fpr_lower") > 0)
    cv = [_coefficient_of_variation(rate) for rate in ("tpr", "fpr")]
    table = frame.with_columns(
        # (√a - √b)/(√a + √b) is tanh(ln(a/b)/4).
        delta=pl.when(defined).then(((upper / lower).log() / 4).tanh()),
        prevalence=pl.when(defined).then(odds / (1 + odds)),
        theorem_bound=pl.when(defined).then(pl.max_horizontal(cv)),
        cv_tpr=cv[0],
        cv_fpr=cv[1],
        reason=_reason(frame.columns),
    )
    keys = ["model", *RATES.keys(frame.columns)]
    return UNCERTAINTY.joined([table.sort(*keys, "threshold")], frame.select(keys))


def _coefficient_of_variation(rate: str) -> pl.Expr:
    value = pl.col(rate)
    half_width = pl.max_horizontal(pl.col(f"{rate}_upper") - value, value - pl.col(f"{rate}_lower"))
    return pl.when(value > 0).then(half_width / value)


def _reason(columns: list[str]) -> pl.Expr:
    """Return the reason why a rate has no bounds, or too wide ones; null if there is none."""
    told = [pl.col("reason")] if "reason" in columns else []
    cases = []
    for rate, rows in (("tpr", "positives"), ("fpr", "negatives")):
        unknown = pl.col(f"{rate}_lower").is_null()
        cases.append((unknown & (pl.col(rows) == 0), f"{rate} has no bounds: no {rows}"))
        cases.append((unknown, f"{rate} has no bounds"))
    wide = ((pl.col(f"{rate.lower()}_lower") == 0, rate, end) for rate, end in (("FPR", 0), ("TPR", 1)))
    cases += [(holds, _WIDE.format(rate, rate, end)) for holds, rate, end in wide]
    return pl.coalesce(*told, first_reason(*cases))
