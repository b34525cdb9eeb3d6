"""Real logs: held-out predictions of scikit-learn classifiers on data that ships inside scikit-learn."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.arguments import check_seed
from nci_frames.demo.extra import require
from nci_frames.errors import ParameterError
from nci_frames.files import replacing
from nci_frames.typing import Floats

__all__ = ["TASKS", "Task", "write_demo_logs"]

_FOLDS = 5
_REPEATS = 2

_Rows = NDArray[np.int64]


class _Examples(NamedTuple):
    features: Floats
    labels: NDArray[np.int8]
    segments: NDArray[np.str_]


class _Classifier(Protocol):
    def fit(self, features: Floats, labels: NDArray[np.int8], /) -> object: ...
    def predict_proba(self, features: Floats, /) -> Floats: ...


def _feature(name: str) -> Callable[[Any], Floats]:
    return lambda data: np.asarray(data.data[:, list(data.feature_names).index(name)], dtype=np.float64)


def _mean_of_features(data: Any) -> Floats:
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
    measure: Callable[[Any], Floats]
    segments: tuple[str, str, str]

    def load(self) -> _Examples:
        """Return the features, the labels of one class against the rest, and the segment of each row."""
        data = getattr(require("sklearn.datasets"), self.loader)()
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
    discriminant = require("sklearn.discriminant_analysis")
    ensemble = require("sklearn.ensemble")
    pipeline = require("sklearn.pipeline")
    preprocessing = require("sklearn.preprocessing")

    def scaled(classifier: object) -> Any:
        return pipeline.make_pipeline(preprocessing.StandardScaler(), classifier)

    # An SVC has no probabilities of its own; the sigmoid is fitted on inner folds.
    support_vectors = require("sklearn.calibration").CalibratedClassifierCV(
        require("sklearn.svm").SVC(), method="sigmoid", cv=3, ensemble=False
    )
    return {
        "logistic_regression": scaled(require("sklearn.linear_model").LogisticRegression(max_iter=1000)),
        # Shrinkage, because some pixels of the digits are constant and the covariance is singular.
        "linear_discriminant": scaled(discriminant.LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)),
        "gaussian_naive_bayes": scaled(require("sklearn.naive_bayes").GaussianNB(var_smoothing=0.01)),
        "k_nearest_neighbours": scaled(require("sklearn.neighbors").KNeighborsClassifier(n_neighbors=15)),
        "decision_tree": require("sklearn.tree").DecisionTreeClassifier(
            max_depth=6, min_samples_leaf=5, random_state=seed
        ),
        "random_forest": ensemble.RandomForestClassifier(n_estimators=50, random_state=seed),
        "extra_trees": ensemble.ExtraTreesClassifier(n_estimators=50, max_depth=8, random_state=seed),
        "hist_gradient_boosting": ensemble.HistGradientBoostingClassifier(
            max_iter=60, max_leaf_nodes=8, random_state=seed
        ),
        # The loose tolerance ends the training far below max_iter, so that it never warns of too few.
        "multilayer_perceptron": scaled(
            require("sklearn.neural_network").MLPClassifier(
                (16,), alpha=0.01, learning_rate_init=0.01, max_iter=1000, tol=1e-3, random_state=seed
            )
        ),
        "support_vector_machine": scaled(support_vectors),
    }


def _held_out_scores(
    classifier: _Classifier, examples: _Examples, splits: Sequence[tuple[_Rows, _Rows]]
) -> Floats:
    """Return P(positive) of the rows of every test fold, by a classifier trained on the other folds."""
    scores = []
    # On one thread floating-point sums have one order, so the scores do not depend on the number of cores.
    with require("threadpoolctl").threadpool_limits(limits=1):
        for train, test in splits:
            classifier.fit(examples.features[train], examples.labels[train])
            scores.append(classifier.predict_proba(examples.features[test])[:, 1])
    return np.concatenate(scores, dtype=np.float64)


def _held_out_predictions(task: Task, seed: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Cross-validate every classifier on one task and yield its name and its predictions."""
    splitter = require("sklearn.model_selection").RepeatedStratifiedKFold(
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
    check_seed(seed)
    root = Path(path)
    for name in dict.fromkeys(names):
        for model, frame in _held_out_predictions(TASKS[name], seed):
            with replacing(root / f"dataset={name}" / f"model={model}" / "part-0.parquet") as part:
                frame.write_parquet(part)
    return root
