"use strict";
// What the sliders do to the charts: marks at the prevalence and beta, values computed anew.
(() => {
  const { data, ownBest, ownBounds, bounded, atThreshold, told, fName, heading, at } = nci.values;
  // Charts cannot hold every name as it is.
  const place = new Map(data.drawn.map((name, i) => [name, i]));

  /** @type {(measure: string) => (row: Row) => Row} */
  const recompute = (measure) => (row) => {
    const i = place.get(String(row.model));
    const [eta, beta] = [Number(row.prevalence ?? nci.state.prevalence), Number(row.beta ?? nci.state.beta)];
    if (measure === "own") {
      const point = ownBest(i, eta, beta);
      const bounds = "lower" in row ? ownBounds(point, eta, beta) : {};
      return { ...row, value: point && point[3], threshold: point && point[0], supported: told.own(i, eta, beta), ...bounds };
    }
    return { ...row, value: atThreshold(i, eta, beta), ...("lower" in row ? bounded(i, eta, beta) : {}) };
  };
  /** @type {Record<string, (shown: string[]) => Row[]>} */
  const livePoints = {
    "odds beta": () => [{ odds: nci.state.prevalence / (1 - nci.state.prevalence), beta: nci.state.beta }],
    "fpr tpr": (shown) =>
      shown.flatMap((model) => {
        const point = ownBest(place.get(model), nci.state.prevalence, nci.state.beta);
        return point && point[2] > 0 ? [{ model, fpr: point[2], tpr: point[1] }] : [];
      }),
  };
  // F-beta over one of the two depends on the other.
  /** @type {Record<string, Axis>} */
  const other = { beta: "prevalence", prevalence: "beta" };
  nci.showLive = (box) => {
    const chart = nci.chartOf(box);
    const { spec, points, recomputed, measure, chosen } = box.dataset;
    if (chart && chosen) nci.drawSegments?.(box);
    const rule = /** @type {Axis} */ (box.dataset.rule);
    if (!chart || !(rule || points || recomputed)) return;
    if (rule || points) chart.view.data("live", rule ? [{ [rule]: nci.state[rule] }] : livePoints[points](chart.models));
    if (recomputed) {
      chart.view.data(chart.source, chart.rows.map(recompute(measure)));
      const both = recomputed === "both";
      const where = `at prevalence η = ${nci.formatGrid(nci.state.prevalence)}`;
      const title = both ? `${fName()} of each model, ${where}` : heading(other[recomputed]);
      document.getElementById(`${spec}-title`).textContent = title;
      document.getElementById(`${spec}-subtitle`).textContent = measure === "own" ? data.own : at;
    }
    chart.view.runAsync();
  };
})();
