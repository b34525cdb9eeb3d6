"use strict";
// Computations of the page from counts, and formats of numbers, without access to the document.
/** @type {Nci} */
const nci = /** @type {any} */ ({});

// As in the library: with shares of precision and recall, beta 0 and infinity need no special cases.
nci.fBeta = (tpr, fpr, eta, beta) => {
  const precisionShare = 1 / (1 + beta * beta);
  const recallShare = 1 / (1 + 1 / (beta * beta));
  const found = eta * tpr;
  const whole = recallShare * eta + precisionShare * (found + (1 - eta) * fpr);
  if (precisionShare === 0) return tpr;
  if (recallShare === 0) return nci.precision(tpr, fpr, eta);
  return whole > 0 ? found / whole : null;
};

// Depends only on FPR/TPR and eta, so that points with equal quotients tie exactly.
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

// Round half to even, like Python; toFixed and toPrecision round half up. A midpoint with n decimals is a whole
// number divided by 2^n, so that 0.45, whose double is slightly larger, is not a midpoint.
/** @type {(value: number, write: (value: number) => string) => string} */
const even = (value, write) => {
  const [up, down] = [write(value), write(value * (1 - Number.EPSILON))];
  const [mantissa, power] = down.split("e");
  const decimals = (mantissa.split(".")[1] ?? "").length + 1 - Number(power ?? 0);
  return up !== down && /[13579](e|$)/.test(up) && Number.isInteger(value * 2 ** decimals) ? down : up;
};
const fixed = (/** @type {number} */ value, /** @type {number} */ digits) => even(value, (near) => near.toFixed(digits));
const precise = (/** @type {number} */ value, /** @type {number} */ digits) => even(value, (near) => near.toPrecision(digits));

nci.formatPart = (value) => (value === null ? nci.UNDEFINED : fixed(value, 3).replace(/^-/, "−"));

// Three significant digits, as in the tables.
nci.formatValue = (value) => {
  if (value === null) return nci.UNDEFINED;
  const size = Math.abs(value);
  let text;
  if (size >= 99.95) text = Number(fixed(value, 0)).toLocaleString("en");
  else if (size >= 9.995) text = fixed(value, 1);
  else if (value === 0 || size >= 0.0995) text = fixed(value, 3);
  else if (size >= 0.000995) text = precise(value, 3);
  else {
    const [mantissa, power] = scientific(value, 2);
    text = `${mantissa} × 10${power}`;
  }
  return text.replace(/^-/, "−");
};

/** @type {(value: number, digits: number, least: number) => string} */
const short = (value, digits, least) => {
  const size = Math.abs(value);
  let text;
  // Two digits of the distance to 1, at least: 0.99995 is not 1.
  if (size > 0.9 && size < 1) digits = Math.max(digits, 1 - Math.floor(Math.log10(1 - size)));
  if (value === 0 || (size >= least && size < 10 ** digits - 0.5)) text = String(digits > 15 ? size : Number(precise(size, digits)));
  else {
    const [mantissa, power] = scientific(size, digits - 1);
    text = Number(mantissa) === 1 ? `10${power}` : `${Number(mantissa)} × 10${power}`;
  }
  return value < 0 ? `−${text}` : text;
};

// A prevalence or beta, without insignificant digits.
nci.formatGrid = (value) => short(value, 3, 0.001);

// The threshold of a score; JSON has no infinity.
nci.formatThreshold = (value) => {
  if (value === null) return "∞";
  return short(value, Number.isInteger(value) && Math.abs(value) < 1e15 ? 15 : 6, 0.0001);
};

nci.oneIn = (eta) => `1 in ${Number(precise(1 / eta, 2)).toLocaleString("en")}`;
