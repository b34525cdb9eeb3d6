"""The number of rows needed to tell two models apart."""

import math
from dataclasses import dataclass

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import Option
from nci_frames.evaluation.metrics import curve_asked
from nci_frames.evaluation.planning.contrasts import (
    Decisions,
    Pair,
    contrast_of,
    contrast_of_areas,
    decisions_of_pairs,
)
from nci_frames.schemas import COMPARISON_SAMPLES


@dataclass(frozen=True, slots=True)
class Comparison:
    """The options of ``required_samples`` for two models."""

    metric: str | pl.Expr
    tpr: float | Pair | None
    fpr: float | Pair | None
    auc: float | Pair | None
    prevalence: float | None
    ratio: float | None
    correlation: float | Pair | None
    pairs: pl.DataFrame | pl.LazyFrame | None
    beta: float

    def samples(self, level: float, power: float) -> pl.DataFrame:
        """Return the needed rows as a frame."""
        if not 0 < power < 1:
            raise ParameterError.out_of_range("power", power, "between 0 and 1")
        if self.ratio is not None and not 0 < self.ratio < math.inf:
            raise ParameterError.out_of_range("ratio", self.ratio, "a finite number > 0")
        if self.prevalence is not None and not 0 < self.prevalence < 1:
            raise ParameterError.out_of_range("prevalence", self.prevalence, "between 0 and 1")
        of_traffic = None if self.prevalence is None else (1 - self.prevalence) / self.prevalence
        ratio = self.ratio if self.ratio is not None else of_traffic
        discordant: tuple[float | None, float | None] = (None, None)
        if self._is_area():
            if self.auc is None or ratio is None:
                msg = f"an area needs {Option('auc')}, and {Option('ratio')} or {Option('prevalence')}"
                raise ParameterError(msg, found=f"auc={self.auc}, ratio={ratio}")
            shared = self._pair("correlation", self.correlation)[0]
            paired = shared is not None
            contrast = contrast_of_areas(self.auc, shared, ratio)
        else:
            positives, negatives = self._decisions()
            paired = positives.correlation is not None
            contrast = contrast_of(self.metric, positives, negatives, self.prevalence, self.beta)
            discordant = positives.discordant, negatives.discordant
        rows = contrast.rows(ratio, level, power)
        differ = [None if share is None else share * n for share, n in zip(discordant, rows, strict=True)]
        method = "paired" if paired else "unpaired"
        found = (method, *rows, *differ, contrast.power(*rows, level))
        table = pl.DataFrame([found], schema=COMPARISON_SAMPLES.dtypes(), orient="row")
        return COMPARISON_SAMPLES.finish(table)

    def _is_area(self) -> bool:
        curve = curve_asked(self.metric)
        if curve is not None and curve.name != "roc_auc":
            msg = "rows that tell two models apart are known for metrics of decisions, and for roc_auc"
            raise ParameterError(msg, found=curve.name)
        if curve is None and self.auc is not None:
            raise ParameterError(f"{Option('auc')} is for compare='roc_auc'", found=f"{self.auc!r}")
        return curve is not None

    def _decisions(self) -> tuple[Decisions, Decisions]:
        if self.pairs is not None:
            if any(value is not None for value in (self.tpr, self.fpr, self.correlation)):
                raise ParameterError(
                    "the rates and their correlation are those of the joint counts", found="both"
                )
            return decisions_of_pairs(self.pairs)
        if self.tpr is None and self.fpr is None:
            raise ParameterError(
                f"the expected rates are missing: {Option('tpr')}, {Option('fpr')}, or pairs="
            )
        shared = self._pair("correlation", self.correlation)
        # Assume 0.5 for missing rates; an error follows if the metric needs them.
        found = [
            Decisions.of(self._pair(name, given, 0.5), of_class, name)  # type: ignore[arg-type]
            for name, given, of_class in (("tpr", self.tpr, shared[0]), ("fpr", self.fpr, shared[1]))
        ]
        for side, (name, given) in enumerate((("tpr", self.tpr), ("fpr", self.fpr))):
            if given is None and self._needs(found, side):
                raise ParameterError(f"the metric needs the expected rates {Option(name)}", found="None")
        return found[0], found[1]

    def _needs(self, found: list[Decisions], side: int) -> bool:
        """Return whether the metric depends on the rates of a class."""
        contrast = contrast_of(self.metric, found[0], found[1], self.prevalence or 0.5, self.beta)
        return contrast.expected[side] > 0

    @staticmethod
    def _pair(
        name: str, value: float | Pair | None, missing: float | None = None
    ) -> tuple[float | None, float | None]:
        if value is None:
            return missing, missing
        if isinstance(value, int | float):
            return float(value), float(value)
        if len(value) != 2:
            raise ParameterError.out_of_range(name, value, "one number, or one of each model")
        return float(value[0]), float(value[1])
