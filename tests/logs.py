"""Logs and counts that many tests need, and the plain NumPy count that the kernel is compared with."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

import nci_frames as nf

COUNTS = ("tp", "fp", "fn", "tn")
#: Sums of weights: other numbers where rows weigh otherwise.
SUMS = (
    *(*COUNTS, "positives", "negatives", "observed_prevalence"),
    *("effective_positives", "effective_negatives"),
)
#: Thresholds among, below and above the scores of ``odd_log``.
GRID = [-1.0, 0.0, 0.1, 0.3, 0.5, 0.7, float("inf")]


def rows_of_both_classes(score: st.SearchStrategy[Any], most: int) -> st.SearchStrategy[list[Any]]:
    """Draw the labels and scores of up to *most* rows."""
    rows = st.lists(st.tuples(st.booleans(), score), min_size=2, max_size=most)
    return rows.filter(lambda some: 0 < sum(label for label, _ in some) < len(some))


#: Rows of one model, of both classes, with ties.
labels_and_scores = rows_of_both_classes(st.integers(0, 12), 60)


def random_log(rows: int = 500, seed: int = 0, dtype: Any = np.float64, values: int = 30) -> pl.DataFrame:
    """A log with ties, null keys and two models of which one is better."""
    rng = np.random.default_rng(seed)
    label = rng.random(rows) < 0.3
    model = rng.choice(["forest", "linear"], rows)
    score = rng.normal(label * np.where(model == "forest", 1.5, 0.8), 1)
    score = (np.round(score * values / 6) / values).astype(dtype)
    country = rng.choice(["at", "de", None], rows).tolist()
    return pl.DataFrame(
        {
            "model": model,
            "fold": rng.choice(["1", "2", "3"], rows),
            "country": pl.Series(country, dtype=pl.String),
            "label": label,
            "score": score,
        }
    )


def odd_log(rows: int = 400) -> pl.DataFrame:
    """A log with keys of every kind and rows of every invalid kind."""
    rng = np.random.default_rng(3)
    log = random_log(rows, dtype=np.float32)
    return log.with_columns(
        pl.Series("label", rng.choice([0, 1, 2, None], rows, p=[0.6, 0.3, 0.05, 0.05]).tolist(), pl.Int64),
        pl.Series("score", np.where(rng.random(rows) < 0.1, np.nan, log["score"]), pl.Float32),
        pl.Series("day", rng.choice([1, 2, None], rows).tolist(), pl.Int64),
        pl.Series("old", rng.choice([True, False, None], rows).tolist(), pl.Boolean),
        pl.Series("date", rng.choice([0, 19_000], rows), pl.Int32).cast(pl.Date),
        pl.Series("time", rng.choice([0, 10**15], rows), pl.Int64).cast(pl.Datetime("us", "UTC")),
    )


def repeated_log(repeats: int = 3, units: int = 240, folds: int = 4) -> pl.DataFrame:
    """Two models that score each unit once in every repeat, on a scale of its own in each."""
    rng = np.random.default_rng(11)
    label = rng.random(units) < 0.25
    parts = []
    for model, skill in (("a", 2.0), ("b", 1.4)):
        lasting = rng.normal(label * skill, 0.9)
        for repeat in range(repeats):
            fold = rng.permutation(units) % folds
            score = np.round((lasting + rng.normal(0, 0.4, units)) * (1 + repeat) + repeat, 2)
            parts.append(
                pl.DataFrame(
                    {"model": model, "repeat": f"r{repeat}", "fold": fold.astype(str).tolist(),
                     "unit": np.arange(units), "label": label, "score": score}
                )
            )  # fmt: skip
    return pl.concat(parts)


def unit_log(
    shifts: Mapping[str, float],
    units: int | tuple[int, int],
    *,
    share: float = 0.3,
    times: int = 1,
    noise: float = 0.0,
    alike: float = 0.0,
    digits: int = 9,
    seed: Any = 0,
) -> pl.DataFrame:
    """Models that score the same units so many times, with normal scores; those of positives are shifted.

    *units* is how many there are, of which a *share* is positive, or how many of each class. Of the deviation
    of a score, *noise* is that of the rows of a unit; the scores of two models correlate by *alike*.
    """
    rng = np.random.default_rng(seed)
    label = rng.random(units) < share if isinstance(units, int) else np.repeat([True, False], units)
    size, common, parts = len(label), rng.normal(size=len(label)), []
    for model, shift in shifts.items():
        lasting = alike**0.5 * common + (1 - alike) ** 0.5 * rng.normal(size=size)
        for _ in range(times):
            score = shift * label + (1 - noise**2) ** 0.5 * lasting + noise * rng.normal(size=size)
            rows = {"label": label, "score": np.round(score, digits)}
            parts.append(pl.DataFrame({"model": model, "unit": np.arange(size), **rows}))
    return pl.concat(parts)


def read_anew(rows: Callable[[], Iterable[pl.DataFrame]], log: pl.DataFrame) -> pl.LazyFrame:
    """A frame like a log that asks for its rows each time it is read."""

    def source(columns: Any, predicate: Any, n_rows: Any, batch_size: Any) -> Iterator[pl.DataFrame]:
        for frame in rows():
            mine = frame if columns is None else frame.select(columns)
            yield mine if predicate is None else mine.filter(predicate)

    return register_io_source(source, schema=log.schema)


def once(log: pl.DataFrame, parts: int = 4) -> pl.LazyFrame:
    """A frame that gives its rows once, and after that none, as a stream does."""
    stream = iter([log[part::parts] for part in range(parts)])
    return read_anew(lambda: stream, log)


@st.composite
def small_logs(draw: st.DrawFn) -> pl.DataFrame:
    """Logs with few distinct scores, so that ties, single-class groups and thresholds on scores are usual."""
    dtype = draw(st.sampled_from([pl.Float32, pl.Float64]))
    score = st.one_of(
        st.sampled_from([0.0, -0.0, 0.1, 0.3, 0.5, 0.7, 1.0, float("inf"), -float("inf")]),
        st.floats(-2, 2, width=32),
    )
    row = st.tuples(
        st.sampled_from(["a", "b"]),
        st.sampled_from(["x", "y", None]),
        st.sampled_from([1, 2]),
        st.booleans(),
        score,
    )
    rows = draw(st.lists(row, min_size=1, max_size=40))
    schema = {"model": pl.String, "segment": pl.String, "day": pl.Int64, "label": pl.Boolean, "score": dtype}
    return pl.DataFrame(rows, schema=schema, orient="row")


def hard_links(file: Path, times: int) -> Path:
    """Give a file so many names, and return the folder with them; a file counts once under each real name."""
    folder = file.parent / f"links-{file.stem}"
    folder.mkdir()
    for place in range(times):
        (folder / f"{place:05}.parquet").hardlink_to(file)
    return folder


def brute_force(
    log: pl.DataFrame, keys: Sequence[str], thresholds: Sequence[float] | None
) -> list[tuple[Any, ...]]:
    """Count with NumPy, group by group and threshold by threshold; None stands for every distinct score."""
    rows: list[tuple[Any, ...]] = []
    for key, group in log.partition_by(["model", *keys], as_dict=True).items():
        label, score = group["label"].to_numpy().astype(bool), group["score"].to_numpy()
        # Adding zero turns -0.0 into 0.0: the two are one score.
        grid = np.unique(score + 0).tolist() if thresholds is None else thresholds
        for threshold in grid:
            said = score >= score.dtype.type(threshold)
            cells = ((said, label), (said, ~label), (~said, label), (~said, ~label))
            rows.append((*key, float(threshold), *(int((a & b).sum()) for a, b in cells)))
    return sorted(rows, key=lambda row: [(value is not None, value) for value in row])


def exact_counts(label: Sequence[bool], score: Sequence[float], model: str = "a") -> pl.DataFrame:
    """Exact counts of one model, by brute force."""
    log = pl.DataFrame(
        {"model": model, "label": label, "score": score}, schema_overrides={"score": pl.Float64}
    )
    schema = ["model", "threshold", *COUNTS]
    counts = pl.DataFrame(brute_force(log, [], None), schema=schema, orient="row")
    return counts.with_columns(resolution=pl.lit("exact"))


def counts_at(
    tp: Any, fp: Any, positives: Any, negatives: Any, *, model: Any = None, threshold: Any = 0.5, **keys: Any
) -> pl.DataFrame:
    """Counts of operating points: of models a, b, ... at one threshold, unless it is told otherwise."""
    tp, fp = np.broadcast_arrays(np.atleast_1d(tp), fp)
    cells = {"tp": tp, "fp": fp, "fn": np.asarray(positives) - tp, "tn": np.asarray(negatives) - fp}
    names = list(ascii_lowercase[: len(tp)]) if model is None else model
    return pl.DataFrame({"model": names, **keys, "threshold": threshold, **cells})


def crossing_log(rng: np.random.Generator, rows: int) -> pl.DataFrame:
    """Model a finds some positives easily, b the others: they change places as positives get rarer."""
    label = np.arange(rows) < rows // 10
    scores = {"a": (1.0, 2.0), "b": (1.8, 1.0)}
    return pl.concat(
        pl.DataFrame(
            {"model": model, "label": label,
             "score": np.where(label, rng.normal(shift, spread, rows), rng.normal(size=rows)).round(1)}
        )
        for model, (shift, spread) in scores.items()
    )  # fmt: skip


def pairs_of(*logs: Any) -> pl.DataFrame:
    """Joint counts of two models, from those of the positives and of the negatives of each log."""
    names = [f"{kind}_{cell}" for kind in ("tp", "fp") for cell in ("both", "a", "b", "none")]
    cells = dict(zip(names, np.transpose(logs), strict=True))
    fixed = {"model_a": "a", "model_b": "b", "threshold_a": 0.5, "threshold_b": 0.5}
    return pl.DataFrame({"log": np.arange(len(logs)), **fixed, **cells})


def crossing_models(seed: int, models: int = 12) -> pl.DataFrame:
    """Exact counts of models that are good at low prevalences or at high ones."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(models):
        label = rng.random(600) < 0.3
        score = rng.normal(label * rng.uniform(0.5, 2), rng.uniform(0.6, 1.6) ** label)
        rows.append(pl.DataFrame({"model": f"m{number:02d}", "label": label, "score": score}))
    return nf.count_confusion(pl.concat(rows), thresholds="exact")


def counts_of_bins(
    positives: np.ndarray[Any, Any],
    negatives: np.ndarray[Any, Any],
    edges: Sequence[float] | np.ndarray[Any, Any],
) -> pl.DataFrame:
    """Counts of one model in many segments, from the rows in the bins between thresholds of each."""
    columns: dict[str, Any] = {
        "model": "a",
        "segment": np.repeat(np.arange(len(positives)), len(edges)),
        "threshold": np.tile(edges, len(positives)),
    }
    for (reached, missed), rows in zip((("tp", "fn"), ("fp", "tn")), (positives, negatives), strict=True):
        hits = rows[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
        columns |= {reached: hits.ravel(), missed: (rows.sum(axis=1)[:, None] - hits).ravel()}
    return pl.DataFrame(columns)


def rates_of(*points: tuple[str, int, int], positives: int = 60, negatives: int = 60) -> pl.DataFrame:
    """Rates of (model, tp, fp); the thresholds count up, and tp and fp of each model fall."""
    named = pl.DataFrame(points, schema=["model", "tp", "fp"], orient="row")
    tp, fp = named.select(pl.col("tp", "fp").sort(descending=True).over("model"))
    threshold = np.arange(len(named), dtype=float)
    return nf.compute_rates(
        counts_at(tp, fp, positives, negatives, model=named["model"], threshold=threshold)
    )


def in_buckets(tp: np.ndarray, size: np.ndarray) -> pl.DataFrame:
    """Counts of buckets at one threshold; of negatives each has ten."""
    return counts_at(tp, 1, size, 10, model="a", bucket=np.arange(len(tp)))
