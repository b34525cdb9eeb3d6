"""The answer to a question, at one prevalence and over prevalence, from the tables of a log."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import polars as pl

from nci_frames.base.errors import SchemaError
from nci_frames.evaluation.areas.pr import PR_AUC
from nci_frames.evaluation.crossovers.winners import winner_ranges
from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.questions import places
from nci_frames.questions.answer import Answer, AskedLog
from nci_frames.questions.compared import computed
from nci_frames.questions.log_tables import LogTables
from nci_frames.questions.order import best_at_each, read_leads
from nci_frames.schemas import within


class AnswerTables(LogTables):
    """The tables of a log, and the answer to the question."""

    #: F-beta at own best thresholds that an earlier question to the same log has computed.
    _earlier: pl.DataFrame | None = None

    @computed
    def answer(self) -> pl.DataFrame:
        """The models at the prevalence of the question, best first.

        ``model``, ``threshold``, ``metric``, ``prevalence``, ``value``, ``lower``, ``upper``, ``rank``,
        ``distinguishable`` (from the best; null if the log cannot tell), ``recall``, ``precision``,
        ``pos_fraction``, ``supported``, ``reason``.
        """
        return self._asked.over([self.asked_prevalence])

    @computed
    def answer_over_prevalence(self) -> pl.DataFrame:
        """The answer at each prevalence compared, without tests: ``distinguishable`` is null."""
        return self._asked.over(self._inside, tested=False)

    def answers(self, prevalence: Sequence[float], *, tested: bool = True) -> Iterator[Answer]:
        """Yield the answer at several prevalences in (0, 1), ascending, for example ``answer_prevalences``.

        With *tested* false, models are not compared with the best.
        """
        with within():
            found = self._asked.over(prevalence, tested=tested)
        rows = found.partition_by("prevalence", maintain_order=True)
        yield from self._said(rows, prevalence, tested=tested)

    @computed
    def answer_winners(self) -> pl.DataFrame:
        """Ranges of the best model over prevalence for the question.

        ``start``, ``end``, ``model``, ``tied`` (all models that are equal there), ``supported``, and the 95 %
        interval of the start over resampled logs, ``lower`` and ``upper``, if known. If borders are not
        exact, each row is one of the prevalences compared.
        """
        start, end = self.answer_span
        exact = self._exact_winners(start, end) if start < end else None
        ranges = best_at_each(self.answer_over_prevalence) if exact is None else exact
        if "lower" not in ranges.columns:
            ranges = ranges.with_columns(pl.lit(None, pl.Float64).alias(side) for side in ("lower", "upper"))
        return ranges.select("start", "end", "model", "tied", "supported", "lower", "upper")

    def _exact_winners(self, start: float, end: float) -> pl.DataFrame | None:
        """Return exact ranges of the best model without gaps; None if only a grid can be evaluated."""
        question = self.question
        if question.area is not None:
            if question.area is PR_AUC:
                return self.area_winners
            # Areas that do not depend on prevalence have one best model.
            best = best_at_each(self.answer).with_columns(start=pl.lit(start), end=pl.lit(end))
            return None if question.area.depends_on_prevalence else best
        if question.threshold is None:
            exact = question.own and question.f_beta and "optimistic" not in self.best.columns
            return self.best_winners if exact else None
        if question.f_beta:
            return self.winners
        points = select_operating_points(self._near, threshold=question.threshold)
        return winner_ranges(points, metric=question.asked, over="prevalence", start=start, end=end)

    @property
    def answer_curve(self) -> pl.DataFrame:
        """The answer at each of ``answer_prevalences``, without tests, for charts."""
        with within():
            return self._asked.over(self.answer_prevalences, tested=False)

    @property
    def answer_span(self) -> tuple[float, float]:
        """Lowest and highest prevalence of ``answer_winners``."""
        return self._inside[0], self._inside[-1]

    @property
    def answer_prevalences(self) -> list[float]:
        """Positions of the prevalence slider of a page.

        The prevalences compared, those of the question and of the log, and steps between them.
        """
        return places.answer_prevalences(self._inside, self.prevalence_range, self.observed_prevalence)

    @property
    def said(self) -> Answer:
        """The answer with all that its sentences need."""
        return next(self._said([self.answer], [self.asked_prevalence]))

    def _said(
        self, answers: Sequence[pl.DataFrame], prevalence: Sequence[float], *, tested: bool = True
    ) -> Iterator[Answer]:
        if self._near["model"].has_nulls():
            raise SchemaError.unnamed_model()
        own = self.observed_prevalence
        lacks = {None: "rows of a weight above 0", 0.0: "positives", 1.0: "negatives"}.get(own)
        low, high = self.answer_span
        leads = read_leads(self.answer_winners, low=low, high=high) if tested else ()
        errors, imprecise = self._asked.errors(prevalence), self._asked.imprecise(prevalence)
        for eta, models in zip(prevalence, answers, strict=True):
            yield Answer(
                self.question,
                eta,
                observed=eta == own,
                models=models,
                leads=leads,
                span=(low, high),
                tested=tested,
                lacks=lacks,
                judged=self._log.judged is not None,
                error=errors.get(eta, 0.0),
                imprecise=imprecise.get(eta, frozenset()),
            )

    def asking(self, **changes: Any) -> Self:
        """Return the same comparison with a changed question, for example ``asking(alerts=100)``."""
        # Only tables that do not depend on the question are kept.
        same = {"_summed", "_candidates", "_own"}
        other = self._copy(
            lambda name: name in same or not isinstance(getattr(type(self), name, None), computed)
        )
        other.question = replace(self.question, **changes)
        other._earlier = self.__dict__.get("_own_values", self._earlier)  # noqa: SLF001 - a copy of this
        return other

    @computed
    def _asked(self) -> AskedLog:
        question, own, known = self.question, None, None
        if question.own and question.f_beta:
            values = self._own_values if self._earlier is None else self._earlier
            own, known = self._own, values.filter(beta=question.beta)
        at, draws = self.answer_prevalences, self._draws
        few = own is not None or question.area is not None or question.threshold is not None
        rates = self._near if few else self.rates
        return AskedLog(question, self._log, rates, at, draws, own=own, known=known)

    @property
    def _own_places(self) -> pl.DataFrame:
        if not (self.question.own and self.question.f_beta):
            return super()._own_places
        # The betas of the second slider of a page are computed with the others at little extra cost.
        betas = [self.question.beta * factor for factor in places.SLIDER]
        answered = places.crossed(self.answer_prevalences, betas)
        return pl.concat([super()._own_places, answered]).unique(maintain_order=True)

    @property
    def _inside(self) -> list[float]:
        return sorted({eta for eta in (*self.prevalence, self.asked_prevalence) if 0 < eta < 1})
