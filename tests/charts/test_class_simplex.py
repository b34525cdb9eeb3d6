"""The map over the mixes of three classes colours each mix by the model that is best there."""

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.evaluation.classes.class_winners import winners_in_triangle
from tests.cases import first_quick
from tests.chart_specs import rows_of

MODELS = ["a", "b", "c", "d"]


def counts(seed=0, models=MODELS):
    rng = np.random.default_rng(seed)
    rows = []
    for model in models:
        rates = rng.dirichlet(np.ones(3), 3) * 0.6 + 0.4 * np.eye(3)
        for label in range(3):
            rows += [(model, label, d, int(n)) for d, n in enumerate(rng.multinomial(150, rates[label]))]
    return pl.DataFrame(rows, schema=["model", "label", "decision", "rows"], orient="row")


def inside(corners, mixes):
    """Which mixes are in a convex polygon: on the same side of all edges."""
    points = corners[:, None] - mixes
    after = np.roll(points, -1, axis=0)
    turns = points[..., 0] * after[..., 1] - points[..., 1] * after[..., 0]
    return (turns >= 0).all(axis=0) | (turns <= 0).all(axis=0)


@pytest.mark.parametrize("seed", first_quick(range(3)))
@pytest.mark.parametrize("metric", ["accuracy", "expected_cost", "macro_f_beta", "mcc"])
def test_the_model_of_a_region_is_the_best_of_its_mixes(seed, metric):
    cost = {(0, 1): 3, (1, 2): 1, (2, 0): 2}
    found, classes = winners_in_triangle(counts(seed), metric=metric, beta=1.0, cost=cost)
    assert classes == [0, 1, 2]
    mixes = np.random.default_rng(seed).dirichlet(np.ones(3), 200)
    priors = {f"{n:03}": dict(enumerate(mix)) for n, mix in enumerate(mixes)}
    drawn = np.empty(len(mixes), object)
    for part in found.partition_by("region"):
        drawn[inside(part.select("second", "third").to_numpy(), mixes[:, 1:])] = part["model"][0]
    table = nf.rank_models(nf.project_classes(counts(seed), priors=priors, metrics=metric, cost=cost))
    shown = table.join(
        pl.DataFrame({"scenario": [*priors], "model": drawn.tolist()}), on=["scenario", "model"]
    )
    assert len(shown) == len(mixes)
    # Only where a region begins or ends between two lines.
    assert shown.filter(pl.col("rank") > 1).height <= 2
    assert shown["gap"].abs().max() < 0.005


def test_equal_models_are_one_region_and_the_mix_is_a_dot():
    twins = pl.concat([counts(), counts().filter(model="a").with_columns(model=pl.lit("twin"))])
    spec = nf.chart_class_simplex(twins, priors={"field": {0: 0.0, 1: 0.0, 2: 1.0}}).to_dict()
    equal = {row["equal"] for row in rows_of(spec, "regions")}
    assert all(("a" in names.split(", ")) == ("twin" in names) for names in equal)
    (dot,) = rows_of(spec, "mixes")
    assert (dot["scenario"], dot["across"]) == ("field", 0.5)
    assert dot["up"] == pytest.approx(np.sqrt(3) / 2)


def test_only_three_classes_have_a_triangle():
    with pytest.raises(nf.ParameterError, match="2 classes with rows"):
        nf.chart_class_simplex(counts().filter(pl.col("label") < 2))
    with pytest.raises(nf.ParameterError, match="keys"):
        nf.chart_class_simplex(counts().with_columns(day=1))
    with pytest.raises(nf.ParameterError, match="one of each class"):
        nf.chart_class_simplex(counts(), metric="recall")
    with pytest.raises(nf.SchemaError, match="priors"):
        nf.chart_class_simplex(counts(), priors="uniform")
    lacking = counts(models="a").with_columns(model=pl.lit("z")).filter(pl.col("label") > 0)
    one = counts(models="a").with_columns(rows=pl.when(pl.col("label") == 0).then("rows").otherwise(0))
    with pytest.raises(nf.ParameterError, match="no model has a value"):
        nf.chart_class_simplex(pl.concat([one, lacking]))
