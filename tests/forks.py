"""What another process counts that was started by this one."""

from collections.abc import Callable
from typing import Any

import nci_frames as nf
from tests.logs import random_log

LOG = random_log(2000)


COUNTS = nf.count_confusion(LOG, thresholds=[0.5], by=())
RATES = nf.compute_rates(COUNTS)

#: Calls that have something of Polars to do.
CALLS: dict[str, Callable[[str], object]] = {
    "count": lambda _: nf.count_confusion(LOG, thresholds=[0.5]),
    "rates": lambda _: nf.compute_rates(COUNTS),
    "project": lambda _: nf.project_rates(RATES, prevalence=0.1, metrics=["f_beta"]),
    "areas": lambda _: nf.compute_areas(COUNTS, prevalence=0.1),
    "merge": lambda _: nf.merge_counts(COUNTS, COUNTS),
    "bootstrap": lambda _: nf.bootstrap(COUNTS, metric="roc_auc", repeats=100),
    "compare": lambda _: nf.compare_models(COUNTS, prevalence=[0.1], threshold=0.5),
    "save": lambda folder: nf.save_table(RATES, f"{folder}/rates.parquet"),
    "ledger": lambda folder: nf.CountsLedger(f"{folder}/ledger").read(),
}


def in_child(queue: Any, folder: str) -> None:
    for name, call in CALLS.items():
        try:
            call(folder)
        except nf.NciFramesError as error:
            queue.put(f"{name}: {error}")
        else:
            queue.put(f"{name}: done")
