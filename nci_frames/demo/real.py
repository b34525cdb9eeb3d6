"""Real logs: held-out predictions of scikit-learn classifiers on data sets that are part of scikit-learn."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import check_allowed, check_seed
from nci_frames.base.errors import ParameterError
from nci_frames.base.extras import require
from nci_frames.base.files import replacing, write_parquet
from nci_frames.base.typing import Floats

_FOLDS = 5
_REPEATS = 2


def _learning(module: str) -> ModuleType:
    return require(module, extra="demo", what="this part of the demonstration needs scikit-learn")


@dataclass(frozen=True, slots=True)
class Task:
    """A binary classification task: one class of a scikit-learn data set against all others.

    Attributes
    ----------
    loader
        Name of the function of ``sklearn.datasets`` that loads the data.
    positive
        Name of the positive class; all other classes are negative.
    feature
        Name of the feature by which the rows are divided into terciles; None stands for the mean of all.
    segments
        Names of the terciles, from low to high.
    """

    loader: str
    positive: str
    feature: str | None
    segments: tuple[str, str, str]

    def load(self) -> tuple[Floats, NDArray[np.int8], NDArray[np.str_]]:
        """Return the features, the binary labels, and the segment of each row."""
        data = getattr(_learning("sklearn.datasets"), self.loader)()
        features = np.asarray(data.data, dtype=np.float64)
        positive = [str(name) for name in data.target_names].index(self.positive)
        place = None if self.feature is None else list(data.feature_names).index(self.feature)
        measured = features.mean(axis=1) if place is None else features[:, place]
        tercile = np.searchsorted(np.quantile(measured, [1 / 3, 2 / 3]), measured, side="left")
        return features, (data.target == positive).astype(np.int8), np.array(self.segments)[tercile]


TASKS = {
    "digits": Task("load_digits", "8", None, ("thin", "medium", "bold")),
    "breast_cancer": Task("load_breast_cancer", "malignant", "mean radius", ("small", "medium", "large")),
    "wine": Task("load_wine", "class_2", "alcohol", ("light", "medium", "strong")),
}
"""The data sets of `write_demo_logs`, by name."""


def _classifiers(seed: int) -> dict[str, Any]:
    """Return untrained classifiers that differ in ranking, calibration and number of distinct scores."""

    def made(kind: str, *args: object, **options: object) -> Any:
        module, _, name = kind.rpartition(".")
        return getattr(_learning(f"sklearn.{module}"), name)(*args, **options)

    def scaled(classifier: object) -> Any:
        steps = [("scale", made("preprocessing.StandardScaler")), ("fit", classifier)]
        return made("pipeline.Pipeline", steps)

    # Some pixels of the digits are constant, so without shrinkage the covariance matrix is singular.
    discriminant = made("discriminant_analysis.LinearDiscriminantAnalysis", solver="lsqr", shrinkage=0.1)
    # An SVC returns no probabilities; the sigmoid that calibrates it is fitted on inner folds.
    support_vectors = made(
        "calibration.CalibratedClassifierCV", made("svm.SVC"), method="sigmoid", cv=3, ensemble=False
    )
    # With this tolerance, training stops long before max_iter, so there is no convergence warning.
    steps = {"learning_rate_init": 0.01, "max_iter": 1000, "tol": 1e-3}
    perceptron = made("neural_network.MLPClassifier", (16,), alpha=0.01, random_state=seed, **steps)
    trees = {"n_estimators": 50, "random_state": seed}
    boosting = {"max_iter": 60, "max_leaf_nodes": 8, "random_state": seed}
    return {
        "logistic_regression": scaled(made("linear_model.LogisticRegression", max_iter=1000)),
        "linear_discriminant": scaled(discriminant),
        "gaussian_naive_bayes": scaled(made("naive_bayes.GaussianNB", var_smoothing=0.01)),
        "k_nearest_neighbours": scaled(made("neighbors.KNeighborsClassifier", n_neighbors=15)),
        "decision_tree": made(
            "tree.DecisionTreeClassifier", max_depth=6, min_samples_leaf=5, random_state=seed
        ),
        "random_forest": made("ensemble.RandomForestClassifier", **trees),
        "extra_trees": made("ensemble.ExtraTreesClassifier", max_depth=8, **trees),
        "hist_gradient_boosting": made("ensemble.HistGradientBoostingClassifier", **boosting),
        "multilayer_perceptron": scaled(perceptron),
        "support_vector_machine": scaled(support_vectors),
    }


def _held_out_predictions(task: Task, seed: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Cross-validate every classifier on one task; yield its name and its predictions."""
    splitter = _learning("sklearn.model_selection").RepeatedStratifiedKFold(
        n_splits=_FOLDS, n_repeats=_REPEATS, random_state=seed
    )
    features, labels, segments = task.load()
    splits = list(splitter.split(features, labels))
    parts = []
    for i, (_, test) in enumerate(splits):
        repeat = f"r{i // _FOLDS + 1}"
        keys = {"repeat": repeat, "fold": f"{repeat}f{i % _FOLDS + 1}", "segment": segments[test]}
        parts.append(pl.DataFrame({**keys, "unit": test.astype(np.int64), "label": labels[test]}))
    rows = pl.concat(parts)
    for model, classifier in _classifiers(seed).items():
        # One thread adds floating-point numbers in one order, so the scores do not depend on the number of
        # cores.
        with _learning("threadpoolctl").threadpool_limits(limits=1):
            scores = [
                classifier.fit(features[train], labels[train]).predict_proba(features[test])[:, 1]
                for train, test in splits
            ]
        yield model, rows.with_columns(score=np.concatenate(scores, dtype=np.float64))


def write_demo_logs(
    path: str | os.PathLike[str],
    *,
    datasets: Sequence[str] = ("digits", "breast_cancer", "wine"),
    seed: int = 0,
) -> Path:
    """Cross-validate ten classifiers on real data and write their held-out predictions.

    In each data set, one class is positive and all others are negative: the digit 8 (10 % of the rows),
    malignant tumours (37 %), or the third wine (27 %). Stratified five-fold cross-validation is repeated
    twice, so each classifier predicts every row twice, both times without having seen it in training. All
    three data sets together take about 20 s.

    Parameters
    ----------
    path
        Folder to write to, created if missing. Files of an earlier run are replaced one by one, each
        atomically.
    datasets
        Names of data sets, from `TASKS`.
    seed
        Seed of the folds and classifiers, in [0, 2**32). The same seed and package versions give the same
        values, on any number of cores.

    Returns
    -------
    Path
        The folder. Its files are ``dataset=digits/model=logistic_regression/part-0.parquet`` and so on, with
        the columns

        ========= ======= =================================================================
        column    dtype   meaning (never null)
        ========= ======= =================================================================
        `repeat`  String  ``"r1"`` or ``"r2"``
        `fold`    String  repeat and fold, ``"r1f1"`` to ``"r2f5"``
        `segment` String  tercile of a property of the row: ink, mean radius or alcohol
        `unit`    Int64   row number in the data set, from 0
        `label`   Int8    1 for the positive class, else 0
        `score`   Float64 P(positive) according to the classifier, in [0, 1]
        ========= ======= =================================================================

    Raises
    ------
    ParameterError
        If no data set is given, a data set is unknown, or the seed is out of range.
    NciFramesError
        If scikit-learn is not installed.
    """
    names = (datasets,) if isinstance(datasets, str) else tuple(datasets)
    check_allowed(names, "datasets", datasets, "one or more names")
    for name in names:
        if name not in TASKS:
            raise ParameterError.unknown_choice("datasets", name, tuple(TASKS))
    check_seed(seed)
    root = Path(path)
    for name in dict.fromkeys(names):
        for model, frame in _held_out_predictions(TASKS[name], seed):
            with replacing(root / f"dataset={name}" / f"model={model}" / "part-0.parquet") as part:
                write_parquet(frame, part)
    return root
