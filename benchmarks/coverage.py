"""Measure what docs/honesty.md states: how often intervals hold the truth, and how often tests are wrong.

    python benchmarks/coverage.py --write

simulates logs whose truth is known, calls the public functions, and puts the tables into docs/honesty.md.
Without --write it only prints them; --only auc folds measures some claims, and writes the tables of these
alone; --effort 0.1 simulates a tenth of the logs.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import chosen
import claims_of_classes as classes
import claims_of_models as models
import claims_of_rates as rates
from claims import Seen, table

PAGE = Path(__file__).parents[1] / "docs" / "honesty.md"
START, END = "<!-- coverage: begin -->\n", "<!-- coverage: end -->\n"


@dataclass(frozen=True, slots=True)
class Part:
    """A table of the page, and what it says of the logs."""

    title: str
    logs: str
    claims: tuple[Callable[[float], Iterator[Seen]], ...]


PARTS = (
    Part(
        "ROC-AUC",
        'How often `auc_interval(method=...)` holds the area. Normal scores. "Spread" is the standard '
        "deviation of the positives; that of the negatives is 1.",
        (rates.auc,),
    ),
    Part(
        "Resampled areas",
        "How often `bootstrap` holds the area. Normal scores, but for the two logs at prevalence 0.001, "
        "which are those of `demo.synthetic_laws`.",
        (rates.areas_of_few, rates.bootstrap, chosen.rare_rows),
    ),
    Part(
        "Tests of ROC-AUC",
        "`compare_auc` of two equally good models, ROC-AUC 0.76 (400 negatives) and 0.79. Scores of a unit "
        "that is scored twice are correlated by 0.92.",
        (models.auc_tests_of_few, rates.areas_of_units),
    ),
    Part(
        "Rates",
        "How often Wilson's interval of `compute_rates` holds the rate. 100 positives and 900 negatives "
        "with normal scores two standard deviations apart, at the thresholds 2 and 3. Scores of a unit that"
        " is scored twice are correlated by 0.9.",
        (rates.rates_of_units,),
    ),
    Part(
        "Rates of few, uneven or faulty units",
        'How often intervals with `units="bucket"` hold the value. The first four: 100 buckets with ten '
        "negatives each, FPR 0.1; TPR differs between units so that rows of one unit are correlated by 0.3."
        " Faulty units: FPR 0.5, that of the others 0.01.",
        (rates.uneven_units, chosen.faulty_units),
    ),
    Part("Accuracy", "How often `accuracy_interval(method=...)` holds the accuracy.", (rates.accuracy,)),
    Part(
        "Precision of few false positives",
        "How often `predictive_value_interval(method=...)` and `bootstrap` hold precision. 100 positives "
        "and 10,000 negatives, TPR 0.6, prevalence 0.001. An interval that is null does not hold.",
        (rates.predictive_values, rates.few_false_positives),
    ),
    Part(
        "PR-AUC over prevalence",
        '174 positives and 1,623 negatives with normal scores. "held": by `bootstrap`, where supported. The'
        " relative bias is that of the logs that support the value, if half of them do, and of all logs "
        "otherwise.",
        (rates.support,),
    ),
    Part(
        "Bands",
        'How often `interval="simultaneous"` of `compute_rates` and `compute_areas` holds the value. 174 '
        "positives and 1,623 negatives with normal scores.",
        (rates.bands,),
    ),
    Part(
        "Bands of ties, grids and units",
        "With ties the truth is the area of the rounded scores. Scores of a unit that is scored twice are "
        "correlated by 0.95; 64 buckets.",
        (rates.bands_of_grids, rates.bands_of_units),
    ),
    Part(
        "Sizes of test sets",
        "The share of studies of `required_samples(delta=...)` that reach the goal.",
        (rates.planning,),
    ),
    Part(
        "Partial labels",
        "The mean error of recall, and how often `correct_partial_labels` holds TPR and FPR, by score "
        "counts and by shares. Normal scores two standard deviations apart, threshold 2. All alerts are "
        "reviewed, and a share of the other rows.",
        (rates.partial_labels,),
    ),
    Part(
        "Metrics in traffic",
        "How often `project_traffic` holds the metric. Normal scores two standard deviations apart; "
        "labelled rows and traffic have the same scores in each class.",
        (rates.traffic, chosen.traffic_of_many),
    ),
    Part(
        "Own best thresholds",
        "The mean error of F1 by `cross_fit`. 100 positives and 10,000 negatives with normal scores three "
        "standard deviations apart; scores of a unit that is scored twice are correlated by 0.9. The truth "
        "is F1 of the distributions at the threshold that is best on the log.",
        (models.own_thresholds,),
    ),
    Part(
        "A budget of alerts",
        "Answers within a budget, and `select_operating_points(alerts=...)`. Equal models with normal scores "
        "two standard deviations apart; prevalence 0.0001.",
        (chosen.budgets,),
    ),
    Part(
        "A target of precision",
        "`select_operating_points(precision=...)`. Normal scores two standard deviations apart.",
        (chosen.targets_of_precision,),
    ),
    Part(
        "The model that an answer ranks first",
        "How often its interval holds the value. Equal models with normal scores two standard deviations "
        "apart.",
        (chosen.first_models,),
    ),
    Part(
        "Which models may be the best",
        "How often `compare_best` excludes a model. 100 positives and 10,000 negatives with normal scores, "
        "positives shifted by 1.5, at prevalence 0.01; F1 at threshold 1.5. On the same rows the scores of "
        'two models are correlated by 0.9 within each class. "One better": its positives are shifted by '
        '1.665. Buckets: 128. "As if of different rows": the same logs, without `units`.',
        (models.best,),
    ),
    Part(
        "Decision maps",
        "`certify_decision_map`. Equal models have normal scores, positives shifted by 1.5; those that "
        "change places are the two of the crossovers. Paired models share 80 % of the variance of the "
        "scores. A certified model is wrong if, by the distributions, it is not the best at any of 200 "
        "values of λ in its ranges.",
        (models.maps,),
    ),
    Part(
        "Crossovers",
        "How often `crossover_intervals` holds the true place, in logs in which the models change places. "
        "100 + 5,000 rows: positives of model a are shifted by 1.0 and spread by 2.0, those of b by 1.8 and"
        " 1.0; thresholds 2.5 (a) and 1.5 (b). The true places are the prevalences 0.028, 0.0088 and 0.01.",
        (models.crossovers,),
    ),
    Part(
        "Two models on the same rows",
        "How often `compare_pairs` holds the difference, and finds one between equal models. 100 positives "
        "and 10,000 negatives; decisions are correlated by 0.6 within each class.",
        (models.pairs,),
    ),
    Part(
        "Champion gates",
        "With `columns.unit`; decisions are correlated within each class.",
        (chosen.champions,),
    ),
    Part(
        "Folds",
        "How often `compare_folds` finds one of equal models distinguishable. Ten models: 1,000 units, 10 %"
        " positive, stratified into folds; the models are equally good, and err on different units. "
        '"Repeats differ by" is the standard deviation of the change in a score when a model is trained '
        "again; 0 is the hardest case. Discriminants are trained in each fold.",
        (models.folds, models.trained_folds),
    ),
    Part(
        "Shifts",
        "`check_projection` of two models that score the same 800 units; the segment of a unit says nothing"
        " about its scores.",
        (models.shifts,),
    ),
    Part(
        "Segments",
        "`rank_segments` of 40 segments with normal scores two standard deviations apart; in those that "
        "differ the positives score 0.8 lower. F1 at prevalence 0.01.",
        (models.segments,),
    ),
    Part(
        "Segments of units",
        '`rank_segments(units="bucket")` of equal segments; rows of a unit are correlated.',
        (chosen.segments_of_units,),
    ),
    Part(
        "Among three classes: values at another mix",
        "How often `project_classes` holds the value. 80, 85 and 80 % of the classes are decided rightly; "
        "their shares are 2, 90 and 8 %.",
        (classes.class_bounds,),
    ),
    Part(
        "Among three classes: the mix of traffic",
        "`estimate_class_priors`, for traffic with the classes and shares of the table above. A refused "
        "mixture has no bounds.",
        (classes.class_mixes_of_traffic,),
    ),
    Part(
        "Among three classes: equal models on the same rows",
        "Classes and mix of the tables above; two of three decisions are those of all models. 60 buckets.",
        (classes.equal_models_of_classes,),
    ),
)
CLAIMS = tuple(claim for part in PARTS for claim in part.claims)


def measured(claim: Callable[[float], Iterator[Seen]], effort: float) -> list[Seen]:
    start, work = time.perf_counter(), time.process_time()
    found = list(claim(effort))
    took = f"{time.perf_counter() - start:.0f} s, {time.process_time() - work:.0f} s of all cores"
    print(f"<!-- {claim.__name__}: {took} -->", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effort", type=float, default=1.0, help="share of the usual number of logs")
    parser.add_argument("--only", nargs="+", help=f"some of {', '.join(c.__name__ for c in CLAIMS)}")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/honesty.md")
    given = parser.parse_args()
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    written, _, after = rest.partition(END)
    tables = {one.partition("\n")[0]: one.strip() for one in written.split("### ")[1:]}
    for part in PARTS:
        wanted = [claim for claim in part.claims if not given.only or claim.__name__ in given.only]
        found = [seen for claim in wanted for seen in measured(claim, given.effort)]
        if found:
            tables[part.title] = "\n\n".join([part.title, part.logs, table(found)])
            print(f"### {tables[part.title]}", end="\n\n", flush=True)
    if given.write:
        every = "\n\n".join(f"### {tables[part.title]}" for part in PARTS if part.title in tables)
        PAGE.write_text(f"{before}{START}{every}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
