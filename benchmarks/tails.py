"""How well a tail fitted to the highest scores of the negatives tells an FPR that the log has not seen.

Run it from the root of the project, in about two minutes:

    python benchmarks/tails.py

A generalised Pareto distribution is fitted by maximum likelihood to the scores of the negatives above a high
one, and the FPR at a higher threshold is read from it, with the interval of its profile likelihood. The table
says how often the interval holds the true FPR; `docs/honesty.md` says why the library has no such function.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import chi2, logistic, norm, t

LEVEL = 0.95
LAWS = {"normal": norm(), "logistic": logistic(), "Student, 4 degrees": t(4)}
STEPS = 121

Floats = NDArray[np.float64]


def log_survival(above: float | Floats, shape: float | Floats, scale: float | Floats) -> Floats:
    """Return ln P(excess > above) of a generalised Pareto distribution."""
    shape = np.where(np.abs(shape) < 1e-6, 1e-6, shape)
    inside = 1 + shape * above / scale
    with np.errstate(divide="ignore"):
        return np.where(inside > 0, -np.log(np.maximum(inside, 0)) / shape, -np.inf)


def log_likelihood(excesses: Floats, shape: float | Floats, log_scale: float | Floats) -> Floats:
    """Return the log-likelihood of excesses, for each pair of parameters."""
    shape = np.where(np.abs(shape) < 1e-6, 1e-6, shape)
    inside = 1 + shape[..., None] * excesses / np.exp(np.asarray(log_scale))[..., None]
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(inside, 0)).sum(axis=-1)
    found = -len(excesses) * log_scale - (1 + 1 / shape) * logs
    return np.where((inside > 0).all(axis=-1), found, -np.inf)


def interval(scores: Floats, threshold: float, exceedances: int) -> tuple[float, float, float]:
    """Return ln FPR at a threshold above the fit, and its bounds; -inf where FPR may be 0."""
    ordered = np.sort(scores)
    start = ordered[-exceedances - 1]
    excesses, above = ordered[-exceedances:] - start, threshold - start

    def loss(parameters: Floats) -> float:
        return -max(float(log_likelihood(excesses, *parameters)), -1e10)

    fitted = minimize(loss, [0.1, np.log(excesses.mean())], method="Nelder-Mead")
    shape, log_scale = fitted.x
    reach = 5 / np.sqrt(exceedances)
    shapes = np.linspace(shape - reach * (1 + abs(shape)), shape + 2 * reach * (1 + abs(shape)), STEPS)
    scales = np.linspace(log_scale - 2 * reach, log_scale + 2 * reach, STEPS)
    pairs = np.meshgrid(shapes, scales, indexing="ij")
    likely = log_likelihood(excesses, *pairs) >= -fitted.fun - chi2.ppf(LEVEL, 1) / 2
    tails = log_survival(above, pairs[0], np.exp(pairs[1]))[likely]
    share = exceedances / len(scores)
    # The share of rows above the start varies, too.
    apart = norm.ppf((1 + LEVEL) / 2) * np.sqrt((1 - share) / exceedances)
    value = float(log_survival(above, shape, np.exp(log_scale)))
    lower, upper = float(tails.min()), float(tails.max())
    with np.errstate(invalid="ignore"):
        bounds = value - np.hypot(value - lower, apart), value + np.hypot(upper - value, apart)
    low = -np.inf if np.isinf(lower) else float(np.log(share) + bounds[0])
    high = float(np.log(share) + (bounds[1] if np.isfinite(value) else upper + apart))
    return float(np.log(share)) + value, low, high


def main(logs: int = 100) -> None:
    """Print the table of docs/honesty.md."""
    print(
        "| scores of the negatives | rows | fitted | true FPR | coverage | width, a factor of | bound of 0 |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    rng = np.random.default_rng(1)
    for name, law in LAWS.items():
        for rows, exceedances in ((2_000, 100), (10_000, 200)):
            for fpr in (0.2 / rows, 0.02 / rows):
                threshold = float(law.isf(fpr))
                found = [
                    interval(scores, threshold, exceedances)
                    for scores in law.rvs(size=(logs, rows), random_state=rng)
                    if np.partition(scores, -exceedances - 1)[-exceedances - 1] < threshold
                ]
                held = np.mean([low <= np.log(fpr) <= high for _, low, high in found])
                zero = np.mean([np.isinf(low) for _, low, _ in found])
                width = np.exp(np.median([high - low for _, low, high in found]))
                wide = f"{width:,.0f}" if np.isfinite(width) else "infinite"
                print(
                    f"| {name} | {rows:,} | {exceedances} | {fpr:.0e} | {held:.2f} | {wide} | {zero:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
