"""The prevalences and betas of a comparison that its tables and its summary show."""

from collections.abc import Sequence

from nci_frames.base.arguments import nearest

__all__ = [
    "beta_range",
    "main_beta",
    "main_prevalences",
    "middle_prevalence",
    "prevalence_range",
    "tested_prevalences",
]

#: At so many prevalences all models are compared with the best one.
_MOST_TESTED = 48


def main_beta(betas: Sequence[float]) -> float:
    """Return the beta nearest to 1, by ratio."""
    return nearest([beta for beta in betas if 0 < beta < float("inf")] or betas, 1.0)


def middle_prevalence(grid: Sequence[float], observed: float | None) -> float:
    """Return the prevalence of the grid that is nearest to the log's own, or the middle one."""
    return nearest(grid, grid[len(grid) // 2] if observed is None else observed)


def main_prevalences(grid: Sequence[float], observed: float | None) -> tuple[float, ...]:
    """Return the lowest, a middle and the highest prevalence of the grid."""
    return tuple(sorted({grid[0], middle_prevalence(grid, observed), grid[-1]}))


def tested_prevalences(grid: Sequence[float], observed: float | None) -> tuple[float, ...]:
    """Return the main prevalences, and of the others as many, evenly, as a limit allows."""
    steps = min(len(grid), _MOST_TESTED)
    picked = {grid[round(step * (len(grid) - 1) / max(steps - 1, 1))] for step in range(steps)}
    return tuple(sorted(picked.union(main_prevalences(grid, observed))))


def prevalence_range(grid: Sequence[float], observed: float | None) -> tuple[float, float]:
    """Return a range within (0, 1), at least a decade wide, that contains all prevalences inside (0, 1)."""
    inside = [eta for eta in [*grid, *([] if observed is None else [observed])] if 0 < eta < 1] or [0.1]
    low, high = min(inside), max(inside)
    # Too narrow a range is widened: its odds are spread by the same factor on both sides.
    wide = max(1.0, (10 / (high * (1 - low) / (low * (1 - high)))) ** 0.5)
    return low / (low + (1 - low) * wide), high * wide / (high * wide + 1 - high)


def beta_range(betas: Sequence[float]) -> tuple[float, float]:
    """Return the lowest and the highest beta of a logarithmic axis, a factor of 16 apart at least."""
    inside = [beta for beta in betas if 0 < beta < float("inf")] or [1.0]
    wide = max(1.0, 4 / (max(inside) / min(inside)) ** 0.5)
    return min(inside) / wide, max(inside) * wide
