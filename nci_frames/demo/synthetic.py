"""Synthetic logs of any size with known score distributions, hence known rates and areas."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from nci_frames.base.arguments import check_allowed, check_seed, check_whole
from nci_frames.base.errors import ParameterError
from nci_frames.base.files import replacing, write_parquet
from nci_frames.base.messages import quantity
from nci_frames.base.typing import Floats

_ROWS_PER_FILE = 2_500_000
_GOLDEN = (math.sqrt(5) - 1) / 2


def _log1mexp(x: float) -> float:
    """Return log(1 - exp(x)) for x <= 0, without cancellation near 0 or for very negative x."""
    if x == 0:
        return -math.inf
    return math.log(-math.expm1(x)) if x > -math.log(2) else math.log1p(-math.exp(x))


@dataclass(frozen=True, slots=True)
class ScoreLaw:
    """The score distribution of a model in each class, which determines its true curves.

    The scores of a class have a Kumaraswamy distribution on [0, 1]. Its distribution function
    F(x) = 1 - (1 - x^a)^b and the inverse have a closed form. With + and - for the classes, the ROC curve
    behaves as TPR ~ FPR^(b+/b-) near score 1, and as 1-TPR ~ (1-FPR)^(a+/a-) near score 0. The ratio of the
    b determines how early the first positives are found, the ratio of the a how late the last ones.

    Attributes
    ----------
    positive
        (a, b) of the positive class, both > 0 and finite.
    negative
        (a, b) of the negative class, both > 0 and finite.

    References
    ----------
    M. C. Jones (2009). Kumaraswamy's distribution: a beta-type distribution with some tractability
    advantages. Statistical Methodology 6(1), 70-81. doi:10.1016/j.stamet.2008.04.001

    Examples
    --------
    With equal a, FPR is a power of TPR. Here it is the square, so the area above the ROC curve is 1/3, and
    PR-AUC = o ln(1/eta) with the odds o = eta/(1-eta).

    >>> law = ScoreLaw(positive=(1.0, 1.0), negative=(1.0, 2.0))
    >>> law.tpr([0.25, 0.5]), law.fpr([0.25, 0.5])
    (array([0.75, 0.5 ]), array([0.5625, 0.25  ]))
    >>> round(law.roc_auc(), 10), round(law.pr_auc(0.5), 10)
    (0.6666666667, 0.6931471806)
    """

    positive: tuple[float, float]
    negative: tuple[float, float]

    def __post_init__(self) -> None:
        for name, shape in (("positive", self.positive), ("negative", self.negative)):
            if len(shape) != 2 or not all(0 < value < math.inf for value in shape):
                raise ParameterError.out_of_range(name, shape, "two positive finite numbers (a, b)")

    def tpr(self, threshold: ArrayLike) -> Floats:
        """Return P(score >= threshold) of a positive, in the shape of *threshold*."""
        return _survival(threshold, *self.positive)

    def fpr(self, threshold: ArrayLike) -> Floats:
        """Return P(score >= threshold) of a negative, in the shape of *threshold*."""
        return _survival(threshold, *self.negative)

    def roc_auc(self) -> float:
        """Return the area under the true ROC curve, in [0, 1]."""
        return 1.0 - self._integrate_over_recall(lambda _, fpr: fpr)

    def pr_auc(self, prevalence: float) -> float:
        """Return the area under the true precision-recall curve at *prevalence*.

        The error is about 1e-10. The area is 0 at prevalence 0, and 1 at prevalence 1.
        """
        _check_prevalence(prevalence)
        if prevalence in (0, 1):
            return float(prevalence)
        return self._integrate_over_recall(
            lambda tpr, fpr: prevalence * tpr / (prevalence * tpr + (1.0 - prevalence) * fpr)
        )

    def sample(self, rng: np.random.Generator, labels: ArrayLike) -> Floats:
        """Draw a score for each of *labels* (true: positive); each uses one random number of *rng*."""
        is_positive = np.asarray(labels, dtype=np.bool_)
        (a_positive, b_positive), (a_negative, b_negative) = self.positive, self.negative
        # 1 - random() is in (0, 1], so its logarithm is finite.
        survival = 1.0 - rng.random(is_positive.shape)
        log_rest = np.log(survival) * np.where(is_positive, 1 / b_positive, 1 / b_negative)
        return np.asarray((-np.expm1(log_rest)) ** np.where(is_positive, 1 / a_positive, 1 / a_negative))

    def _integrate_over_recall(self, integrand: Callable[[float, float], float]) -> float:
        """Integrate a function of (tpr, fpr) over tpr from 0 to 1 along the true curve.

        FPR behaves as a fractional power of TPR at one end, and 1-FPR as one of 1-TPR at the other. With
        TPR = 1/(1+exp(-y)), both become exponential decay in y, which quadrature integrates accurately.
        """
        (a_positive, b_positive), (a_negative, b_negative) = self.positive, self.negative

        def integrand_over_y(y: float) -> float:
            log_tpr = -math.log1p(math.exp(-y))
            log_x = _log1mexp(log_tpr / b_positive) / a_positive
            fpr = math.exp(b_negative * _log1mexp(a_negative * log_x))
            tpr = math.exp(log_tpr)
            return tpr / (1.0 + math.exp(y)) * integrand(tpr, fpr)

        from scipy.integrate import quad  # noqa: PLC0415 - it takes long to import

        # exp(-36) is about the precision of Float64, so the tails beyond +-36 are negligible.
        area, _ = quad(integrand_over_y, -36.0, 36.0, epsabs=1e-14, epsrel=1e-12, limit=200)
        return float(area)


def _survival(threshold: ArrayLike, a: float, b: float) -> Floats:
    return np.asarray((1.0 - np.clip(np.asarray(threshold, dtype=np.float64), 0.0, 1.0) ** a) ** b)


def _check_prevalence(prevalence: float) -> None:
    check_allowed(0 <= prevalence <= 1, "prevalence", prevalence, "in [0, 1]")


def synthetic_laws(n: int) -> dict[str, ScoreLaw]:
    """Return the score distributions of the models ``model_00``, ``model_01``, and so on.

    Models that find the first positives early find the last ones late. The ROC curves of any two models
    cross, so which of them has the larger PR-AUC depends on the prevalence. A name has the same distributions
    for every *n*.

    Parameters
    ----------
    n
        Number of models, at least 1.

    Returns
    -------
    dict of str to ScoreLaw
        The distributions by model name, in the order of the numbers.

    Raises
    ------
    ParameterError
        If *n* is not a whole number >= 1.

    Examples
    --------
    >>> laws = synthetic_laws(8)
    >>> [max(laws, key=lambda name: laws[name].pr_auc(eta)) for eta in (0.5, 0.1, 0.001)]
    ['model_07', 'model_01', 'model_03']
    """
    check_whole("n", n, 1)
    laws = {}
    for i in range(n):
        # Modulo 1, multiples of the golden ratio never repeat, and any number of them is evenly spread.
        early = i * _GOLDEN % 1.0
        head = 2.0 * 4.0**early
        tail = 5.0 * 0.26**early
        # This changes the scores but not the ROC curve, so that models also differ in their best thresholds.
        stretch = (1.0, 0.8, 1.25)[i % 3]
        laws[f"model_{i:02d}"] = ScoreLaw(positive=(stretch * tail, 1.2), negative=(stretch, 1.2 * head))
    return laws


def write_synthetic_logs(
    path: str | os.PathLike[str],
    *,
    rows: int,
    models: int = 8,
    folds: int = 10,
    segments: int = 20,
    prevalence: float = 0.1,
    files: int | None = None,
    dtype: Literal["float64", "float32"] = "float64",
    seed: int = 0,
) -> Path:
    """Write a log of any size whose true rates and areas are known: those of `synthetic_laws`.

    Every unit is scored by all models. Its rows, one per model, are adjacent, so each file contains all
    models. Given the label, the scores of different models are independent. Each model has ``rows // models``
    rows; the remaining ``rows % models`` rows are one more unit, scored by the first models only.

    Parameters
    ----------
    path
        Folder to write to, created if missing. Existing files of the same names are replaced one by one, each
        atomically.
    rows
        Total number of rows, at least 1.
    models
        Number of models, at least 1.
    folds
        Number of folds, at least 1; consecutive units are in consecutive folds.
    segments
        Number of segments, at least 1; each unit is in a random one, all equally likely.
    prevalence
        Probability that a unit is positive, in [0, 1], in every fold and segment.
    files
        Number of files, from 1 to the number of units. None writes files of about 2,500,000 rows. The rows do
        not depend on it, but memory does: the rows of one file are in memory at a time.
    dtype
        Type of the scores. ``"float32"`` rounds them by at most 3e-8; the effect on the rates is that of
        a threshold moved by at most as much.
    seed
        Seed of the rows, in [0, 2**32). A longer log with the same seed starts with the rows of a shorter
        one.

    Returns
    -------
    Path
        The folder. Its files are ``part-00000.parquet`` and so on, with the columns

        ========= ================ ===========================================
        column    dtype            meaning (never null)
        ========= ================ ===========================================
        `model`   String           ``"model_00"`` and so on
        `fold`    String           ``"fold_0"`` and so on
        `segment` String           ``"segment_00"`` and so on
        `unit`    Int64            number of the unit, from 0
        `label`   Boolean          is the unit positive?
        `score`   Float64, Float32 from the model's distribution, in [0, 1]
        ========= ================ ===========================================

    Raises
    ------
    ParameterError
        If an argument is out of range, or the folder contains Parquet files that this log would not
        replace, so that both would be read together.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = pl.read_parquet(write_synthetic_logs(folder, rows=10, models=4))
    >>> log.height, log["unit"].max(), log["model"].tail(2).to_list()
    (10, 2, ['model_00', 'model_01'])
    """
    for name, value in (("rows", rows), ("models", models), ("folds", folds), ("segments", segments)):
        check_whole(name, value, 1)
    units = -(-rows // models)
    if files is None:
        files = min(-(-rows // _ROWS_PER_FILE), units)
    check_whole("files", files, 1, units)
    _check_prevalence(prevalence)
    if dtype not in ("float64", "float32"):
        raise ParameterError.unknown_choice("dtype", dtype, ("float64", "float32"))
    check_seed(seed)

    root = Path(path)
    targets = [root / f"part-{k:05d}.parquet" for k in range(files)]
    foreign = sorted(set(root.rglob("*.parquet")).difference(targets))
    if foreign:
        msg = "the folder contains Parquet files of another log"
        found, where = f"{quantity(len(foreign), 'file')}, for example {str(foreign[0])!r}", repr(str(root))
        raise ParameterError(msg, where=where, found=found, hint="write each log to a separate folder")
    laws = synthetic_laws(models)

    def draws(stream: int, start: int) -> np.random.Generator:
        """Return the generator of a stream, which has one number for each unit, advanced to a unit."""
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, stream])).advance(start))

    for k, target in enumerate(targets):
        start, stop = units * k // files, units * (k + 1) // files
        labels = draws(0, start).random(stop - start) < prevalence
        segment = (draws(1, start).random(stop - start) * segments).astype(np.uint32)
        scores = [law.sample(draws(stream, start), labels) for stream, law in enumerate(laws.values(), 2)]
        units_there = np.arange(start, stop, dtype=np.int64)
        of_units = pl.DataFrame({"segment": segment, "unit": units_there, "label": labels}).with_columns(
            pl.format("fold_{}", pl.col("unit") % folds).alias("fold"),
            pl.format("segment_{}", pl.col("segment").cast(pl.String).str.zfill(2)).alias("segment"),
        )
        log = of_units.join(pl.DataFrame({"model": list(laws)}), how="cross", maintain_order="left_right")
        score = pl.Series("score", np.stack(scores, axis=1).astype(dtype).ravel())
        with replacing(target) as part:
            columns = log.select("model", "fold", "segment", "unit", "label", score)
            write_parquet(columns.head(rows - start * models), part)
    return root
