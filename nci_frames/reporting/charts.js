"use strict";
// Draws each chart from the JSON beside it. `ast` makes Vega interpret its expressions instead of
// compiling them, which the page's security policy would refuse.
(() => {
  const WIDTH = 520; // the width for which the legends were laid out
  const boxes = [...document.querySelectorAll("[data-spec]")].map((box) => /** @type {HTMLElement} */ (box));
  const darkColours = JSON.parse(document.getElementById("dark-colours").textContent);
  /** @type {Map<Element, Chart>} */
  const drawn = new Map();
  let round = 0;

  // Data and domains are not changed, since model names there may look like colours.
  const LITERAL = new Set(["data", "datasets", "domain"]);
  /** @type {(node: Spec) => Spec} */
  const recolour = (node) => {
    if (Array.isArray(node)) return node.map(recolour);
    if (typeof node === "string") return darkColours[node] ?? node;
    if (node === null || typeof node !== "object") return node;
    return Object.fromEntries(Object.entries(node).map(([k, v]) => [k, LITERAL.has(k) ? v : recolour(v)]));
  };

  /** @type {(spec: Spec) => Spec[]} */
  const layers = (spec) => spec.layer?.flatMap((/** @type {Spec} */ part) => [part, ...layers(part)]) ?? [];
  /** @type {(spec: Spec, channel: string) => Spec} */
  const encoding = (spec, channel) =>
    [spec, ...layers(spec)].map((part) => part.encoding?.[channel]).find((e) => e?.scale ?? e?.axis);

  // The state of the controls, as a layer: a rule along an axis, or points at two fields.
  /** @type {(spec: Spec, follows: DOMStringMap) => void} */
  const mark = (spec, { rule, points }) => {
    /** @type {Spec} */
    const live = { data: { name: "live", values: [] } };
    const at = (/** @type {string} */ channel, /** @type {string} */ field) => ({ ...encoding(spec, channel), field, type: "quantitative" });
    if (rule) {
      live.mark = { type: "rule", strokeWidth: 1.75, color: "#1f2328", clip: true };
      live.encoding = { x: at("x", rule) };
    } else {
      const [x, y] = points.split(" ");
      const look = { filled: true, size: 110, color: "#1f2328", stroke: "#1f2328", strokeWidth: 2, opacity: 1 };
      live.mark = { type: "point", clip: true, ...look };
      live.encoding = { x: at("x", x), y: at("y", y) };
      if (x === "fpr") live.encoding.color = encoding(spec, "color");
    }
    spec.layer.push(live);
  };

  // The page has one legend for all charts: highlighting a model there fades all others in each chart.
  const LIT = "!length(highlighted) || indexof(highlighted, datum.model) >= 0";
  const FILLED = new Set(["area", "bar", "rect"]);
  const followLegend = (/** @type {Spec} */ spec) => {
    const lit = (/** @type {number} */ value) => ({ test: LIT, value });
    /** @type {Spec[]} */
    const params = spec.params ?? [];
    const bound = params.filter((param) => param.bind === "legend").map((param) => param.name);
    spec.params = params.filter((param) => !bound.includes(param.name));
    spec.params.push({ name: "highlighted", value: nci.highlighted() });
    for (const part of [...layers(spec), ...layers(spec.spec ?? {})]) {
      const channels = part.encoding ?? {};
      for (const channel of Object.values(channels)) {
        if (channel.field === "model" && channel.scale) channel.legend = null;
        if (bound.includes(channel.condition?.param)) channel.condition = lit(channel.condition.value);
      }
      if (FILLED.has(part.mark?.type) && channels.color?.field === "model" && !channels.opacity?.condition) {
        channels.fillOpacity = { condition: lit(1), value: 0.15 };
      }
    }
  };

  // A folded box has no width: it gets the width of the first box, and its own when it is opened.
  const roomOf = (/** @type {HTMLElement} */ box) => box.clientWidth || boxes[0].clientWidth || WIDTH;
  const prepare = (/** @type {HTMLElement} */ box) => {
    const room = roomOf(box);
    let spec = JSON.parse(document.getElementById(box.dataset.spec).textContent);
    for (const name in spec.datasets) spec.datasets[name] = nci.unpack(spec.datasets[name]);
    if (box.dataset.chosen) {
      const rows = nci.segmentRows();
      // Altair moves shared data of all layers to the top level.
      const { name } = layers(spec).find((part) => part.name === "points").data ?? spec.data;
      spec.datasets[name] = rows;
      spec.height = 18 * rows.length + 10;
    }
    if (box.dataset.rule || box.dataset.points) mark(spec, box.dataset);
    // A plot as narrow as the page has no room for names inside.
    if (room < 420 && spec.layer && spec.width === "container") spec.layer = spec.layer.filter((/** @type {Spec} */ part) => !/^(names|outlines)$/.test(part.name));
    if (nci.legend) followLegend(spec);
    spec.config.axis.titleLimit = room - 70;
    if (spec.spec) {
      // A single panel has the row to itself; square ones stay so.
      const most = spec.columns > 1 || spec.spec.width === spec.spec.height ? WIDTH : 1.25 * WIDTH;
      spec.columns = Math.max(1, Math.min(spec.columns ?? 3, Math.floor(room / 230)));
      spec.spec.width = Math.min(most, Math.floor((room - 90) / spec.columns - 30));
    }
    // The heading names the metric, since the controls may change the question.
    if (box.dataset.recomputed === "answer") for (const part of layers(spec)) if (part.encoding?.x?.title) part.encoding.x.title = null;
    if (document.documentElement.dataset.theme === "dark") spec = recolour(spec);
    const legend = spec.config.legend;
    for (const { encoding: channels } of layers(spec)) {
      for (const channel of Object.values(channels ?? {})) {
        if (room < 420 && channel?.legend?.orient === "right") channel.legend.orient = "bottom";
      }
    }
    legend.columns = Math.max(1, Math.floor((legend.columns * room) / WIDTH));
    // The legend starts below the axis, with symbols to the left of the names.
    legend.labelLimit = Math.min(legend.labelLimit, room - 110);
    return spec;
  };

  const draw = async (/** @type {HTMLElement} */ box) => {
    const spec = prepare(box);
    // Vega tags the rows that it is given, and would take a copy with a tag for the row itself.
    const rows = new Map(Object.entries(structuredClone(spec.datasets ?? {})));
    const shapes = [spec, ...layers(spec)].filter((part) => spec.datasets?.[part.data?.name] && !/^(text|rule)$/.test(part.mark?.type ?? part.mark));
    const sets = new Map();
    for (const { data, name } of shapes) if (!sets.has(data.name) || name === "lines") sets.set(data.name, name ?? "");
    const source = [...sets.keys()][0];
    const models = encoding(spec, "color")?.scale?.domain ?? [];
    try {
      const { view } = await vegaEmbed(box, spec, { ast: true, renderer: "svg", actions: false });
      // The box has the description; a screen reader should not read every mark.
      box.querySelector("svg").setAttribute("aria-hidden", "true");
      drawn.get(box)?.view.finalize();
      drawn.set(box, { view, source, sets, models, rows });
      nci.showLive?.(box);
      box.dataset.drawn = String(box.clientWidth);
      // Release the room reserved for the chart.
      box.style.minHeight = "0";
    } catch (error) {
      box.textContent = "This chart cannot be drawn here; its numbers are in the tables.";
      console.error(error);
    }
  };

  // One after the other, so that the page stays responsive.
  nci.drawCharts = async () => {
    const mine = ++round;
    for (const box of boxes) {
      await new Promise((next) => setTimeout(next));
      if (mine !== round) return;
      await draw(box);
    }
  };
  nci.drawChart = draw;
  const opened = (/** @type {Event} */ event) => {
    const inside = boxes.filter((box) => /** @type {Element} */ (event.target).contains(box));
    for (const box of inside) if (box.dataset.drawn && Number(box.dataset.drawn) !== box.clientWidth) draw(box);
  };
  document.addEventListener("toggle", opened, true);
  nci.chartBoxes = boxes;
  nci.chartOf = (box) => drawn.get(box);
})();
