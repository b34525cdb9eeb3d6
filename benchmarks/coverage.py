"""Measure what docs/honesty.md states: how often intervals hold the truth, and how often tests are wrong.

    python benchmarks/coverage.py --write

simulates logs whose truth is known, calls the public functions, and puts the table into docs/honesty.md.
Without --write it only prints the table; --only auc folds measures some claims; --effort 0.1 simulates a
tenth of the logs.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from chosen import (
    budgets,
    champions,
    faulty_units,
    first_models,
    rare_rows,
    segments_of_units,
    targets_of_precision,
    traffic_of_many,
)
from claims import Seen
from claims_of_models import (
    auc_tests_of_few,
    best,
    crossovers,
    folds,
    maps,
    own_thresholds,
    pairs,
    segments,
    shifts,
    trained_folds,
)
from claims_of_rates import (
    accuracy,
    areas_of_few,
    areas_of_units,
    auc,
    bands,
    bootstrap,
    few_false_positives,
    partial_labels,
    planning,
    predictive_values,
    rates_of_units,
    support,
    traffic,
    uneven_units,
)

PAGE = Path(__file__).parents[1] / "docs" / "honesty.md"
START, END = "<!-- coverage: begin -->\n", "<!-- coverage: end -->\n"

CLAIMS: tuple[Callable[[float], Iterator[Seen]], ...] = (
    auc, areas_of_few, auc_tests_of_few, rates_of_units, uneven_units, areas_of_units, accuracy,
    predictive_values, planning, shifts, segments, folds, trained_folds, pairs, partial_labels, traffic,
    own_thresholds, bootstrap, best, crossovers, support, few_false_positives, bands, maps, budgets,
    targets_of_precision, first_models, traffic_of_many, rare_rows, faulty_units, segments_of_units,
    champions,
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effort", type=float, default=1.0, help="share of the usual number of logs")
    parser.add_argument("--only", nargs="+", help=f"some of {', '.join(c.__name__ for c in CLAIMS)}")
    parser.add_argument("--write", action="store_true", help="put the table into docs/honesty.md")
    given = parser.parse_args()
    lines = ["| claim | simulated logs | promised | seen |", "| --- | --- | --- | --- |"]
    print(*lines, sep="\n")
    for claim in CLAIMS:
        if given.only and claim.__name__ not in given.only:
            continue
        start, work = time.perf_counter(), time.process_time()
        for seen in claim(given.effort):
            lines.append(seen.line)
            print(seen.line, flush=True)
        took = f"{time.perf_counter() - start:.0f} s, {time.process_time() - work:.0f} s of all cores"
        print(f"<!-- {claim.__name__}: {took} -->", flush=True)
    if given.write:
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(START)
        after = rest.partition(END)[2]
        PAGE.write_text(before + START + "\n".join(lines) + "\n" + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
