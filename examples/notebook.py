# A marimo notebook; open it with: marimo edit examples/notebook.py

import marimo

__generated_with = "0.25.2"

app = marimo.App(app_title="Which model is best at the class balance of the field?")


@app.cell
def _():
    import tempfile

    import marimo as mo

    import nci_frames as nf
    from nci_frames.demo import write_synthetic_logs

    return mo, nf, tempfile, write_synthetic_logs


@app.cell
def _(mo):
    mo.md("""
    # Which model is best when 1 row in 1,000 is positive, but 1 in 10 in the test set?

    A log with 100,000 predictions of four models is counted once. Every result below comes from the counts.
    """)
    return


@app.cell
def _(nf, tempfile, write_synthetic_logs):
    with tempfile.TemporaryDirectory() as folder:
        logs = write_synthetic_logs(folder, rows=100_000, models=4, prevalence=0.1)
        counts = nf.count_confusion(nf.scan_predictions(logs), thresholds="exact")
    return (counts,)


@app.cell
def _(counts, nf):
    prevalence = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5]
    comparison = nf.compare_models(counts, prevalence=prevalence, beta=[0.25, 0.5, 1, 2, 4])
    comparison
    return (comparison,)


@app.cell
def _(comparison, nf):
    nf.chart_p3(comparison.projection, observed=comparison.observed_prevalence)
    return


@app.cell
def _(comparison, nf):
    nf.chart_pr_auc_over_prevalence(comparison.areas, observed=comparison.observed_prevalence)
    return


@app.cell
def _(comparison, nf):
    nf.chart_f_beta_over_beta(comparison.projection, prevalence=0.001)
    return


@app.cell
def _(comparison, nf):
    nf.ranked_table(comparison.areas, metric="pr_auc", title="PR-AUC over prevalence")
    return


if __name__ == "__main__":
    app.run()
