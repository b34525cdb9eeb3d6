"use strict";
// What the page knows of its models: their values, bounds and support at a prevalence and beta.
(() => {
  /** @type {LiveData} */
  const data = JSON.parse(document.getElementById("live-data").textContent);
  const { models } = data;
  const state = { prevalence: data.prevalence[2], beta: data.beta[2] };

  /** @type {[number, number][]} */
  const rates = data.points.map((p) => (p && p[2] && p[3] ? [p[0] / p[2], p[1] / p[3]] : null));
  // The threshold that is best on the log, with the value that such a threshold has on other rows.
  /** @type {ModelValue<Point>} */
  const ownBest = (i, eta, beta) => {
    const point = nci.bestPoint(data.best[i], data.classes[i], eta, beta);
    if (!point || !data.judged) return point;
    const ratio = nci.judgedRatio(data.judged, data.judged.ratios[i], eta, beta);
    const [threshold, tpr, fpr, value, ...bounds] = point;
    return [threshold, tpr, fpr, ratio === null ? null : ratio * value, ...bounds];
  };
  /** @type {ModelValue<number>} */
  const atThreshold = (i, eta, beta) => rates[i] && nci.fBeta(...rates[i], eta, beta);
  /** @type {ModelValue<number>} */
  const area = (i, eta) => data.areas[i] && nci.area(data.areas[i], data.prevalence, eta);

  // The rule of support: 25 true positives beside the negatives of the log, or 100 false positives.
  /** @type {(negatives: number, tpr: number, fpr: number, eta: number) => boolean} */
  const supports = (negatives, tpr, fpr, eta) =>
    negatives * fpr >= 100 * (1 - 1e-9) || eta >= 25 / (25 + negatives * tpr);
  /** @type {Record<Measure | "pr_auc", ModelValue<boolean>>} */
  const told = {
    own: (i, eta, beta) => {
      const point = ownBest(i, eta, beta);
      return !point || supports(data.classes[i][1], point[1], point[2], eta);
    },
    f_beta: (i, eta) => !rates[i] || supports(data.points[i][3], ...rates[i], eta),
    pr_auc: (i, eta) => data.lowest[i] !== null && eta >= data.lowest[i],
  };

  /** @type {ModelValue<Bounds>} */
  const bounded = (i, eta, beta) => {
    const p = data.points[i];
    if (!p || p.length < 8) return {};
    const [tprLow, tprHigh, fprLow, fprHigh] = p.slice(4);
    return { lower: nci.fBeta(tprLow, fprHigh, eta, beta), upper: nci.fBeta(tprHigh, fprLow, eta, beta) };
  };
  // Of F-beta at the own best threshold; wide enough to hold the value that is judged on other rows.
  /** @type {(point: Point, eta: number, beta: number) => Bounds} */
  const ownBounds = (point, eta, beta) => {
    if (!point || point.length < 8 || point[3] === null) return {};
    const [tprLow, tprHigh, fprLow, fprHigh] = point.slice(4);
    return {
      lower: Math.min(nci.fBeta(tprLow, fprHigh, eta, beta), point[3]),
      upper: Math.max(nci.fBeta(tprHigh, fprLow, eta, beta), point[3]),
    };
  };
  // The prevalences between which the same model stays the best, at the beta of the slider.
  /** @type {Nci["values"]["reign"]} */
  const reign = () => {
    const lambda = (1 - state.prevalence) / state.prevalence / state.beta ** 2;
    /** @type {[number, number, number][]} */
    const spans = data.decisions.map(([start, end, model]) => [start, end ?? Infinity, model]);
    const here = Math.max(0, spans.findIndex(([start, end]) => start <= lambda && lambda < end));
    let [first, last] = [here, here];
    while (first > 0 && spans[first - 1][2] === spans[here][2]) first--;
    while (last < spans.length - 1 && spans[last + 1][2] === spans[here][2]) last++;
    const eta = (/** @type {number} */ border) => 1 / (1 + border * state.beta ** 2);
    return {
      model: models[spans[here][2]],
      above: first > 0 ? [eta(spans[first][0]), models[spans[first - 1][2]]] : null,
      below: last < spans.length - 1 ? [eta(spans[last][1]), models[spans[last + 1][2]]] : null,
    };
  };
  // The place of the prevalence tested that is nearest.
  const nearest = (/** @type {number} */ prevalence) => {
    const far = data.tested.prevalence.map((eta) => Math.abs(Math.log(eta / prevalence)));
    return far.indexOf(Math.min(...far));
  };
  // Which models may be the best, and how often each is.
  const certainty = () => {
    if (!data.tested || state.beta !== data.tested.beta) return null;
    const here = nearest(state.prevalence);
    return { equal: data.tested.equal[here], probability: data.tested.probability[here] };
  };
  // The group of each model: 1 may be the best, 2 may be the best of those that are left, and so on.
  /** @type {Nci["values"]["groups"]} */
  const groups = (measure, prevalence, beta) =>
    data.tested && (measure === "pr_auc" || beta === data.tested.beta) ? data.tested[measure][nearest(prevalence)] : [];
  const measures = {
    /** @type {ModelValue<number>} */
    own: (i, eta, beta) => ownBest(i, eta, beta)?.[3] ?? null,
    f_beta: atThreshold,
  };
  nci.state = state;
  nci.values = {
    data,
    ownBest,
    atThreshold,
    area,
    told,
    measures,
    bounded,
    ownBounds,
    reign,
    certainty,
    groups,
    place: new Map(models.map((model, i) => [model, i])),
    fName: () => `F${nci.formatGrid(state.beta)}`,
    at: `at threshold ${nci.formatThreshold(data.threshold)}`,
    heading: (over) =>
      over === "prevalence"
        ? `${nci.values.fName()} over prevalence`
        : `F-beta over beta at prevalence η = ${nci.formatGrid(state.prevalence)}`,
    inWords: {
      prevalence: (eta) => (eta < 0.4 ? `${nci.oneIn(eta)} (η = ${nci.formatGrid(eta)})` : `η = ${nci.formatGrid(eta)}`),
      beta: (beta) =>
        beta === 1
          ? "1, recall and precision count equally"
          : `${nci.formatGrid(beta)}, ${beta > 1 ? "recall" : "precision"} counts more`,
    },
  };
})();
