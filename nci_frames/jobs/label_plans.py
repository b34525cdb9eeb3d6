"""Options of a label plan, and the counts of its rows by scores or by pairs of decisions."""

import functools
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from nci_frames.base.arguments import beta_value, check_allowed, check_whole
from nci_frames.base.errors import (
    FewLabelsWarning,
    IgnoredUnitsWarning,
    InvalidRowsError,
    ParameterError,
    SourceError,
)
from nci_frames.base.messages import Call, Option, listed
from nci_frames.base.typing import Frame
from nci_frames.counting.count import count_confusion, tally_scan
from nci_frames.counting.drawing.model_rows import ModelRows, one_model
from nci_frames.counting.flags import FLAGGED, best_scores, count_flags, need_units
from nci_frames.counting.logs.opening import Predictions
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.scan import scan_of_rows
from nci_frames.counting.pairs import count_pairs
from nci_frames.counting.thresholds.grids import logit_thresholds
from nci_frames.counts.pooling import pooled_counts
from nci_frames.counts.score_scale import HIGHEST, LOWEST, no_probabilities, share_off_scale
from nci_frames.counts.scores_as_counts import counts_as_scores, scores_as_counts
from nci_frames.evaluation.labelling.pilots import Pilot
from nci_frames.evaluation.labelling.plan import CERTAIN, DOUBTFUL, Goal, Plan
from nci_frames.evaluation.labelling.positives import by_laws, possible_parts
from nci_frames.evaluation.labelling.ranges import LEAST_LABELS
from nci_frames.evaluation.metrics import COSTS_OF_ONE, called_metric
from nci_frames.schemas import COUNTS

#: Number of thresholds to count scores at: even in log odds without a pilot, else taken from its thresholds.
_FINE = 1001
_LEAST_BUDGET, _MOST_BUDGET = 4, 10**9
_GIVE = f"give {Option('pilot')}, the counts of a labelled log: only its rates are used"


#: Makes a plan for the counted rows or units of a log.
Planner = Callable[[Goal], Plan]
#: Returns what the pilot tells of a model.
Law = Callable[[object], Pilot]


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The options of a plan, except the budget."""

    metric: str | pl.Expr
    threshold: float | Mapping[str, float] | None
    alerts: int | None
    beta: float
    pilot: Predictions | None
    prevalence: float | None
    compare: tuple[str, str] | None
    model: str | None
    units: bool = False

    def plan(self, planner: Planner, budget: int, *, warn: bool = True) -> Plan:
        """Return the plan for *budget* labels; warn the caller of the public function if they are few."""
        plan = planner(Goal(self.metric, beta_value(self.beta), budget))
        if warn and (plan.labels < np.minimum(LEAST_LABELS, plan.cells.rows)).any():
            msg = f"{budget} labels are too few: the {plan.labels.min()} of a range may show chance alone"
            enough = f"{LEAST_LABELS * len(plan.labels)} or more give each of these ranges {LEAST_LABELS}"
            warnings.warn(FewLabelsWarning(f"{msg}; {enough}"), stacklevel=4)
        return plan

    def planner(self, scored: Predictions, budget: int) -> Planner:
        """Check the options, then count the rows of a log or read its score counts.

        Raises
        ------
        ParameterError, SchemaError, InvalidRowsError
            As ``plan_labels`` does.
        """
        check_whole("budget", budget, _LEAST_BUDGET, _MOST_BUDGET)
        told = called_metric(self.metric).label
        if told in COSTS_OF_ONE and isinstance(self.metric, str) and "(" not in self.metric:
            msg, hint = "a plan needs the costs of both errors", f"give them: {told}(c_fp=1, c_fn=20)"
            raise ParameterError(msg, found=f"metric {self.metric!r}", hint=hint)
        self._check()
        known = _frame_with(scored, "above", "below")
        if known is not None and ("weight" in known.columns or not known.schema["above"].is_integer()):
            raise _weighted("the score counts")
        if self.units and (known is not None or self.compare is not None):
            msg = "whole units are those of rows; a comparison counts units anyway"
            raise ParameterError(msg, hint=f"omit {Option('units')}, or give the rows")
        if self.compare is not None:
            if known is not None:
                msg = "score counts do not tell which of two models flags a row"
                raise ParameterError(msg, hint="give the rows: scan_predictions(..., label=None, unit=...)")
            return self._pairs(_unweighted(scored), self.compare)
        return self._scores(_unweighted(scored) if known is None else scores_as_counts(known))

    def _check(self) -> None:
        if (self.threshold is None) == (self.alerts is None):
            msg = f"exactly one of {Option('threshold')} and {Option('alerts')} must be given"
            raise ParameterError(msg, found="neither" if self.threshold is None else "both")
        if self.alerts is not None:
            check_whole("alerts", self.alerts, 1)
        values = self.threshold.values() if isinstance(self.threshold, Mapping) else [self.threshold or 0.0]
        for value in values:
            check_allowed(not math.isnan(value), "threshold", value, "a number")
        eta = self.prevalence
        check_allowed(eta is None or 0 < eta < 1, "prevalence", eta, "between 0 and 1")
        if eta is not None and self.pilot is None:
            msg = f"{Option('prevalence')} is that of the pilot's classes in the log, and there is no pilot"
            raise ParameterError(msg, hint=_GIVE)

    def _scores(self, scored: pl.DataFrame | Scan) -> Planner:
        """Return the ranges between thresholds, and the expected positives in each."""
        known = None if self.pilot is None else _pilot_counts(self.pilot)
        law_of = None if known is None else functools.cache(functools.partial(Pilot.of_scores, known))
        if isinstance(scored, Scan):
            scored = self._counts_of(scored, known, law_of)
        model = self._model(scored)
        law = None if law_of is None else law_of(model)
        mine = scored.filter(pl.col("model").eq_missing(pl.lit(model))).drop("resolution", strict=False)
        keys = COUNTS.keys(mine.columns)
        counts = (pooled_counts(mine, over=keys) if keys else mine).sort("threshold")
        scores = counts_as_scores(counts)
        reached = np.concatenate([[scores["above"][0] + scores["below"][0]], scores["above"], [0]])
        rows = -np.diff(reached.astype(np.float64))
        borders = np.concatenate([[-np.inf], scores["threshold"].to_numpy(), [np.inf]])
        if law is None:
            off = no_probabilities(share_off_scale(counts, []))
            if off is not None:
                raise ParameterError(f"{off}: they do not say how many positives to expect", hint=_GIVE)
            ends = np.clip(borders, 0, 1)
            positive = (ends[1:] + ends[:-1]) / 2
        else:
            cell = law.cells_of(borders)
            size = np.bincount(cell, rows, len(law.begins)).astype(np.float64)
            positive = by_laws(size, law.positives, law.negatives, self.prevalence)[cell]
        threshold = self._decision(scores)
        parts = CERTAIN if law is None or self.prevalence is not None else DOUBTFUL
        return lambda goal: goal._replace(parts=parts).plan_of_scores(borders, rows, positive, threshold)

    def _counts_of(self, scan: Scan, known: pl.DataFrame | None, law_of: Law | None) -> pl.DataFrame:
        """Count the scores of a log at thresholds where the rates of the pilot change."""
        if self.units:
            scan = _whole_units(scan, self._model(scan))
        rows = ModelRows(scan, scan.raw, self.model)
        grid = self._grid(rows, known, law_of)
        if scan.source.elsewhere is not None:
            tally = tally_scan(scan, thresholds=grid, by=[])
            counts, told = tally.counts, tally.warnings
        else:
            counts, told = rows.counted(np.array(grid))
        for warning in told:
            warnings.warn(warning, stacklevel=6)
        return counts

    def _likely_model(self, rows: ModelRows, known: pl.DataFrame) -> object:
        """Return the probable model of the log, if possible without a pass that only lists its models.

        Counting the scores later detects further models.
        """
        if rows.known:
            return rows.model
        models = known["model"].unique().to_list() if "model" in known.columns else [None]
        return models[0] if len(models) == 1 else self._model(rows.scan)

    def _model(self, scored: pl.DataFrame | Scan) -> object:
        there = scored.models_there() if isinstance(scored, Scan) else scored["model"].unique()
        return one_model(there, self.model)

    def _grid(self, rows: ModelRows, known: pl.DataFrame | None, law_of: Law | None) -> list[float]:
        """Return the thresholds to count scores at."""
        fixed = [self.threshold] if isinstance(self.threshold, int | float) else []
        if known is None or law_of is None:
            return sorted({LOWEST, *logit_thresholds(_FINE), HIGHEST, *fixed})
        model = self._likely_model(rows, known)
        begins = law_of(model).begins
        of_model = known.filter(pl.col("model").eq_missing(pl.lit(model)))
        there = np.unique(of_model["threshold"].drop_nulls().to_numpy())
        some = there[np.unique(np.linspace(0, len(there) - 1, _FINE).astype(np.int64))]
        return sorted({*some.tolist(), *begins[1:].tolist(), *fixed})

    def _decision(self, scores: pl.DataFrame) -> float:
        """Return the decision threshold, which must be one of the counted thresholds."""
        if isinstance(self.threshold, Mapping):
            msg = f"a threshold for each model is for {Option('compare')}"
            raise ParameterError(msg, hint="give one number")
        if self.threshold is not None:
            if float(self.threshold) not in scores["threshold"]:
                hint = "count_scores(predictions, thresholds=[...]) counts at this threshold, too"
                raise ParameterError("the threshold was not counted", found=f"{self.threshold!r}", hint=hint)
            return float(self.threshold)
        few = scores.filter(pl.col("above") <= self.alerts)["threshold"]
        if few.is_empty():
            msg = "at every threshold that was counted more rows are flagged"
            raise ParameterError(msg, found=f"alerts {self.alerts}", hint="count at higher thresholds, too")
        return float(few[0])

    def _pairs(self, scan: Scan, models: tuple[str, str]) -> Planner:
        """Return the units by the models that flag them, and the expected positives of each kind."""
        limits, parts = self._limits(models), CERTAIN
        counted = _flagged(scan, limits)
        found = {row["stratum"]: row for row in counted.iter_rows(named=True)}
        units = np.array([found[k]["units"] if k in found else 0 for k in range(len(FLAGGED))], np.float64)
        if self.pilot is not None:
            known = _frame_with(self.pilot, "tp_both", "fp_both")
            pairs = count_pairs(self.pilot, thresholds=limits) if known is None else known
            law = Pilot.of_pairs(pairs, models)
            positive = by_laws(units, law.positives, law.negatives, self.prevalence)
            if self.prevalence is None:
                parts = possible_parts(units, law.positives, law.negatives, law.sizes)
        else:
            if counted["lowest"].min() < LOWEST or counted["highest"].max() > HIGHEST:  # type: ignore[operator]
                msg = "the scores are no probabilities: they do not say how many positives to expect"
                raise ParameterError(msg, where=scan.source.where, hint=_GIVE)
            means = [found[k]["score"] if k in found else 0.0 for k in range(len(FLAGGED))]
            positive = np.clip(np.array(means), 0, 1)
        return lambda goal: goal._replace(parts=parts).plan_of_flags(limits, units, positive)

    def _limits(self, models: tuple[str, str]) -> dict[str, float]:
        allowed = 'two different models, of which none is called "both" or "none"'
        two = len(models) == 2 and len({*models} - {"", "both", "none"}) == 2
        check_allowed(two, "compare", models, allowed)
        if self.threshold is None:
            msg = f"{Option('compare')} needs a threshold of each model"
            hint = Call("threshold={model: number}", "--threshold MODEL=NUMBER,MODEL=NUMBER")
            raise ParameterError(msg, hint=f"{hint}")
        given = self.threshold
        if not isinstance(given, Mapping):
            return dict.fromkeys(models, float(given))
        for model in models:
            if model not in given:
                msg = f"{Option('threshold')} has none for the model {model!r}, which is compared"
                each = "give one number, or one of each model"
                raise ParameterError(msg, found=f"{dict(given)}", hint=each)
        return {model: float(given[model]) for model in models}


def _flagged(scan: Scan, limits: Mapping[str, float]) -> pl.DataFrame:
    """Count the units by the models that flag them; a model that the log lacks is named before all else."""
    try:
        counted, error = count_flags(scan, limits), None
    except InvalidRowsError as unpaired:
        counted, error = pl.DataFrame(), unpaired
    if counted.is_empty():
        there = scan.models_there()
        for model in limits:
            if model not in there:
                known = f"models {listed(map(repr, there), 20)}"
                raise ParameterError(f"the log has no model {model!r}", where=scan.source.where, found=known)
        raise error or SourceError("no row is valid, so there is nothing to label", where=scan.source.where)
    return counted


def _whole_units(scan: Scan, model: object) -> Scan:
    """Return a scan with one row per unit, with its highest score."""
    found = best_scores(scan, model).collect(engine="streaming")
    need_units(found["unit"], scan.source.where)
    return scan_of_rows(found.select("score", model=pl.lit(model, pl.String)))


def _unweighted(scored: Predictions) -> Scan:
    scan = scan_of_rows(scored)
    if scan.weighted:
        raise _weighted(scan.source.where)
    if scan.rows == 0:
        raise SourceError("the log has no rows, so there is nothing to label", where=scan.source.where)
    return scan


def _weighted(where: str) -> ParameterError:
    msg = "rows that have weights are a sample already: a plan is for all rows"
    return ParameterError(msg, where=where, hint=f"omit {Option('weight')}")


def _frame_with(given: Predictions, *columns: str) -> pl.DataFrame | None:
    """Return *given* if it is a frame with these columns; None if it is a log."""
    if isinstance(given, Frame) and {*columns} <= {*given.collect_schema()}:
        return given.lazy().collect()
    return None


def _pilot_counts(pilot: Predictions) -> pl.DataFrame:
    known = _frame_with(pilot, "tp", "fp")
    if known is not None:
        return known
    with warnings.catch_warnings():
        # Only its rates are used.
        warnings.simplefilter("ignore", IgnoredUnitsWarning)
        return count_confusion(pilot, by=[] if isinstance(pilot, pl.LazyFrame) else None)
