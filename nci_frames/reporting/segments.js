"use strict";
// The table of segments (perhaps thousands): sort, search, and select some for the chart.
(() => {
  const source = document.getElementById("segment-data");
  if (!source) return;
  const SHOWN = 12;
  /** @type {SegmentData} */
  const data = JSON.parse(source.textContent);
  const { columns } = data.table;
  const table = /** @type {HTMLTableElement} */ (document.getElementById("segment-table"));
  const search = /** @type {HTMLInputElement} */ (document.getElementById("segment-search"));
  const said = document.getElementById("segment-count");
  const more = document.getElementById("segment-more");
  /** @type {Record<string, Row[string][]>} */
  const values = Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, nci.column(column)]));

  /** @type {(name: string, write?: (value: number) => string) => (i: number) => string} */
  const plain = (name, write) => (i) => {
    const value = values[name][i];
    return value === null ? nci.UNDEFINED : write && typeof value === "number" ? write(value) : String(value);
  };
  /** @type {(name: string, ends: string, write: (value: number) => string) => (i: number) => string} */
  const range = (name, ends, write) => (i) => {
    const [value, low, high] = [name, `${ends}lower`, `${ends}upper`].map((field) => /** @type {number} */ (values[field]?.[i]));
    return write(value) + (low === null ? "" : ` (${write(low)} to ${write(high)})`);
  };
  const doubt = (/** @type {number} */ i) => (values.value[i] !== null && values.supported[i] === false ? " ?" : "");
  const value = range("value", "", nci.formatValue);
  /** @type {[string, string, (i: number) => string][]} */
  const wanted = [
    ["verdict", "verdict", plain("verdict")],
    ["positives", "positives", plain("positives", (value) => value.toLocaleString("en"))],
    ["value", table.dataset.value, (i) => value(i) + doubt(i)],
    ["observed_prevalence", "own prevalence", plain("observed_prevalence", nci.formatGrid)],
    ["field", "prevalence in the field", plain("field", nci.formatGrid)],
    ["due_to_rates", "due to the model", range("due_to_rates", "due_to_rates_", nci.formatPart)],
  ];
  const shown = wanted.filter(([name]) => values[name]);
  const keys = data.keys.map((key, place) => {
    /** @type {[string, string, (i: number) => string]} */
    const column = [`key ${place}`, key, (i) => data.names[place][i] ?? "missing"];
    values[column[0]] = data.names[place];
    return column;
  });
  // One key at a time, or all keys together; the segments of each are contiguous.
  let by = 0;
  const begin = () => data.by.slice(0, by).reduce((sum, { count }) => sum + count, 0);
  const here = () => Array.from({ length: data.by[by].count }, (_, i) => begin() + i);
  const columnsHere = () => [...data.by[by].keys.map((place) => keys[place]), ...shown];
  const numeric = (/** @type {string} */ name) => values[name].some((value) => typeof value === "number");
  const text = values[keys[0][0]].map((_, i) => [...keys, ["verdict", "", plain("verdict")]]
    .map(([name, , write]) => (values[String(name)] && typeof write === "function" ? write(i) : "")).join("\n").toLowerCase());

  let order = here();
  /** @type {{ name: string, sign: number }} */
  let sorted = null;
  let unfolded = false;
  /** @type {Set<number>} */
  const chosen = new Set();
  const drawn = () => (chosen.size ? [...chosen] : here().filter((i) => values.value[i] !== null).slice(0, data.most));

  const sort = () => {
    const column = values[sorted.name];
    // Undefined values come last in both directions; equal values keep the initial order, the worst first.
    order = here().sort((a, b) => {
      const [x, y] = [column[a], column[b]];
      if (x === null || y === null) return x === y ? a - b : x === null ? 1 : -1;
      const by = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
      return sorted.sign * by || a - b;
    });
  };
  const rowOf = (/** @type {number} */ i) => {
    const row = document.createElement("tr");
    row.dataset.segment = String(i);
    const named = data.by[by].keys.length;
    columnsHere().forEach(([name, , write], place) => {
      const cell = document.createElement(place < named ? "th" : "td");
      if (place === 0) {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "pick";
        button.setAttribute("aria-pressed", String(chosen.has(i)));
        button.append(write(i));
        cell.append(button);
      } else if (name === "verdict") {
        cell.append(values.verdict[i] === "worse" ? nci.strong(write(i)) : write(i));
      } else cell.append(write(i));
      if (place < named) cell.setAttribute("scope", "row");
      else if (numeric(name)) cell.className = "number";
      row.append(cell);
    });
    return row;
  };
  const show = () => {
    const asked = search.value.trim().toLowerCase();
    const found = order.filter((i) => text[i].includes(asked));
    const rows = unfolded ? found : found.slice(0, SHOWN);
    table.tBodies[0].replaceChildren(...rows.map(rowOf));
    const { count } = data.by[by];
    const all = `${count.toLocaleString("en")} ${count === 1 ? "segment" : "segments"}`;
    said.textContent = asked ? `${found.length.toLocaleString("en")} of ${all}` : all;
    more.hidden = found.length <= SHOWN;
    more.setAttribute("aria-expanded", String(unfolded));
    more.dataset.paper = unfolded ? "" : `The first ${SHOWN} of ${found.length.toLocaleString("en")} rows`;
    more.textContent = unfolded ? `Show the first ${SHOWN} only` : `Show all ${found.length.toLocaleString("en")} rows`;
  };
  const heads = () => {
    const row = document.createElement("tr");
    for (const [name, title] of columnsHere()) {
      const head = document.createElement("th");
      const button = document.createElement("button");
      head.setAttribute("scope", "col");
      if (numeric(name)) head.className = "number";
      button.type = "button";
      button.className = "sort";
      button.append(title);
      button.addEventListener("click", () => {
        const first = numeric(name) && !["value", "due_to_rates"].includes(name) ? -1 : 1;
        sorted = { name, sign: sorted?.name === name ? -sorted.sign : first };
        for (const cell of row.cells) cell.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", sorted.sign > 0 ? "ascending" : "descending");
        sort();
        show();
      });
      head.append(button);
      row.append(head);
    }
    table.tHead.replaceChildren(row);
  };

  // Data of the chart: values of the model in some segments, in the order of the table.
  nci.segmentRows = () => drawn().sort((a, b) => a - b).map((i, place) => {
    const fields = ["value", "lower", "upper", "supported", "verdict"].map((name) => [name, values[name][i]]);
    return { ...Object.fromEntries(fields), segment: data.labels[i], model: data.by[by].model, place };
  });

  table.tBodies[0].addEventListener("click", (event) => {
    const row = /** @type {HTMLElement} */ (/** @type {Element} */ (event.target).closest("tr"));
    if (!row || getSelection().toString()) return;
    const i = Number(row.dataset.segment);
    if (!chosen.delete(i) && chosen.size < data.most) chosen.add(i);
    row.querySelector(".pick").setAttribute("aria-pressed", String(chosen.has(i)));
    for (const box of nci.chartBoxes) if (box.dataset.chosen) nci.drawChart(box);
  });
  search.addEventListener("input", show);
  more.addEventListener("click", () => {
    unfolded = !unfolded;
    show();
  });
  const bar = document.getElementById("segment-by");
  const showBy = (/** @type {number} */ place) => {
    by = place;
    [...bar.children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === by)));
    document.getElementById("segment-said").textContent = data.by[by].said;
    chosen.clear();
    sorted = null;
    order = here();
    heads();
    show();
  };
  nci.startSegments = () => {
    data.by.forEach((each, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "chip";
      button.append(`by ${each.keys.map((key) => data.keys[key]).join(" and ")}`);
      button.addEventListener("click", () => {
        showBy(place);
        for (const box of nci.chartBoxes) if (box.dataset.chosen) nci.drawChart(box);
      });
      bar.append(button);
    });
    bar.hidden = data.by.length < 2;
    showBy(0);
  };
})();
