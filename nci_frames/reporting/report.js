"use strict";
// Draws each chart from the JSON beside it. `ast` makes Vega interpret its expressions instead of
// compiling them, which the page's security policy would refuse.
(() => {
  const WIDTH = 520; // the width for which the legend was laid out
  for (const box of document.querySelectorAll("[data-spec]")) {
    const spec = JSON.parse(document.getElementById(box.dataset.spec).textContent);
    const room = box.clientWidth || WIDTH;
    const legend = spec.config.legend;
    legend.columns = Math.max(1, Math.floor((legend.columns * room) / WIDTH));
    // The legend begins under the axis and has its symbols to the left of the names.
    legend.labelLimit = Math.min(legend.labelLimit, room - 110);
    vegaEmbed(box, spec, { ast: true, renderer: "svg", actions: false }).then(
      () => box.setAttribute("data-drawn", "yes"),
      (error) => {
        box.textContent = "This chart cannot be drawn here; its numbers are in the tables.";
        console.error(error);
      },
    );
  }
})();
