"""From a log with one score column per model, text labels and a segment to a chart as Vega-Lite JSON."""

import polars as pl

import nci_frames as nf

log = pl.DataFrame(
    {
        "country": ["at", "at", "at", "de", "de", "de"] * 20,
        "outcome": ["fraud", "ok", "ok", "fraud", "ok", "ok"] * 20,
        "p_forest": [0.9, 0.1, 0.2, 0.8, 0.3, 0.1] * 20,
        "p_linear": [0.6, 0.2, 0.5, 0.7, 0.6, 0.1] * 20,
    }
)
predictions = nf.scan_predictions(
    log,
    label="outcome",
    positive="fraud",
    scores={"forest": "p_forest", "linear": "p_linear"},
    segments="country",
)
rates = nf.compute_rates(nf.count_confusion(predictions, thresholds=[0.5], by=[]))
projection = nf.project_rates(rates, metrics=["precision"], prevalence=[0.0001, 0.001, 0.01, 0.1, 0.5])
chart = nf.chart_p3(projection, observed=1 / 3)
print(chart.to_json()[:200])
result = projection
