"""What is claimed of the rates, areas and values of one model."""

import math
from collections.abc import Iterator

import curve_bands
import numpy as np
import polars as pl
import prevalence
from claims import Seen, drawn, held, names
from scipy.stats import norm

import nci_frames as nf
from nci_frames.demo import synthetic_laws


def auc(effort: float) -> Iterator[Seen]:
    logs = round(2000 * effort)
    for positives, negatives, area, spread in (
        (20, 200, 0.983, 1), (20, 200, 0.9, 2), (20, 2000, 0.983, 2),
        (20, 2000, 0.9, 3), (100, 2000, 0.9, 1), (100, 2000, 0.9, 2), (500, 500, 0.7, 3),
    ):  # fmt: skip
        rng = np.random.default_rng([positives, negatives, spread])
        label = np.repeat([True, False], [positives, negatives])
        shift = norm.ppf(area) * math.sqrt(1 + spread**2)
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
            yield Seen(f'"{method[0]}"', where, "0.95", held(found, area), logs)


def areas_of_few(effort: float) -> Iterator[Seen]:
    """Resampled ROC-AUC of few positives."""
    logs = round(400 * effort)
    for positives, area, spread in ((5, 0.92, 1), (20, 0.92, 1), (20, 0.9, 3), (60, 0.92, 1), (100, 0.92, 1)):
        rng = np.random.default_rng([positives, spread])
        label = np.repeat([True, False], [positives, 1000])
        noise = rng.normal(size=(logs, len(label)))
        score = noise * np.where(label, spread, 1) + norm.ppf(area) * math.sqrt(1 + spread**2) * label
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
        yield Seen("ROC-AUC", where, promised, held(found, area), logs)


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
                    truth = float(norm.sf(at - place))
                    where = (
                        f"{rate.upper()} {truth:.2g}, each unit scored {'once' if repeats == 1 else 'twice'}"
                    )
                    taken = "rows as independent" if units is None else '`units="bucket"`'
                    promised = "none" if repeats > 1 and units is None else "0.95"
                    yield Seen(taken, where, promised, held(sides, truth), logs)


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
        yield Seen(f"TPR {tpr}, Wilson", where, "0.95", held(sides, tpr), logs)
        for metric, truth in (("recall", tpr), ("roc_auc", (tpr + 0.9) / 2)):
            share = held(drawn.filter(metric=metric), truth)
            claim = f"{'recall' if metric == 'recall' else 'ROC-AUC'}, `bootstrap`"
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
        where = f"about 90 + 210 units, each scored {'once' if repeats == 1 else 'twice'}"
        yield Seen("p < 0.05", where, "0.05", wrong / logs, logs)


def accuracy(effort: float) -> Iterator[Seen]:
    logs = round(20_000 * effort)
    correct, times = np.unique(np.random.default_rng(1).binomial(100, 0.98, logs), return_counts=True)
    for method in ("wilson", "wald"):
        bounds = [nf.accuracy_interval(int(k), 100, method=method) for k in correct]
        share = sum(n for n, (low, high) in zip(times, bounds, strict=True) if low <= 0.98 <= high) / logs
        yield Seen(f'"{method}"', "100 rows, accuracy 0.98", "0.95", share, logs)


def predictive_values(effort: float) -> Iterator[Seen]:
    logs = round(10_000 * effort)
    eta, tpr = 1e-3, 0.6
    for expected in (1, 2, 5, 20):
        fpr = expected / 10_000
        counts = drawn(np.random.default_rng(expected), tpr, fpr, (100, 10_000), logs)
        truth = eta * tpr / (eta * tpr + (1 - eta) * fpr)
        for method in ("score", "logit"):
            found = nf.predictive_value_interval(nf.compute_rates(counts), prevalence=eta, method=method)
            where = f"{expected} false positives expected"
            yield Seen(f'"{method}"', where, "0.95", held(found.filter(metric="precision"), truth), logs)


def planning(effort: float) -> Iterator[Seen]:
    logs = round(10_000 * effort)
    for delta, tpr, fpr in ((0.1, 0.6, 0.001), (0.3, 0.6, 0.05)):
        for assurance in (0.8, 0.95, None):
            plan = nf.required_samples(delta=delta, tpr=tpr, fpr=fpr, assurance=assurance, method="exact")
            rows = plan.select("positives", "negatives").row(0)
            counts = drawn(np.random.default_rng(5), tpr, fpr, rows, logs)
            band = nf.max_precision_uncertainty(nf.compute_rates(counts, interval="wilson"))
            share = band.select((pl.col("delta") <= delta).fill_null(value=False).mean()).item()
            claim = f"`assurance={assurance}`"
            where = f"delta {delta}, TPR {tpr}, FPR {fpr}"
            yield Seen(claim, where, "none" if assurance is None else f"{assurance}", share, logs)


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
        where = f"{positives} + {999 * positives:,} rows, prevalence {eta:g}"
        share = held(pl.concat(tables), law.pr_auc(eta))
        yield Seen("PR-AUC", where, "0.95", share, logs)


def partial_labels(effort: float) -> Iterator[Seen]:
    """All rows that score 2.0 or more are reviewed, and a share of the others."""
    logs, alert = round(1000 * effort), 2.0
    edges = np.array([-1.0, 0.0, 1.0, 2.0, 3.0])

    def law(mean: float) -> np.ndarray:
        return np.diff(1 - norm.sf(np.concatenate([[-np.inf], edges, [np.inf]]) - mean))

    def counts(positives: np.ndarray, negatives: np.ndarray) -> pl.DataFrame:
        cells = {"model": np.repeat(names(logs), len(edges)), "threshold": np.tile(edges, logs)}
        for reached, missed, rows in (("tp", "fn", positives), ("fp", "tn", negatives)):
            hits = rows[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
            cells |= {reached: hits.ravel(), missed: (rows.sum(axis=1)[:, None] - hits).ravel()}
        return pl.DataFrame(cells)

    true = {"tpr": float(norm.sf(edges[3] - 2.0)), "fpr": float(norm.sf(edges[3]))}
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
        if found == 1.0:
            yield Seen(
                "labelled rows alone: error of recall", where, "none",
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
            yield Seen(
                f"{by}: error of recall",
                where,
                "none",
                float(error.mean()),
                logs,
                float(error.std() / math.sqrt(logs)),
            )
            for rate in ("tpr", "fpr") if found == 1.0 else ():
                sides = rates.select(lower=f"{rate}_lower", upper=f"{rate}_upper")
                yield Seen(f"{by}: {rate.upper()}", where, ">= 0.95", held(sides, true[rate]), logs)


def traffic(effort: float) -> Iterator[Seen]:
    """Metrics of a threshold in traffic without labels, whose prevalence is estimated."""
    logs, separation, rows = round(300 * effort), 2.0, 100_000
    threshold = float(prevalence.THRESHOLDS[60])
    tpr, fpr = (float(norm.sf(threshold - mean)) for mean in (separation, 0.0))
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
        where = f"1 model, 1,000 + 10,000 rows, {rows:,} without labels, prevalence {eta:g}"
        for metric, true in truth.items():
            share = held(found.filter(metric=metric), true)
            yield Seen("F1" if metric == "f_beta" else metric, where, ">= 0.95", share, logs)


def support(effort: float) -> Iterator[Seen]:
    """PR-AUC of normal scores over prevalence: where the log supports it, and where it does not."""
    logs, etas = round(200 * effort), [1e-4, 1e-3, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2]
    label = np.repeat([True, False], [174, 1623])
    share = (np.arange(200_000) + 0.5) / 200_000
    for area in (0.85, 0.95, 0.983):
        rng, shift = np.random.default_rng(round(1000 * area)), norm.ppf(area) * math.sqrt(2)
        fpr = norm.sf(shift + norm.ppf(1 - share))
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
            where = f"AUC {area}, prevalence {eta:g}"
            yield Seen("`supported`", where, "none", len(known) / logs, logs)
            if len(known) >= logs / 2:
                yield Seen("held", where, "0.95", held(known, truth), len(known))
            values = (known if len(known) >= logs / 2 else rows)["value"].to_numpy() / truth
            bias, error = abs(float(values.mean()) - 1), float(values.std() / math.sqrt(len(values)))
            promised = "< 0.05" if len(known) >= logs / 2 else "none"
            yield Seen("relative bias", where, promised, bias, logs, error)


def few_false_positives(effort: float) -> Iterator[Seen]:
    logs, eta, tpr = round(600 * effort), 1e-3, 0.6
    for expected in (1, 2, 5, 20):
        counts = drawn(np.random.default_rng(expected), tpr, expected / 10_000, (100, 10_000), logs)
        truth = eta * tpr / (eta * tpr + (1 - eta) * expected / 10_000)
        table = nf.bootstrap(counts, metric="precision", prevalence=eta, repeats=500)
        where = f"{expected} false positives expected"
        yield Seen("`bootstrap`", where, "0.95", held(table, truth), logs)


def bands(effort: float) -> Iterator[Seen]:
    """Simultaneous bands of the ROC curve, also far below the prevalences that the log supports."""
    for line in curve_bands.claims(effort):
        yield Seen(*line)


def bands_of_grids(effort: float) -> Iterator[Seen]:
    """The same with tied scores, and with few thresholds."""
    for line in curve_bands.claims_of_kinds(effort):
        yield Seen(*line)


def bands_of_units(effort: float) -> Iterator[Seen]:
    """The same with units that are scored twice."""
    for line in curve_bands.claims_of_units(effort):
        yield Seen(*line)
