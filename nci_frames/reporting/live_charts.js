"use strict";
// What the sliders do to the charts: marks at the prevalence, values looked up or projected to it.
(() => {
  const { data, eta, rows, fBeta } = nci.values;
  // Charts cannot hold every name as it is.
  const place = new Map(data.drawn.map((name, i) => [name, i]));
  const found = () => new Map(rows().map((row) => [Number(row.model), row]));
  /** @type {Record<string, (row: Row) => Row>} */
  const recompute = {
    prevalence: (row) => ({ ...row, value: fBeta(place.get(String(row.model)), eta(), Number(row.beta)) }),
    answer: (row) => {
      const known = found().get(place.get(String(row.model)));
      if (!known) return row;
      const bounds = "lower" in row ? { lower: known.lower, upper: known.upper } : {};
      return { ...row, value: known.value, supported: known.supported, ...bounds };
    },
  };
  /** @type {Record<string, (shown: string[]) => Row[]>} */
  const points = {
    "odds beta": () => [{ odds: eta() / (1 - eta()), beta: data.beta }],
    "fpr tpr": (shown) =>
      shown.flatMap((model) => {
        const row = found().get(place.get(model));
        if (!row || row.recall === null || row.pos_fraction === null) return [];
        const fpr = (Number(row.pos_fraction) - eta() * Number(row.recall)) / (1 - eta());
        return fpr > 1e-12 ? [{ model, fpr, tpr: row.recall }] : [];
      }),
  };
  nci.showLive = (box) => {
    const chart = nci.chartOf(box);
    const { spec, points: at, recomputed, rule, chosen } = box.dataset;
    if (chart && chosen) nci.drawSegments?.(box);
    if (!chart || !(rule || at || recomputed)) return;
    if (rule) chart.view.data("live", [{ [rule]: rule === "beta" ? data.beta : eta() }]);
    if (at) chart.view.data("live", points[at](chart.models));
    if (recomputed) {
      chart.view.data(chart.source, chart.rows.map(recompute[recomputed]));
      const title = document.getElementById(`${spec}-title`);
      title.textContent = `${title.textContent.replace(/ at prevalence .*$/, "")} at prevalence ${nci.formatGrid(eta())}`;
    }
    chart.view.runAsync();
  };
})();
