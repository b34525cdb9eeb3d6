"""Find the best classifier when 1 row in 1,000 is positive, but 1 in 10 in the test set.

The program writes a synthetic log of a million rows whose true curves are known, ranks the models at both
prevalences, and shows the true PR-AUC beside the estimate.
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
