"""What the cases of ``tests/snapshots/errors-charts.txt`` name: frames that no chart can draw."""

from typing import Any

import polars as pl

import nci_frames as nf
from tests.charts.drawn import apart, rates
from tests.fuzz.calls import calls
from tests.logs import counts_at

__all__ = ["apart", "calls", "counts_at", "rates"]

ETA = 0.01
TWICE = ("1", "2")
NINE = tuple(f"m{place}" for place in range(9))
NOBODY = pl.lit(None, pl.Float64)


def projected(*metrics: str, models: tuple[str, ...] = ("a", "b"), prevalence: Any = ETA) -> pl.DataFrame:
    return nf.project_rates(rates(models), metrics=list(metrics), prevalence=prevalence)


def by_country(values: tuple[str | None, ...] = TWICE) -> pl.DataFrame:
    return apart(("a", "b"), "country", values)


def precision_by_country(values: tuple[str | None, ...] = TWICE) -> pl.DataFrame:
    return nf.project_rates(by_country(values), metrics="precision", prevalence=[0.01, 0.1])


def parts_by_country(values: tuple[str | None, ...] = TWICE) -> pl.DataFrame:
    return nf.decompose_difference(by_country(values), metric="precision", over="country")


def changed(name: str, place: int = 0, **columns: Any) -> Any:
    """Draw the valid call of a chart with other columns in one of its frames."""
    frames = list(calls()[name].frames)
    values = {key: value if isinstance(value, pl.Expr) else pl.lit(value) for key, value in columns.items()}
    frames[place] = frames[place].with_columns(**values)
    return calls()[name].function(*frames, **calls()[name].options)


def zigzag() -> pl.DataFrame:
    """Teeth of ten pixels, of which none can be left out."""
    grid = pl.DataFrame({"prevalence": [10 ** (i / 50 - 1) for i in range(50)]})
    teeth = grid.with_columns(value=pl.col("prevalence").rank("dense") % 2 * 1.0, threshold=0.5, beta=NOBODY)
    models = pl.DataFrame({"model": [f"m{i}" for i in range(101)]})
    return teeth.join(models, how="cross").with_columns(metric=pl.lit("precision"))
