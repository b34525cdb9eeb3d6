"""The artificial data and the density classifiers of the cost paper."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

Rows = NDArray[np.float64]
Labels = NDArray[np.bool_]
Draw = Callable[[int, np.random.Generator], tuple[Rows, Rows]]
#: From training rows, their labels, and test rows to the log-odds of the test rows.
Scorer = Callable[[Rows, Labels, Rows], Rows]


def two_gaussians(rows: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Draw two round classes whose Bayes error is the 15.3 % that the paper prints."""
    distance = 2 * norm.isf(0.153)
    return rng.normal((distance, 0), 1, (rows, 2)), rng.normal(0, 1, (rows, 2))


def highleyman(rows: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Draw Highleyman's classes: N((1, 1), diag(1, 1/4)), the target, and N((2, 0), diag(1/100, 4))."""
    return rng.normal((1, 1), (1, 0.5), (rows, 2)), rng.normal((2, 0), (0.1, 2), (rows, 2))


def multimodal(rows: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Draw two modes of the target between three of the other; the paper does not print where they are."""
    targets = np.array([(-3.0, 0.0), (3.0, 0.0)])
    others = np.array([(-6.5, 0.3), (0.0, 1.5), (6.5, 0.3)])
    return tuple(c[rng.integers(len(c), size=rows)] + rng.normal(0, 1, (rows, 2)) for c in (targets, others))  # type: ignore[return-value]


def lithuanian(rows: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Draw two arcs of 120°, of radius 6.2 (the target) and 10, with unit noise, as Raudys defined them."""

    def arc(radius: float) -> Rows:
        angle = rng.uniform(-math.pi / 3, math.pi / 3, rows)
        return radius * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 1, (rows, 2))

    return arc(6.2), arc(10)


DATA: dict[str, Draw] = {
    "TwoGaussians": two_gaussians,
    "Highleyman": highleyman,
    "Multimodal": multimodal,
    "Lithuanian": lithuanian,
}


def discriminant(classifier: Any) -> Scorer:
    """Return the log of the ratio of the two densities that a discriminant with equal priors has fitted."""
    return lambda train, label, test: np.asarray(classifier.fit(train, label).decision_function(test))


def mixture(train: Rows, label: Labels, test: Rows) -> Rows:
    """Fit a mixture of three Gaussians to each class by expectation-maximisation."""
    fits = [GaussianMixture(3, n_init=2, random_state=0).fit(train[label == side]) for side in (True, False)]
    return np.asarray(fits[0].score_samples(test) - fits[1].score_samples(test))


def squared_distances(a: Rows, b: Rows) -> Rows:
    """Return the squared distance of every row of *a* to every row of *b*."""
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None, :] - 2 * a @ b.T
    return np.asarray(np.maximum(squares, 0))


def width(rows: Rows) -> float:
    """Return the width with the highest likelihood of each row under the kernels of all others."""
    squares = squared_distances(rows, rows)
    np.fill_diagonal(squares, np.inf)

    def unlikely(log_width: float) -> float:
        # A row that is far from all others has a density of 0 at a small width; its logarithm is cut.
        density = np.exp(squares * (-0.5 * math.exp(-2 * log_width))).sum(axis=1)
        return 2 * len(rows) * log_width - float(np.log(np.maximum(density, 1e-300)).sum())

    return math.exp(minimize_scalar(unlikely, bounds=(-3.5, 1), method="bounded", options={"xatol": 0.02}).x)


def parzen() -> Scorer:
    """Fit a Gaussian kernel density to each class, its width by leave-one-out likelihood.

    The widths are those of the first fold, since the others have nearly the same rows.
    """
    widths: dict[bool, float] = {}

    def scores(train: Rows, label: Labels, test: Rows) -> Rows:
        densities = []
        for side in (True, False):
            rows = train[label == side]
            if side not in widths:
                widths[side] = width(rows)
            h = widths[side]
            densities.append(
                logsumexp(-squared_distances(test, rows) / (2 * h * h), axis=1) - 2 * math.log(h)
            )
        return np.asarray(densities[0] - densities[1])

    return scores


CLASSIFIERS: dict[str, Callable[[], Scorer]] = {
    "LDC": lambda: discriminant(LinearDiscriminantAnalysis(priors=[0.5, 0.5])),
    "QDC": lambda: discriminant(QuadraticDiscriminantAnalysis(priors=[0.5, 0.5])),
    "MOGC": lambda: mixture,
    "PARZEN": parzen,
}


def held_out(
    name: str, *, rows: int = 1500, folds: int = 30, classifiers: tuple[str, ...] = tuple(CLASSIFIERS)
) -> pl.DataFrame:
    """Return held-out log-odds of every classifier on one data set, by cross-validation."""
    target, other = DATA[name](rows, np.random.default_rng(0))
    features, label = np.vstack([target, other]), np.repeat([True, False], rows)
    scorers = {name: CLASSIFIERS[name]() for name in classifiers}
    splits = StratifiedKFold(folds, shuffle=True, random_state=0).split(features, label)
    # On data so small, threads wait longer than they work.
    with threadpool_limits(limits=1):
        return pl.concat(
            pl.DataFrame(
                {
                    "model": classifier,
                    "fold": f"{fold:02d}",
                    "label": label[test],
                    "score": scorer(features[train], label[train], features[test]),
                }
            )
            for fold, (train, test) in enumerate(splits)
            for classifier, scorer in scorers.items()
        )
