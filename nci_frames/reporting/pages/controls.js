"use strict";
// The sliders: they update the ranking, the tables, the charts and the sentence above them.
(() => {
  const data = JSON.parse(document.getElementById("live-data").textContent);
  const { models } = data;
  const STEPS = 1000;
  const state = { prevalence: data.prevalence[2], beta: data.beta[2] };
  const $ = (id) => document.getElementById(id);
  const ranked = [...document.querySelectorAll("table[data-live]")];

  const rates = data.points.map((p) => (p && p[2] && p[3] ? [p[0] / p[2], p[1] / p[3]] : null));
  // The threshold that is best on the log, with the value that such a threshold has on other rows.
  const ownBest = (i, eta, beta) => {
    const point = nci.bestPoint(data.best[i], data.classes[i], eta, beta);
    if (!point || !data.judged) return point;
    const ratio = nci.judgedRatio(data.judged, data.judged.ratios[i], eta, beta);
    return [...point.slice(0, 3), ratio === null ? null : ratio * point[3], ...point.slice(4)];
  };
  const atThreshold = (i, eta, beta) => rates[i] && nci.fBeta(...rates[i], eta, beta);
  const area = (i, eta) => data.areas[i] && nci.area(data.areas[i], data.prevalence, eta);
  const all = (measure) => models.map((_, i) => measure(i));

  // The rule of support: 25 true positives beside the negatives of the log, or 100 false positives.
  const supports = (negatives, tpr, fpr, eta) =>
    negatives * fpr >= 100 * (1 - 1e-9) || eta >= 25 / (25 + negatives * tpr);
  const told = {
    own: (i, eta, beta) => {
      const point = ownBest(i, eta, beta);
      return !point || supports(data.classes[i][1], point[1], point[2], eta);
    },
    f_beta: (i, eta) => !rates[i] || supports(data.points[i][3], ...rates[i], eta),
    pr_auc: (i, eta) => data.lowest[i] !== null && eta >= data.lowest[i],
  };

  const strong = (...inside) => {
    const element = document.createElement("strong");
    element.append(...inside);
    return element;
  };

  // ---- tables

  const fill = (cell, value, rank, supported = true) => {
    const number = document.createElement("data");
    number.value = value;
    number.textContent = nci.formatValue(value);
    if (!supported && value !== null) {
      const pale = document.createElement("span");
      pale.style.opacity = 0.75;
      pale.append(number, " ?");
      cell.replaceChildren(pale);
      cell.style.backgroundColor = "";
      return;
    }
    cell.replaceChildren(value === null ? nci.UNDEFINED : number);
    if (rank === 1) cell.replaceChildren(strong(number));
    if (rank !== undefined) {
      const small = document.createElement("small");
      small.textContent = rank ?? "";
      cell.append(small);
    }
    const shade = 0.42 * Math.min(Math.max(value, 0), 1);
    cell.style.backgroundColor = rank === undefined ? "" : `rgba(0, 114, 178, ${shade.toFixed(3)})`;
  };

  const fName = () => `F${nci.formatGrid(state.beta)}`;
  const explorer = $("table-live");
  const buildExplorer = () => {
    explorer.tBodies[0].replaceChildren(
      ...models.map((model) => {
        const row = document.createElement("tr");
        const head = document.createElement("th");
        head.scope = "row";
        head.textContent = model ?? "null";
        row.append(head);
        for (let i = 0; i < 7; i++) row.insertCell().className = "number";
        return row;
      }),
    );
    explorer.nciRows = [...explorer.tBodies[0].rows];
  };
  const fillExplorer = (best, f, areas) => {
    const values = best.map((point) => point && point[3]);
    const [bestRanks, fRanks, areaRanks] = [values, f, areas].map(nci.ranks);
    explorer.nciRows.forEach((row, i) => {
      const [threshold, tpr, fpr] = best[i] ?? [undefined, null, null];
      row.cells[1].textContent = bestRanks[i] ?? nci.UNDEFINED;
      row.cells[2].textContent = best[i] ? nci.formatThreshold(threshold) : nci.UNDEFINED;
      const { prevalence, beta } = state;
      const known = told.own(i, prevalence, beta);
      fill(row.cells[3], values[i], bestRanks[i], known);
      fill(row.cells[4], best[i] && nci.precision(tpr, fpr, prevalence), undefined, known);
      fill(row.cells[5], tpr);
      fill(row.cells[6], f[i], fRanks[i], told.f_beta(i, prevalence));
      fill(row.cells[7], areas[i], areaRanks[i], told.pr_auc(i, prevalence));
    });
    for (const name of explorer.querySelectorAll("[data-f-name]")) name.textContent = fName();
    nci.refreshTable(explorer);
    return values;
  };

  // Ranked tables whose columns are a grid of the one, and that depend on the other.
  const measures = { own: (i, eta, beta) => ownBest(i, eta, beta)?.[3] ?? null, f_beta: atThreshold };
  const place = new Map(models.map((model, i) => [model, i]));
  // Charts cannot hold every name as it is.
  const drawnPlace = new Map(data.drawn.map((name, i) => [name, i]));
  const readRows = (table) => {
    table.nciLive = JSON.parse($(table.dataset.live).textContent);
    table.nciRows = [...table.tBodies[0].rows].map((row, i) => [row, place.get(table.nciLive.rows[i])]);
  };
  const heading = (over) =>
    over === "prevalence"
      ? `${fName()} over prevalence`
      : `F-beta over beta at prevalence η = ${nci.formatGrid(state.prevalence)}`;
  const fillTable = (table) => {
    const { grid, over, measure } = table.nciLive;
    grid.forEach((at, column) => {
      const here = { ...state, [over]: at };
      const values = all((i) => measures[measure](i, here.prevalence, here.beta));
      const ranks = nci.ranks(values);
      for (const [row, i] of table.nciRows) {
        fill(row.cells[column + 1], values[i], ranks[i], told[measure](i, here.prevalence, here.beta));
      }
    });
    table.querySelector("[data-what]").textContent = heading(over);
    nci.refreshTable(table);
  };

  // ---- charts

  const bounded = (i, eta, beta) => {
    const p = data.points[i];
    if (!p || p.length < 8) return {};
    const [tprLow, tprHigh, fprLow, fprHigh] = p.slice(4);
    return { lower: nci.fBeta(tprLow, fprHigh, eta, beta), upper: nci.fBeta(tprHigh, fprLow, eta, beta) };
  };
  // Of F-beta at the own best threshold; wide enough to hold the value that is judged on other rows.
  const ownBounds = (point, eta, beta) => {
    if (!point || point.length < 8 || point[3] === null) return {};
    const [tprLow, tprHigh, fprLow, fprHigh] = point.slice(4);
    return {
      lower: Math.min(nci.fBeta(tprLow, fprHigh, eta, beta), point[3]),
      upper: Math.max(nci.fBeta(tprHigh, fprLow, eta, beta), point[3]),
    };
  };
  const recompute = (measure) => (row) => {
    const i = drawnPlace.get(row.model);
    const [eta, beta] = [row.prevalence ?? state.prevalence, row.beta ?? state.beta];
    if (measure === "own") {
      const point = ownBest(i, eta, beta);
      const bounds = "lower" in row ? ownBounds(point, eta, beta) : {};
      return { ...row, value: point && point[3], threshold: point && point[0], supported: told.own(i, eta, beta), ...bounds };
    }
    return { ...row, value: atThreshold(i, eta, beta), ...("lower" in row ? bounded(i, eta, beta) : {}) };
  };
  const livePoints = {
    "odds beta": () => [{ odds: state.prevalence / (1 - state.prevalence), beta: state.beta }],
    "fpr tpr": (shown) =>
      shown.flatMap((model) => {
        const point = ownBest(drawnPlace.get(model), state.prevalence, state.beta);
        return point && point[2] > 0 ? [{ model, fpr: point[2], tpr: point[1] }] : [];
      }),
  };
  const at = `at threshold ${nci.formatThreshold(data.threshold)}`;
  // F-beta over one of the two depends on the other.
  const other = { beta: "prevalence", prevalence: "beta" };
  nci.showLive = (box) => {
    const chart = nci.chartOf(box);
    const { rule, points, recomputed, measure } = box.dataset;
    if (!chart || !(rule || points || recomputed)) return;
    if (rule || points) chart.view.data("live", rule ? [{ [rule]: state[rule] }] : livePoints[points](chart.models));
    if (recomputed) {
      chart.view.data(chart.source, chart.rows.map(recompute(measure)));
      const both = recomputed === "both";
      const place = `at prevalence η = ${nci.formatGrid(state.prevalence)}`;
      $(`${box.dataset.spec}-title`).textContent = both ? `${fName()} of each model, ${place}` : heading(other[recomputed]);
      $(`${box.dataset.spec}-subtitle`).textContent = measure === "own" ? data.own : at;
    }
    chart.view.runAsync();
  };

  // ---- the sentence

  const leaders = (values) => {
    const ranks = nci.ranks(values);
    return models.filter((_, i) => ranks[i] === 1);
  };
  const some = (names) =>
    names.slice(0, 3).map((name) => name ?? "null").join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
  // The prevalences between which the same model stays the best, at the beta of the slider.
  const reign = () => {
    const lambda = (1 - state.prevalence) / state.prevalence / state.beta ** 2;
    const spans = data.decisions.map(([start, end, model]) => [start, end ?? Infinity, model]);
    const here = Math.max(0, spans.findIndex(([start, end]) => start <= lambda && lambda < end));
    let [first, last] = [here, here];
    while (first > 0 && spans[first - 1][2] === spans[here][2]) first--;
    while (last < spans.length - 1 && spans[last + 1][2] === spans[here][2]) last++;
    const eta = (border) => 1 / (1 + border * state.beta ** 2);
    return {
      model: models[spans[here][2]],
      above: first > 0 ? [eta(spans[first][0]), models[spans[first - 1][2]]] : null,
      below: last < spans.length - 1 ? [eta(spans[last][1]), models[spans[last + 1][2]]] : null,
    };
  };
  // Which models may be the best, and how often each is, at the prevalence tested that is nearest.
  const certainty = () => {
    if (!data.tested || state.beta !== data.tested.beta) return null;
    const { prevalence, equal, probability } = data.tested;
    const far = prevalence.map((eta) => Math.abs(Math.log(eta / state.prevalence)));
    const here = far.indexOf(Math.min(...far));
    return { equal: equal[here], probability: probability[here] };
  };
  const say = (best, values, f, areas) => {
    const sentence = $("live-answer");
    const winners = leaders(values);
    if (!winners.length) {
      sentence.replaceChildren("No model has a defined value here.");
      return;
    }
    const first = place.get(winners[0]);
    const [threshold, tpr, fpr, value] = best[first];
    if (!told.own(first, state.prevalence, state.beta)) {
      const needed = tpr ? (25 / tpr) * (1 / state.prevalence - 1) : Infinity;
      const enough = Number.isFinite(needed)
        ? `about ${Number(needed.toPrecision(1)).toLocaleString("en")} negatives would be needed`
        : "no positive reaches the threshold";
      sentence.replaceChildren(strong("This log cannot tell"), `: ${enough}. Highest ${fName()} in this log: ${some(winners)}.`);
      return;
    }
    const { lower, upper } = ownBounds(best[first], state.prevalence, state.beta);
    const range = lower < upper ? ` (${nci.formatValue(lower)} to ${nci.formatValue(upper)})` : "";
    const one = winners.length === 1;
    const parts = [
      `At ${words.prevalence(state.prevalence)}${one ? ", use " : ": "}`,
      strong(some(winners)),
      one ? ` at threshold ${nci.formatThreshold(threshold)}: ` : " tie: ",
      `${fName()} ${nci.formatValue(value)}${range}.`,
    ];
    const sure = certainty();
    if (sure) {
      const others = sure.equal.map((i) => models[i]).filter((model) => !winners.includes(model));
      if (others.length) parts.push(` Not distinguishable from ${one ? "it" : "them"}: ${some(others)}.`);
      const share = winners.reduce((sum, model) => sum + sure.probability[place.get(model)], 0);
      if (models.length > 1 && fpr > 0) parts.push(` Best in ${nci.formatPercent(share)} of resampled logs.`);
      // No resampled log has a false positive either, so this share would be too high.
      if (fpr === 0) parts.push(" No false positive was seen: rely on the bounds.");
    }
    if (one) {
      const { model, below, above } = reign();
      const turns = [];
      if (below) turns.push(`below η = ${nci.formatGrid(below[0])} ${some([below[1]])} is better`);
      if (above) turns.push(`above η = ${nci.formatGrid(above[0])} ${some([above[1]])} is better`);
      // The borders are those of this log, on which another model may be ahead.
      const turned = turns.join("; ").replace(/^./, (letter) => letter.toUpperCase());
      if (model === winners[0]) parts.push(` ${turned || "No other model is better at any prevalence"}.`);
    }
    const more = document.createElement("small");
    const precision = nci.formatValue(nci.precision(tpr, fpr, state.prevalence));
    more.textContent =
      (one ? `Precision ${precision}, recall ${nci.formatValue(tpr)}. ` : "") +
      `Best by ${fName()} ${at}: ${some(leaders(f)) || "no model"}; by PR-AUC: ${some(leaders(areas)) || "no model"}.`;
    sentence.replaceChildren(...parts, more);
  };

  // ---- controls

  const between = ([low, high], step) => low * (high / low) ** (step / STEPS);
  const stepOf = ([low, high], value) => Math.round((STEPS * Math.log(value / low)) / Math.log(high / low));
  const words = {
    prevalence: (eta) => (eta < 0.4 ? `${nci.oneIn(eta)} (η = ${nci.formatGrid(eta)})` : `η = ${nci.formatGrid(eta)}`),
    beta: (beta) =>
      beta === 1
        ? "1, recall and precision count equally"
        : `${nci.formatGrid(beta)}, ${beta > 1 ? "recall" : "precision"} counts more`,
  };
  let asked = false;
  const show = () => {
    asked = false;
    const { prevalence, beta } = state;
    const best = all((i) => ownBest(i, prevalence, beta));
    const f = all((i) => atThreshold(i, prevalence, beta));
    const areas = all((i) => area(i, prevalence));
    say(best, fillExplorer(best, f, areas), f, areas);
    $("live-place").textContent = `${words.prevalence(prevalence)} and β = ${nci.formatGrid(beta)}`;
    for (const chip of chips) {
      chip.setAttribute("aria-pressed", String(Math.abs(chip.dataset.prevalence / prevalence - 1) < 1e-6));
    }
    ranked.forEach(fillTable);
    nci.chartBoxes.forEach((box) => nci.showLive(box));
  };
  const set = (name, value) => {
    const [low, high] = data[name];
    state[name] = Math.min(Math.max(value, low), high);
    const slider = $(`${name}-slider`);
    slider.value = stepOf(data[name], state[name]);
    slider.setAttribute("aria-valuetext", words[name](state[name]));
    $(`${name}-number`).value = String(Number(state[name].toPrecision(6)));
    $(`${name}-words`).textContent = words[name](state[name]);
    if (!asked) requestAnimationFrame(show);
    asked = true;
  };
  for (const name of ["prevalence", "beta"]) {
    const slider = $(`${name}-slider`);
    slider.addEventListener("input", () => set(name, between(data[name], Number(slider.value))));
    $(`${name}-number`).addEventListener("change", (event) => {
      const value = Number(event.target.value);
      set(name, value > 0 ? value : state[name]);
    });
  }
  const chips = [...document.querySelectorAll("[data-prevalence]")];
  for (const chip of chips) chip.addEventListener("click", () => set("prevalence", Number(chip.dataset.prevalence)));
  nci.state = state;
  nci.startControls = () => {
    $("controls").hidden = false;
    buildExplorer();
    ranked.forEach(readRows);
    nci.startTables();
    explorer.tHead.rows[0].cells[1].querySelector("button").click();
    set("prevalence", state.prevalence);
    set("beta", state.beta);
    show();
  };
})();
