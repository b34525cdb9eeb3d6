"use strict";
// The models at the top of the page: a click highlights one in every chart and table.
(() => {
  const chips = [...document.querySelectorAll("button[data-model]")];
  const darkColours = JSON.parse(document.getElementById("dark-colours").textContent);
  const { data } = nci.values;
  const place = new Map(data.models.map((name, i) => [name, i]));
  const lit = new Set(); // names of models, as the tables have them
  nci.legend = chips.length > 0;
  // Charts may use encoded names.
  nci.highlighted = () => [...lit].map((name) => data.drawn[place.get(name)]);

  const nameOf = (/** @type {Element} */ chip) => chip.lastChild.textContent;
  const show = () => {
    for (const chip of chips) chip.setAttribute("aria-pressed", String(lit.has(nameOf(chip))));
    for (const box of nci.chartBoxes) {
      const view = nci.chartOf(box)?.view;
      view?.signal("highlighted", nci.highlighted()).runAsync();
    }
    for (const row of document.querySelectorAll(".ranked tbody tr")) {
      const name = /** @type {HTMLTableRowElement} */ (row).cells[0]?.textContent;
      row.classList.toggle("faded", lit.size > 0 && !lit.has(name));
    }
  };
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      if (!lit.delete(nameOf(chip))) lit.add(nameOf(chip));
      show();
    });
  }
  nci.paintLegend = (dark) => {
    for (const chip of chips) {
      const line = chip.querySelector("line");
      line.dataset.light ??= line.getAttribute("stroke");
      line.setAttribute("stroke", dark ? (darkColours[line.dataset.light] ?? line.dataset.light) : line.dataset.light);
    }
  };
})();
