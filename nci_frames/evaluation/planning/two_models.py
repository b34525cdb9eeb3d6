"""Expected rates of two models and the correlation of their decisions -> the rows to tell them apart."""

import math
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from nci_frames.base.arguments import check_allowed
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import Call, Option
from nci_frames.base.normal import normal_quantile
from nci_frames.base.typing import Floats, Frame
from nci_frames.evaluation.metrics import called_metric, curve_asked
from nci_frames.schemas import COMPARISON_SAMPLES, PAIRS, collect

Pair = tuple[float, float]

#: Step of the numerical derivative: largest; as a share of the distance to 0 or 1; smallest.
_STEP, _NEAR, _LEAST_STEP = 1e-6, 1e-4, 1e-10
#: Relative rounding error of a value.
_NOISE = 1e-15
_ROUNDING = 1e-9
#: Largest number of rows, well within Int64.
_MOST_ROWS = 10**15
#: Positives only; negatives only.
_ALONE = ((1, 0), (0, 1))


def need_within(name: str, value: float, end: float) -> None:
    """Raise ParameterError unless 0 < *value* < *end*."""
    check_allowed(0 < value < end, name, value, f"between 0 and {end:g}")


class Decisions(NamedTuple):
    """The expected decisions of two models in one class."""

    rates: Pair
    #: Phi coefficient of their decisions; None if each model has its own rows.
    correlation: float | None

    @classmethod
    def of(cls, rates: Pair, correlation: float | None, name: str) -> "Decisions":
        """Check and return the expected decisions.

        Raises
        ------
        ParameterError
            If a rate is outside [0, 1], or the correlation is impossible at these rates.
        """
        for rate in rates:
            check_allowed(0 <= rate <= 1, name, rate, "within [0, 1]")
        found = cls(rates, correlation)
        if correlation is not None:
            a, b = rates
            most = min(a, b) - a * b
            least = max(0.0, a + b - 1) - a * b
            if not least - _ROUNDING <= found.covariance <= most + _ROUNDING:
                spread = math.sqrt(a * (1 - a) * b * (1 - b))
                allowed = f"within [{least / spread:.3g}, {most / spread:.3g}] at the rates {a:g} and {b:g}"
                raise ParameterError.out_of_range("correlation", correlation, allowed)
        return found

    @property
    def covariance(self) -> float:
        """Covariance of the two decisions about one row."""
        a, b = self.rates
        return (self.correlation or 0.0) * math.sqrt(a * (1 - a) * b * (1 - b))

    @property
    def discordant(self) -> float | None:
        """Share of rows on which the two models differ; None if each has its own rows."""
        a, b = self.rates
        return None if self.correlation is None else a + b - 2 * (a * b + self.covariance)

    def variance(self, slopes: Floats) -> float:
        """Return the variance, for one row, of the sum of the two decisions weighted by *slopes*."""
        a, b = self.rates
        of_each = slopes[0] ** 2 * a * (1 - a) + slopes[1] ** 2 * b * (1 - b)
        return float(of_each + 2 * slopes[0] * slopes[1] * self.covariance)

    def variance_if_equal(self, slopes: Floats) -> float:
        """Return the variance of the difference of the two rates if they are equal."""
        mean = sum(self.rates) / 2
        share = 2 * mean * (1 - mean) if self.discordant is None else self.discordant
        return float(slopes[0] ** 2) * share


class Contrast(NamedTuple):
    """A difference to detect, and its variances for one positive and one negative."""

    difference: float
    #: Variances for one positive and one negative: with the expected difference, and without a difference.
    expected: Pair
    equal: Pair

    def rows(self, ratio: float | None, level: float, power: float) -> tuple[int, int]:
        """Return the rows of each class that are needed, with *ratio* negatives per positive."""
        if not self.difference:
            msg = "the two models are expected to be equal: no rows tell them apart"
            differ = Call("tpr=(0.8, 0.7)", "--tpr 0.8,0.7")
            raise ParameterError(msg, hint=f"give expected values that differ, e.g. {differ}")
        from scipy.special import ndtri  # noqa: PLC0415  (slow to import, and seldom needed)

        # Without a ratio, the metric must depend on one class only.
        alone = [k for k in (0, 1) if not self.expected[1 - k] + self.equal[1 - k]]
        if ratio is None and not alone:
            msg = f"{Option('compare')} needs {Option('prevalence')}, at which the metric is judged"
            raise ParameterError(msg, found="None")
        equal, expected = self._deviations(*((1.0, ratio) if ratio is not None else _ALONE[alone[0]]))
        needed = (normal_quantile(level) * equal + float(ndtri(power)) * expected) / self.difference
        if not max(1.0, needed**2) * max(1.0, ratio or 1.0) < _MOST_ROWS:
            msg = "a difference this small needs more rows than can be counted"
            raise ParameterError(msg, found=f"{self.difference:g}")
        first = max(1, math.ceil(needed**2 - _ROUNDING))
        if ratio is None:
            return _ALONE[alone[0]][0] * first, _ALONE[alone[0]][1] * first
        return first, max(1, math.ceil(first * ratio - _ROUNDING * max(1.0, ratio * first)))

    def power(self, positives: int, negatives: int, level: float) -> float:
        """Return the probability of detecting the difference with these numbers of rows."""
        from scipy.special import ndtr  # noqa: PLC0415  (slow to import, and seldom needed)

        equal, expected = self._deviations(positives, negatives)
        distance = abs(self.difference) - normal_quantile(level) * equal
        return float(ndtr(distance / expected)) if expected else 1.0

    def _deviations(self, positives: float, negatives: float) -> tuple[float, ...]:
        """Return the standard errors without a difference, and with the expected one."""
        rows = (positives, negatives)
        of_class = [[v / n for v, n in zip(of, rows, strict=True) if n] for of in (self.equal, self.expected)]
        return tuple(math.sqrt(sum(variances)) for variances in of_class)


def contrast_of(
    metric: str | pl.Expr, positives: Decisions, negatives: Decisions, prevalence: float | None, beta: float
) -> Contrast:
    """Return the difference of a metric of decisions, linearised in the four rates.

    Raises
    ------
    ParameterError
        If the metric is undefined at the expected rates.
    """
    expression = called_metric(metric)
    values, slopes = [], np.zeros((2, 2))
    for model, sign in ((0, 1.0), (1, -1.0)):
        point = np.array([positives.rates[model], negatives.rates[model]])
        # Steps point towards 1/2; near 0 and 1 they shrink with the distance.
        sizes = np.clip(_NEAR * np.minimum(point, 1 - point), _LEAST_STEP, _STEP)
        steps = np.where(point < 0.5, sizes, -sizes)
        points = np.vstack([point, point + np.diag(steps)])
        # A metric of one rate has no prevalence.
        table = pl.DataFrame({"tpr": points[:, 0], "fpr": points[:, 1]}).with_columns(
            prevalence=pl.lit(0.5 if prevalence is None else prevalence), beta=pl.lit(float(beta))
        )
        found = expression.evaluated(table)
        values.append(float(found[0]))
        moved = found[1:] - found[0]
        # If the metric does not depend on the rate, the change is only rounding.
        moved[np.abs(moved) <= _NOISE * np.abs(found).max()] = 0.0
        slopes[:, model] = sign * moved / steps
    if not np.isfinite([*values, *slopes.ravel()]).all():
        raise ParameterError("the metric is undefined at the expected rates", found=expression.label)
    if prevalence is None and slopes.any(axis=1).all():
        msg = f"this metric needs {Option('prevalence')}, at which it is judged"
        raise ParameterError(msg, found=expression.label)
    expected = positives.variance(slopes[0]), negatives.variance(slopes[1])
    alone = not slopes.any(axis=1).all() and np.allclose(np.abs(slopes[:, 0]), np.abs(slopes[:, 1]))
    equal = positives.variance_if_equal(slopes[0]), negatives.variance_if_equal(slopes[1])
    return Contrast(values[0] - values[1], expected, equal if alone else expected)


def contrast_of_areas(area: float | Pair, correlation: float | None, ratio: float) -> Contrast:
    """Return the difference of two ROC areas, or of one area from 0.5, with its variance for one positive.

    Notes
    -----
    The variance of an area A for m positives and κm negatives is V/m with V = 0.0099·exp(-a²/2)·((5a² + 8) +
    (a² + 8)/κ) and a = 1.414·Φ⁻¹(A).

    References
    ----------
    Obuchowski, Lieber and Wians (2004), doi:10.1373/clinchem.2004.031823; Obuchowski and McClish (1997),
    doi:10.1002/(SICI)1097-0258(19970715)16:13<1529::AID-SIM565>3.0.CO;2-H.
    """
    from scipy.special import ndtri  # noqa: PLC0415  (slow to import, and seldom needed)

    def variance(value: float) -> float:
        a2 = (float(ndtri(value)) * 1.414) ** 2
        return 0.0099 * math.exp(-a2 / 2) * ((5 * a2 + 8) + (a2 + 8) / ratio)

    areas = (area,) if isinstance(area, int | float) else tuple(area)
    for value in areas:
        need_within("auc", value, 1)
    if len(areas) == 1:
        return Contrast(areas[0] - 0.5, (variance(areas[0]), 0.0), (variance(0.5), 0.0))
    check_allowed(correlation is None or -1 < correlation < 1, "correlation", correlation, "between -1 and 1")
    shared = correlation or 0.0
    of_each = [variance(value) for value in areas]
    expected = sum(of_each) - 2 * shared * math.sqrt(of_each[0] * of_each[1])
    equal = 2 * variance(sum(areas) / 2) * (1 - shared)
    return Contrast(areas[0] - areas[1], (expected, 0.0), (equal, 0.0))


def decisions_of_pairs(pairs: Frame) -> list[Decisions]:
    """Return the decisions about positives and about negatives from joint counts.

    Raises
    ------
    ParameterError
        If there is more than one row, or a class has no units.
    SchemaError
        If *pairs* is not a pairs frame.
    """
    frame = collect(pairs, PAIRS)
    if len(frame) != 1:
        msg = "the joint counts must be of one pair of models"
        raise ParameterError(msg, found=f"{len(frame)} rows", hint="filter the frame to one of them")
    found = []
    for kind in ("tp", "fp"):
        both, a, b, none = (float(frame[f"{kind}_{cell}"].item()) for cell in ("both", "a", "b", "none"))
        units = both + a + b + none
        if not units:
            raise ParameterError("the joint counts must have positives and negatives", found=f"no {kind}_*")
        rates = (both + a) / units, (both + b) / units
        spread = math.sqrt(math.prod(rate * (1 - rate) for rate in rates))
        covariance = both / units - rates[0] * rates[1]
        found.append(Decisions(rates, covariance / spread if spread else 0.0))
    return found


def _each(name: str, value: float | Pair | None, missing: float | None = None) -> tuple[Any, Any]:
    """Return the values of both models, from one number or one of each."""
    if value is None or isinstance(value, int | float):
        one = missing if value is None else float(value)
        return one, one
    check_allowed(len(value) == 2, name, value, "one number, or one of each model")
    return float(value[0]), float(value[1])


def expected_decisions(
    metric: str | pl.Expr,
    tpr: float | Pair | None,
    fpr: float | Pair | None,
    correlation: float | Pair | None,
    prevalence: float | None,
    beta: float,
) -> tuple[Decisions, Decisions]:
    """Return the decisions about positives and about negatives at given rates, which the metric must need."""
    if tpr is None and fpr is None:
        raise ParameterError(f"the expected rates are missing: {Option('tpr')}, {Option('fpr')}, or pairs=")
    given = {"tpr": tpr, "fpr": fpr}
    shared = _each("correlation", correlation)
    # Assume 0.5 for missing rates; an error follows if the metric needs them.
    positives, negatives = (
        Decisions.of(_each(name, rates, 0.5), of_class, name)
        for (name, rates), of_class in zip(given.items(), shared, strict=True)
    )
    for side, (name, rates) in enumerate(given.items()):
        contrast = contrast_of(metric, positives, negatives, prevalence or 0.5, beta)
        if rates is None and contrast.expected[side] > 0:
            raise ParameterError(f"the metric needs the expected rates {Option(name)}", found="None")
    return positives, negatives


def _is_area(metric: str | pl.Expr, auc: float | Pair | None) -> bool:
    curve = curve_asked(metric)
    if curve is not None and curve.name != "roc_auc":
        msg = "rows that tell two models apart are known for metrics of decisions, and for roc_auc"
        raise ParameterError(msg, found=curve.name)
    if curve is None and auc is not None:
        raise ParameterError(f"{Option('auc')} is for compare='roc_auc'", found=f"{auc!r}")
    return curve is not None


def samples_to_compare(
    metric: str | pl.Expr, level: float, power: float, *, tpr: float | Pair | None, fpr: float | Pair | None,
    auc: float | Pair | None, prevalence: float | None, ratio: float | None,
    correlation: float | Pair | None, pairs: Frame | None, beta: float,
) -> pl.DataFrame:  # fmt: skip
    """Return the table of ``required_samples`` for two models."""
    need_within("power", power, 1)
    check_allowed(ratio is None or 0 < ratio < math.inf, "ratio", ratio, "a finite number > 0")
    if prevalence is not None:
        need_within("prevalence", prevalence, 1)
        ratio = (1 - prevalence) / prevalence if ratio is None else ratio
    discordant: tuple[float | None, float | None] = (None, None)
    if _is_area(metric, auc):
        if auc is None or ratio is None:
            msg = f"an area needs {Option('auc')}, and {Option('ratio')} or {Option('prevalence')}"
            in_python = "required_samples(compare='roc_auc', auc=(0.85, 0.8), prevalence=0.01)"
            hint = Call(f"e.g. {in_python}", f"areas are planned in Python, e.g. {in_python}")
            raise ParameterError(msg, found=f"auc={auc}, ratio={ratio}", hint=f"{hint}")
        if not (tpr is fpr is None and pairs is None):
            raise ParameterError("the rows for areas follow from areas", found="rates or joint counts, too")
        shared = correlation
        if shared is not None and (isinstance(auc, int | float) or not isinstance(shared, int | float)):
            msg = f"{Option('correlation')} must be one number, of two areas"
            raise ParameterError(msg, found=f"auc={auc}, correlation={shared}")
        contrast = contrast_of_areas(auc, shared, ratio)
    else:
        if pairs is None:
            positives, negatives = expected_decisions(metric, tpr, fpr, correlation, prevalence, beta)
        elif tpr is fpr is correlation is None:
            positives, negatives = decisions_of_pairs(pairs)
        else:
            msg = "the rates and their correlation are those of the joint counts"
            raise ParameterError(msg, found="both")
        shared = positives.correlation
        contrast = contrast_of(metric, positives, negatives, prevalence, beta)
        discordant = positives.discordant, negatives.discordant
    rows = contrast.rows(ratio, level, power)
    differ = [None if share is None else share * n for share, n in zip(discordant, rows, strict=True)]
    method = "unpaired" if shared is None else "paired"
    found = (method, *rows, *differ, contrast.power(*rows, level))
    return COMPARISON_SAMPLES.finish(pl.DataFrame([found], schema=COMPARISON_SAMPLES.dtypes(), orient="row"))
