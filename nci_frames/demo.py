"""Prediction logs to try things on: real ones, and synthetic ones whose true curves are known.

The real logs are held-out predictions of scikit-learn classifiers, cross-validated on data that ships inside
scikit-learn, so they need nothing from the network. The synthetic logs have any number of rows, and scores
that follow known laws within each class, so what is counted can be held against the true rates and areas.
"""

import importlib
import math
import numbers
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from nci_frames.errors import NciFramesError, ParameterError

__all__ = ["TASKS", "ScoreLaw", "Task", "synthetic_laws", "write_demo_logs", "write_synthetic_logs"]

_FOLDS = 5
_REPEATS = 2
_ROWS_PER_FILE = 2_500_000
_GOLDEN = (math.sqrt(5) - 1) / 2

_Floats = NDArray[np.float64]
_Rows = NDArray[np.int64]


def _require(module: str) -> ModuleType:
    """Import a module of the demo extra, which may not be installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise NciFramesError(
            "this part of the demonstration needs scikit-learn",
            found=str(error),
            hint="pip install 'nci_frames[demo]'",
        ) from error


def _publish(frame: pl.DataFrame, target: Path) -> None:
    """Write *frame* so that *target* is at every moment either whole or as it was before."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        frame.write_parquet(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _check_whole(name: str, value: object, least: int, most: float = math.inf) -> None:
    if not (isinstance(value, numbers.Integral) and least <= int(value) <= most):
        allowed = f">= {least:,}" if most == math.inf else f"from {least:,} to {most:,}"
        raise ParameterError.out_of_range(name, value, f"a whole number {allowed}")


def _check_seed(seed: object) -> None:
    # The range that scikit-learn takes; the synthetic logs keep to it so that one seed serves both.
    _check_whole("seed", seed, 0, 2**32 - 1)


# --- real predictions ---------------------------------------------------------------------------------------


class _Examples(NamedTuple):
    features: _Floats
    labels: NDArray[np.int8]
    segments: NDArray[np.str_]


class _Classifier(Protocol):
    def fit(self, features: _Floats, labels: NDArray[np.int8], /) -> object: ...
    def predict_proba(self, features: _Floats, /) -> _Floats: ...


def _feature(name: str) -> Callable[[Any], _Floats]:
    return lambda data: np.asarray(data.data[:, list(data.feature_names).index(name)], dtype=np.float64)


def _mean_of_features(data: Any) -> _Floats:
    return np.asarray(data.data.mean(axis=1), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Task:
    """One class of a data set inside scikit-learn, to be told from all others.

    Attributes
    ----------
    loader
        Name of the function of ``sklearn.datasets`` that returns the data.
    positive
        Name of the class that is positive; all others together are negative.
    measure
        Property of the rows by which they are cut into terciles.
    segments
        Names of the terciles, from low to high.
    """

    loader: str
    positive: str
    measure: Callable[[Any], _Floats]
    segments: tuple[str, str, str]

    def load(self) -> _Examples:
        """Return the features, the labels of one class against the rest, and the segment of each row."""
        data = getattr(_require("sklearn.datasets"), self.loader)()
        positive = [str(name) for name in data.target_names].index(self.positive)
        measured = self.measure(data)
        tercile = np.searchsorted(np.quantile(measured, [1 / 3, 2 / 3]), measured, side="left")
        return _Examples(
            features=np.asarray(data.data, dtype=np.float64),
            labels=(data.target == positive).astype(np.int8),
            segments=np.array(self.segments)[tercile],
        )


TASKS = {
    "digits": Task("load_digits", "8", _mean_of_features, ("thin", "medium", "bold")),
    "breast_cancer": Task(
        "load_breast_cancer", "malignant", _feature("mean radius"), ("small", "medium", "large")
    ),
    "wine": Task("load_wine", "class_2", _feature("alcohol"), ("light", "medium", "strong")),
}
"""The data sets that `write_demo_logs` knows, by name."""


def _classifiers(seed: int) -> dict[str, _Classifier]:
    """Return untrained classifiers that err in different ways: in ranking, in calibration, in resolution."""
    discriminant = _require("sklearn.discriminant_analysis")
    ensemble = _require("sklearn.ensemble")
    pipeline = _require("sklearn.pipeline")
    preprocessing = _require("sklearn.preprocessing")

    def scaled(classifier: object) -> Any:
        return pipeline.make_pipeline(preprocessing.StandardScaler(), classifier)

    # An SVC has no probabilities of its own; the sigmoid is fitted on inner folds.
    support_vectors = _require("sklearn.calibration").CalibratedClassifierCV(
        _require("sklearn.svm").SVC(), method="sigmoid", cv=3, ensemble=False
    )
    return {
        "logistic_regression": scaled(_require("sklearn.linear_model").LogisticRegression(max_iter=1000)),
        # Shrinkage, because some pixels of the digits are constant and the covariance is singular.
        "linear_discriminant": scaled(discriminant.LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)),
        "gaussian_naive_bayes": scaled(_require("sklearn.naive_bayes").GaussianNB(var_smoothing=0.01)),
        "k_nearest_neighbours": scaled(_require("sklearn.neighbors").KNeighborsClassifier(n_neighbors=15)),
        "decision_tree": _require("sklearn.tree").DecisionTreeClassifier(
            max_depth=6, min_samples_leaf=5, random_state=seed
        ),
        "random_forest": ensemble.RandomForestClassifier(n_estimators=50, random_state=seed),
        "extra_trees": ensemble.ExtraTreesClassifier(n_estimators=50, max_depth=8, random_state=seed),
        "hist_gradient_boosting": ensemble.HistGradientBoostingClassifier(
            max_iter=60, max_leaf_nodes=8, random_state=seed
        ),
        # The loose tolerance ends the training far below max_iter, so that it never warns of too few.
        "multilayer_perceptron": scaled(
            _require("sklearn.neural_network").MLPClassifier(
                (16,), alpha=0.01, learning_rate_init=0.01, max_iter=1000, tol=1e-3, random_state=seed
            )
        ),
        "support_vector_machine": scaled(support_vectors),
    }


def _held_out_scores(
    classifier: _Classifier, examples: _Examples, splits: Sequence[tuple[_Rows, _Rows]]
) -> _Floats:
    """Return P(positive) of the rows of every test fold, by a classifier trained on the other folds."""
    scores = []
    # On one thread floating-point sums have one order, so the scores do not depend on the number of cores.
    with _require("threadpoolctl").threadpool_limits(limits=1):
        for train, test in splits:
            classifier.fit(examples.features[train], examples.labels[train])
            scores.append(classifier.predict_proba(examples.features[test])[:, 1])
    return np.concatenate(scores, dtype=np.float64)


def _held_out_predictions(task: Task, seed: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Cross-validate every classifier on one task and yield its name and its predictions."""
    splitter = _require("sklearn.model_selection").RepeatedStratifiedKFold(
        n_splits=_FOLDS, n_repeats=_REPEATS, random_state=seed
    )
    examples = task.load()
    splits = list(splitter.split(examples.features, examples.labels))
    rows = pl.concat(
        pl.DataFrame(
            {
                "fold": np.full(len(test), f"r{i // _FOLDS + 1}f{i % _FOLDS + 1}"),
                "segment": examples.segments[test],
                "unit": test.astype(np.int64),
                "label": examples.labels[test],
            }
        )
        for i, (_, test) in enumerate(splits)
    )
    for model, classifier in _classifiers(seed).items():
        yield model, rows.with_columns(score=_held_out_scores(classifier, examples, splits))


def write_demo_logs(
    path: str | os.PathLike[str],
    *,
    datasets: Sequence[str] = ("digits", "breast_cancer", "wine"),
    seed: int = 0,
) -> Path:
    """Cross-validate ten classifiers on real data and write their held-out predictions.

    Each data set is made imbalanced in the honest way, one class against the rest: the digit 8 (10 % of the
    rows), malignant tumours (37 %), the third wine (27 %). Two repeats of stratified five-fold
    cross-validation predict every row twice with each classifier, each time by a model that did not see it.
    All three data sets take some 20 s.

    Parameters
    ----------
    path
        Folder to write to; it is made if need be. Files of an earlier run are replaced one by one, each
        atomically.
    datasets
        Which data sets; the names in `TASKS`.
    seed
        Fixes folds and classifiers. The same seed and versions give the same values on any number of cores.

    Returns
    -------
    Path
        The folder, laid out as ``dataset=digits/model=logistic_regression/part-0.parquet``. A file has the
        columns

        ========= ======= =================================================================
        column    dtype   meaning (never null)
        ========= ======= =================================================================
        `fold`    String  repeat and fold, ``"r1f1"`` to ``"r2f5"``
        `segment` String  tercile of a property of the row: ink, mean radius or alcohol
        `unit`    Int64   number of the row in the data set
        `label`   Int8    1 for the class that is positive, else 0
        `score`   Float64 P(positive) as the classifier sees it, in [0, 1]
        ========= ======= =================================================================

    Raises
    ------
    ParameterError
        If a data set is unknown or the seed is not in [0, 2**32).
    NciFramesError
        If scikit-learn is not installed.
    """
    names = (datasets,) if isinstance(datasets, str) else tuple(datasets)
    if not names:
        raise ParameterError.out_of_range("datasets", datasets, "at least one name")
    for name in names:
        if name not in TASKS:
            raise ParameterError.unknown_choice("datasets", name, tuple(TASKS))
    _check_seed(seed)
    root = Path(path)
    for name in dict.fromkeys(names):
        for model, frame in _held_out_predictions(TASKS[name], seed):
            _publish(frame, root / f"dataset={name}" / f"model={model}" / "part-0.parquet")
    return root


# --- synthetic predictions ----------------------------------------------------------------------------------


def _log1mexp(x: float) -> float:
    """Return log(1 - exp(x)) for x <= 0 without cancellation at either end."""
    if x == 0:
        return -math.inf
    return math.log(-math.expm1(x)) if x > -math.log(2) else math.log1p(-math.exp(x))


@dataclass(frozen=True, slots=True)
class ScoreLaw:
    """The law that a model's scores follow in each class, and hence its true curves.

    The scores of a class have Kumaraswamy's distribution on [0, 1], whose distribution function and its
    inverse are both closed: F(x) = 1 - (1 - x^a)^b. With + and - for the classes, the ROC curve behaves as
    TPR ~ FPR^(b+/b-) near score 1 and as 1-TPR ~ (1-FPR)^(a+/a-) near score 0: one ratio says how early the
    first positives are found, the other how late the last.

    Attributes
    ----------
    positive
        (a, b) of the positive class; both positive and finite.
    negative
        (a, b) of the negative class; both positive and finite.

    References
    ----------
    M. C. Jones (2009). Kumaraswamy's distribution: a beta-type distribution with some tractability
    advantages. Statistical Methodology 6(1), 70-81. doi:10.1016/j.stamet.2008.04.001

    Examples
    --------
    With equal a, FPR is a power of TPR; here its square, so the area over the ROC curve is 1/3 and
    PR-AUC = o ln(1/eta), where o are the odds eta/(1-eta).

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

    def tpr(self, threshold: ArrayLike) -> _Floats:
        """Return P(score >= threshold) of a positive, of the shape of *threshold*."""
        return _survival(threshold, *self.positive)

    def fpr(self, threshold: ArrayLike) -> _Floats:
        """Return P(score >= threshold) of a negative, of the shape of *threshold*."""
        return _survival(threshold, *self.negative)

    def roc_auc(self) -> float:
        """Return the area under the true ROC curve, in [0, 1]."""
        return 1.0 - self._integrate_over_recall(lambda _, fpr: fpr)

    def pr_auc(self, prevalence: float) -> float:
        """Return the area under the true precision-recall curve at *prevalence*, to about 1e-10.

        Its limits are 0 at prevalence 0 and 1 at prevalence 1.
        """
        _check_prevalence(prevalence)
        if prevalence in (0, 1):
            return float(prevalence)
        return self._integrate_over_recall(
            lambda tpr, fpr: prevalence * tpr / (prevalence * tpr + (1.0 - prevalence) * fpr)
        )

    def sample(self, rng: np.random.Generator, labels: ArrayLike) -> _Floats:
        """Draw one score for each of *labels* (true: positive), using up one number of *rng* for each."""
        is_positive = np.asarray(labels, dtype=np.bool_)
        (a_positive, b_positive), (a_negative, b_negative) = self.positive, self.negative
        # In (0, 1], so that its logarithm is finite.
        survival = 1.0 - rng.random(is_positive.shape)
        log_rest = np.log(survival) * np.where(is_positive, 1 / b_positive, 1 / b_negative)
        return np.asarray((-np.expm1(log_rest)) ** np.where(is_positive, 1 / a_positive, 1 / a_negative))

    def _integrate_over_recall(self, integrand: Callable[[float, float], float]) -> float:
        """Integrate a function of (tpr, fpr) over tpr from 0 to 1 along the true curve.

        FPR has fractional powers of TPR at one end and of 1-TPR at the other. With TPR = 1/(1+exp(-y)) both
        become exponential decay in y, which quadrature takes without trouble.
        """
        (a_positive, b_positive), (a_negative, b_negative) = self.positive, self.negative

        def integrand_over_y(y: float) -> float:
            log_tpr = -math.log1p(math.exp(-y))
            log_x = _log1mexp(log_tpr / b_positive) / a_positive
            fpr = math.exp(b_negative * _log1mexp(a_negative * log_x))
            tpr = math.exp(log_tpr)
            return tpr / (1.0 + math.exp(y)) * integrand(tpr, fpr)

        # exp(-36) is the precision of Float64: nothing lies beyond.
        area, _ = _require("scipy.integrate").quad(
            integrand_over_y, -36.0, 36.0, epsabs=1e-14, epsrel=1e-12, limit=200
        )
        return float(area)


def _survival(threshold: ArrayLike, a: float, b: float) -> _Floats:
    return np.asarray((1.0 - np.clip(np.asarray(threshold, dtype=np.float64), 0.0, 1.0) ** a) ** b)


def _check_prevalence(prevalence: float) -> None:
    if not 0 <= prevalence <= 1:
        raise ParameterError.out_of_range("prevalence", prevalence, "in [0, 1]")


def synthetic_laws(n: int) -> dict[str, ScoreLaw]:
    """Return the laws of the models ``model_00``, ``model_01``, and so on.

    They trade early finds against late misses: the ROC curves of any two cross, so which model has the larger
    PR-AUC depends on the prevalence. The law of a name is the same for every *n*.

    Parameters
    ----------
    n
        How many, at least 1.

    Returns
    -------
    dict of str to ScoreLaw
        The laws in the order of their numbers.

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
    _check_whole("n", n, 1)
    laws = {}
    for i in range(n):
        # Multiples of the golden ratio never repeat, and however many there are, they spread evenly.
        early = i * _GOLDEN % 1.0
        head = 2.0 * 4.0**early
        tail = 5.0 * 0.26**early
        # Stretches the scores and leaves the ROC curve alone: models differ in their best thresholds, too.
        stretch = (1.0, 0.8, 1.25)[i % 3]
        laws[f"model_{i:02d}"] = ScoreLaw(positive=(stretch * tail, 1.2), negative=(stretch, 1.2 * head))
    return laws


class _SyntheticLog(NamedTuple):
    """What the rows of a synthetic log depend on; the files they are cut into are no part of it."""

    laws: dict[str, ScoreLaw]
    folds: int
    segments: int
    prevalence: float
    dtype: Literal["float64", "float32"]
    seed: int

    def _draws(self, stream: int, start: int) -> np.random.Generator:
        """Return a generator that begins at the number with which *stream* decides on unit *start*.

        Each stream uses up one number a unit, so any stretch of units can be made by itself.
        """
        bits = np.random.PCG64(np.random.SeedSequence([self.seed, stream]))
        return np.random.Generator(bits.advance(start))

    def rows(self, start: int, stop: int) -> pl.DataFrame:
        """Return the rows of the units from *start* to before *stop*: each unit under every model."""
        units, models = stop - start, len(self.laws)
        labels = self._draws(0, start).random(units) < self.prevalence
        segment = (self._draws(1, start).random(units) * self.segments).astype(np.uint32)
        unit = np.arange(start, stop, dtype=np.int64)
        scores = np.empty((units, models), dtype=self.dtype)
        for j, law in enumerate(self.laws.values()):
            scores[:, j] = law.sample(self._draws(2 + j, start), labels)
        return pl.DataFrame(
            {
                "model": _named(list(self.laws), np.tile(np.arange(models, dtype=np.uint32), units)),
                "fold": _named(
                    [f"fold_{i}" for i in range(self.folds)],
                    np.repeat((unit % self.folds).astype(np.uint32), models),
                ),
                "segment": _named(
                    [f"segment_{i:02d}" for i in range(self.segments)], np.repeat(segment, models)
                ),
                "unit": np.repeat(unit, models),
                "label": np.repeat(labels, models),
                "score": scores.ravel(),
            }
        )


def _named(names: Sequence[str], codes: NDArray[np.uint32]) -> pl.Series:
    return pl.Series(names, dtype=pl.String).gather(pl.Series(codes))


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

    Every unit is scored by all models, one row each, side by side, so each file holds all models. Given the
    label, the scores of different models are independent. A model has ``rows // models`` rows; the remaining
    ``rows % models`` are those of one more unit, which only the first models score. So the total is exact.

    Parameters
    ----------
    path
        Folder to write to; it is made if need be. Its files of the same names are replaced one by one, each
        atomically.
    rows
        Rows in all, at least 1.
    models
        Number of models, at least 1.
    folds
        Number of folds, at least 1; the units take turns in them.
    segments
        Number of segments, at least 1; each unit falls into one at random, all equally likely.
    prevalence
        Probability with which a unit is positive, in [0, 1], independently of fold and segment.
    files
        Number of files, at most one for each unit. None gives files of about 2,500,000 rows. The rows do not
        depend on it, the memory does: one file's rows are held at a time.
    dtype
        Type of the scores. ``"float32"`` rounds them, by at most 3e-8; the true rates are as exact as if the
        threshold had moved so far.
    seed
        Fixes the rows. A longer log with the same seed begins with the rows of a shorter one.

    Returns
    -------
    Path
        The folder, with files ``part-00000.parquet`` and so on of the columns

        ========= ================ ===========================================
        column    dtype            meaning (never null)
        ========= ================ ===========================================
        `model`   String           ``"model_00"`` and so on
        `fold`    String           ``"fold_0"`` and so on
        `segment` String           ``"segment_00"`` and so on
        `unit`    Int64            number of the unit, from 0
        `label`   Boolean          is the unit positive?
        `score`   Float64, Float32 drawn from the model's law, in [0, 1]
        ========= ================ ===========================================

    Raises
    ------
    ParameterError
        If an argument is outside what it may be, or the folder holds Parquet files that this log would not
        replace and that would be read along with it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = pl.read_parquet(write_synthetic_logs(folder, rows=10, models=4))
    >>> log.height, log["unit"].max(), log["model"].tail(2).to_list()
    (10, 2, ['model_00', 'model_01'])
    """
    for name, value in (("rows", rows), ("models", models), ("folds", folds), ("segments", segments)):
        _check_whole(name, value, 1)
    units = -(-rows // models)
    if files is None:
        files = min(-(-rows // _ROWS_PER_FILE), units)
    _check_whole("files", files, 1, units)
    _check_prevalence(prevalence)
    if dtype not in ("float64", "float32"):
        raise ParameterError.unknown_choice("dtype", dtype, ("float64", "float32"))
    _check_seed(seed)

    root = Path(path)
    targets = [root / f"part-{k:05d}.parquet" for k in range(files)]
    foreign = sorted(set(root.rglob("*.parquet")).difference(targets))
    if foreign:
        raise ParameterError(
            "the folder holds Parquet files of another log",
            where=repr(str(root)),
            found=f"{len(foreign)} files, among them {str(foreign[0])!r}",
            hint="give a folder of its own to each log",
        )
    log = _SyntheticLog(synthetic_laws(models), folds, segments, prevalence, dtype, seed)
    for k, target in enumerate(targets):
        start, stop = units * k // files, units * (k + 1) // files
        _publish(log.rows(start, stop).head(rows - start * models), target)
    return root
