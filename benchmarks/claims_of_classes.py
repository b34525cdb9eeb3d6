"""How often claims about more than two classes hold: for coverage.py."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import polars as pl
from claims import Seen, held, names

import nci_frames as nf

#: How often each of three classes is decided as which.
RATES = np.array([[0.8, 0.15, 0.05], [0.1, 0.85, 0.05], [0.02, 0.18, 0.8]])
FIELD = (0.02, 0.9, 0.08)
PRIORS = dict(enumerate(FIELD))


def _counts(rows: np.ndarray, models: Sequence[str]) -> pl.DataFrame:
    """Return the class counts of models, from their rows by class and decision."""
    label, decision = (place.ravel() for place in np.indices(rows.shape[1:]))
    columns = {"model": np.repeat(list(models), rows[0].size), "label": np.tile(label, len(rows))}
    return pl.DataFrame({**columns, "decision": np.tile(decision, len(rows)), "rows": rows.ravel()})


def _drawn(rng: np.random.Generator, sizes: Sequence[int], logs: int) -> np.ndarray:
    """Return the rows of each log by class and decision."""
    return np.stack([rng.multinomial(size, rates, logs) for size, rates in zip(sizes, RATES, strict=True)], 1)


def class_bounds(effort: float) -> Iterator[Seen]:
    """Values at a mix that is far from that of the log."""
    logs, rng = round(1000 * effort), np.random.default_rng(1)
    metrics = ["accuracy", "macro_f_beta", "precision"]
    project = partial(nf.project_classes, priors=PRIORS, metrics=metrics)
    truth = project(_counts((RATES * 10_000).round().astype(np.int64)[None], ["m"]))
    for sizes in ((400, 150, 60), (40, 40, 40)):
        counts = _counts(_drawn(rng, sizes, logs), names(logs))
        for interval, some in (("delta", logs), ("bootstrap", logs // 5)):
            found = project(counts.head(9 * some), interval=interval, repeats=400)
            where = f'{" + ".join(map(str, sizes))} rows, `interval="{interval}"`'
            for metric, of_class in (("accuracy", None), ("macro_f_beta", None), ("precision", 0)):
                mine = pl.col("metric").eq(metric) & pl.col("class").eq_missing(of_class)
                share = held(found.filter(mine), truth.filter(mine)["value"].item())
                name = metric if of_class is None else f"{metric} of the rarest class"
                yield Seen(name, where, "0.95", share, some)


def class_mixes_of_traffic(effort: float) -> Iterator[Seen]:
    """The mix of traffic that is decided as the labelled log is."""
    logs, rng = round(600 * effort), np.random.default_rng(2)
    for sizes, rows in (((400, 150, 60), 2000), ((40, 40, 40), 500)):
        labelled, of_traffic = _drawn(rng, sizes, logs), rng.multinomial(rows, FIELD @ RATES, logs)
        within, misfits = 0.0, 0
        for mine, theirs in zip(labelled, of_traffic, strict=True):
            traffic = pl.DataFrame({"model": "m", "decision": range(3), "rows": theirs})
            found = nf.estimate_class_priors(_counts(mine[None], ["m"]), traffic)
            # A mixture that is refused has no bounds.
            misfits += found["lower"][0] is None
            within += found.select(pl.lit(pl.Series(FIELD)).is_between("lower", "upper").sum()).item() / 3
        where = f"{' + '.join(map(str, sizes))} labelled rows, {rows:,} of traffic"
        yield Seen(
            "`estimate_class_priors`: the share of a class", where, "0.95", within / (logs - misfits), logs
        )
        yield Seen("a mixture is refused", where, "<= 0.05", misfits / logs, logs)


def equal_models_of_classes(effort: float) -> Iterator[Seen]:
    """Models that are equally good on the same rows: which are told apart, and what is said of the first."""
    for models, sizes, usual in ((2, (400, 150, 60), 300), (5, (400, 150, 60), 200), (20, (60, 60, 60), 60)):
        logs, rng, label = (
            max(round(usual * effort), 1),
            np.random.default_rng(models),
            np.repeat(range(3), sizes),
        )
        told = first = 0
        for _ in range(logs):
            # Two of three decisions are those of all models.
            draws = rng.random((models, len(label)))
            draws = np.where(rng.random(draws.shape) < 2 / 3, rng.random(len(label)), draws)
            decisions = (draws[..., None] > RATES[label].cumsum(axis=1)).sum(axis=2).clip(max=2)
            log = pl.concat(
                pl.DataFrame(
                    {"model": f"m{number:02}", "label": label, "decision": mine, "bucket": range(len(label))}
                )
                for number, mine in enumerate(decisions)
            )
            counts = nf.count_classes(log.with_columns(bucket=pl.col("bucket") % 60))
            tested = nf.compare_class_models(counts, metric="accuracy", priors=PRIORS)
            told += bool(tested["distinguishable"].any())
            answer = nf.compare_classes(counts, priors=PRIORS, metric="accuracy").answer
            first += bool(answer["lower"][0] <= FIELD @ RATES.diagonal() <= answer["upper"][0])
        where = f"{models} equal models, {' + '.join(map(str, sizes))} rows"
        yield Seen("`compare_class_models`: any pair differs", where, "<= 0.05", told / logs, logs)
        yield Seen("`compare_classes`: accuracy of the first", where, "0.95", first / logs, logs)
