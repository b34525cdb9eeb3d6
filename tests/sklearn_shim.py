"""A plugin of pytest: the ranking functions of scikit-learn return the numbers of nci_frames.

scikit-learn still checks arguments and warns, and divides problems of several classes into binary ones.
Counts at all thresholds, ROC-AUC, its partial area and average precision are then ours. Loaded with
``-p tests.sklearn_shim`` while scikit-learn's own tests run, it prints which of them used our numbers.
"""

import functools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from sklearn import metrics
from sklearn.metrics import _ranking

import nci_frames as nf

#: The tests that used our numbers, and what became of them.
USED: dict[str, str] = {}
#: What stands in for a function of scikit-learn, by its name.
OURS: dict[str, Callable[..., Any]] = {}
_asked = 0


def counts(label: Any, score: Any, weight: Any) -> pl.DataFrame:
    """Return the counts at all scores."""
    global _asked  # noqa: PLW0603 - the hooks of a plugin are functions of a module
    _asked += 1
    score = np.asarray(score)
    log = pl.DataFrame(
        {"model": ["m"] * len(score), "label": np.asarray(label, bool), "score": score.astype(float)}
    )
    if weight is not None:
        log = log.with_columns(weight=np.asarray(weight, float))
    found = nf.count_confusion(log, thresholds="exact")
    return nf.pool_counts(found, over="weight") if "weight" in found.columns else found


def area(found: pl.DataFrame, metric: str, **how: Any) -> float:
    """Return an area."""
    return float(nf.compute_areas(found, prevalence="observed", **how).filter(metric=metric)["value"].item())


def instead_of(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that asks scikit-learn first, which checks the arguments, and then returns ours."""

    def decorate(ours: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def asked(y_true: Any, y_score: Any, *more: Any, **how: Any) -> Any:
            theirs = original(y_true, y_score, *more, **how)
            return ours(theirs, y_true, y_score, *more, **how)

        OURS[original.__name__] = asked
        return asked

    return decorate


@instead_of(_ranking.confusion_matrix_at_thresholds)
def _(theirs: Any, y_true: Any, y_score: Any, pos_label: Any = None, sample_weight: Any = None) -> Any:
    found = counts(np.asarray(y_true) == (1 if pos_label is None else pos_label), y_score, sample_weight)
    cells = found.sort("threshold", descending=True)
    dtype = theirs[-1].dtype
    return (
        *(cells[name].cast(pl.Float64).to_numpy() for name in ("tn", "fp", "fn", "tp")),
        cells["threshold"].to_numpy().astype(dtype),
    )


@instead_of(_ranking._binary_roc_auc_score)
def _(theirs: float, y_true: Any, y_score: Any, sample_weight: Any = None, max_fpr: Any = None) -> float:
    if np.isnan(theirs):
        return theirs
    found = counts(np.asarray(y_true) == np.max(y_true), y_score, sample_weight)
    if max_fpr is None or max_fpr == 1:
        return area(found, "roc_auc")
    least = max_fpr**2 / 2
    part = area(found, "partial_roc_auc", fpr_range=(0, max_fpr))
    return (1 + (part - least) / (max_fpr - least)) / 2


@instead_of(_ranking.average_precision_score)
def _(
    theirs: Any, y_true: Any, y_score: Any, *, pos_label: Any = 1, sample_weight: Any = None, **how: Any
) -> Any:
    binary = np.ndim(y_true) == 1 and len(np.unique(y_true)) == 2 and np.ndim(y_score) == 1
    if not binary:
        return theirs
    return area(counts(np.asarray(y_true) == pos_label, y_score, sample_weight), "pr_auc")


def pytest_configure() -> None:
    """Put ours in place: only where this is a plugin, not where pytest looks for examples in it."""
    for module in (metrics, _ranking):
        for name, ours in OURS.items():
            if hasattr(module, name):
                setattr(module, name, ours)


def pytest_runtest_setup() -> None:
    """Begin a test."""
    global _asked  # noqa: PLW0603
    _asked = 0


def pytest_runtest_logreport(report: Any) -> None:
    """Keep what became of a test that used our numbers."""
    if report.when == "call" and _asked:
        USED[report.nodeid.split("::")[-1]] = report.outcome


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what was found as the last line."""
    terminalreporter.write_line(json.dumps(USED))
