"""Draws against their laws, and the bootstrap from counts against the bootstrap of rows, and of units."""

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from polars.testing import assert_frame_equal
from scipy import stats
from sklearn.metrics import average_precision_score, fbeta_score, roc_auc_score

import nci_frames as nf
from nci_frames.evaluation.resampling.draws import draw_with_replacement, draw_without_replacement, stream
from nci_frames.evaluation.resampling.point_metrics import best_f_beta, has_no_limits
from nci_frames.evaluation.resampling.replicates import resample
from nci_frames.evaluation.resampling.resampling import Asked, Resampling
from tests.cases import first_quick
from tests.logs import counts_at, counts_of_bins, exact_counts, random_log, small_logs, unit_log

bins = st.lists(st.one_of(st.just(0), st.integers(0, 20), st.integers(0, 10**12)), min_size=1, max_size=40)


@given(rows=bins, share=st.floats(0, 1), seed=st.integers(0, 9))
def test_draws_have_the_size_asked_for_and_no_new_rows(rows, share, seed):
    counts, rng = np.array(rows), np.random.default_rng(seed)
    again = draw_with_replacement(rng, counts, 5)
    assert again.shape == (5, len(rows))
    assert (again >= 0).all()
    assert (again.sum(axis=1) == counts.sum()).all()
    assert not again[:, counts == 0].any()
    size = int(counts.sum() * share)
    once = draw_without_replacement(rng, counts, size)
    assert once.sum() == size
    assert ((once >= 0) & (once <= counts)).all()


def _same_law(mine: np.ndarray, other: np.ndarray) -> float:
    """p-value of a chi-square test that two samples of integer vectors have one law."""
    _, code = np.unique(np.concatenate([mine, other]), axis=0, return_inverse=True)
    table = np.stack([np.bincount(part, minlength=code.max() + 1) for part in np.split(code.ravel(), 2)])
    frequent = table.sum(axis=0) >= 20
    table = np.column_stack([table[:, frequent], table[:, ~frequent].sum(axis=1)])
    return float(stats.chi2_contingency(table[:, table.any(axis=0)]).pvalue)


@pytest.mark.thorough
def test_draws_have_the_multinomial_and_the_hypergeometric_law():
    counts, rng = np.array([3, 0, 5, 2, 1]), np.random.default_rng(1)
    again = draw_with_replacement(rng, counts, 30_000)
    assert _same_law(again, rng.multinomial(11, counts / 11, size=30_000)) > 0.001
    once = np.array([draw_without_replacement(rng, counts, 6) for _ in range(4_000)])
    assert _same_law(once, rng.multivariate_hypergeometric(counts, 6, size=4_000)) > 0.001


@pytest.mark.thorough
def test_more_rows_than_numpy_takes():
    counts = np.array([4_000_000_000, 1_000_000_000])
    with pytest.raises(ValueError, match="1000000000"):
        np.random.default_rng(0).multivariate_hypergeometric(counts, 10)
    rng, size = np.random.default_rng(3), 2_500_000_000
    first = np.array([draw_without_replacement(rng, counts, size)[0] for _ in range(200)], np.float64)
    # Mean and standard deviation of the hypergeometric law; the mean of 200 is known to a fourteenth of it.
    std = np.sqrt(size * 0.8 * 0.2 * 0.5)
    assert abs(first.mean() - 0.8 * size) < 4 * std / np.sqrt(200)
    assert first.std() == pytest.approx(std, rel=0.2)


def test_a_stream_depends_on_the_seed_and_the_keys_only():
    first = stream(7, {"model": "a", "fold": None}).integers(2**60)
    assert stream(7, {"fold": None, "model": "a"}).integers(2**60) == first
    others = [stream(8, {"model": "a", "fold": None}), stream(7, {"model": "a", "fold": "None"})]
    assert first not in [other.integers(2**60) for other in others]


PREVALENCES = [0.0, 1e-4, 0.3, 1.0]


@pytest.mark.long
@given(log=small_logs(), thresholds=st.sampled_from(["exact", [-1.0, 0.3, 0.7]]))
@settings(max_examples=12)
def test_values_are_those_of_areas_and_projections(log, thresholds):
    counts = nf.count_confusion(log, thresholds=thresholds)
    table = nf.bootstrap(counts, metric=["pr_auc", "roc_auc", "f_beta"], prevalence=PREVALENCES, repeats=2)
    areas = nf.compute_areas(counts, prevalence=PREVALENCES)
    same = table.filter(pl.col("metric") != "f_beta").select(areas.columns[:-4])
    assert_frame_equal(same, areas.select(same.columns), abs_tol=1e-12, rel_tol=0)
    # Without metrics fewer bins are needed.
    alone = nf.bootstrap(counts, metric=["roc_auc", "pr_auc"], prevalence=PREVALENCES, repeats=2)
    assert_frame_equal(alone.select(same.columns), same, abs_tol=1e-12, rel_tol=0)
    projection = nf.project_rates(nf.compute_rates(counts), metrics="f_beta", prevalence=PREVALENCES)
    projection = projection.drop("supported", "reason")
    assert_frame_equal(table.filter(metric="f_beta").select(projection.columns), projection)


@pytest.mark.long
def test_the_law_is_that_of_the_row_bootstrap():
    rng = np.random.default_rng(5)
    label = np.repeat([True, False], [25, 60])
    score = np.round(rng.normal(label, 1), 1)
    (mine,) = resample(
        exact_counts(label.tolist(), score.tolist()),
        Asked(["pr_auc", "roc_auc", "f_beta"], beta=2.0, threshold=0.8),
        Resampling(),
    )
    rows = []
    for _ in range(300):
        drawn = np.concatenate([rng.choice(np.flatnonzero(label == c), (label == c).sum()) for c in (1, 0)])
        y, s = label[drawn], score[drawn]
        rows.append([average_precision_score(y, s), roc_auc_score(y, s), fbeta_score(y, s >= 0.8, beta=2)])
    assert mine.cases["metric"].to_list() == ["pr_auc", "roc_auc", "f_beta"]
    for counted, by_row in zip(mine.values.T, np.array(rows).T, strict=True):
        assert stats.ks_2samp(counted, by_row).pvalue > 0.001


def test_bounds_of_pr_auc_are_percentiles_and_what_rows_may_do_that_the_log_lacks():
    log = random_log(2000)
    counts = nf.count_confusion(log, thresholds="exact", by=[])
    table = nf.bootstrap(counts, metric="pr_auc", prevalence=0.3, repeats=300, seed=3, level=0.8)
    assert table["model"].to_list() == ["forest", "linear"]
    assert table["interval"].to_list() == ["band"] * 2
    for found in resample(counts, Asked("pr_auc", 0.3), Resampling(repeats=300, seed=3)):
        model = found.histogram.group["model"][0]
        row = table.filter(model=model).row(0, named=True)
        values = np.sort(found.values[:, 0])
        assert row["std"] == pytest.approx(values.std(ddof=1))
        assert row["repeats"] == 300
        label, score = log.filter(model=model).select("label", "score").to_numpy().T
        weight = np.where(label, 0.3 / label.sum(), 0.7 / (1 - label).sum())
        down = [row["value"] - np.percentile(values, 10)]
        up = [np.percentile(values, 90) - row["value"]]
        for of_class in (1, 0):
            share = -np.log(0.1) / (label == of_class).sum()
            mine = np.append(
                np.where(label == of_class, weight * (1 - share), weight), (0.7, 0.3)[of_class] * share
            )
            moved = [
                average_precision_score(np.append(label, of_class), np.append(score, end), sample_weight=mine)
                for end in (-9, 9)
            ]
            down.append(max(0, row["value"] - min(moved)))
            up.append(max(0, max(moved) - row["value"]))
        # Counts are whole: shares are rounded to one of 2,000 rows.
        assert row["value"] - row["lower"] == pytest.approx(np.sqrt(np.square(down).sum()), rel=0.05)
        assert row["upper"] - row["value"] == pytest.approx(np.sqrt(np.square(up).sum()), rel=0.05)


@pytest.mark.parametrize("positives", first_quick([2, 99, 10, 300]))
def test_bounds_of_roc_auc_reach_beyond_those_of_rows_that_the_log_has(positives):
    log = unit_log({"a": 1.5}, (positives, 400), seed=positives)
    counts = nf.count_confusion(log.drop("unit"), thresholds="exact")
    row = nf.bootstrap(counts, metric="roc_auc", repeats=100).row(0, named=True)
    (found,) = resample(counts, Asked("roc_auc"), Resampling(repeats=100))
    low, high = np.percentile(found.values[:, 0], [2.5, 97.5])
    score = nf.auc_interval(counts, method="newcombe").row(0, named=True)
    assert row["interval"] == "band"
    # The variance of resampled logs makes it wider, but never narrower.
    assert row["lower"] <= min(low, score["lower"]) + 1e-9
    assert row["upper"] >= max(high, score["upper"]) - 1e-9
    # Rows that the log lacks: 3.7 of the positives may score lowest.
    value, unseen = row["value"], -np.log(0.025) / min(positives, 400)
    down = np.hypot(value - score["lower"], min(unseen, 1) * value)
    assert row["lower"] <= max(value - down, 0) + 1e-9
    assert row["lower"] >= max(value - 1.3 * down, 0)


@pytest.mark.thorough
def test_the_area_of_few_units_is_that_of_few_rows():
    """Each positive is logged 50 times: its copies say nothing more."""
    once, often = (unit_log({"a": 2.0}, (6, 394), times=times, seed=3) for times in (1, 50))
    few, many = (
        nf.bootstrap(
            nf.count_confusion(nf.unit_buckets(log), thresholds="exact"), metric=["roc_auc", "pr_auc"],
            prevalence=0.5, units="bucket", repeats=200,
        )
        for log in (once, often)
    )  # fmt: skip
    assert few["interval"].to_list() == many["interval"].to_list() == ["band"] * 2
    width = (pl.col("upper") - pl.col("lower")).alias("width")
    assert many.select(width)["width"].to_list() == pytest.approx(
        few.select(width)["width"].to_list(), rel=0.3
    )


def test_undefined_replicates_are_left_out_and_counted():
    """One of 10 positives and none of 10 negatives is found: precision is 0/0 in (9/10)^10 of the logs."""
    counts = counts_at(1, 0, 10, 10)
    row = nf.bootstrap(counts, metric="precision", prevalence=0.1).row(0, named=True)
    # Every replicate that is defined has precision 1; the band of the rates does not stop there.
    assert (row["value"], row["std"], row["upper"], row["interval"]) == (1, 0, 1, "band")
    assert 0 < row["lower"] < 0.1
    assert 1000 - row["repeats"] == pytest.approx(1000 * 0.9**10, abs=4 * np.sqrt(1000 * 0.35 * 0.65))
    none = counts.with_columns(pl.col("tp", "fn") * 0)
    row = nf.bootstrap(none, metric=["recall", "pr_auc"], prevalence=0.1).row(0, named=True)
    assert [row[name] for name in ("value", "lower", "upper", "std", "repeats")] == [None] * 4 + [0]


def test_points_at_a_threshold_each():
    """Rates, and exact counts at any number; the rows above it are all that matters."""
    counts = exact_counts([True, False, True, False], [0.9, 0.8, 0.4, 0.1])
    table = nf.bootstrap(nf.compute_rates(counts), metric="recall", threshold=[0.5, 2.0], repeats=50)
    assert table.select("threshold", "value").rows() == [(0.5, 0.5), (2.0, 0.0)]
    assert nf.bootstrap(counts, metric="recall", repeats=2)["threshold"].to_list() == [0.1, 0.4, 0.8, 0.9]


def test_rows_of_a_unit_stay_together():
    # All rows of a unit have one label and one score: they say as much as one row of each.
    log = unit_log({"a": 1.0}, 400, share=0.5, times=5, digits=1)
    rows, first = log.drop("unit"), log.unique("unit").drop("unit")
    by_rows = nf.bootstrap(nf.count_confusion(rows), metric="roc_auc")["std"][0]
    one_row_each = nf.bootstrap(nf.count_confusion(first), metric="roc_auc")["std"][0]
    counts = nf.count_confusion(nf.unit_buckets(log, buckets=128))
    by_buckets = nf.bootstrap(counts, metric="roc_auc", units="bucket")
    # Five equal rows say no more than one: by rows the bootstrap is too sure by the root of 5.
    assert one_row_each / by_rows == pytest.approx(np.sqrt(5), rel=0.1)
    assert by_buckets["std"][0] == pytest.approx(one_row_each, rel=0.2)
    assert by_buckets.columns[:2] == ["model", "threshold"]
    assert by_buckets["value"][0] == pytest.approx(nf.compute_areas(
        nf.count_confusion(rows), prevalence=0.5).filter(metric="roc_auc")["value"].item())  # fmt: skip


@pytest.mark.long
def test_the_law_is_that_of_the_unit_bootstrap():
    """With one unit in each bucket the two are the same."""
    rng = np.random.default_rng(8)
    log = pl.DataFrame({"model": "a", "bucket": np.arange(90) % 30, "label": rng.random(90) < 0.4})
    log = log.with_columns(score=np.round(rng.normal(log["label"].to_numpy(), 1), 1))
    for thresholds in ("exact", [-0.5, 0.0, 0.5, 1.0]):
        counts = nf.count_confusion(log, thresholds=thresholds)
        (mine,) = resample(counts, Asked(["pr_auc", "recall"], threshold=0.5), Resampling("bucket"))
        label, score = log["label"].to_numpy(), log["score"].to_numpy()
        if thresholds != "exact":
            score = np.digitize(score, thresholds)
        by_unit = []
        for _ in range(500):
            # Row u and those 30 and 60 rows on are of unit u.
            drawn = (rng.integers(0, 30, 30)[:, None] + [0, 30, 60]).ravel()
            y, s = label[drawn], score[drawn]
            weight = np.where(y, label.mean() / y.mean(), (1 - label.mean()) / (1 - y.mean()))
            recall = (log["score"].to_numpy()[drawn][y] >= 0.5).mean()
            by_unit.append([average_precision_score(y, s, sample_weight=weight), recall])
        for counted, drawn_units in zip(mine.values.T, np.array(by_unit, float).T, strict=True):
            assert stats.ks_2samp(counted, drawn_units).pvalue > 0.001


def test_all_models_get_the_same_buckets():
    log = unit_log({"a": 1.0}, 400, share=0.5, digits=1)
    twice = pl.concat([log, log.with_columns(model=pl.lit("b"))])
    counts = nf.count_confusion(nf.unit_buckets(twice, buckets=64), thresholds=[0.0, 1.0])
    a, b = resample(counts, Asked("precision"), Resampling("bucket"))
    assert (a.values == b.values).all()


def test_the_highest_f_beta_of_resampled_logs_is_that_of_their_projections():
    rng = np.random.default_rng(1)
    bins = rng.integers(0, 6, (2, 30, 9))
    bins[:, 3] = 0  # a log without rows
    bins[0, 4] = 0  # one without positives
    true, false = bins.cumsum(axis=2)
    etas, betas = [0.001, 0.2, 1.0], [0.5, 2.0]
    assert has_no_limits(etas, betas)
    found = best_f_beta((true[:, :-1], false[:, :-1], true[:, -1:], false[:, -1:]), etas, betas)
    counts = counts_of_bins(*bins[:, :, ::-1], np.arange(8) / 8)
    table = nf.project_rates(nf.compute_rates(counts), metrics="f_beta", prevalence=etas, beta=betas)
    both = pl.col("value").max().alias("value")
    best = table.group_by("segment", "prevalence", "beta").agg(both).sort("segment", "prevalence", "beta")
    expected = best["value"].fill_null(np.nan).to_numpy().reshape(30, 6)
    # F-beta is defined by counts, also where there is no positive.
    lacking = ~bins.any(axis=2).all(axis=0)
    assert np.isnan(found[lacking]).all()
    assert found[~lacking] == pytest.approx(expected[~lacking], rel=1e-12)
    for limit in (([0.0], [1.0]), ([0.5], [0.0]), ([0.5], [float("inf")])):
        assert not has_no_limits(*limit)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("metric", "loss"),
    [
        ("brier", lambda score, label: (score - label) ** 2),
        ("log_loss", lambda score, label: -np.log(np.where(label, score, 1 - score))),
    ],
)
def test_mean_losses_of_many_scores_vary_as_means_do(metric, loss):
    rng = np.random.default_rng(3)
    label = rng.random(20_000) < 0.05
    score = 1 / (1 + np.exp(-rng.normal(2.0 * label - 1, 1.5)))
    # Next to 0 and 1 scores are close, and their losses are not.
    score[:8], label[:8] = [1e-12, 1e-9, 1e-6, 1 - 1e-9] * 2, [False, True, True, True] * 2
    log = pl.DataFrame({"model": "a", "label": label, "score": score})
    found = nf.bootstrap(
        nf.count_confusion(log, thresholds="exact"), metric=metric, prevalence=[0.001, 0.5], repeats=2000
    )
    losses = loss(score, label)
    for eta, value, std in found.select("prevalence", "value", "std").rows():
        parts = [(eta, losses[label]), (1 - eta, losses[~label])]
        assert value == pytest.approx(sum(share * rows.mean() for share, rows in parts), rel=1e-12)
        assert std == pytest.approx(
            np.sqrt(sum(share**2 * rows.var() / len(rows) for share, rows in parts)), rel=0.06
        )


@pytest.mark.thorough
@pytest.mark.parametrize("metric", ["pr_auc", "roc_auc"])
def test_areas_of_many_positives_are_resampled_at_fewer_steps(
    metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    label = np.arange(12_000) % 4 == 0
    score = np.random.default_rng(1).normal(3.0 * label)
    counts = nf.count_confusion(pl.DataFrame({"model": "a", "label": label, "score": score}))
    asked = {"metric": metric, "prevalence": [0.01, 0.5], "repeats": 300}
    few = nf.bootstrap(counts, **asked)
    monkeypatch.setattr("nci_frames.evaluation.resampling.few_rows.FEW_THRESHOLDS", len(counts))
    every = nf.bootstrap(counts, **asked)
    assert few["value"].to_list() == pytest.approx(every["value"].to_list(), abs=1e-12)
    width = (every["upper"] - every["lower"]).to_numpy()
    for side in ("lower", "upper"):
        assert ((few[side] - every[side]).abs().to_numpy() < width / 6).all()
    assert (few["std"] / every["std"]).to_list() == pytest.approx([1] * len(few), abs=0.2)


@pytest.mark.parametrize("metric", first_quick(["roc_auc", "pr_auc", "brier"]))
def test_bounds_of_an_area_allow_for_scores_between_the_thresholds_of_a_grid(metric: str) -> None:
    """Of many rows, the area between two thresholds is less certain than resampled logs tell."""
    label = np.arange(20_000) % 2 == 0
    score = 1 / (1 + np.exp(-np.random.default_rng(3).normal(1.5 * label - 0.75)))
    log = pl.DataFrame({"model": "a", "label": label, "score": score})
    counts = [nf.count_confusion(log, thresholds=way) for way in ("exact", nf.uniform_thresholds(33))]
    question = nf.Question(metric=metric, prevalence=0.3)
    for every, grid in [
        [nf.bootstrap(one, metric=metric, prevalence=0.3, repeats=200) for one in counts],
        [nf.compare_models(one, prevalence=[0.3], question=question).answer for one in counts],
    ]:
        low, high = every.select("lower", "upper").row(0)
        lower, upper = grid.select("lower", "upper").row(0)
        assert lower < low
        assert high < upper
        assert upper - lower < 8 * (high - low)
