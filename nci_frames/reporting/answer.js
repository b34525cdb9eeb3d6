"use strict";
// The answer: which model and threshold to use at the prevalence and beta of the sliders, and how sure that is.
(() => {
  const { data, place, told, measures, ownBounds, reign, certainty, groups: groupsOf, fName, at, inWords } = nci.values;
  const { models } = data;

  const leaders = (/** @type {number[]} */ values) => {
    const ranks = nci.ranks(values);
    return models.filter((_, i) => ranks[i] === 1);
  };
  const some = (/** @type {string[]} */ names) =>
    names.slice(0, 3).map((name) => name ?? "null").join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
  // Places of the models, the highest value first; equal values keep the order of the names.
  const bestFirst = (/** @type {number[]} */ values) =>
    models.map((_, i) => i).sort((a, b) => (values[b] ?? -Infinity) - (values[a] ?? -Infinity) || a - b);
  // What is known of the order where the value is not; the words of `known_order`.
  const order = (/** @type {string[]} */ winners, /** @type {number[]} */ values) => {
    const [sure, groups] = [certainty(), groupsOf("own", nci.state.prevalence, nci.state.beta)];
    const one = winners.length === 1;
    const others = bestFirst(values).filter((i) => values[i] !== null && !winners.includes(models[i]));
    const equal = sure ? others.filter((i) => sure.equal.includes(i)) : [];
    const worse = sure ? others.filter((i) => groups[i] > 1 && !equal.includes(i)) : [];
    const untold = sure ? others.filter((i) => !equal.includes(i) && !worse.includes(i)) : [];
    const named = (/** @type {string} */ words, /** @type {number[]} */ those) => (those.length ? `; ${words}: ${some(those.map((i) => models[i]))}` : "");
    const doubts = named(`not distinguishable from ${one ? "it" : "them"}`, equal) + named("too few rows to tell", untold);
    const are = one ? "is" : "are";
    if (!worse.length) return `${doubts ? "Nor can it tell the order: the best" : "The best"} in this log ${are} ${some(winners)}${doubts}.`;
    const whole = worse.length === others.length;
    const all = others.length === 1 ? "the other model" : `all ${others.length} others`;
    const told = whole ? "It can tell the order" : "Of the order it can tell";
    return `${told}: ${some(winners)} ${are} significantly better than ${whole ? all : `${worse.length} of ${others.length} others`}${doubts}.`;
  };
  nci.say = (best, values, f, areas) => {
    const { prevalence, beta } = nci.state;
    const sentence = document.getElementById("live-answer");
    const winners = leaders(values);
    if (!winners.length) {
      sentence.replaceChildren("No model has a defined value here.");
      return;
    }
    const first = place.get(winners[0]);
    const [threshold, tpr, fpr, value] = best[first];
    if (!told.own(first, prevalence, beta)) {
      const needed = tpr ? (25 / tpr) * (1 / prevalence - 1) : Infinity;
      const enough = Number.isFinite(needed)
        ? `about ${Number(needed.toPrecision(1)).toLocaleString("en")} negatives would be needed`
        : "no positive reaches the threshold";
      const where = `At ${inWords.prevalence(prevalence)}, `;
      sentence.replaceChildren(where, nci.strong("this log cannot tell the value"), ` of ${fName()}: ${enough}. `, order(winners, values));
      return;
    }
    const { lower, upper } = ownBounds(best[first], prevalence, beta);
    const range = lower < upper ? ` (${nci.formatValue(lower)} to ${nci.formatValue(upper)})` : "";
    const one = winners.length === 1;
    /** @type {(string | Node)[]} */
    const parts = [
      `At ${inWords.prevalence(prevalence)}${one ? ", use " : ": "}`,
      nci.strong(some(winners)),
      one ? ` at threshold ${nci.formatThreshold(threshold)}: ` : " tie: ",
      `${fName()} ${nci.formatValue(value)}${range}.`,
    ];
    const sure = certainty();
    if (sure) {
      const others = bestFirst(values).filter((i) => sure.equal.includes(i)).map((i) => models[i]).filter((model) => !winners.includes(model));
      if (others.length) parts.push(` Not distinguishable from ${one ? "it" : "them"}: ${some(others)}.`);
      const shares = winners.map((model) => sure.probability[place.get(model)]);
      const share = shares.reduce((sum, each) => sum + each, 0);
      if (models.length > 1 && fpr > 0 && !shares.includes(null)) parts.push(` Best in ${nci.formatPercent(share)} of resampled logs.`);
      // No resampled log has a false positive either, so this share would be too high.
      if (fpr === 0) parts.push(" No false positive was seen: rely on the bounds.");
    }
    if (one) {
      const { model, below, above } = reign();
      // The borders are those of this log. Who is ahead beyond them is judged on other rows, as everything here is.
      const ahead = (/** @type {number} */ eta) => leaders(models.map((_, i) => measures.own(i, eta, beta)));
      /** @type {string[]} */
      const turns = [];
      const turn = (/** @type {string} */ word, /** @type {number} */ border, /** @type {number} */ beyond) => {
        const others = ahead(border * beyond);
        if (others.includes(model)) return;
        turns.push(`${word} η = ${nci.formatGrid(border)} ${some(others)} ${others.length > 1 ? "are" : "is"} better`);
      };
      if (below) turn("below", below[0], 0.999);
      if (above) turn("above", above[0], 1.001);
      const turned = turns.join("; ").replace(/^./, (letter) => letter.toUpperCase());
      const alone = below || above ? "" : "No other model is better at any prevalence";
      if (model === winners[0] && (turned || alone)) parts.push(` ${turned || alone}.`);
    }
    const more = document.createElement("small");
    const precision = nci.formatValue(nci.precision(tpr, fpr, prevalence));
    more.textContent =
      (one ? `Precision ${precision}, recall ${nci.formatValue(tpr)}. ` : "") +
      `Best by ${fName()} ${at}: ${some(leaders(f)) || "no model"}; by PR-AUC: ${some(leaders(areas)) || "no model"}.`;
    sentence.replaceChildren(...parts, more);
  };
})();
