"use strict";
// The sliders, the fields beside them, and the buttons of named prevalences.
(() => {
  const STEPS = 1000;
  const { data, ownBest, atThreshold, area, inWords } = nci.values;
  const { state } = nci;
  const $ = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (document.getElementById(id));
  /** @type {Axis[]} */
  const axes = ["prevalence", "beta"];
  const chips = [...document.querySelectorAll("[data-prevalence]")].map((chip) => /** @type {HTMLElement} */ (chip));

  /** @type {(range: [number, number, number], step: number) => number} */
  const between = ([low, high], step) => low * (high / low) ** (step / STEPS);
  /** @type {(range: [number, number, number], value: number) => number} */
  const stepOf = ([low, high], value) => Math.round((STEPS * Math.log(value / low)) / Math.log(high / low));
  let asked = false;
  const show = () => {
    asked = false;
    const { prevalence, beta } = state;
    const best = data.models.map((_, i) => ownBest(i, prevalence, beta));
    const values = best.map((point) => point && point[3]);
    const f = data.models.map((_, i) => atThreshold(i, prevalence, beta));
    const areas = data.models.map((_, i) => area(i, prevalence, beta));
    nci.say(best, values, f, areas);
    nci.fillExplorer(best, values, f, areas);
    $("live-place").textContent = `${inWords.prevalence(prevalence)} and β = ${nci.formatGrid(beta)}`;
    for (const chip of chips) {
      chip.setAttribute("aria-pressed", String(Math.abs(Number(chip.dataset.prevalence) / prevalence - 1) < 1e-6));
    }
    nci.fillTables();
    nci.chartBoxes.forEach((box) => nci.showLive(box));
  };
  const set = (/** @type {Axis} */ name, /** @type {number} */ value) => {
    const [low, high] = data[name];
    state[name] = Math.min(Math.max(value, low), high);
    const slider = $(`${name}-slider`);
    slider.value = String(stepOf(data[name], state[name]));
    slider.setAttribute("aria-valuetext", inWords[name](state[name]));
    $(`${name}-number`).value = String(Number(state[name].toPrecision(6)));
    $(`${name}-words`).textContent = inWords[name](state[name]);
    if (!asked) requestAnimationFrame(show);
    asked = true;
  };
  for (const name of axes) {
    const slider = $(`${name}-slider`);
    slider.addEventListener("input", () => set(name, between(data[name], Number(slider.value))));
    $(`${name}-number`).addEventListener("change", (event) => {
      const value = Number(/** @type {HTMLInputElement} */ (event.target).value);
      set(name, value > 0 ? value : state[name]);
    });
  }
  for (const chip of chips) chip.addEventListener("click", () => set("prevalence", Number(chip.dataset.prevalence)));
  nci.startControls = () => {
    $("controls").hidden = false;
    nci.startRanking();
    for (const name of axes) set(name, state[name]);
    show();
  };
})();
