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
  if (size >= 99.95) text = Math.round(value).toLocaleString("en");
  else if (size >= 9.995) text = value.toFixed(1);
  else if (value === 0 || size >= 0.0995) text = value.toFixed(3);
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

nci.oneIn = (eta) => `1 in ${Number((1 / eta).toPrecision(2)).toLocaleString("en")}`;
