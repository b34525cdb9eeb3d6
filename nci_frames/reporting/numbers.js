"use strict";
// What the page computes by itself, from counts, and how it writes numbers. No document is needed here.
/** @type {Nci} */
const nci = /** @type {any} */ ({});

// As in the library: shares of precision and recall keep beta 0 and infinity free of special cases.
nci.fBeta = (tpr, fpr, eta, beta) => {
  const precisionShare = 1 / (1 + beta * beta);
  const recallShare = 1 / (1 + 1 / (beta * beta));
  const found = eta * tpr;
  const whole = recallShare * eta + precisionShare * (found + (1 - eta) * fpr);
  if (precisionShare === 0) return tpr;
  if (recallShare === 0) return nci.precision(tpr, fpr, eta);
  return whole > 0 ? found / whole : null;
};

// By FPR/TPR and eta alone: points with one quotient tie to the last digit.
nci.precision = (tpr, fpr, eta) => {
  const value = 1 / (1 + (1 - eta) * (fpr / tpr / eta));
  return Number.isNaN(value) ? null : value;
};

const logit = (/** @type {number} */ p) => Math.log(p) - Math.log1p(-p);

// The place of a value on an ascending axis: the node below it, and how far it is to the next one.
/** @type {(axis: number[], value: number, scale: (value: number) => number) => [number, number]} */
const between = (axis, value, scale) => {
  let node = 0;
  while (node < axis.length - 2 && axis[node + 1] <= value) node++;
  const [low, high] = [scale(axis[node]), scale(axis[Math.min(node + 1, axis.length - 1)])];
  return [node, high > low ? Math.min(Math.max((scale(value) - low) / (high - low), 0), 1) : 0];
};

// The ratio of F-beta judged on other rows to that of the rows that the threshold was chosen on.
nci.judgedRatio = (judged, ratios, eta, beta) => {
  if (!ratios) return null;
  const [i, x] = between(judged.prevalence, eta, logit);
  const [j, y] = between(judged.beta, beta, Math.log);
  const width = judged.beta.length;
  let sum = 0;
  for (const [row, share] of [[i, 1 - x], [i + 1, x]]) {
    for (const [column, part] of [[j, 1 - y], [j + 1, y]]) {
      if (share * part === 0) continue;
      const ratio = ratios[row * width + column];
      if (ratio === null) return null;
      sum += share * part * ratio;
    }
  }
  return sum;
};

// The operating point of a model with its highest F-beta on these rows: [threshold, tpr, fpr, value], then
// the bounds of its rates, if there are any.
nci.bestPoint = (points, classes, eta, beta) => {
  /** @type {Point} */
  let best = null;
  for (const [threshold, tp, fp, ...bounds] of points) {
    const [positives, negatives] = classes;
    const tpr = tp / positives;
    const fpr = fp / negatives;
    const value = nci.fBeta(tpr, fpr, eta, beta);
    if (value !== null && (best === null || value > best[3])) best = [threshold, tpr, fpr, value, ...bounds];
  }
  return best;
};

// PR-AUC between Chebyshev's points of the logit, by the barycentric formula.
nci.area = (values, [low, high], eta) => {
  const place = (2 * logit(eta) - logit(low) - logit(high)) / (logit(high) - logit(low));
  const count = values.length;
  let above = 0;
  let below = 0;
  for (let j = 0; j < count; j++) {
    const angle = ((2 * j + 1) * Math.PI) / (2 * count);
    const distance = place + Math.cos(angle);
    if (distance === 0) return values[j];
    const weight = ((j % 2 ? -1 : 1) * Math.sin(angle)) / distance;
    above += weight * values[j];
    below += weight;
  }
  return above / below;
};

// Rank 1 is the best value; those that differ by rounding share the smaller rank, as in the library, and what
// is undefined has none.
nci.ranks = (values) => {
  const order = values.filter((value) => value !== null).sort((a, b) => b - a);
  const rank = new Map();
  let leader = 0;
  order.forEach((value, i) => {
    if (order[leader] - value > 8 * Number.EPSILON * Math.abs(order[leader])) leader = i;
    rank.set(value, leader + 1);
  });
  return values.map((value) => (value === null ? null : rank.get(value)));
};

nci.strong = (...inside) => {
  const element = document.createElement("strong");
  element.append(...inside);
  return element;
};

nci.UNDEFINED = "–";
const superscript = (/** @type {number} */ number) =>
  [...String(number)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)])).join("");
const scientific = (/** @type {number} */ value, /** @type {number} */ digits) => {
  const [mantissa, exponent] = value.toExponential(digits).split("e");
  return [mantissa, superscript(Number(exponent))];
};

// Three significant digits, as the tables write them.
nci.formatValue = (value) => {
  if (value === null) return nci.UNDEFINED;
  const size = Math.abs(value);
  let text;
  if (value === 0 || size >= 0.0995) text = value.toFixed(3);
  else if (size >= 0.000995) text = value.toPrecision(3);
  else {
    const [mantissa, power] = scientific(value, 2);
    text = `${mantissa} × 10${power}`;
  }
  return text.replace(/^-/, "−");
};

// A prevalence or beta, without insignificant digits.
nci.formatGrid = (value) => {
  if (value === 0 || value >= 0.001) return String(Number(value.toPrecision(3)));
  const [mantissa, power] = scientific(value, 2);
  const short = mantissa.replace(/\.?0+$/, "");
  return short === "1" ? `10${power}` : `${short} × 10${power}`;
};

// The threshold of a score; JSON has no infinity.
nci.formatThreshold = (value) => (value === null ? "∞" : String(Number(value.toPrecision(6))).replace(/^-/, "−"));

// A share estimated from some hundred draws, which cannot show 0 or 100 %.
nci.formatPercent = (share) => {
  if (share < 0.01) return "< 1 %";
  return share > 0.99 ? "> 99 %" : `${(100 * share).toFixed(0)} %`;
};

nci.oneIn = (eta) => `1 in ${Number((1 / eta).toPrecision(2)).toLocaleString("en")}`;

// Which group a model is in: a may be the best, b may be the best of those that are left, and so on.
nci.formatGroup = (group) => (group ? nci.formatGroup(Math.floor((group - 1) / 26)) + String.fromCharCode(97 + ((group - 1) % 26)) : "");
