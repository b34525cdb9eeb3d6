"""Plans of labels: that they fit the rows, and how much better than a uniform sample they are."""

from functools import cache

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import nci_frames as nf
from nci_frames.evaluation.labelling.allocation import allocate
from tests.cases import first_quick
from tests.logs import once, unit_log

ROWS = 40_000


@cache
def scored_log(apart=3.2, rows=ROWS, share=0.005, seed=0):
    """Rows whose scores are normal, and the labels that nobody knows."""
    rng = np.random.default_rng(seed)
    truth = np.arange(rows) < round(share * rows)
    score = rng.normal(apart * truth)
    return pl.DataFrame({"model": "a", "score": score, "truth": truth})


@cache
def pilot_counts(apart=3.2, positives=200, negatives=4000, seed=5):
    log = unit_log({"a": apart}, (positives, negatives), seed=seed)
    return nf.count_confusion(log.drop("unit"), thresholds="exact")


@pytest.mark.filterwarnings("ignore::nci_frames.FewLabelsWarning")
@pytest.mark.parametrize(
    ("metric", "budget"), first_quick([("recall", 7), ("precision", 4), ("f_beta", 100), ("recall", 1001)], 2)
)
def test_a_plan_divides_the_rows_of_the_log(metric, budget):
    log = scored_log()
    plan = nf.plan_labels(log, budget=budget, metric=metric, threshold=2.5, pilot=pilot_counts())
    assert plan.columns == ["score_lower", "score_upper", "rows", "labels", "share"]
    assert plan["labels"].sum() == budget
    assert plan["labels"].min() >= 2
    assert [*plan["score_lower"], np.inf] == [-np.inf, *plan["score_upper"]]
    assert 2.5 in plan["score_lower"]
    edges = np.append(plan["score_lower"].to_numpy(), np.inf)
    assert plan["rows"].to_list() == np.histogram(log["score"], edges)[0].tolist()
    assert plan["share"].to_list() == (plan["labels"] / plan["rows"]).to_list()


@pytest.mark.parametrize("budget", first_quick([60, 20, 100, 165]))
def test_every_range_has_ten_labels_if_the_budget_allows(budget):
    """With fewer, an interval does not know that the rows of a range are not flagged."""
    plan = nf.plan_labels(
        scored_log(), budget=budget, metric="precision", threshold=2.5, pilot=pilot_counts(), prevalence=0.005
    )
    assert (plan["labels"] >= plan["rows"].clip(upper_bound=10)).all()


@pytest.mark.filterwarnings("ignore::nci_frames.FewLabelsWarning")
@pytest.mark.thorough
@pytest.mark.parametrize("budget", [4, 7, 8])
def test_a_comparison_of_few_labels_keeps_to_its_budget(budget):
    """There are four pairs of decisions, so fewer than eight labels are not two for each."""
    decided = {"a": [0.2, 0.2, 0.8, 0.8] * 10, "b": [0.2, 0.8] * 20}
    log = pl.concat(
        pl.DataFrame({"model": model, "unit": range(40), "score": score}) for model, score in decided.items()
    )
    plan = nf.plan_labels(log, budget=budget, metric="recall", threshold=0.5, compare=("a", "b"))
    assert len(plan) == 4
    assert plan["labels"].sum() == budget


@pytest.mark.thorough
def test_score_counts_are_planned_like_their_rows():
    log, pilot = scored_log().drop("truth"), pilot_counts()
    asked = {"budget": 300, "metric": "recall", "threshold": 2.5, "pilot": pilot}
    plan = nf.plan_labels(log, **asked)
    scores = nf.count_scores(log, thresholds=sorted({*pilot["threshold"].unique(), 2.5}))
    assert nf.plan_labels(scores.lazy(), **asked)["labels"].sum() == plan["labels"].sum()
    scan = nf.scan_predictions(log, label=None)
    assert nf.plan_labels(scan, **asked).equals(plan)
    halves = pl.concat([scores.with_columns(country=pl.lit(name)) for name in ("at", "de")])
    assert nf.plan_labels(halves, **asked)["rows"].sum() == 2 * ROWS


@pytest.mark.thorough
def test_a_plan_with_a_pilot_reads_the_log_once():
    log, pilot = scored_log(), pilot_counts()
    asked = {"budget": 300, "metric": "recall", "threshold": 2.5, "pilot": pilot}
    two = pl.concat([log.with_columns(score=-pl.col("score")), of_model_b(log)])
    plan = nf.plan_labels(log, **asked)
    assert nf.plan_labels(of_model_b(log), **asked | {"pilot": of_model_b(pilot)}).equals(plan)
    assert nf.plan_labels(once(log), **asked).equals(plan)
    both = pl.concat([of_model_b(pilot), pilot_counts(1.0)])
    assert nf.plan_labels(two, **asked | {"pilot": both}, model="b").equals(plan)
    # Which of the pilot's models it is must be known before the scores are counted.
    assert nf.plan_labels(of_model_b(log), **asked | {"pilot": both}).equals(plan)


def of_model_b(frame):
    return frame.with_columns(model=pl.lit("b"))


@pytest.mark.thorough
def test_a_pilot_serves_by_its_rates_alone():
    log, pilot = scored_log(), pilot_counts()
    asked = {"budget": 500, "metric": "recall", "threshold": 2.5}
    plan = nf.plan_labels(log, pilot=pilot, **asked)
    others = pilot.with_columns(pl.col("fp", "tn") * 50)
    assert nf.plan_labels(log, pilot=others, **asked).equals(plan)
    # Nor does it matter that its negatives are a sample, with weights.
    weighted = pl.concat([
        pilot.with_columns(pl.col("fp", "tn") * 0, weight=pl.lit(1.0)),
        pilot.with_columns(pl.col("tp", "fn") * 0, weight=pl.lit(20.0)),
    ])  # fmt: skip
    assert nf.plan_labels(log, pilot=weighted, **asked).equals(plan)


@pytest.mark.thorough
def test_probabilities_need_no_pilot():
    rng = np.random.default_rng(2)
    score = rng.beta(0.1, 3, ROWS)
    log = pl.DataFrame({"model": "a", "score": score})
    plan = nf.plan_labels(log, budget=400, metric="precision", threshold=0.5)
    alerts = plan.filter(pl.col("score_lower") >= 0.5)
    assert alerts["rows"].sum() == (score >= 0.5).sum()
    assert alerts["labels"].sum() >= 0.9 * min(400, alerts["rows"].sum())
    # The same rows, flagged by a budget of alerts.
    by_alerts = nf.plan_labels(log, budget=400, metric="precision", alerts=int((score >= 0.5).sum()))
    assert by_alerts.filter(pl.col("score_lower") >= 0.5)["rows"].sum() == (score >= 0.5).sum()


def test_a_small_log_is_labelled_as_a_whole():
    log = scored_log(rows=200, share=0.1)
    plan = nf.plan_labels(log, budget=1000, metric="recall", threshold=1.0, pilot=pilot_counts(3.2, 50, 500))
    assert plan["labels"].equals(plan["rows"], check_names=False)
    assert plan["share"].unique().to_list() == [1.0]


@pytest.mark.thorough
def test_of_a_log_labelled_as_a_whole_a_plan_promises_what_random_rows_do():
    """The log has all its rows in either case; other traffic has other shares of each range."""
    asked = {"metric": "recall", "threshold": 2.5, "pilot": pilot_counts(), "prevalence": 0.1}
    gains = nf.expected_half_widths(scored_log(rows=4000, share=0.1), budget=4000, **asked)
    planned, uniform, twice = gains["half_width"]
    assert planned == pytest.approx(uniform, rel=0.1)
    assert twice is not None
    assert gains["reason"].null_count() == 3


@pytest.mark.long
@pytest.mark.parametrize(
    ("share", "apart", "metric"), [(0.01, 3.0, "recall"), (0.01, 3.0, "precision"), (0.05, 2.0, "f_beta")]
)
def test_the_promised_interval_is_that_of_the_labelled_rows(share, apart, metric):
    log, pilot = scored_log(apart, share=share), pilot_counts(apart, 300, 4000)
    asked = {"budget": 400, "metric": metric, "threshold": 2.5, "pilot": pilot, "prevalence": share}
    plan = nf.plan_labels(log.drop("truth"), **asked)
    promised, uniform, _ = nf.expected_half_widths(log.drop("truth"), **asked)["half_width"]

    flagged = log.filter(pl.col("score") >= 2.5)
    true, alerts, positives = flagged["truth"].sum(), len(flagged), log["truth"].sum()
    truth = {
        "recall": true / positives, "precision": true / alerts, "f_beta": 2 * true / (positives + alerts)
    }[metric]  # fmt: skip

    def median(samples):
        widths, held = [], []
        for rows in samples:
            scan = nf.scan_predictions(rows, label="truth", weight="weight")
            counts = nf.count_confusion(scan, thresholds="exact")
            found = nf.bootstrap(counts, metric=metric, threshold=2.5, repeats=200)
            # A sample may have no row that is flagged.
            widths.append((found["upper"] - found["lower"]).fill_null(np.inf).item() / 2)
            held.append(found.select(pl.lit(truth).is_between("lower", "upper")).item())
        return np.median(widths), held

    half_width, held = median(nf.draw_labels(log, plan, seed=k).collect() for k in range(20))
    assert promised == pytest.approx(half_width, rel=0.25)
    assert sum(held) >= 17
    alike = log.with_columns(weight=pl.lit(len(log) / 400))
    by_uniform, _ = median(alike.sample(400, seed=k) for k in range(20))
    assert uniform == pytest.approx(by_uniform, rel=0.25)
    assert half_width < 0.85 * by_uniform


@pytest.mark.long
@pytest.mark.parametrize("metric", ["recall", "precision", "f_beta"])
def test_the_promise_of_a_comparison_allows_for_the_prevalence_that_a_pilot_tells(metric):
    """The four kinds of decisions of a small pilot may tell the prevalence wrong by any factor."""
    units, positives, at = 60_000, 150, {"new": 2.5, "old": 2.5}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        truth, known = np.arange(units) < positives, np.arange(3000) < 150

        def scored(label, rng=rng):
            score, unit = rng.normal(3.2 * label), np.arange(len(label))
            noise = {"new": rng.normal(0, 0.3, len(label)), "old": rng.normal(0, 0.6, len(label))}
            models = [
                {"model": name, "unit": unit, "score": score + off, "label": label}
                for name, off in noise.items()
            ]
            return pl.concat(map(pl.DataFrame, models))

        traffic = scored(truth)
        asked = {
            "budget": 500,
            "metric": metric,
            "threshold": at,
            "compare": ("new", "old"),
            "pilot": scored(known),
        }
        plan = nf.plan_labels(traffic.drop("label"), **asked)
        promised = nf.expected_half_widths(traffic.drop("label"), **asked)["half_width"][0]
        new, old = (traffic.filter(model=name)["score"].to_numpy() >= 2.5 for name in ("new", "old"))
        kind = np.select([new & old, new, old], [0, 1, 2], 3)
        rows, found = (np.bincount(some, minlength=4).astype(float) for some in (kind, kind[truth]))
        drawn = [
            rng.hypergeometric(int(own), int(every - own), labels, 2000) * (every / labels)
            for every, own, labels in zip(rows, found, plan["labels"], strict=True)
        ]

        def difference(both, new, old, none, rows=rows):
            found, flags = both + new + old + none, (rows[0] + rows[1], rows[0] + rows[2])
            of = {
                "recall": (found, found),
                "precision": flags,
                "f_beta": [(found + some) / 2 for some in flags],
            }
            return (both + new) / of[metric][0] - (both + old) / of[metric][1]

        with np.errstate(invalid="ignore"):
            off = np.abs(difference(*drawn) - difference(*found))
        assert (off[np.isfinite(off)] <= promised).mean() > 0.93


def test_a_comparison_labels_the_units_on_which_the_models_differ():
    log = unit_log({"old": 2.0, "new": 2.0}, 5000, share=0.05, alike=0.9)
    at = {"old": 1.5, "new": 1.4}
    asked = {"budget": 300, "metric": "recall", "threshold": at, "compare": ("new", "old")}
    plan = nf.plan_labels(log.drop("label"), pilot=log, **asked)
    pairs = nf.count_pairs(log, thresholds=at).row(0, named=True)
    cells = {"both": "both", "new": "a", "old": "b", "none": "none"}
    units = {name: pairs[f"tp_{cell}"] + pairs[f"fp_{cell}"] for name, cell in cells.items()}
    assert dict(plan.select("flagged_by", "rows").rows()) == units
    assert plan["labels"].sum() == 300
    labels = dict(plan.select("flagged_by", "labels").rows())
    assert labels["new"] + labels["old"] > 200
    assert labels["none"] >= 2
    assert plan["threshold_a"].unique().to_list() == [1.4]
    gains = nf.expected_half_widths(log.drop("label"), pilot=log, **asked)
    half, uniform, _ = gains["half_width"]
    assert half < uniform / 2
    observed = nf.compare_pairs(nf.count_pairs(log, thresholds=at), metric="recall")["difference"].item()
    assert gains["value"][0] == pytest.approx(observed, abs=0.02)


@pytest.mark.parametrize("models", [("mew", "odl"), ("new", "odl")])
@pytest.mark.parametrize("pilot", [False, True])
def test_a_comparison_of_a_model_that_the_log_lacks_says_so(models, pilot):
    log = unit_log({"old": 0.2, "new": 0.2}, 100, share=0.5, alike=0.9).with_columns(
        pl.col("score").clip(0, 1)
    )
    asked = {"budget": 90, "metric": "recall", "threshold": 0.5, "compare": models}
    known = log.with_columns(pl.col("model").replace({"new": models[0], "old": models[1]}))
    missing = next(model for model in models if model != "new")
    with pytest.raises(
        nf.ParameterError, match=rf"the log has no model '{missing}'(.|\n)*models 'new', 'old'"
    ):
        nf.plan_labels(log.drop("label"), pilot=known if pilot else None, **asked)
    plan = nf.plan_labels(log.drop("label"), **asked | {"compare": ("new", "old")})
    with pytest.raises(nf.ParameterError, match="the plan is that of another log"):
        nf.draw_labels(known.drop("label"), plan).collect()


def estimates(log, plan, threshold, repeats, seed=0):
    """Recall and precision at a threshold by labels of the plan, many times; of no positive recall is 1/2."""
    rng = np.random.default_rng(seed)
    edges = np.append(plan["score_lower"].to_numpy(), np.inf)
    rows = plan["rows"].to_numpy()
    found = np.histogram(log.filter("truth")["score"], edges)[0]
    labels = plan["labels"].to_numpy()
    drawn = rng.hypergeometric(found, rows - found, labels, (repeats, len(plan))) / plan["share"].to_numpy()
    above = edges[:-1] >= threshold
    true = drawn[:, above].sum(axis=1)
    found = drawn.sum(axis=1)
    recall = np.where(found > 0, true / np.maximum(found, 1), 0.5)
    return {"recall": recall, "precision": true / rows[above].sum()}


def by_uniform_sample(log, threshold, size, repeats, seed=1):
    """The same by a uniform sample; what is undefined is estimated by one half."""
    rng = np.random.default_rng(seed)
    above, truth = log["score"] >= threshold, log["truth"]
    cells = [(truth & above).sum(), (truth & ~above).sum(), (~truth & above).sum(), (~truth & ~above).sum()]
    tp, fn, fp, _ = rng.multivariate_hypergeometric(cells, size, repeats).T
    with np.errstate(invalid="ignore"):
        return {"recall": np.nan_to_num(tp / (tp + fn), nan=0.5),
                "precision": np.nan_to_num(tp / (tp + fp), nan=0.5)}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("apart", "alerts", "most"),
    [(3.2, None, 0.37), (3.2, 1500, 0.29), (3.2, 20_000, 0.4), (2.0, None, 0.55), (1.5, None, 0.65)],
)
@pytest.mark.parametrize("metric", ["recall", "precision"])
def test_errors_are_a_fraction_of_those_of_a_uniform_sample(apart, alerts, most, metric):
    """1,000 positives among a million rows, 2,000 labels; Neyman's division is hardly any better."""
    log = scored_log(apart, 1_000_000, 0.001)
    pilot = pilot_counts(apart, 100, 10_000)
    threshold = 2.5 if alerts is None else log["score"].top_k(alerts).min()
    plan = nf.plan_labels(log, budget=2000, metric=metric, threshold=threshold, pilot=pilot)
    above = log["score"] >= threshold
    found = (above & log["truth"]).sum()
    truth = {"recall": found / 1000, "precision": found / above.sum()}[metric]

    def error(values):
        return float(np.sqrt(((values[metric] - truth) ** 2).mean()))

    by_plan = error(estimates(log, plan, threshold, 4000))
    assert by_plan <= most * error(by_uniform_sample(log, threshold, 2000, 4000))
    best = best_plan(log, apart, threshold, metric, truth)
    assert by_plan <= 1.3 * error(estimates(log, best, threshold, 4000))


def best_plan(log, apart, threshold, metric, truth):
    """Neyman's allocation to a hundred ranges, with the rates of the distributions."""
    above = np.linspace(threshold + 0.05, threshold + 1.5, 30)
    edges = np.r_[-np.inf, np.linspace(-1, threshold, 80), above, np.inf]
    positive, negative = 1000 * np.diff(norm.cdf(edges - apart)), 999_000 * np.diff(norm.cdf(edges))
    p, above = positive / (positive + negative), edges[:-1] >= threshold
    rows = np.histogram(log["score"], edges)[0]
    weight = above - truth if metric == "recall" else 1.0 * above
    labels = allocate(rows * np.abs(weight) * np.sqrt(p * (1 - p)), rows, 2000, 1)
    plan = pl.DataFrame({"score_lower": edges[:-1], "rows": rows, "labels": labels})
    return plan.with_columns(share=pl.col("labels") / pl.col("rows"))


def test_few_labels_are_doubted_and_a_missing_half_width_has_a_reason():
    asked = {"metric": "recall", "threshold": 2.5, "pilot": pilot_counts()}
    with pytest.warns(nf.FewLabelsWarning, match="the 2 of a range may show chance alone") as told:
        gains = nf.expected_half_widths(scored_log(), budget=5, **asked)
    assert len(told) == 1
    assert gains["half_width"].is_null().to_list() == [False, True, False]
    assert gains["reason"].is_not_null().to_list() == [False, True, False]
    assert "no positive" in gains["reason"][1]


@pytest.mark.thorough
def test_costs_count_by_name_and_by_call():
    asked = {"budget": 400, "threshold": 2.5, "pilot": pilot_counts()}
    named, called = (
        nf.plan_labels(scored_log(), metric=metric, **asked)
        for metric in ("expected_cost(c_fp=1, c_fn=20)", nf.expected_cost(c_fp=1, c_fn=20))
    )
    assert named.equals(called)


@pytest.mark.thorough
def test_the_interval_of_random_rows_allows_for_the_prevalence():
    """With few labels, a cost depends most on how many of the labelled rows are positives."""
    scores = np.linspace(0, 0.06, 20_000)
    log = pl.DataFrame({"model": "a", "score": scores})
    cost, budget = nf.expected_cost(c_fn=100), 500
    told = nf.expected_half_widths(log, budget=budget, metric=cost, threshold=0.05)
    rng = np.random.default_rng(3)
    drawn = rng.choice(scores, (800, budget))
    positive = rng.random(drawn.shape) < drawn
    alert = drawn >= 0.05
    costs = (100 * (positive & ~alert) + (~positive & alert)).mean(axis=1)
    assert told.filter(design="uniform")["half_width"].item() > 0.95 * 1.96 * costs.std()
