"""Gates: verdicts from bounds."""

import json
import math
import re

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import nci_frames as nf
from nci_frames.jobs.gates.changes import difference, shared_correlation
from nci_frames.jobs.gates.judge import Reference, judge_gates, overall
from nci_frames.jobs.gates.measure import measure
from nci_frames.jobs.gates.verdicts import chat_line, verdicts_json
from nci_frames.jobs.logging import tell_rows, teller
from tests.cases import first_quick
from tests.logs import counts_at
from tests.small_jobs import gate_job


def counts(*groups: tuple[str, str, int, int, int, int]) -> pl.DataFrame:
    """One threshold, 0.5: model, country, tp, fp, fn, tn."""
    schema = {"model": pl.String, "country": pl.String} | dict.fromkeys(("tp", "fp", "fn", "tn"), pl.Int64)
    frame = pl.DataFrame(groups, schema=schema, orient="row")
    return frame.with_columns(threshold=pl.lit(0.5), resolution=pl.lit("grid"))


def judged(
    gate: dict,
    *groups,
    reference: pl.DataFrame | None = None,
    shared: pl.DataFrame | None = None,
    scenarios: dict | None = None,
    unit: str | None = None,
) -> list[dict]:
    """Verdicts on *groups*; *shared*: the counts of rows that the reference has, too."""
    job = gate_job(gate, scenarios=scenarios or {}, columns={"unit": unit})
    frame = groups[0] if groups and isinstance(groups[0], pl.DataFrame) else counts(*groups)

    def by(rows):
        return lambda keys, _: (
            rows.sort("model") if "country" in keys else nf.pool_counts(rows, over="country")
        )

    before = None if reference is None else Reference(reference, by(counts() if shared is None else shared))
    return judge_gates(job, by(frame), before).to_dicts()


def good_run(gate: dict, *groups, **options) -> pl.DataFrame:
    """Verdicts on *groups* as a reference of a later run."""
    rows = pl.DataFrame(judged(gate, *groups, **options), infer_schema_length=None)
    return rows.with_columns(pl.col("segment").cast(pl.String))


ARRIVED = pl.DataFrame({"arrival": ["new", "new"]})
MANY = ("a", "de", 800, 10, 200, 990)
FEW = ("a", "at", 3, 10, 1, 990)


@pytest.mark.parametrize(
    ("limits", "verdict"),
    first_quick(
        [
            ({"lower": 0.7}, "pass"),
            ({"lower": 0.8}, "undecided"),
            ({"lower": 0.9}, "fail"),
            ({"upper": 0.9}, "pass"),
            ({"upper": 0.8}, "undecided"),
            ({"upper": 0.7}, "fail"),
            ({"lower": 0.7, "upper": 0.9}, "pass"),
            ({"lower": 0.79, "upper": 0.9}, "undecided"),
            ({"lower": 0.1, "upper": 0.2}, "fail"),
        ],
        5,
    ),
)
def test_a_value_is_judged_on_its_bounds(limits, verdict):
    (row,) = judged({"value_threshold": limits}, MANY)
    assert row["verdict"] == verdict
    # Wilson's interval of 800 of 1000.
    assert (row["value"], round(row["lower"], 4), round(row["upper"], 4)) == (0.8, 0.7741, 0.8236)


@pytest.mark.parametrize(("metric", "limits"), [("fpr", {"upper": 0}), ("recall", {"lower": 1})])
def test_a_limit_that_the_best_value_alone_keeps_does_not_fail_it(metric, limits):
    (row,) = judged({"metric": metric, "value_threshold": limits}, ("a", "de", 1000, 0, 0, 1000))
    assert row["verdict"] == "undecided"


def test_few_positives_are_undecided_whatever_the_value():
    gate = {"segments": ["country"], "min_positives": 5, "value_threshold": {"lower": 0.99}}
    few, many = judged(gate, MANY, FEW)
    assert (few["segment"], few["verdict"]) == ('{"country": "at"}', "undecided")
    assert (many["segment"], many["verdict"]) == ('{"country": "de"}', "fail")
    assert few["reason"] == "4 positives, fewer than 5"


def test_a_model_without_rows_and_no_rows_at_all_are_undecided():
    gate = {"value_threshold": {"lower": 0.1}}
    for models, groups, reason in ((["b"], [MANY], "the model has no rows"), ([], [], "there are no rows")):
        (row,) = judged(gate | {"models": models}, *groups)
        assert (row["model"], row["verdict"], row["reason"]) == (
            next(iter(models), None),
            "undecided",
            reason,
        )


def test_precision_at_a_scenario_and_per_segment():
    scenarios = {"EU": 0.001, "m": {"by": "country", "prevalence": {"de": 0.5}}}
    gate = {"metric": "precision", "value_threshold": {"lower": 0.01}}
    (row,) = judged(gate | {"scenario": "EU"}, MANY, scenarios=scenarios)
    assert row["value"] == pytest.approx(0.001 * 0.8 / (0.001 * 0.8 + 0.999 * 0.01))
    assert row["prevalence"] == 0.001
    none, some = judged(gate | {"scenario": "m", "segments": ["country"]}, MANY, FEW, scenarios=scenarios)
    assert (some["prevalence"], some["verdict"]) == (0.5, "pass")
    assert (none["prevalence"], none["verdict"]) == (None, "undecided")
    assert none["reason"] == "the scenario has no prevalence for it"
    change = {"metric": "precision", "change_threshold": {"absolute": 0.01}, "segments": ["country"]}
    none, _ = judged(change | {"scenario": "m"}, MANY, FEW, scenarios=scenarios)
    assert none["reason"] == "the scenario has no prevalence for it"


@pytest.mark.parametrize(
    ("change", "then", "verdict"),
    first_quick(
        [
            ({"absolute": 0.05}, 800, "pass"),
            ({"absolute": 0.05}, 840, "undecided"),
            ({"absolute": 0.05}, 950, "fail"),
            ({"relative": 0.1}, 950, "fail"),
            ({"relative": 0.3}, 950, "pass"),
            ({"absolute": 0.05, "direction": "lower_is_better"}, 950, "pass"),
            ({"absolute": 0.05, "direction": "lower_is_better"}, 650, "fail"),
        ],
        3,
    ),
)
def test_a_change_is_judged_on_the_bounds_of_the_difference(change, then, verdict):
    gate = {"change_threshold": change}
    before = good_run(gate, ("a", "de", then, 10, 1000 - then, 990))
    (row,) = judged(gate, MANY, reference=before)
    assert row["verdict"] == verdict
    assert row["reference"] == then / 1000
    assert row["difference"] == pytest.approx((800 - then) / 1000)
    assert row["difference_lower"] < row["difference"] < row["difference_upper"]


def test_a_change_needs_a_good_run_and_enough_rows():
    gate = {"change_threshold": {"absolute": 0.05}}
    (first,) = judged(gate | {"undecided": "fail"}, MANY)
    assert (first["verdict"], first["reason"]) == (
        "undecided",
        "no value of the last good run to compare with",
    )
    # It ends no run: there would never be a good one.
    assert first["undecided"] == "warn"
    (few,) = judged(gate | {"undecided": "fail", "min_positives": 2000}, MANY)
    assert (few["undecided"], few["reason"]) == (
        "fail",
        "1,000 positives, fewer than 2,000 and 1,000 negatives, fewer than 2,000",
    )
    (later,) = judged(gate, MANY, reference=good_run(gate, ("a", "de", 0, 10, 0, 990)))
    assert later["reason"] == "the value had no bounds in the last good run"


def test_a_change_of_the_scenario_is_no_change_of_the_model():
    gate = {"metric": "precision", "scenario": "EU", "change_threshold": {"absolute": 0.05}}
    before = good_run(gate, MANY, scenarios={"EU": 0.01})
    (row,) = judged(gate, MANY, reference=before, scenarios={"EU": 0.001})
    assert (row["verdict"], row["reason"]) == ("undecided", "the prevalence was 0.01 in the last good run")
    observed = {"metric": "precision", "change_threshold": {"absolute": 0.2}}
    (row,) = judged(observed, ("a", "de", 80, 10, 20, 990), reference=good_run(observed, MANY))
    assert (row["verdict"], row["reason"]) == ("pass", None)


def test_a_relative_change_of_a_negative_value_is_a_share_of_its_size():
    gate = {"metric": "mcc", "change_threshold": {"relative": 0.5}}
    wrong = ("a", "de", 400, 600, 600, 400)
    (row,) = judged(gate, wrong, reference=good_run(gate, wrong))
    assert (row["verdict"], row["limit_lower"]) == ("pass", pytest.approx(-0.1))


def test_an_infinite_value_has_no_change_and_is_written_in_words(capsys):
    gate = {"metric": "lr_plus", "change_threshold": {"relative": 0.1}}
    infinite = ("a", "de", 800, 0, 200, 1000)
    then = {"finite": good_run(gate, MANY), "infinite": good_run(gate, infinite)}
    found = {when: judged(gate, infinite, reference=before)[0] for when, before in then.items()}
    reasons = {
        "finite": "an infinite value has no difference",
        "infinite": "the value was infinite in the last good run",
    }
    for when, row in found.items():
        assert (row["verdict"], row["reason"]) == ("undecided", reasons[when])
        assert row["difference"] is row["difference_lower"] is row["limit_lower"] is None
    back = judged(gate, MANY, reference=then["infinite"])[0]
    assert (back["verdict"], back["reason"]) == ("undecided", reasons["infinite"])
    (row,) = judged({"metric": "lr_plus", "value_threshold": {"lower": 2}}, infinite)
    assert (row["verdict"], row["value"]) == ("pass", math.inf)
    verdicts = pl.DataFrame([row]).with_columns(pl.col("segment").cast(pl.String))
    tell_rows(teller("json"), "gate", verdicts)
    # JSON has no infinity, and strict readers refuse the whole text.
    texts = (verdicts_json("r1", verdicts), capsys.readouterr().err)
    of_run, of_log = (json.loads(text, parse_constant=pytest.fail) for text in texts)
    assert of_run["gates"][0]["value"] == of_log["value"] == "infinity"


@pytest.mark.thorough
def test_a_change_of_windows_that_share_rows_has_narrower_bounds():
    """900 of 1000 then; 1,680 of 2,000 now, of which 1,000 are the same rows: a fall by 0.06."""
    gate = {"change_threshold": {"absolute": 0.04}}
    old, now = ("a", "de", 900, 10, 100, 990), ("a", "de", 1680, 20, 320, 1980)
    then = good_run(gate, old)
    (apart,), (nested,) = (judged(gate, now, reference=then, shared=same) for same in (None, counts(old)))
    assert (apart["verdict"], nested["verdict"]) == ("undecided", "fail")
    # The very same rows: whatever the number, it is no chance.
    same = {"change_threshold": {"absolute": 0.0}}
    (again,) = judged(same, MANY, reference=good_run(same, MANY), shared=counts(MANY))
    assert again["verdict"] == "pass"


def held(now: dict, then: dict, shared: dict, truth: float) -> np.ndarray:
    """Whether the bounds of a difference hold: as if no row were the same, and knowing which rows are."""
    ways = (0.0, shared_correlation(shared, now, then))
    bounds = [difference(now, then, correlation=correlation) for correlation in ways]
    return np.array([found["lower"] <= truth <= found["upper"] for found in bounds])


@pytest.mark.thorough
@pytest.mark.parametrize("old_share", [0.1, 0.5, 0.9])
def test_bounds_of_a_change_of_nested_windows_hold_as_often_as_they_say(old_share):
    """Against the true difference, in 2,000 pairs of logs of which one contains the other."""
    rng = np.random.default_rng(7)
    total, old = 1000, int(1000 * old_share)
    then, new = rng.binomial(old, 0.85, 2000), rng.binomial(total - old, 0.75, 2000)
    truth = (old * 0.85 + (total - old) * 0.75) / total - 0.85

    def sides(found, rows):
        lower, upper = proportion_confint(found, rows, method="wilson")
        for value, low, high in zip(found / rows, lower, upper, strict=True):
            yield {"value": value, "lower": low, "upper": high, "positives": rows, "negatives": 0}

    pairs = zip(sides(then + new, total), sides(then, old), strict=True)
    apart, nested = np.mean([held(now, before, before, truth) for now, before in pairs], axis=0)
    assert 0.935 < nested < 0.975
    assert apart >= nested
    if old_share == 0.9:
        assert apart > 0.99


#: Scores of positives and of negatives lie around 1.5 and 0, on a grid.
EDGES = np.linspace(-4, 6, 41)


def normal_log(rng: np.random.Generator, positives: int, negatives: int, distance: float = 1.5) -> np.ndarray:
    """How many positives and negatives of a log lie in each bin."""
    scores = rng.normal(distance, 1, positives), rng.normal(0, 1, negatives)
    edges = [*EDGES, np.inf]
    return np.array([np.histogram(np.maximum(own, EDGES[0]), edges)[0] for own in scores])


def as_counts(bins: np.ndarray) -> pl.DataFrame:
    tp, fp = bins[:, ::-1].cumsum(axis=1)[:, ::-1]
    return counts_at(tp, fp, tp[0], fp[0], model="a", country="de", threshold=EDGES)


@pytest.mark.thorough
def test_a_change_of_areas_of_windows_that_share_rows_has_narrower_bounds():
    rng = np.random.default_rng(0)
    old, new = normal_log(rng, 900, 9000), normal_log(rng, 100, 1000)
    gate = {"metric": "pr_auc", "prevalence": 0.3, "change_threshold": {"absolute": 0.02}}
    then, now = good_run(gate, as_counts(old)), as_counts(old + new)
    (apart,), (nested,) = (judged(gate, now, reference=then, shared=same) for same in (None, as_counts(old)))
    assert (apart["verdict"], nested["verdict"]) == ("undecided", "pass")
    widths = [row["difference_upper"] - row["difference_lower"] for row in (apart, nested)]
    assert widths[1] < 0.4 * widths[0]
    # The very same rows: whatever the number, it is no chance.
    (again,) = judged(gate, as_counts(old), reference=then, shared=as_counts(old))
    assert [again[f"difference{name}"] for name in ("", "_lower", "_upper")] == [0, 0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["pr_auc", "roc_auc"])
@pytest.mark.parametrize("old_share", [0.0, 0.5, 0.9])
def test_bounds_of_a_change_of_areas_hold_as_often_as_they_say(metric, old_share):
    """Of two separate nights (no row is shared), and of windows of which one contains the other."""
    rng, logs = np.random.default_rng(3), 300
    (gate,) = gate_job({"metric": metric, "value_threshold": {"lower": 0.5}}).gates

    def area(bins):
        return measure(as_counts(bins).drop("country"), gate, 0.3, threshold=0.0).row(0, named=True)

    none = {"positives": 0, "negatives": 0, "lower": 0.0, "upper": 0.0}
    holds = []
    for _ in range(logs):
        share = old_share or 1.0
        old = normal_log(rng, int(200 * share), int(2000 * share))
        new = normal_log(rng, int(200 * (1 - old_share)), int(2000 * (1 - old_share)))
        then, now = area(old), area(new + old if old_share else new)
        holds.append(held(now, then, then if old_share else none, 0.0))
    apart, nested = np.mean(holds, axis=0)
    print(f"{metric}, {old_share:.0%} shared: {apart:.1%} as if none were, {nested:.1%}")  # noqa: T201
    # Three standard errors below 0.95.
    assert 0.95 - 3 * math.sqrt(0.95 * 0.05 / logs) < nested <= apart
    if old_share:
        assert apart > 0.98


@pytest.mark.parametrize(
    ("rivals", "verdict", "nearest"),
    first_quick(
        [
            ([("b", "de", 600, 10, 400, 990)], "pass", "b"),
            ([("b", "de", 795, 10, 205, 990)], "undecided", "b"),
            ([("b", "de", 600, 10, 400, 990), ("c", "de", 900, 10, 100, 990)], "fail", "c"),
            ([("b", "de", 0, 0, 0, 990)], "undecided", "b"),
            ([], "undecided", None),
        ],
        3,
    ),
)
def test_a_champion_must_be_ahead_of_every_rival(rivals, verdict, nearest):
    gate = {"metric": "f_beta", "champion": {"model": "a", "prevalence": [0.2]}}
    (row,) = judged(gate, MANY, *rivals)
    assert row["verdict"] == verdict
    assert (row["model"], row["rival"]) == ("a", nearest)
    if nearest is None:
        assert row["reason"] == "no rival"
    elif verdict == "undecided" and rivals[0][2]:
        assert "name the key of the rows as columns.unit" in row["reason"]


def test_a_champion_that_a_segment_lacks_has_no_lead_there():
    gate = {"champion": {"model": "a", "prevalence": [0.1]}}
    rivals = [("b", "at", 600, 10, 400, 990), ("c", "at", 500, 10, 500, 990)]
    (row,) = judged(gate, *rivals)
    assert (row["model"], row["verdict"], row["reason"]) == ("a", "undecided", "the model has no rows")
    (row,) = judged(gate | {"segments": ["country"]}, *rivals, MANY, ("b", "de", 600, 10, 400, 990))
    assert (row["segment"], row["verdict"]) == ('{"country": "de"}', "pass")


@pytest.mark.long
def test_a_champion_among_many_equals_seldom_fails():
    """Of rivals tested one by one, some is ahead in 30 % of logs."""
    rng, logs, models = np.random.default_rng(5), 20, 20
    champion = {"metric": "recall", "champion": {"model": "m0", "prevalence": [0.2]}}
    gate = champion | {"segments": ["country"]}
    hits = rng.binomial(300, 0.8, (logs, models)).tolist()
    rows = [
        (f"m{place}", f"log {log}", hit, 10, 300 - hit, 990)
        for log, of_log in enumerate(hits)
        for place, hit in enumerate(of_log)
    ]
    verdicts = [row["verdict"] for row in judged(gate, *rows)]
    assert len(verdicts) == logs
    assert verdicts.count("fail") / logs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / logs)
    # A rival that is better by much is found all the same.
    better = [("m0", "de", 200, 10, 100, 990), *((f"m{n}", "de", 270, 10, 30, 990) for n in range(1, models))]
    assert judged(champion, *better)[0]["verdict"] == "fail"


@pytest.mark.long
@pytest.mark.parametrize(("metric", "better"), [("recall", 0.7), ("fpr", 0.7)])
def test_models_of_the_same_units_are_told_apart_as_by_their_pairs(metric, better):
    """Recall 0.6 and 0.7 (FPR 0.4 and 0.3), of decisions that correlate: apart they hardly differ."""
    rng, logs, rows = np.random.default_rng(1), 24, 100
    gate = {"metric": metric, "champion": {"model": "a", "prevalence": [0.2]}, "segments": ["country"]}
    tables, by_pairs = [], 0
    for log in range(logs):
        scores = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 2 * rows)
        flagged = 1.0 * ((scores < stats.norm.ppf([0.6, better])) ^ (metric == "fpr"))
        frame = pl.DataFrame(flagged, schema=["a", "b"]).with_row_index("unit")
        frame = frame.with_columns(label=pl.col("unit") < rows, country=pl.lit(f"log {log}"))
        names = {"index": ["unit", "label", "country"], "variable_name": "model", "value_name": "score"}
        tables.append(frame.unpivot(["a", "b"], **names))
        pair = nf.count_pairs(tables[-1].drop("country"), thresholds={"a": 0.5, "b": 0.5})
        by_pairs += nf.compare_pairs(pair, metric=metric, repeats=100)["p_value"].item() < 0.05
    scan = nf.scan_predictions(pl.concat(tables), segments="country", unit="unit")
    counted = nf.count_confusion(nf.unit_buckets(scan, buckets=64), thresholds=[0.5])
    verdicts = [row["verdict"] for row in judged(gate, counted, unit="user")]
    assert by_pairs >= 6
    # As often but for chance: docs/honesty.md has the shares of more logs.
    assert verdicts.count("fail") >= 0.8 * by_pairs
    apart = judged(gate, nf.pool_counts(counted, over="bucket"))
    assert sum(row["verdict"] == "fail" for row in apart) < 0.7 * by_pairs


def test_what_is_better_when_lower_leads_when_lower():
    gate = {"metric": "fpr", "champion": {"model": "a", "prevalence": [0.2]}}
    (row,) = judged(gate, MANY, ("b", "de", 800, 100, 200, 900))
    assert (row["verdict"], row["value"]) == ("pass", pytest.approx(0.09))
    change = {"metric": "fpr", "change_threshold": {"absolute": 0.01}}
    (row,) = judged(change, ("a", "de", 800, 100, 200, 900), reference=good_run(change, MANY))
    assert (row["verdict"], row["limit_upper"], row["limit_lower"]) == ("fail", 0.01, None)


@pytest.mark.thorough
@pytest.mark.parametrize(("least", "verdict"), [(0.9, "fail"), (1e-3, "undecided"), (1e-7, "pass")])
def test_an_area_that_the_log_does_not_support_is_judged_on_the_band_of_its_curve(least, verdict):
    rng = np.random.default_rng(0)
    gate = {"metric": "pr_auc", "prevalence": 1e-5, "value_threshold": {"lower": least}}
    counts = as_counts(normal_log(rng, 200, 2000))
    (row,) = judged(gate, counts)
    band = nf.compute_areas(counts, prevalence=1e-5, interval="simultaneous").filter(metric="pr_auc")
    assert not band["supported"].item()
    assert row["verdict"] == verdict
    assert (row["lower"], row["upper"]) == band.select("lower", "upper").row(0)


def test_verdicts_come_to_one_that_sets_the_exit_code():
    schema = dict.fromkeys(("verdict", "severity", "undecided"), pl.String)
    weak, strict = ("undecided", "block", "warn"), ("undecided", "block", "fail")
    for rows, verdict in (
        ([], "pass"),
        ([("fail", "warn", "warn"), weak], "pass"),
        ([strict, ("pass", "block", "warn")], "undecided"),
        ([strict, ("fail", "block", "warn")], "fail"),
    ):
        assert overall(pl.DataFrame(rows, schema=schema, orient="row")) == verdict


def test_the_chat_message_is_one_line_whatever_the_names():
    name = "evil\n\x1b[31m\u202eb"
    gate = {"value_threshold": {"lower": 0.9}}
    rows = judged(gate, (name, "de", 800, 10, 200, 990))
    line = chat_line("job", "run-1", pl.DataFrame(rows, infer_schema_length=None), ARRIVED, "out/report.html")
    assert line.isprintable()
    assert line.startswith("job run-1: FAIL (0 passed, 1 failed, 0 undecided); gate: evil")
    assert line.endswith("0.800 (0.774 to 0.824), promised ≥ 0.9; report: out/report.html")
    assert "evil\\n\\x1b[31m\\u202eb recall" in line
    there = pl.DataFrame([rows[0] | {"model": "a", "segment": '{"country": "de"}'}], infer_schema_length=None)
    assert "; gate: a, country = de: recall 0.800" in chat_line("job", "run-1", there, ARRIVED, "report")
    warned = [rows[0] | {"gate": f"warns {number}", "severity": "warn"} for number in range(3)]
    several = pl.DataFrame([*warned, rows[0]], infer_schema_length=None)
    assert "4 failed, 0 undecided); gate: evil" in chat_line("job", "run-1", several, ARRIVED, "report")
    unsure = rows[0] | {"gate": "unsure", "verdict": "undecided", "undecided": "fail"}
    unknown = unsure | {"gate": "unknown", "model": None, "reason": "there are no rows"}
    weak = unsure | {"gate": "weak", "undecided": "warn"}
    open_ = pl.DataFrame([weak, warned[0], unsure, unknown], infer_schema_length=None)
    told = chat_line("job", "run-1", open_, ARRIVED, "report")
    assert "; unsure: evil" in told
    assert ", promised ≥ 0.9, undecided: the bounds contain the limit; unknown: any model recall " in told
    assert ", undecided: there are no rows; warns 0: evil" in told
    assert "weak" not in told
    long = pl.DataFrame([rows[0] | {"gate": "g" * 700}], infer_schema_length=None)
    told = chat_line("job", "run-1", long, ARRIVED, "out/report.html")
    assert told.endswith("ggg...; report: out/report.html")
    assert len(told) == 600 + len("...; report: out/report.html")


def test_a_sequential_gate_fails_passes_and_waits():
    def verdict(tp, limits, metric="recall", fp=10, told="verdict"):
        gate = {"sequential": True, "metric": metric, "value_threshold": limits}
        return judged(gate, ("a", "de", tp, fp, 1000 - tp, 1000 - fp))[0][told]

    # A number that only a logarithm can hold is written as a power of ten.
    said = verdict(800, {"lower": 0.7}, told="reason")
    assert re.fullmatch("evidence for the promise 10[⁰¹²³⁴⁵⁶⁷⁸⁹]+, against it none; 20 is enough", said)
    assert verdict(800, {"lower": 0.7}) == "pass"
    assert verdict(800, {"lower": 0.9}) == "fail"
    # An interval of one look, 0.774 to 0.824, would fail it.
    assert verdict(800, {"lower": 0.825}) == "undecided"
    assert verdict(800, {"upper": 0.04}, "fpr") == "pass"
    assert verdict(800, {"upper": 0.001}, "fpr", fp=20) == "fail"
    # One row refutes a promise for all of them.
    assert verdict(999, {"lower": 1}) == "fail"
    assert verdict(999, {"lower": 1}, told="reason").endswith("against it ∞; 20 is enough")
