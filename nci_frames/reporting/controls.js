"use strict";
// The sliders, the field beside them, and the buttons of named prevalences.
(() => {
  const { data, eta, inWords } = nci.values;
  const { state } = nci;
  const $ = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (document.getElementById(id));
  const chips = [...document.querySelectorAll("[data-prevalence]")].map((chip) => /** @type {HTMLElement} */ (chip));

  let waiting = false;
  const show = () => {
    waiting = false;
    nci.say();
    nci.fillRanking();
    $("live-place").textContent = inWords(eta());
    for (const chip of chips) {
      chip.setAttribute("aria-pressed", String(Math.abs(Number(chip.dataset.prevalence) / eta() - 1) < 1e-6));
    }
    nci.chartBoxes.forEach((box) => nci.showLive(box));
  };
  /** @type {(name: Axis, place: number, written?: number) => void} */
  const set = (name, place, written = 0) => {
    state[name] = place;
    const moved = written > 0 && Math.abs(written / eta() - 1) > 1e-5;
    const there = inWords(eta()) + (moved ? `, the computed place nearest to ${written}` : "");
    const words = name === "prevalence" ? there : data.asked.words[place];
    const slider = $(`${name}-slider`);
    slider.value = String(place);
    slider.setAttribute("aria-valuetext", words);
    $(`${name}-words`).textContent = words;
    if (name === "prevalence") $("prevalence-number").value = String(Number(eta().toPrecision(6)));
    if (!waiting) requestAnimationFrame(show);
    waiting = true;
  };
  // The answer is known at the places of the slider: round a number to the nearest place.
  const nearest = (/** @type {number} */ value) => {
    const far = data.prevalence.map((at) => Math.abs(data.own ? at - value : Math.log(at / value)));
    return far.indexOf(Math.min(...far));
  };
  const several = data.asked.words.length > 1;
  /** @type {[Axis, number][]} */
  const axes = [["prevalence", data.prevalence.length], ["asked", data.asked.words.length]];
  for (const [name, places] of axes) {
    const slider = $(`${name}-slider`);
    slider.max = String(places - 1);
    slider.addEventListener("input", () => {
      set(name, Number(slider.value));
      // For another class, first show the mix of the question.
      if (data.own && name === "asked") set("prevalence", data.own[state.asked]);
    });
  }
  $("prevalence-number").addEventListener("change", (event) => {
    const value = Number(/** @type {HTMLInputElement} */ (event.target).value);
    set("prevalence", value > 0 || (data.own && value === 0) ? nearest(value) : state.prevalence, value);
  });
  for (const chip of chips) chip.addEventListener("click", () => set("prevalence", nearest(Number(chip.dataset.prevalence))));
  nci.startControls = () => {
    $("controls").hidden = false;
    $("asked-control").hidden = !several;
    $("asked-label").textContent = data.asked.label;
    for (const [name] of axes) set(name, state[name]);
    show();
    nci.startTables();
  };
})();
