"use strict";
// Effect of the sliders on the charts: marks at the prevalence, and values looked up or projected to it.
(() => {
  const { data, eta, rows, along, inWords, fBeta } = nci.values;
  // Charts may use encoded names.
  const place = new Map(data.drawn.map((name, i) => [name, i]));
  const found = () => new Map(rows().map((row) => [Number(row.model), row]));
  // The share of right alerts among all rows is proportional to the prevalence, that of wrong alerts to its complement.
  const moved = (/** @type {Row} */ row, /** @type {number} */ right, /** @type {number} */ wrong) => {
    const before = Number(row.prevalence);
    return [(right * eta()) / before, (wrong * (1 - eta())) / (1 - before)];
  };
  const precision = (/** @type {number[]} */ [right, wrong]) => right / (right + wrong);
  const told = (/** @type {Row} */ row) =>
    row.supported_from === undefined ? row.supported : row.supported_from !== null && eta() >= Number(row.supported_from);
  /** @type {Record<string, (row: Row) => Row>} */
  const moves = {
    f_beta: (row) => ({ ...row, value: fBeta(place.get(String(row.model)), eta(), Number(row.beta)) }),
    precision: (row) => {
      if (row.precision === undefined) return row;
      const kept = moved(row, Number(row.precision), 1 - Number(row.precision));
      return { ...row, prevalence: eta(), supported: told(row), precision: precision(kept) };
    },
    share: (row) => {
      if (row.pos_fraction === undefined) return row;
      const flagged = Number(row.pos_fraction);
      const [right, wrong] = moved(row, flagged * Number(row.precision), flagged * (1 - Number(row.precision)));
      return { ...row, prevalence: eta(), supported: told(row), pos_fraction: right + wrong, precision: precision([right, wrong]) };
    },
    calibration: (row) => {
      if (row.share === undefined) return row;
      const of = (/** @type {unknown} */ part, all = 1) => moved(row, all * Number(part), all * (1 - Number(part)));
      const bound = (/** @type {unknown} */ side) => (side === null || side === undefined ? null : precision(of(side)));
      const [right, wrong] = of(row.observed, Number(row.share));
      const sum = right * Number(row.predicted_of_positives) + wrong * Number(row.predicted_of_negatives);
      const changed = { share: right + wrong, observed: precision([right, wrong]), predicted: sum / (right + wrong) };
      return { ...row, ...changed, prevalence: eta(), lower: bound(row.lower), upper: bound(row.upper) };
    },
    // Each value is a mean over both classes, weighted by their shares.
    decisions: (row) => {
      /** @type {Row} */
      const mixed = { ...row, prevalence: eta() };
      for (const [name, of] of Object.entries(row)) {
        const value = name.replace(/_of_positives$/, "");
        if (value !== name && of !== null) mixed[value] = eta() * Number(of) + (1 - eta()) * Number(row[`${value}_of_negatives`]);
      }
      return mixed;
    },
    answer: (row) => {
      const known = found().get(place.get(String(row.model)));
      if (!known) return row;
      const bounds = "lower" in row ? { lower: known.lower, upper: known.upper } : {};
      return { ...row, value: known.value, supported: known.supported, ...bounds };
    },
  };
  const where = () => (data.own ? `where ${inWords(eta())}` : `at prevalence ${nci.formatGrid(eta())}`);
  const metric = (/** @type {number} */ asked) => data.answers[asked].name;
  // Parts of a chart that the controls change: its rows, and the end of its title.
  /** @type {Record<string, (title: string) => string>} */
  const titles = {
    answer: (title) => `${title.replace(metric(data.asked.first), metric(nci.state.asked))} ${where()}`,
    along: (title) => `${title}: ${data.asked.words[nci.state.asked]}`,
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
    const { spec, points: at, recomputed, rule } = box.dataset;
    if (!chart || !(rule || at || recomputed)) return;
    if (rule) chart.view.data("live", [{ [rule]: rule === "beta" ? data.beta : eta() }]);
    if (at) chart.view.data("live", points[at](chart.models));
    if (recomputed) {
      const move = moves[recomputed];
      for (const name of chart.sets.keys()) chart.view.data(name, move ? chart.rows.get(name).map(move) : along());
      // The maximum is the net benefit of treating all rows at threshold 0.
      if (recomputed === "decisions") chart.view.signal("top", eta());
      const title = document.getElementById(`${spec}-title`);
      title.dataset.first ??= title.textContent.replace(/ at prevalence .*$/, "");
      title.textContent = titles[recomputed]?.(title.dataset.first) ?? `${title.dataset.first} ${where()}`;
    }
    chart.view.runAsync();
  };
})();
