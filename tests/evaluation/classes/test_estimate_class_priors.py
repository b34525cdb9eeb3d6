"""The mix of unlabelled traffic is found from its decisions, with bounds that hold it."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import xlogy
from scipy.stats import chi2

import nci_frames as nf
from tests.class_logs import RATES, drawn_rows
from tests.class_logs import counts_of_rows as labelled

FIELD = np.array([0.1, 0.6, 0.3])


def unlabelled(rows, model="m"):
    return pl.DataFrame({"model": model, "decision": range(len(rows)), "rows": [int(n) for n in rows]})


def mix_of(*logs, **options):
    """The mix by the rows of a reference and of traffic of models a, b, ..."""
    references, traffic = zip(*logs, strict=True)
    labels = pl.concat(map(labelled, references, "abcde"))
    decisions = pl.concat(map(unlabelled, traffic, "abcde"))
    return nf.estimate_class_priors(labels, decisions, **options)


def mixes_of(logs):
    """The mix of each of several references and its traffic, of one model."""
    both = zip(*((labelled(rows), unlabelled(traffic)) for rows, traffic in logs), strict=True)
    given = (pl.concat(one.with_columns(log=i) for i, one in enumerate(frames)) for frames in both)
    return nf.estimate_class_priors(*given).partition_by("log", include_key=False)


def held(found, truth):
    """Whether bounds hold what is true, row by row."""
    return ((found["lower"] <= truth + 1e-9) & (found["upper"] >= truth - 1e-9)).to_numpy()


def drawn(rng, sizes=(300, 300, 300), size=2000, field=FIELD, rates=RATES):
    return drawn_rows(rng, sizes, rates), rng.multinomial(size, field @ rates)


def test_the_mix_solves_the_equations_where_it_is_within_the_simplex():
    reference, traffic = drawn(np.random.default_rng(0))
    rates = reference / reference.sum(axis=1, keepdims=True)
    found = mix_of((reference, traffic))
    assert found["prior"].to_list() == pytest.approx(
        np.linalg.solve(rates.T, traffic / traffic.sum()), abs=1e-7
    )
    assert found["prior"].sum() == pytest.approx(1)
    assert found["fit_p_value"].to_list() == [1.0] * 3
    assert found["supported"].all()
    projected = nf.project_classes(labelled(reference), priors=found, metrics="accuracy")
    assert projected["value"].item() == pytest.approx(float(found["prior"].to_numpy() @ np.diag(rates)))


def test_whole_numbers_of_the_traffic_may_have_another_type_if_the_classes_can_hold_them():
    reference, traffic = drawn(np.random.default_rng(0))
    few = labelled(reference).cast({"label": pl.Int8, "decision": pl.Int8})
    found = nf.estimate_class_priors(few, unlabelled(traffic))
    assert found.schema["class"] == pl.Int8
    whole = nf.estimate_class_priors(labelled(reference), unlabelled(traffic))
    assert found.drop("class").equals(whole.drop("class"))
    new = pl.concat([unlabelled(traffic), pl.DataFrame({"model": "m", "decision": [300], "rows": [2]})])
    with pytest.raises(nf.ParameterError, match="a class has another type than the labels"):
        nf.estimate_class_priors(few, new)


@pytest.mark.thorough
def test_the_mix_is_the_likeliest_where_it_ends_at_a_border():
    """Against a general optimiser of the likelihood of both logs, over the mix and all rates."""
    reference = np.array([[80, 15, 5], [10, 85, 5], [2, 18, 80]])
    traffic = np.array([205, 755, 30])

    def likelihood(free):
        mix, rates = np.exp(free[:3]), np.exp(free[3:].reshape(3, 3))
        mix, rates = mix / mix.sum(), rates / rates.sum(axis=1, keepdims=True)
        return -(xlogy(reference, rates).sum() + xlogy(traffic, mix @ rates).sum())

    best = minimize(
        likelihood, np.zeros(12) + 0.1, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15}
    )
    mix = np.exp(best.x[:3]) / np.exp(best.x[:3]).sum()
    found = mix_of((reference, traffic), level=0.999)
    assert found["prior"].to_list() == pytest.approx(mix, abs=1e-4)
    assert found["prior"].min() < 1e-6


def test_a_class_that_the_traffic_lacks_is_no_parameter_of_the_fit():
    """The statistic is that of the rows of two classes, and EM leaves 10⁻⁹ of the third."""
    reference = np.array([[70, 10, 10, 10], [30, 210, 30, 30], [2, 3, 40, 5]])
    traffic = np.array([455, 350, 70, 125])

    def lost(share):
        mix, rates = np.array([share, 1 - share]), reference[:2] / reference[:2].sum(axis=1, keepdims=True)
        for _ in range(500):  # the likeliest rates at this mix
            joint = mix[:, None] * rates
            rates = reference[:2] + traffic * joint / joint.sum(axis=0)
            rates /= rates.sum(axis=1, keepdims=True)
        own = reference[:2] / reference[:2].sum(axis=1, keepdims=True)
        free = xlogy(reference[:2], own / rates).sum()
        return 2 * (free + xlogy(traffic, traffic / traffic.sum() / (mix @ rates)).sum())

    best = minimize_scalar(lost, bounds=(0.4, 0.8), method="bounded", options={"xatol": 1e-9})
    found = mix_of((reference, traffic), level=0.999)
    assert found["prior"].to_list() == pytest.approx([best.x, 1 - best.x, 0], abs=1e-5)
    assert found["fit_p_value"][0] == pytest.approx(chi2.sf(best.fun, 2), rel=1e-5)


@pytest.mark.long
def test_models_that_decide_alike_tell_nothing_twice():
    """Bounds of five copies of a model are those of one; of independent errors they hold as well."""
    rng = np.random.default_rng(4)
    reference, traffic = drawn(rng)
    one, several = mix_of((reference, traffic)), mix_of(*[(reference, traffic)] * 5)
    for column in ("prior", "lower", "upper"):
        assert several[column].to_list() == pytest.approx(one[column].to_list(), abs=1e-6)
    found = [mix_of(*(drawn(rng, (150, 100, 60), 500) for _ in range(3))) for _ in range(100)]
    assert all(mix["supported"].all() for mix in found)
    assert np.mean([held(mix, FIELD) for mix in found], axis=0).min() > 0.94


#: How often each class gets each of nine decisions: a class, with one of three bins of its score.
IN_BINS = np.array(
    [[10, 25, 45, 8, 5, 2, 4, 1, 0], [6, 3, 1, 15, 30, 40, 4, 1, 0], [1, 1, 0, 10, 6, 2, 10, 25, 45]]
) / 100  # fmt: skip


def without_bins(rows):
    """The rows of each decision, whatever its score."""
    return rows.reshape(*rows.shape[:-1], 3, 3).sum(axis=-1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("field", "rates", "sizes"),
    [
        (FIELD, RATES, (150, 100, 60)),
        (np.array([0.0, 0.5, 0.5]), RATES, (150, 100, 60)),
        (FIELD, IN_BINS, (150, 100, 100)),
    ],
    ids=["inside", "border", "scores"],
)
def test_bounds_hold_the_mix(field, rates, sizes):
    rng, logs = np.random.default_rng(3), 40 if rates is RATES else 100
    found = mixes_of([drawn(rng, sizes, 500, field, rates) for _ in range(logs)])
    told = [held(mix, field) for mix in found if mix["supported"].all()]
    assert len(told) >= (0.9 if rates is RATES else 0.88) * logs
    # 0.95, less three standard errors of 40 logs; of 100, two.
    assert np.mean(told, axis=0).min() > (0.95 - 3 * 0.034 if rates is RATES else 0.9)


def test_a_decision_that_only_an_absent_class_gets_decides_nothing():
    """The equation of the decision that hardly any row should get ruled all others."""
    rates, field = np.array([[6, 1, 1, 2], [1, 8, 1, 0], [1, 2, 7, 0]]) / 10, np.array([0.0, 0.5, 0.5])
    rng = np.random.default_rng(3)
    found = mixes_of([drawn(rng, (150, 100, 60), 500, field, rates) for _ in range(20)])
    assert np.mean([held(mix, field) for mix in found if mix["supported"].all()], axis=0).min() > 0.85


def test_bins_of_scores_are_taken_as_decisions_are():
    """With a large reference, the mix is that of plain EM over the cells, of known laws."""
    rng = np.random.default_rng(9)
    traffic = rng.multinomial(3000, FIELD @ IN_BINS)
    mix = np.full(3, 1 / 3)
    for _ in range(2000):
        joint = mix[:, None] * IN_BINS
        mix = (joint / joint.sum(axis=0) * traffic).sum(axis=1) / traffic.sum()
    found = mix_of((IN_BINS * 1e9, traffic))
    assert found["prior"].to_list() == pytest.approx(mix, abs=1e-6)
    reference, traffic = drawn(rng, size=1000, rates=IN_BINS)
    finer = mix_of((reference, traffic))
    coarse = mix_of((without_bins(reference), without_bins(traffic)))
    widths = [(table["upper"] - table["lower"]).to_numpy() for table in (finer, coarse)]
    assert (widths[0] < widths[1]).all()


def test_scores_show_a_new_class_that_decisions_hide():
    """A fourth class is decided as the second and third are, but its scores are low."""
    reference, _ = drawn(np.random.default_rng(10), rates=IN_BINS)
    new = np.array([5, 0, 0, 45, 0, 0, 50, 0, 0]) / 100
    traffic = 600 * (FIELD @ IN_BINS) + 400 * new
    refused = mix_of((reference, traffic))
    assert refused["fit_p_value"].max() < 1e-6
    assert not refused["supported"].any()
    hidden = mix_of((without_bins(reference), without_bins(traffic)))
    assert hidden["supported"].all()


def test_what_no_mix_explains_is_refused():
    reference, _ = drawn(np.random.default_rng(5))
    found = mix_of((reference, [1500, 10, 10]))
    assert found["prior"].null_count() == 3
    assert found["fit_p_value"].max() < 1e-6
    assert found["reason"].unique().to_list() == [
        "the decisions are no mixture of the classes of the reference: "
        "some class is decided otherwise there, or is a new one"
    ]
    # Another model of the same reference contradicts the first one.
    contradicted = mix_of((reference, FIELD @ RATES * 900), (reference, FIELD[::-1] @ RATES * 900))
    assert not contradicted["supported"].any()


def test_abstaining_is_a_decision_like_others():
    rows = np.array([[70, 20, 0, 10], [10, 80, 0, 10], [0, 0, 60, 40]])
    pairs = [("m", a, b, int(rows["abc".index(a), "abcx".index(b)])) for a in "abc" for b in "abcx"]
    reference = pl.DataFrame(pairs, schema=["model", "label", "decision", "rows"], orient="row")
    mix = np.array([0.2, 0.2, 0.6])
    traffic = pl.DataFrame({"model": "m", "decision": list("abcx"), "rows": (mix @ (rows * 50)).astype(int)})
    found = nf.estimate_class_priors(reference, traffic)
    assert found["class"].to_list() == ["a", "b", "c"]
    assert found["prior"].to_list() == pytest.approx(mix, abs=1e-3)
    assert found["fit_p_value"].min() > 0.9


def test_keys_of_the_traffic_are_kept_and_those_of_the_reference_pooled():
    reference, _ = drawn(np.random.default_rng(6))
    parts = [labelled(reference).with_columns(fold=pl.lit(fold)) for fold in (1, 2)]
    days = {"mon": FIELD, "tue": FIELD[::-1]}
    traffic = pl.concat(
        [unlabelled(mix @ RATES * 10_000).with_columns(day=pl.lit(day)) for day, mix in days.items()]
    )
    found = nf.estimate_class_priors(pl.concat(parts), traffic)
    assert found.columns[:2] == ["day", "class"]
    for day in days:
        alone = nf.estimate_class_priors(labelled(2 * reference), traffic.filter(day=day).drop("day"))
        assert found.filter(day=day).drop("day").equals(alone)


def test_too_little_is_told():
    reference, traffic = drawn(np.random.default_rng(7))
    few = mix_of(([[9, 0, 0], *reference[1:]], traffic))
    assert few["reason"][0] == "fewer than 10 rows of a class in the reference"
    alike = mix_of(([reference[0], reference[0], reference[2]], traffic))
    assert alike["reason"][0] == "the decisions do not separate the classes of the reference"
    assert mix_of((reference, [1, 2, 3]))["reason"][0].startswith("fewer")


@pytest.mark.long
def test_bounds_at_an_estimated_mix_hold_the_truth_and_those_of_a_known_one_do_not():
    rng = np.random.default_rng(8)
    metrics = ["accuracy", "macro_f_beta", "precision"]
    truth = nf.project_classes(
        labelled((RATES * 1e6).round()), priors=dict(enumerate(FIELD)), metrics=metrics
    )["value"]
    told = {"estimated": [], "known": []}
    for _ in range(40):
        reference, traffic = drawn(rng, size=500)
        found = mix_of((reference, traffic))
        for name, priors in (("estimated", found), ("known", found.select("class", "prior"))):
            table = nf.project_classes(labelled(reference), priors=priors, metrics=metrics, interval="delta")
            told[name].append(held(table, truth))
    assert np.mean(told["estimated"], axis=0).min() > 0.95 - 3 * 0.034
    assert np.mean(told["known"], axis=0).min() < 0.75


def bounds_at(priors, metric="accuracy", rows=10**9):
    """The value and the bounds of two classes whose rates are known."""
    rates = np.array([[0.9, 0.1], [0.3, 0.7]]) * rows
    table = nf.project_classes(labelled(rates), priors=priors, metrics=metric, interval="delta")
    return table.select("value", "lower", "upper").row(0)


def test_of_two_classes_the_error_of_the_mix_moves_the_metric_by_exactly_so_much():
    def estimated(error):
        return pl.DataFrame(
            {"class": [0, 1], "prior": [0.4, 0.6], "lower": [0.4 - error, 0.6 - error],
             "upper": [0.4 + error, 0.6 + error]}
        )  # fmt: skip

    value, lower, upper = bounds_at(estimated(0.001))
    assert value == pytest.approx(0.4 * 0.9 + 0.6 * 0.7)
    assert [value - lower, upper - value] == pytest.approx([0.0002, 0.0002], rel=0.2)
    _, *wide = bounds_at(estimated(0.1))
    for share in (0.3, 0.5):
        at, *_ = bounds_at({0: share, 1: 1 - share})
        assert wide[0] <= at + 1e-12
        assert at - 1e-12 <= wide[1]
    nothing = bounds_at(estimated(0.0))
    assert nothing == pytest.approx(bounds_at({0: 0.4, 1: 0.6}))


def test_a_share_that_may_be_0_may_make_a_precision_0():
    mix = pl.DataFrame({"class": [0, 1], "prior": [0.1, 0.9], "lower": [0.0, 0.7], "upper": [0.3, 1.0]})
    _, lower, upper = bounds_at(mix, "precision")
    assert lower == 0
    assert upper >= bounds_at({0: 0.3, 1: 0.7}, "precision")[0] - 1e-12


def test_several_estimates_have_their_own_errors_and_reports_count_them():
    near = {"class": [0, 1, 2], "prior": FIELD, "lower": FIELD - 0.001, "upper": FIELD + 0.001}
    far = near | {"lower": FIELD - 0.05, "upper": FIELD + 0.05}
    mixes = pl.concat(
        pl.DataFrame(each).with_columns(scenario=pl.lit(name)) for name, each in (("a", near), ("b", far))
    )
    reference, _ = drawn(np.random.default_rng(1))
    table = nf.project_classes(labelled(reference), priors=mixes, metrics="mcc", interval="delta")
    widths = (table["upper"] - table["lower"]).to_list()
    assert widths[0] < widths[1]
    for place, scenario in enumerate("ab"):
        alone = nf.compare_classes(
            labelled(reference), priors=mixes.filter(scenario=scenario), metric="mcc"
        ).answer
        assert (alone["upper"] - alone["lower"]).item() == pytest.approx(widths[place])


def test_a_class_that_one_row_of_the_traffic_may_be_has_bounds():
    """Its decision is expected hardly ever, which gave it all weight, and its share bounds without width."""
    reference = [[19, 0, 1, 0], [2, 17, 1, 0], [0, 0, 19, 1], [0, 0, 0, 20]]
    found = mix_of((np.array(reference), [1, 0, 1, 198]))
    assert held(found, np.array([0, 0, 0, 1])).all()
    assert (found["upper"] - found["prior"] > 0.01)[:3].all()


@pytest.mark.thorough
def test_bounds_hold_the_mix_with_forty_rows_of_a_class(monkeypatch):
    monkeypatch.setattr("nci_frames.evaluation.classes.estimate_class_priors._STEPS", 200)  # they are slow
    rates = np.array([[70, 10, 10, 10], [15, 70, 10, 5], [10, 20, 60, 10], [2, 3, 5, 90]]) / 100
    field, rng = np.array([0.001, 0.01, 0.05, 0.939]), np.random.default_rng(2)
    logs = [mix_of(drawn(rng, (40,) * 4, 3000, field, rates)) for _ in range(80)]
    found = [held(each, field) for each in logs if each["supported"].all()]
    assert np.mean(found, axis=0).min() > 0.9  # it was 0.85


@pytest.mark.thorough
def test_bounds_hold_a_common_class_where_few_rows_have_many_decisions(monkeypatch):
    """Sixty rows of each of ten classes get 30 decisions, a class and a bin of its score."""
    monkeypatch.setattr("nci_frames.evaluation.classes.estimate_class_priors._STEPS", 200)  # they are slow
    rng, classes = np.random.default_rng(4), 10
    label = np.repeat(np.arange(classes), 20_000)
    score = np.exp(2 * rng.normal(2.0 * (label[:, None] == np.arange(classes)), 1))
    share = (score / score.sum(axis=1, keepdims=True)).max(axis=1)
    part = np.searchsorted(np.quantile(share, [1 / 3, 2 / 3]), share)
    rates = np.zeros((classes, 3 * classes))
    np.add.at(rates, (label, classes * part + score.argmax(axis=1)), 1 / 20_000)
    field = np.array([0.55] + [0.05] * 9)
    logs = [mix_of(drawn(rng, (60,) * classes, 1000, field, rates)) for _ in range(60)]
    told = [held(mix, field) for mix in logs if mix["supported"].all()]
    assert len(told) > 48
    assert np.mean(told, axis=0).min() > 0.85  # it was 0.7


@pytest.mark.thorough
def test_much_traffic_is_not_refused_and_tells_the_same_mix():
    """With 10 million rows EM steps for 800 rows of the reference are tiny, and ended far from the mix."""
    bins = np.array([[0.4, 0.2, 0.2, 0.1, 0.05, 0.05], [0.05, 0.05, 0.1, 0.2, 0.3, 0.3]])
    rows, field = drawn_rows(np.random.default_rng(0), (400, 400), bins), np.array([0.9, 0.1]) @ bins
    some, much = (mix_of((rows, np.round(field * size))) for size in (10**5, 10**9))
    assert much["prior"].to_list() == pytest.approx(some["prior"].to_list(), abs=0.002)
    assert much["fit_p_value"].to_list() == pytest.approx(some["fit_p_value"].to_list(), abs=0.02)
    assert held(much, pl.Series([0.9, 0.1])).all()
