"""Measure what docs/honesty.md states: how often intervals hold the truth, and how often tests are wrong.

    python benchmarks/coverage.py --write

simulates logs whose truth is known, calls the public functions, and puts the table into docs/honesty.md.
Without --write it only prints the table; --only auc folds measures some claims; --effort 0.1 simulates a
tenth of the logs.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import best_models
import certified_maps
import chosen
import curve_bands
import numpy as np
import polars as pl
import prevalence
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold

import nci_frames as nf
from nci_frames.demo import synthetic_laws

PAGE = Path(__file__).parents[1] / "docs" / "honesty.md"
START, END = "<!-- coverage: begin -->\n", "<!-- coverage: end -->\n"
CELLS = ("both", "a", "b", "none")


@dataclass(frozen=True, slots=True)
class Seen:
    """A line of the table."""

    claim: str
    condition: str
    promised: str
    share: float
    logs: int
    #: Standard error; None if it is that of a share.
    error: float | None = None

    @property
    def line(self) -> str:
        of_share = math.sqrt(max(self.share * (1 - self.share), 1 / self.logs) / self.logs)
        error = of_share if self.error is None else self.error
        return f"| {self.claim} | {self.condition} | {self.promised} | {self.share:.3f} ± {error:.3f} |"


def names(logs: int) -> list[str]:
    """Return a model name for each of so many logs: all are then analysed by one call."""
    return [f"{log:06}" for log in range(logs)]


def held(table: pl.DataFrame, truth: float) -> float:
    """Return the share of intervals that are there and hold the truth."""
    return float(
        table.select(pl.lit(truth).is_between("lower", "upper").fill_null(value=False).mean()).item()
    )


def drawn(rng: np.random.Generator, tpr: float, fpr: float, rows: tuple[int, int], logs: int) -> pl.DataFrame:
    tp, fp = rng.binomial(rows[0], tpr, logs), rng.binomial(rows[1], fpr, logs)
    cells = {"tp": tp, "fp": fp, "fn": rows[0] - tp, "tn": rows[1] - fp}
    return pl.DataFrame({"model": names(logs), "threshold": 0.5, **cells})


def auc(effort: float) -> Iterator[Seen]:
    logs = round(2000 * effort)
    for positives, negatives, area, spread in (
        (20, 200, 0.983, 1), (20, 200, 0.9, 2), (20, 2000, 0.983, 2),
        (20, 2000, 0.9, 3), (100, 2000, 0.9, 1), (100, 2000, 0.9, 2), (500, 500, 0.7, 3),
    ):  # fmt: skip
        rng = np.random.default_rng([positives, negatives, spread])
        label = np.repeat([True, False], [positives, negatives])
        shift = _quantile(area) * math.sqrt(1 + spread**2)
        tables = []
        for block in range(0, logs, 200):
            some = min(200, logs - block)
            noise = rng.normal(size=(some, len(label)))
            score = noise * np.where(label, spread, 1) + shift * label
            log = pl.DataFrame(
                {
                    "model": np.repeat(names(some), len(label)),
                    "label": np.tile(label, some),
                    "score": score.ravel(),
                }
            )
            counts = nf.count_confusion(log, thresholds="exact")
            tables += [
                nf.auc_interval(counts, method=m) for m in ("score", "newcombe", "delong_logit", "delong")
            ]
        for method, found in pl.concat(tables).group_by("method", maintain_order=True):
            where = f"{positives} + {negatives:,} rows, AUC {area}, spread of positives {spread}"
            yield Seen(
                f'`auc_interval("{method[0]}")` holds the area', where, "0.95", held(found, area), logs
            )


def areas_of_few(effort: float) -> Iterator[Seen]:
    """Resampled ROC-AUC of few positives."""
    logs = round(400 * effort)
    for positives, area, spread in ((5, 0.92, 1), (20, 0.92, 1), (20, 0.9, 3), (60, 0.92, 1), (100, 0.92, 1)):
        rng = np.random.default_rng([positives, spread])
        label = np.repeat([True, False], [positives, 1000])
        noise = rng.normal(size=(logs, len(label)))
        score = noise * np.where(label, spread, 1) + _quantile(area) * math.sqrt(1 + spread**2) * label
        log = pl.DataFrame(
            {
                "model": np.repeat(names(logs), len(label)),
                "label": np.tile(label, logs),
                "score": score.ravel(),
            }
        )
        counts = nf.count_confusion(log, thresholds=np.linspace(-6, 12, 181).tolist())
        found = nf.bootstrap(counts, metric="roc_auc", repeats=300)
        where = f"{positives} + 1,000 rows, AUC {area}, spread of positives {spread}"
        promised = "0.95" if spread == 1 else "none"
        yield Seen("`bootstrap(roc_auc)` holds the area", where, promised, held(found, area), logs)


def auc_tests_of_few(effort: float) -> Iterator[Seen]:
    """Two equally good models with few positives."""
    logs, negatives = round(600 * effort), 400
    for positives in (2, 5, 20):
        rng = np.random.default_rng(positives)
        label = np.tile(np.repeat([True, False], [positives, negatives]), logs)
        shared = rng.normal(label, math.sqrt(0.5))
        rows = {
            "log": np.repeat(names(logs), positives + negatives),
            "unit": np.arange(len(label)),
            "label": label,
        }
        pairs = pl.concat(
            pl.DataFrame(
                {"model": model, **rows, "score": shared + rng.normal(0, math.sqrt(0.5), len(label))}
            )
            for model in "ab"
        )
        found = nf.compare_auc(nf.scan_predictions(pairs, segments="log", unit="unit"))
        where, promised = f"{positives} + {negatives} units, AUC 0.76", "0.05" if positives >= 20 else "none"
        share = float((found["p_value"] < 0.05).mean())  # type: ignore[arg-type]
        yield Seen("`compare_auc`: p < 0.05, models equal", where, promised, share, logs)


def rates_of_units(effort: float) -> Iterator[Seen]:
    """TPR and FPR of units that are scored once or twice."""
    logs, shift, grid = round(400 * effort), 2.0, [-1.0, 0.0, 1.0, 2.0, 3.0]
    label = np.arange(1000) < 100
    for repeats in (1, 2):
        rng, tables = np.random.default_rng(repeats), {None: [], "bucket": []}
        for _ in range(logs):
            shared = rng.normal(label * shift, math.sqrt(0.9))
            log = pl.concat(
                pl.DataFrame(
                    {"model": "a", "unit": np.arange(1000), "label": label,
                     "score": shared + rng.normal(0, math.sqrt(0.1), 1000)}
                )
                for _ in range(repeats)
            )  # fmt: skip
            counts = nf.count_confusion(nf.unit_buckets(log), thresholds=grid)
            for units, found in tables.items():
                given = counts if units else nf.pool_counts(counts, over="bucket")
                found.append(nf.compute_rates(given, interval="wilson", units=units))
        for units, found in tables.items():
            for at in (2.0, 3.0):
                rows = pl.concat(found).filter(threshold=at)
                for rate, place in (("tpr", shift), ("fpr", 0.0)):
                    sides = rows.select(lower=f"{rate}_lower", upper=f"{rate}_upper")
                    truth = float(_tail(np.array([at - place]))[0])
                    where = (
                        f"{rate.upper()} {truth:.2g}, each unit scored {'once' if repeats == 1 else 'twice'}"
                    )
                    call = "wilson" if units is None else 'wilson", units="bucket'
                    promised = "none" if repeats > 1 and units is None else "0.95"
                    yield Seen(
                        f'`compute_rates("{call}")` holds the rate', where, promised, held(sides, truth), logs
                    )


def uneven_units(effort: float) -> Iterator[Seen]:
    """TPR and ROC-AUC of positives that are those of few units, or of units with very different sizes."""
    logs, tpr, buckets = round(400 * effort), 0.6, 100
    for units, tail in ((4, None), (12, None), (40, None), (40, 1.2)):
        rng, tables = np.random.default_rng([units, tail is None]), []
        for name in names(logs):
            size = np.zeros(buckets, np.int64)
            size[:units] = 20 if tail is None else 3 * (rng.pareto(tail, units) + 1)
            # The rate differs between units: rows of one correlate by 0.3.
            tp = rng.binomial(size, rng.beta(tpr * 7 / 3, (1 - tpr) * 7 / 3, buckets))
            fp = rng.binomial(10, 0.1, buckets)
            cells = {"tp": tp, "fp": fp, "fn": size - tp, "tn": 10 - fp}
            tables.append(
                pl.DataFrame({"model": name, "bucket": np.arange(buckets), "threshold": 0.5, **cells})
            )
        counts = pl.concat(tables)
        rates = nf.compute_rates(counts, interval="wilson", units="bucket")
        drawn = nf.bootstrap(counts, metric=["recall", "roc_auc"], units="bucket", repeats=400)
        where = f"positives of {units} units, 20 rows each" if tail is None else (
            f"positives of {units} units, Pareto-distributed sizes (index {tail})"
        )  # fmt: skip
        sides = rates.select(lower="tpr_lower", upper="tpr_upper")
        claim = '`compute_rates("wilson", units="bucket")` holds the rate'
        yield Seen(claim, f"TPR {tpr}, {where}", "0.95", held(sides, tpr), logs)
        for metric, truth in (("recall", tpr), ("roc_auc", (tpr + 0.9) / 2)):
            share = held(drawn.filter(metric=metric), truth)
            claim = f'`bootstrap({metric}, units="bucket")` holds it'
            yield Seen(claim, where, "none" if metric == "roc_auc" and tail else "0.95", share, logs)


def areas_of_units(effort: float) -> Iterator[Seen]:
    """Two equally good models that score each unit once or twice."""
    logs = round(600 * effort)
    for repeats in (1, 2):
        wrong = 0
        for seed in range(logs):
            rng = np.random.default_rng([seed, repeats])
            label = rng.random(300) < 0.3
            parts = []
            for model in "ab":
                shared = rng.normal(label * 1.2, 1.0)
                parts += [
                    pl.DataFrame(
                        {"model": model, "repeat": repeat, "unit": np.arange(300), "label": label,
                         "score": shared + rng.normal(0, 0.3, 300)}
                    )
                    for repeat in range(repeats)
                ]  # fmt: skip
            wrong += nf.compare_auc(pl.concat(parts), by=[])["p_value"].item() < 0.05
        where = f"each unit scored {'once' if repeats == 1 else 'twice'}"
        yield Seen("`compare_auc(by=[])`: p < 0.05, models equal", where, "0.05", wrong / logs, logs)


def accuracy(effort: float) -> Iterator[Seen]:
    logs = round(20_000 * effort)
    correct, times = np.unique(np.random.default_rng(1).binomial(100, 0.98, logs), return_counts=True)
    for method in ("wilson", "wald"):
        bounds = [nf.accuracy_interval(int(k), 100, method=method) for k in correct]
        share = sum(n for n, (low, high) in zip(times, bounds, strict=True) if low <= 0.98 <= high) / logs
        claim = f'`accuracy_interval("{method}")` holds the accuracy'
        yield Seen(claim, "100 rows, accuracy 0.98", "0.95", share, logs)


def predictive_values(effort: float) -> Iterator[Seen]:
    logs = round(10_000 * effort)
    eta, tpr = 1e-3, 0.6
    for expected in (1, 2, 5, 20):
        fpr = expected / 10_000
        counts = drawn(np.random.default_rng(expected), tpr, fpr, (100, 10_000), logs)
        truth = eta * tpr / (eta * tpr + (1 - eta) * fpr)
        for method in ("score", "logit"):
            found = nf.predictive_value_interval(nf.compute_rates(counts), prevalence=eta, method=method)
            claim = f'`predictive_value_interval("{method}")` is there and holds precision'
            where = f"{expected} false positives expected"
            yield Seen(claim, where, "0.95", held(found.filter(metric="precision"), truth), logs)


def planning(effort: float) -> Iterator[Seen]:
    logs = round(10_000 * effort)
    for delta, tpr, fpr in ((0.1, 0.6, 0.001), (0.3, 0.6, 0.05)):
        for assurance in (0.8, 0.95, None):
            plan = nf.required_samples(delta=delta, tpr=tpr, fpr=fpr, assurance=assurance, method="exact")
            rows = plan.select("positives", "negatives").row(0)
            counts = drawn(np.random.default_rng(5), tpr, fpr, rows, logs)
            band = nf.max_precision_uncertainty(nf.compute_rates(counts, interval="wilson"))
            share = band.select((pl.col("delta") <= delta).fill_null(value=False).mean()).item()
            claim = f"`required_samples(assurance={assurance})`: a study reaches the goal"
            where = f"delta {delta}, TPR {tpr}, FPR {fpr}"
            yield Seen(claim, where, "none" if assurance is None else f"{assurance}", share, logs)


def shifts(effort: float) -> Iterator[Seen]:
    """Two models, four segments that say nothing: any finding in the table is wrong."""
    logs = round(500 * effort)
    for repeats, units in ((1, None), (2, "bucket"), (2, None)):
        wrong = 0
        for seed in range(logs):
            rng = np.random.default_rng(seed)
            label = rng.random(800) < 0.3
            hard = rng.normal(label * 1.5, 0.8)
            unit = np.arange(800)
            log = pl.concat(
                pl.DataFrame(
                    {"model": model, "repeat": repeat, "unit": unit, "country": unit % 4, "label": label,
                     "score": hard + rng.normal(0, 0.3, 800)}
                )
                for model in "ab" for repeat in range(repeats)
            )  # fmt: skip
            counts = nf.count_confusion(
                nf.unit_buckets(log, buckets=64), thresholds=np.linspace(-2, 4, 40).tolist()
            )
            pooled = nf.pool_counts(counts, over=["repeat"] if units else ["repeat", "bucket"])
            found = nf.check_projection(pooled, over="country", units=units)
            wrong += bool(found["distinguishable"].any())
        where = f"each unit scored {'once' if repeats == 1 else 'twice'}" + (
            ", rows taken as independent" if units is None else ", tested by buckets"
        )
        promised = "none" if repeats > 1 and units is None else "<= 0.05"
        yield Seen("`check_projection`: any finding, no shift", where, promised, wrong / logs, logs)


def folds(effort: float) -> Iterator[Seen]:
    """Ten equal models in five folds, repeated twice."""
    logs, units, models = round(1500 * effort), 1000, 10
    label = np.arange(units) < 100
    for noise in (0.0, 0.3):
        rng = np.random.default_rng(9)
        blocks = []
        for log in range(logs):
            shared = rng.normal(0, 0.7, units) + label * 1.5 + rng.normal(0, 0.7, (models, units))
            for repeat in range(2):
                fold = np.empty(units, np.int64)
                for of_class in (label, ~label):
                    fold[rng.permutation(np.flatnonzero(of_class))] = np.arange(of_class.sum()) % 5
                flagged = shared + rng.normal(0, noise, (models, units)) >= 1.0
                for k in range(5):
                    tp, fp = ((flagged & which & (fold == k)).sum(axis=1) for which in (label, ~label))
                    place = [np.full(models, log), np.arange(models), np.full(models, 5 * repeat + k)]
                    blocks.append(np.stack([*place, tp, fp, 20 - tp, 180 - fp]))
        cells = np.concatenate(blocks, axis=1)
        columns = dict(zip(("log", "model", "fold", "tp", "fp", "fn", "tn"), cells, strict=True))
        counts = pl.DataFrame(columns).with_columns(pl.col("model").cast(pl.String), threshold=pl.lit(0.5))
        rates = nf.compute_rates(counts)
        for name, options in (
            ("by default", {}),
            ('"paired_t" without correction', {"test": "paired_t", "correction": "none"}),
        ):
            found = nf.compare_folds(rates, **options).group_by("log").agg(pl.col("distinguishable").any())
            where = f"10 equal models, 2 x 5 folds, repeats differ by {noise}"
            promised = "<= 0.05" if not options else "none"
            share = float(found["distinguishable"].mean())
            yield Seen(f"`compare_folds` {name}: any distinguishable", where, promised, share, logs)


def trained_folds(effort: float) -> Iterator[Seen]:
    """Linear discriminants on features that are equally good, trained and tested in each fold."""
    for models, repeats, k, rows, apart, promised in (
        (2, 10, 10, 300, 0.5, "<= 0.05"),
        (2, 1, 10, 300, 0.5, "<= 0.05"),
        (6, 2, 5, 300, 0.5, "<= 0.05"),
        (2, 10, 10, 1000, 0.3, "none"),
    ):
        logs, rng = round(200 * effort), np.random.default_rng(11)
        found = 0
        for _ in range(logs):
            label = rng.random(rows) < 0.3
            features = rng.normal(apart * label, 1, (models, 5, rows))
            cells = []
            for repeat in range(repeats):
                splits = StratifiedKFold(k, shuffle=True, random_state=int(rng.integers(1 << 31)))
                for fold, (train, test) in enumerate(splits.split(label, label)):
                    for model, of_model in enumerate(features):
                        learnt = LinearDiscriminantAnalysis().fit(of_model[:, train].T, label[train])
                        flagged = learnt.predict(of_model[:, test].T)
                        tn, fp, fn, tp = confusion_matrix(label[test], flagged, labels=[False, True]).ravel()
                        cells.append((str(model), repeat, fold, 0.5, tp, fp, fn, tn))
            names = ("model", "repeat", "fold", "threshold", "tp", "fp", "fn", "tn")
            rates = nf.compute_rates(pl.DataFrame(cells, schema=names, orient="row"))
            found += bool(nf.compare_folds(rates, over=["repeat", "fold"])["distinguishable"].any())
        where = f"{models} discriminants, features {apart} apart, {rows:,} rows, {repeats} x {k} folds"
        yield Seen("`compare_folds`: any distinguishable", where, promised, found / logs, logs)


def pairs(effort: float) -> Iterator[Seen]:
    """Two models on the same 100 positives and 10,000 negatives, decisions correlated 0.6."""
    logs, rho = round(600 * effort), 0.6
    for tpr, fpr in (((0.6, 0.6), (1e-3, 1e-3)), ((0.6, 0.7), (1e-3, 3e-3))):
        rng = np.random.default_rng(7)
        cells = []
        for (one, other), rows in ((tpr, 100), (fpr, 10_000)):
            both = min(one * other + rho * math.sqrt(one * (1 - one) * other * (1 - other)), one, other)
            cells.append(
                rng.multinomial(rows, [both, one - both, other - both, 1 - one - other + both], logs)
            )
        columns = [f"{kind}_{cell}" for kind in ("tp", "fp") for cell in CELLS]
        given = {"model_a": "a", "model_b": "b", "threshold_a": 0.5, "threshold_b": 0.5}
        joint = pl.DataFrame(dict(zip(columns, np.hstack(cells).T, strict=True))).with_columns(
            *(pl.lit(value).alias(name) for name, value in given.items()), log=pl.int_range(logs)
        )
        points = pl.DataFrame({"model": ["a", "b"], "threshold": 0.5, "tp": tpr, "fp": fpr}).with_columns(
            fn=1 - pl.col("tp"), tn=1 - pl.col("fp")
        )
        for metric in ("precision", "f_beta", "expected_cost"):
            for eta in (1e-4, 1e-2, 0.1):
                true = nf.project_rates(nf.compute_rates(points), metrics=metric, prevalence=eta)["value"]
                found = nf.compare_pairs(joint, metric=metric, prevalence=eta, repeats=1000)
                what, where = f"`compare_pairs({metric})`", f"eta {eta:g}, TPR {tpr}, FPR {fpr}"
                yield Seen(
                    f"{what} holds the difference", where, "0.95", held(found, true[0] - true[1]), logs
                )
                if true[0] == true[1]:
                    share = float(
                        found.select((pl.col("p_value") < 0.05).fill_null(value=False).mean()).item()
                    )
                    yield Seen(f"{what}: p < 0.05, models equal", where, "0.05", share, logs)


def bootstrap(effort: float) -> Iterator[Seen]:
    logs, eta = round(300 * effort), 0.001
    for positives in (20, 100):
        law = synthetic_laws(8)["model_03"]
        label = np.repeat([True, False], [positives, 999 * positives])
        tables = []
        for log in range(logs):
            scores = law.sample(np.random.default_rng([positives, log]), label)
            counts = nf.count_confusion(pl.DataFrame({"model": "m", "label": label, "score": scores}))
            tables.append(nf.bootstrap(counts, metric="pr_auc", prevalence=eta, seed=log))
        where = f"{positives} + {999 * positives:,} rows, eta {eta:g}"
        share = held(pl.concat(tables), law.pr_auc(eta))
        yield Seen("`bootstrap(pr_auc)` holds the area", where, "0.95", share, logs)


def segments(effort: float) -> Iterator[Seen]:
    """40 segments whose scores are alike, but for the positives of some, which score 0.8 lower."""
    edges, at, eta = np.linspace(-3, 5, 101), 60, 0.01
    logs = round(100 * effort)

    def law(mean: float) -> np.ndarray:
        return np.diff(1 - _tail(np.concatenate([[-np.inf], edges, [np.inf]]) - mean))

    tpr, fpr = (float(_tail(edges[at : at + 1] - mean)[0]) for mean in (2.0, 0.0))
    truth = 2 * eta * tpr / (eta + eta * tpr + (1 - eta) * fpr)
    for bad, rows in ((0, (40, 400)), (0, (500, 20_000)), (4, (500, 20_000)), (15, (500, 20_000))):
        rng, tables = np.random.default_rng([bad, rows[0]]), []
        for log in range(logs):
            cells = {"log": np.full(40 * 101, log), "segment": np.repeat(np.arange(40), 101)}
            for reached, missed, size, means in (
                ("tp", "fn", rows[0], (1.2, 2.0)),
                ("fp", "tn", rows[1], (0, 0)),
            ):
                total = rng.integers(size // 2, 2 * size, 40)
                laws = np.stack([law(means[0] if segment < bad else means[1]) for segment in range(40)])
                hits = rng.multinomial(total, laws)[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
                cells |= {reached: hits.ravel(), missed: (total[:, None] - hits).ravel()}
            counts = pl.DataFrame(cells).with_columns(
                model=pl.lit("m"), threshold=pl.Series(np.tile(edges, 40))
            )
            found = nf.rank_segments(
                counts.drop("log"), segments="segment", threshold=float(edges[at]), prevalence=eta
            )
            tables.append(found.with_columns(log=pl.lit(log), alike=pl.col("segment") >= bad))
        table = pl.concat(tables)
        where = f"40 segments, {bad} differ; about {rows[0]} + {rows[1]:,} rows each"
        alike = table.filter("alike")
        share = held(alike.filter(pl.col("value").is_not_null()), truth)
        yield Seen("`rank_segments` holds F1 of a segment", where, "0.95", share, len(alike))
        for flag in ("shifted", "distinguishable"):
            findings = pl.col(flag).fill_null(value=False)
            false = table.group_by("log").agg(
                share=(findings & pl.col("alike")).sum() / findings.sum().clip(1),
                seen=(findings & ~pl.col("alike")).sum() / max(bad, 1),
            )
            error = float(false["share"].std()) / math.sqrt(logs)
            what = f"`rank_segments`: share of `{flag}` that is false"
            promised = "<= 0.05" if bad < 10 else "none"
            yield Seen(what, where, promised, float(false["share"].mean()), logs, error)
            if bad:
                what = f"`rank_segments`: share of the others that is `{flag}`"
                yield Seen(what, where, "none", float(false["seen"].mean()), logs)


def partial_labels(effort: float) -> Iterator[Seen]:
    """All rows that score 2.0 or more are reviewed, and a share of the others."""
    logs, alert = round(1000 * effort), 2.0
    edges = np.array([-1.0, 0.0, 1.0, 2.0, 3.0])

    def law(mean: float) -> np.ndarray:
        return np.diff(1 - _tail(np.concatenate([[-np.inf], edges, [np.inf]]) - mean))

    def counts(positives: np.ndarray, negatives: np.ndarray) -> pl.DataFrame:
        cells = {"model": np.repeat(names(logs), len(edges)), "threshold": np.tile(edges, logs)}
        for reached, missed, rows in (("tp", "fn", positives), ("fp", "tn", negatives)):
            hits = rows[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
            cells |= {reached: hits.ravel(), missed: (rows.sum(axis=1)[:, None] - hits).ravel()}
        return pl.DataFrame(cells)

    true = {"tpr": float(_tail(edges[3:4] - 2.0)[0]), "fpr": float(_tail(edges[3:4])[0])}
    for size, eta, share, found in (
        (20_000, 0.05, 0.2, 1.0), (100_000, 0.01, 0.02, 1.0), (1_000_000, 0.001, 0.01, 1.0),
        (100_000, 0.01, 0.02, 2.0), (100_000, 0.01, 0.02, 0.5),
    ):  # fmt: skip
        rng = np.random.default_rng([size, round(10 * found)])
        number = rng.binomial(size, eta, logs)
        positives = rng.multinomial(number, law(2.0))
        negatives = rng.multinomial(size - number, law(0.0))
        below = np.append(-np.inf, edges) < alert
        shares = np.where(below, share, 1.0)
        labelled = counts(
            rng.binomial(positives, np.where(below, found * share, 1.0)), rng.binomial(negatives, shares)
        )
        scored = counts(0 * positives, positives + negatives).select(
            "model", "threshold", above="fp", below="tn"
        )
        where = f"{size:,} rows, prevalence {eta:g}, all alerts and {share:.0%} of the others reviewed"
        at = pl.col("threshold") == alert
        naive = nf.compute_rates(labelled).filter(at)["tpr"].to_numpy() - true["tpr"]
        what = "mean error of recall"
        if found == 1.0:
            yield Seen(
                f"`compute_rates`: {what}, labelled rows alone", where, "none",
                float(naive.mean()), logs, float(naive.std() / math.sqrt(logs)),
            )  # fmt: skip
            known = (
                ("score counts", {}, scored),
                ("shares", {"shares": {-math.inf: share, alert: 1.0}}, None),
            )
        else:
            where += f", the positives among them {found:g} times as often"
            known = (("score counts", {}, scored),)
        for by, options, given in known:
            rates = nf.correct_partial_labels(labelled, given, **options).filter(at)
            error = rates["tpr"].to_numpy() - true["tpr"]
            call = f"`correct_partial_labels`, {by}"
            yield Seen(
                f"{call}: {what}",
                where,
                "none",
                float(error.mean()),
                logs,
                float(error.std() / math.sqrt(logs)),
            )
            for rate in ("tpr", "fpr") if found == 1.0 else ():
                sides = rates.select(lower=f"{rate}_lower", upper=f"{rate}_upper")
                yield Seen(f"{call}: holds {rate.upper()}", where, ">= 0.95", held(sides, true[rate]), logs)


def traffic(effort: float) -> Iterator[Seen]:
    """Metrics of a threshold in traffic without labels, whose prevalence is estimated."""
    logs, separation, rows = round(300 * effort), 2.0, 100_000
    threshold = float(prevalence.THRESHOLDS[60])
    tpr, fpr = (float(_tail(np.array([threshold - mean]))[0]) for mean in (separation, 0.0))
    for eta in (0.01, 0.1):
        rng, law = np.random.default_rng(round(1e4 * eta)), prevalence.law(separation)
        counts, scores = prevalence.simulated(rng, logs, rows, law, law, eta)
        points = nf.compute_rates(counts.filter(pl.col("threshold") == threshold), interval="wilson")
        found = nf.project_traffic(
            points, nf.estimate_prevalence(counts, scores), metrics=["precision", "f_beta"]
        )
        truth = {
            "precision": eta * tpr / (eta * tpr + (1 - eta) * fpr),
            "f_beta": 2 * eta * tpr / (eta + eta * tpr + (1 - eta) * fpr),
        }
        where = f"1,000 + 10,000 labelled rows, {rows:,} without labels, prevalence {eta:g}"
        for metric, true in truth.items():
            share = held(found.filter(metric=metric), true)
            yield Seen(f"`project_traffic({metric})` holds the metric", where, ">= 0.95", share, logs)


def own_thresholds(effort: float) -> Iterator[Seen]:
    """F1 at the own best threshold of normal scores, minus the truth at the threshold of the log."""
    logs, shift = round(400 * effort), 3.0
    label = np.arange(10_100) < 100
    for repeats, units in ((1, None), (2, "bucket"), (2, None)):
        rng = np.random.default_rng(11)
        tables = []
        for log in range(logs):
            shared = rng.normal(label * shift, math.sqrt(0.9))
            rows = pl.concat(
                pl.DataFrame(
                    {"model": f"{log:06}", "unit": np.arange(len(label)), "label": label,
                     "score": shared + rng.normal(0, math.sqrt(0.1), len(label))}
                )
                for _ in range(repeats)
            )  # fmt: skip
            scan = nf.unit_buckets(rows) if units else rows.drop("unit")
            counts = nf.count_confusion(scan, thresholds="exact")
            tables.append(nf.cross_fit(counts, prevalence=[1e-4, 1e-3], units=units))
        found = pl.concat(tables)
        for (eta,), mine in found.group_by("prevalence", maintain_order=True):
            tpr, fpr = (_tail(mine["threshold"].to_numpy() - place) for place in (shift, 0.0))
            truth = 2 * eta * tpr / (eta + eta * tpr + (1 - eta) * fpr)
            where = f"eta {eta:g}, 100 + 10,000 units" + (
                "" if repeats == 1 else " scored twice, rows taken as independent" if units is None
                else " scored twice, halves of buckets"
            )  # fmt: skip
            for column, claim in (("value", "<= 0.015"), ("optimistic", "none")):
                if column == "optimistic" and repeats > 1:
                    continue
                error = mine[column].to_numpy() - truth
                promised = "none" if repeats > 1 and units is None else claim
                yield Seen(
                    f"`cross_fit`: mean error of `{column}`, F1", where, promised,
                    float(error.mean()), logs, float(error.std() / math.sqrt(logs)),
                )  # fmt: skip


def best(effort: float) -> Iterator[Seen]:
    """Equal models, and two of which one is better."""
    for line in best_models.claims(effort):
        yield Seen(*line)


def chosen_by_the_log(effort: float) -> Iterator[Seen]:
    """Models, thresholds and prevalences that the log chose, and rows and units that it may lack."""
    for line in chosen.claims(effort):
        yield Seen(*line)


def crossovers(effort: float) -> Iterator[Seen]:
    """Two models of which one finds the easiest positives, the other more of them; also of few units."""
    for lines in (best_models.crossovers, best_models.crossovers_of_few):
        for line in lines(effort):
            yield Seen(*line)


def support(effort: float) -> Iterator[Seen]:
    """PR-AUC of normal scores over prevalence: where the log supports it, and where it does not."""
    logs, etas = round(200 * effort), [1e-4, 1e-3, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2]
    label = np.repeat([True, False], [174, 1623])
    share = (np.arange(200_000) + 0.5) / 200_000
    for area in (0.85, 0.95, 0.983):
        rng, shift = np.random.default_rng(round(1000 * area)), _quantile(area) * math.sqrt(2)
        fpr = _tail(shift + _quantiles(1 - share))
        score = rng.normal(size=(logs, len(label))) + shift * label
        log = pl.DataFrame(
            {
                "model": np.repeat(names(logs), len(label)),
                "label": np.tile(label, logs),
                "score": score.ravel(),
            }
        )
        counts = nf.count_confusion(log, thresholds="exact")
        table = nf.bootstrap(counts, metric="pr_auc", prevalence=etas, repeats=300)
        for eta in etas:
            truth = float(np.mean(share / (share + (1 - eta) / eta * fpr)))
            rows = table.filter(prevalence=eta)
            known = rows.filter("supported")
            where = f"174 + 1,623 rows, AUC {area}, eta {eta:g}"
            yield Seen("PR-AUC is called supported", where, "none", len(known) / logs, logs)
            if len(known) >= logs / 2:
                claim = "`bootstrap(pr_auc)` holds the area, where supported"
                yield Seen(claim, where, "0.95", held(known, truth), len(known))
            values = (known if len(known) >= logs / 2 else rows)["value"].to_numpy() / truth
            bias, error = abs(float(values.mean()) - 1), float(values.std() / math.sqrt(len(values)))
            claim = f"relative bias of PR-AUC, {'' if len(known) >= logs / 2 else 'not '}supported"
            yield Seen(claim, where, "< 0.05" if len(known) >= logs / 2 else "none", bias, logs, error)


def few_false_positives(effort: float) -> Iterator[Seen]:
    logs, eta, tpr = round(600 * effort), 1e-3, 0.6
    for expected in (1, 2, 5, 20):
        counts = drawn(np.random.default_rng(expected), tpr, expected / 10_000, (100, 10_000), logs)
        truth = eta * tpr / (eta * tpr + (1 - eta) * expected / 10_000)
        table = nf.bootstrap(counts, metric="precision", prevalence=eta, repeats=500)
        where = f"{expected} false positives expected"
        yield Seen("`bootstrap(precision)` holds precision", where, "0.95", held(table, truth), logs)


def bands(effort: float) -> Iterator[Seen]:
    """Simultaneous bands of the ROC curve, also far below the prevalences that the log supports."""
    for line in curve_bands.claims(effort):
        yield Seen(*line)


def maps(effort: float) -> Iterator[Seen]:
    """Decision maps of equal models, and of two that change places."""
    for line in certified_maps.claims(effort):
        yield Seen(*line)


CLAIMS: tuple[Callable[[float], Iterator[Seen]], ...] = (
    auc, areas_of_few, auc_tests_of_few, rates_of_units, uneven_units, areas_of_units, accuracy,
    predictive_values, planning, shifts, segments, folds, trained_folds, pairs, partial_labels, traffic,
    own_thresholds, bootstrap, best, crossovers, support, few_false_positives, bands, maps, chosen_by_the_log,
)  # fmt: skip


def _quantile(area: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(area))


def _quantiles(shares: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    return np.asarray(ndtri(shares))


def _tail(scores: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return np.asarray(ndtr(-scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effort", type=float, default=1.0, help="share of the usual number of logs")
    parser.add_argument("--only", nargs="+", help=f"some of {', '.join(c.__name__ for c in CLAIMS)}")
    parser.add_argument("--write", action="store_true", help="put the table into docs/honesty.md")
    given = parser.parse_args()
    lines = ["| claim | simulated logs | promised | seen |", "| --- | --- | --- | --- |"]
    print(*lines, sep="\n")
    for claim in CLAIMS:
        if given.only and claim.__name__ not in given.only:
            continue
        start, work = time.perf_counter(), time.process_time()
        for seen in claim(given.effort):
            lines.append(seen.line)
            print(seen.line, flush=True)
        took = f"{time.perf_counter() - start:.0f} s, {time.process_time() - work:.0f} s of all cores"
        print(f"<!-- {claim.__name__}: {took} -->", flush=True)
    if given.write:
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(START)
        after = rest.partition(END)[2]
        PAGE.write_text(before + START + "\n".join(lines) + "\n" + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
