"""Which classifier is best where 1 in 1,000 is positive, if 1 in 10 is in the test set?

Makes a log of a million rows whose true curves are known, ranks the models at two class balances, and
compares with the truth.
"""

import tempfile

import polars as pl

import nci_frames as nf
from nci_frames.demo import synthetic_laws, write_synthetic_logs

with tempfile.TemporaryDirectory() as folder:
    logs = write_synthetic_logs(folder, rows=1_000_000, models=4, prevalence=0.1)
    counts = nf.count_confusion(nf.scan_predictions(logs), thresholds="exact")

laws = synthetic_laws(4)
truth = pl.DataFrame(
    [(model, eta, law.pr_auc(eta)) for model, law in laws.items() for eta in (0.001, 0.1)],
    schema=["model", "prevalence", "true_pr_auc"],
    orient="row",
)
ranking = nf.rank_models(nf.compute_areas(counts, prevalence=[0.001, 0.1])).filter(metric="pr_auc")
result = ranking.join(truth, on=["model", "prevalence"], maintain_order="left").select(
    "prevalence", "rank", "model", "value", "true_pr_auc"
)
print(result)
