"use strict";
// The ranked tables, shown one at a time. Print, and a page without scripts, show all of them.
nci.startPanels = () => {
  const bar = document.getElementById("table-switch");
  const buttons = [...bar.querySelectorAll("[aria-controls]")];
  const show = (/** @type {Element} */ chosen) => {
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button === chosen));
      document.getElementById(button.getAttribute("aria-controls")).classList.toggle("off", button !== chosen);
    }
  };
  for (const button of buttons) button.addEventListener("click", () => show(button));
  document.getElementById("panel-live").hidden = false;
  bar.hidden = buttons.length < 2;
  show(buttons[0]);
};
