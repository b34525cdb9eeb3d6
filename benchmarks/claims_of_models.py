"""What is claimed of several models, and of segments."""

import math
from collections.abc import Iterator

import best_models
import certified_maps
import numpy as np
import polars as pl
from claims import Seen, held, names
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold

import nci_frames as nf

CELLS = ("both", "a", "b", "none")


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
        where = f"{positives} + {negatives} units, each scored once"
        share = float((found["p_value"] < 0.05).mean())  # type: ignore[arg-type]
        yield Seen("p < 0.05", where, "0.05", share, logs)


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
        yield Seen("any finding", where, promised, wrong / logs, logs)


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
            yield Seen(name, where, promised, share, logs)


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
        yield Seen("by default", where, promised, found / logs, logs)


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
                what = "F1" if metric == "f_beta" else metric.replace("_", " ")
                where = f"prevalence {eta:g}, TPR {tpr[0]:g} and {tpr[1]:g}, FPR {fpr[0]:g} and {fpr[1]:g}"
                yield Seen(f"{what}: held", where, "0.95", held(found, true[0] - true[1]), logs)
                if true[0] == true[1]:
                    share = float(
                        found.select((pl.col("p_value") < 0.05).fill_null(value=False).mean()).item()
                    )
                    yield Seen(f"{what}: p < 0.05", where, "0.05", share, logs)


def segments(effort: float) -> Iterator[Seen]:
    """40 segments whose scores are alike, but for the positives of some, which score 0.8 lower."""
    edges, at, eta = np.linspace(-3, 5, 101), 60, 0.01
    logs = round(100 * effort)

    def law(mean: float) -> np.ndarray:
        return np.diff(1 - norm.sf(np.concatenate([[-np.inf], edges, [np.inf]]) - mean))

    tpr, fpr = (float(norm.sf(edges[at] - mean)) for mean in (2.0, 0.0))
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
        yield Seen("F1 is held", where, "0.95", share, len(alike))
        for flag in ("shifted", "distinguishable"):
            findings = pl.col(flag).fill_null(value=False)
            false = table.group_by("log").agg(
                share=(findings & pl.col("alike")).sum() / findings.sum().clip(1),
                seen=(findings & ~pl.col("alike")).sum() / max(bad, 1),
            )
            error = float(false["share"].std()) / math.sqrt(logs)
            what = f"false among the `{flag}`"
            promised = "<= 0.05" if bad < 10 else "none"
            yield Seen(what, where, promised, float(false["share"].mean()), logs, error)
            if bad:
                what = f"changed ones that are `{flag}`"
                yield Seen(what, where, "none", float(false["seen"].mean()), logs)


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
            tpr, fpr = (norm.sf(mine["threshold"].to_numpy() - place) for place in (shift, 0.0))
            truth = 2 * eta * tpr / (eta + eta * tpr + (1 - eta) * fpr)
            where = f"prevalence {eta:g}, each unit scored " + (
                "once" if repeats == 1 else "twice, rows taken as independent" if units is None
                else "twice, halves of buckets"
            )  # fmt: skip
            for column, claim in (("value", "<= 0.015"), ("optimistic", "none")):
                if column == "optimistic" and repeats > 1:
                    continue
                error = mine[column].to_numpy() - truth
                promised = "none" if repeats > 1 and units is None else claim
                yield Seen(
                    f"`{column}`",
                    where,
                    promised,
                    float(error.mean()),
                    logs,
                    float(error.std() / math.sqrt(logs)),
                )


def best(effort: float) -> Iterator[Seen]:
    """Equal models, and two of which one is better."""
    for line in best_models.claims(effort):
        yield Seen(*line)


def crossovers(effort: float) -> Iterator[Seen]:
    """Two models of which one finds the easiest positives, the other more of them; also of few units."""
    for lines in (best_models.crossovers, best_models.crossovers_of_few):
        for line in lines(effort):
            yield Seen(*line)


def maps(effort: float) -> Iterator[Seen]:
    """Decision maps of equal models, and of two that change places."""
    for line in certified_maps.claims(effort):
        yield Seen(*line)
