"""Nearest neighbours after oversampling: the models of the F-beta plot, on data sets that are part of
scikit-learn.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

Rows = NDArray[np.float64]
Sampler = Callable[[Rows, int, np.random.Generator], Rows]

#: Data set -> loader, the positive class, and how many of its rows are kept (all if 0).
DATA: dict[str, tuple[Callable[[], Any], int, int]] = {
    "digits": (datasets.load_digits, 8, 0),
    "breast_cancer": (datasets.load_breast_cancer, 0, 60),
    "wine": (datasets.load_wine, 1, 20),
    "iris": (datasets.load_iris, 1, 20),
}


def load(name: str) -> tuple[Rows, NDArray[np.bool_]]:
    """Return features and labels, of the positives only the first few, so that classes are imbalanced."""
    loader, positive, kept = DATA[name]
    data = loader()
    label = data.target == positive
    left_out = np.flatnonzero(label)[kept or len(label) :]
    return np.delete(data.data, left_out, axis=0), np.delete(label, left_out)


def repeated(positives: Rows, more: int, rng: np.random.Generator) -> Rows:
    """Repeat positives."""
    return positives[rng.integers(len(positives), size=more)]


def jittered(positives: Rows, more: int, rng: np.random.Generator) -> Rows:
    """Repeat positives with normal noise."""
    return repeated(positives, more, rng) + rng.normal(0, 0.3, (more, positives.shape[1]))


def interpolated(positives: Rows, more: int, rng: np.random.Generator) -> Rows:
    """Draw points between positives and their neighbours, as SMOTE does."""
    near = NearestNeighbors(n_neighbors=min(6, len(positives))).fit(positives).kneighbors(positives)[1]
    start = rng.integers(len(positives), size=more)
    end = near[start, rng.integers(1, near.shape[1], size=more)]
    return np.asarray(positives[start] + rng.random((more, 1)) * (positives[end] - positives[start]))


def towards_mean(positives: Rows, more: int, rng: np.random.Generator) -> Rows:
    """Draw points between positives and their mean: safe places, far from the negatives."""
    start = repeated(positives, more, rng)
    return np.asarray(start + rng.random((more, 1)) * (positives.mean(axis=0) - start))


SAMPLERS: dict[str, Sampler] = {
    "repeated": repeated,
    "jittered": jittered,
    "interpolated": interpolated,
    "towards_mean": towards_mean,
}


def models() -> list[tuple[str, Sampler | None, float, int]]:
    """Return name, sampler, positives per negative after it, and neighbours: 35 models."""
    plain = [(f"plain_k{k}", None, 0.0, k) for k in (1, 5, 9)]
    sampled = [
        (f"{name}_x{share:g}_k{k}", sampler, share, k)
        for (name, sampler), share, k in itertools.product(SAMPLERS.items(), (0.5, 1.0, 2.0, 4.0), (3, 7))
    ]
    return [*plain, *sampled]


def scores(
    train: Rows,
    label: NDArray[np.bool_],
    test: Rows,
    model: tuple[str, Sampler | None, float, int],
    seed: int,
) -> NDArray[np.float64]:
    """Train one model and return P(positive) of the test rows."""
    _, sampler, share, neighbours = model
    scaler = StandardScaler().fit(train)
    rows, test = scaler.transform(train), scaler.transform(test)
    more = round(share * np.sum(~label)) - int(np.sum(label))
    if sampler is not None and more > 0:
        rows = np.vstack([rows, sampler(rows[label], more, np.random.default_rng(seed))])
        label = np.append(label, np.ones(more, dtype=bool))
    # Small data are searched quicker by brute force than in a tree, and large margins do not matter here.
    classifier = KNeighborsClassifier(neighbours, algorithm="brute").fit(rows, label)
    return np.asarray(classifier.predict_proba(test)[:, 1], dtype=np.float64)


def held_out(name: str, *, repeats: int) -> pl.DataFrame:
    """Return held-out predictions: of 5 stratified folds *repeats* times, or of one split (20 % held out)."""
    features, label = load(name)
    splitter: Any = (
        RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0)
        if repeats
        else StratifiedShuffleSplit(n_splits=1, test_size=0.2, random_state=0)
    )
    splits: Sequence[tuple[Any, Any]] = list(splitter.split(features, label))
    # On data so small, threads wait longer than they work.
    with threadpool_limits(limits=1):
        return pl.concat(
            pl.DataFrame(
                {
                    "model": model[0],
                    "fold": f"r{place // 5 + 1}f{place % 5 + 1}",
                    "label": label[test],
                    "score": scores(features[train], label[train], features[test], model, place),
                }
            )
            for place, (train, test) in enumerate(splits)
            for model in models()
        )
