"use strict";
// The theme, and the order in which the page starts.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const setTheme = (/** @type {string} */ theme) => {
    root.dataset.theme = theme;
    button.textContent = theme === "dark" ? "Light page" : "Dark page";
    nci.paintLegend(theme === "dark");
  };
  setTheme(system.matches ? "dark" : "light");
  button.hidden = false;
  button.addEventListener("click", () => {
    setTheme(root.dataset.theme === "dark" ? "light" : "dark");
    nci.drawCharts();
  });
  system.addEventListener("change", () => {
    setTheme(system.matches ? "dark" : "light");
    nci.drawCharts();
  });
  // Open closed parts for printing.
  /** @type {HTMLDetailsElement[]} */
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details")].filter((details) => !details.open);
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
  });
  nci.startControls();
  nci.startPanels();
  nci.startSegments?.();
  root.dataset.ready = String(performance.now());
  nci.drawCharts();
})();
