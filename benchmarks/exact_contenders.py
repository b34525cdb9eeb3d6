"""Both areas of each model and fold from every distinct score: this library, NumPy and scikit-learn."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["nci_frames_exact", "numpy_exact", "scikit_learn_areas", "scikit_learn_one_sort"]


def nci_frames_exact(files: list[str], _: NDArray[np.float64]) -> float:
    """Count every distinct score with this library, then compute both areas of every model and fold."""
    import nci_frames as nf

    counts = nf.count_confusion(nf.scan_predictions(files, fold="fold"), thresholds="exact")
    areas = nf.compute_areas(counts, prevalence="observed")
    return round(float(areas["value"].sum()), 6)


def _each_group(files: list[str], areas: Callable[[NDArray, NDArray], float]) -> float:
    """Add the areas of all groups, two groups at a time: NumPy sorts without holding the lock."""
    log = pl.read_parquet(files, columns=["model", "fold", "label", "score"])
    groups = log.partition_by("model", "fold", include_key=False)
    del log
    with ThreadPoolExecutor(2) as pool:
        each = pool.map(lambda group: areas(group["label"].to_numpy(), group["score"].to_numpy()), groups)
        return round(float(sum(each)), 6)


def _areas(tp: NDArray[np.floating], fp: NDArray[np.floating]) -> float:
    """Return the sum of ROC-AUC and average precision of counts at descending thresholds."""
    tp, fp = np.append(0.0, tp), np.append(0.0, fp)
    roc = float(np.trapezoid(tp, fp)) / (tp[-1] * fp[-1])
    return roc + float((np.diff(tp) * (tp[1:] / (tp[1:] + fp[1:]))).sum() / tp[-1])


def scikit_learn_areas(files: list[str], _: NDArray[np.float64]) -> float:
    """The two functions of scikit-learn, each of which sorts."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    return _each_group(
        files,
        lambda label, score: (
            float(roc_auc_score(label, score)) + float(average_precision_score(label, score))
        ),
    )


def scikit_learn_one_sort(files: list[str], _: NDArray[np.float64]) -> float:
    """One sort by scikit-learn, both areas from its counts."""
    from sklearn.metrics import confusion_matrix_at_thresholds

    def areas(label: NDArray, score: NDArray) -> float:
        _, fp, _, tp, _ = confusion_matrix_at_thresholds(label, score)
        return _areas(tp, fp)

    return _each_group(files, areas)


def numpy_exact(files: list[str], _: NDArray[np.float64]) -> float:
    """Bits of the score and the label in one integer, which NumPy sorts by vector instructions."""

    def areas(label: NDArray, score: NDArray) -> float:
        # The bits of numbers that are not negative are in the order of the numbers, and the highest is 0.
        packed = (score.view(f"u{score.itemsize}") << 1) | label
        packed.sort()
        packed = packed[::-1]
        last = np.flatnonzero(np.append(packed[1:] >> 1 != packed[:-1] >> 1, True))
        tp = np.cumsum(packed & 1, dtype=np.int64)[last]
        return _areas(tp, last + 1 - tp)

    return _each_group(files, areas)
