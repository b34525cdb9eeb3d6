"""Measure what docs/honesty.md states: bias, error and coverage of the estimators, and the test of fit.

    python benchmarks/prevalence.py --write

simulates logs whose prevalence is known, calls the public functions, and puts two tables into
docs/honesty.md. Without --write it only prints them; --effort 0.1 simulates a tenth of the logs.
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import ndtr

import nci_frames as nf

PAGE = Path(__file__).parents[1] / "docs" / "honesty.md"
START, END = "<!-- prevalence: begin -->\n", "<!-- prevalence: end -->\n"

THRESHOLDS = np.linspace(-4, 7, 111)
REFERENCE = (1000, 10_000)
METHODS = ("em", "adjusted_count", "matching")
ETAS = (1e-4, 1e-3, 0.01, 0.1, 0.5)
ROWS = (10_000, 1_000_000)
SEPARATIONS = (1.0, 2.0, 3.0)


def law(mean: float) -> np.ndarray:
    """The shares of normal scores between the thresholds."""
    return np.diff(ndtr(np.concatenate([[-np.inf], THRESHOLDS, [np.inf]]) - mean))


def reached(rows: np.ndarray) -> np.ndarray:
    """How many rows of each log reach each threshold."""
    return rows[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]


def simulated(
    rng: np.random.Generator, logs: int, rows: int, positives: np.ndarray, field: np.ndarray, eta: float
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return references, and traffic whose positives have the law *field*; each log is a segment."""
    negatives = law(0.0)
    of_reference = [
        rng.multinomial(size, shares, logs)
        for size, shares in zip(REFERENCE, (positives, negatives), strict=True)
    ]
    traffic = rng.multinomial(rows, eta * field + (1 - eta) * negatives, logs)
    place = {
        "model": "m",
        "log": np.repeat(np.arange(logs), len(THRESHOLDS)),
        "threshold": np.tile(THRESHOLDS, logs),
    }
    tp, fp, above = (reached(kind).ravel() for kind in (*of_reference, traffic))
    counts = pl.DataFrame({**place, "tp": tp, "fp": fp, "fn": REFERENCE[0] - tp, "tn": REFERENCE[1] - fp})
    return counts, pl.DataFrame({**place, "above": above, "below": rows - above})


def estimators(effort: float) -> list[str]:
    """Return the table of bias, root mean squared error and coverage."""
    logs = round(1000 * effort)
    lines = [
        "| prevalence | rows | distance of the means | bias of em | RMSE of em | coverage of em "
        "| of adjusted_count | of matching | p < 0.05 |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for separation in SEPARATIONS:
        for rows in ROWS:
            for eta in ETAS:
                rng = np.random.default_rng([round(separation), rows, round(eta * 1e6)])
                positives = law(separation)
                counts, traffic = simulated(rng, logs, rows, positives, positives, eta)
                found = {
                    method: nf.estimate_prevalence(counts, traffic, method=method, level=0.95)
                    for method in METHODS
                }
                held = {
                    method: table.filter("supported")
                    .select(pl.lit(eta).is_between("lower", "upper").mean())
                    .item()
                    for method, table in found.items()
                }
                em = found["em"]
                error = em.filter("supported")["prevalence"].to_numpy() - eta
                rejected = (em["fit_p_value"] < 0.05).mean()
                rmse = float(np.sqrt((error**2).mean()))
                lines.append(
                    f"| {eta:g} | {rows:,} | {separation:g} | {error.mean():.2g} | {rmse:.2g} "
                    f"| {held['em']:.3f} | {held['adjusted_count']:.3f} | {held['matching']:.3f} "
                    f"| {rejected:.3f} |"
                )
                print(lines[-1], flush=True)
    return lines


def best_power(eta: float, rows: int, positives: np.ndarray, field: np.ndarray) -> float:
    """Return the power, at 5 %, of the best test of one known change while the prevalence is unknown.

    No test that does not know the change has more. Neighbouring scores are taken together until one row of
    them is expected.
    """
    negatives = law(0.0)
    mixed = eta * field + (1 - eta) * negatives
    expected = (np.minimum(rows, REFERENCE[1]) * mixed)[::-1].cumsum()[::-1]
    cell = np.floor(expected).astype(int)
    cell = np.unique(cell, return_inverse=True)[1]
    joined = np.eye(cell.max() + 1)[:, cell]
    covariance = sum(
        weight**2 / size * (np.diag(shares) - np.outer(shares, shares))
        for weight, size, shares in (
            (1.0, rows, mixed), (eta, REFERENCE[0], positives), (1 - eta, REFERENCE[1], negatives)
        )
    )  # fmt: skip
    inverse = np.linalg.pinv((joined @ covariance @ joined.T)[1:, 1:])
    change, shift = ((joined @ d)[1:] for d in (eta * (field - positives), positives - negatives))
    seen = change @ inverse @ change - (change @ inverse @ shift) ** 2 / (shift @ inverse @ shift)
    return float(ndtr(np.sqrt(max(seen, 0.0)) - 1.6449))


def power(effort: float) -> list[str]:
    """Return the table of how often the test of fit sees that a fifth of the positives changed."""
    logs, separation = round(1000 * effort), 2.0
    lines = [
        "| prevalence | rows | 20 % of the positives score | p < 0.05 | at most | mean estimate |",
        "| ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    positives = law(separation)
    for eta in (0.01, 0.1, 0.5):
        for rows in (*ROWS[:1], 100_000, *ROWS[1:]):
            for what, other in (
                ("2.5 higher", law(separation + 2.5)),
                ("1 lower", law(separation - 1)),
                ("like negatives", law(0.0)),
            ):
                rng = np.random.default_rng([round(eta * 1e6), rows, len(what)])
                field = 0.8 * positives + 0.2 * other
                counts, traffic = simulated(rng, logs, rows, positives, field, eta)
                # At a level so high that the test takes no estimate away.
                found = nf.estimate_prevalence(counts, traffic, level=1 - 1e-12)
                seen, mean = (found["fit_p_value"] < 0.05).mean(), found["prevalence"].mean()
                told = (
                    "none" if mean is None or found["prevalence"].null_count() > logs / 2 else f"{mean:.3g}"
                )
                most = best_power(eta, rows, positives, field)
                lines.append(f"| {eta:g} | {rows:,} | {what} | {seen:.2f} | {most:.2f} | {told} |")
                print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effort", type=float, default=1.0, help="share of the usual number of logs")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/honesty.md")
    given = parser.parse_args()
    tables = [estimators(given.effort), power(given.effort)]
    if given.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
        after = rest.partition(END)[2]
        text = "\n\n".join("\n".join(lines) for lines in tables)
        PAGE.write_text(f"{before}{START}{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
