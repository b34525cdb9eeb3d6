"use strict";
// Tables that sort by a click on a header, and that show only their first rows until expanded.
(() => {
  const SHOWN = 12;

  const key = (/** @type {HTMLTableCellElement} */ cell) => {
    const number = /** @type {HTMLDataElement} */ (cell.querySelector("data[value]"));
    if (number) return Number(number.value);
    const text = cell.textContent.trim();
    if (text === nci.UNDEFINED || text === "") return null;
    const plain = Number(text.replaceAll(",", ""));
    return Number.isNaN(plain) ? text : plain;
  };
  /** @type {(a: number | string, b: number | string) => number} */
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  const body = (/** @type {PageTable} */ table) => table.tBodies[0];

  const sort = (/** @type {PageTable} */ table) => {
    const { column, sign } = table.nciSort;
    /** @type {[string | number, HTMLTableRowElement][]} */
    const rows = [...body(table).rows].map((row) => [key(row.cells[column]), row]);
    // Undefined values come last in both directions; equal keys keep their order.
    rows.sort(([a], [b]) => (a === null ? (b === null ? 0 : 1) : b === null ? -1 : sign * compare(a, b)));
    body(table).append(...rows.map(([, row]) => row));
    limit(table);
  };

  const limit = (/** @type {PageTable} */ table) => {
    if (!table.nciMore) return;
    const all = table.nciMore.getAttribute("aria-expanded") === "true";
    [...body(table).rows].forEach((row, i) => row.toggleAttribute("hidden", !all && i >= table.nciShown));
  };

  const heads = (/** @type {PageTable} */ table) => {
    const row = table.tHead.rows[table.tHead.rows.length - 1];
    // The head of the names may span both rows of heads.
    const spanning = [...table.tHead.rows[0].cells].filter((cell) => cell.rowSpan > 1);
    return table.tHead.rows.length > 1 ? [...spanning, ...row.cells] : [...row.cells];
  };

  const makeSortable = (/** @type {PageTable} */ table) => {
    const cells = heads(table);
    cells.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const names = [...body(table).rows].some((row) => typeof key(row.cells[column]) === "string");
        const first = names || head.dataset.first === "ascending" ? 1 : -1;
        const again = table.nciSort?.column === column;
        table.nciSort = { column, sign: again ? -table.nciSort.sign : first };
        cells.forEach((cell) => cell.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", table.nciSort.sign > 0 ? "ascending" : "descending");
        sort(table);
      });
    });
  };

  const makeShort = (/** @type {PageTable} */ table) => {
    const most = /** @type {HTMLElement} */ (table.closest("[data-shown]"))?.dataset.shown;
    const shown = Number(most ?? SHOWN);
    const count = body(table).rows.length;
    if (count <= shown + 1) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "more";
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-controls", table.id);
    const say = () => {
      const all = button.getAttribute("aria-expanded") === "true";
      button.textContent = all ? `Show the first ${shown} only` : `Show all ${count.toLocaleString("en")} rows`;
      button.dataset.paper = all ? "" : `The first ${shown} of ${count.toLocaleString("en")} rows`;
    };
    button.addEventListener("click", () => {
      button.setAttribute("aria-expanded", String(button.getAttribute("aria-expanded") !== "true"));
      say();
      limit(table);
    });
    say();
    table.nciMore = button;
    table.nciShown = shown;
    (table.closest(".scroll") ?? table).after(button);
    limit(table);
  };

  // Keep the selected order when the numbers of a table change.
  nci.refreshTable = (table) => (table.nciSort ? sort(table) : limit(table));
  nci.startTables = () => {
    for (const table of document.querySelectorAll("table")) {
      if (!table.tHead || body(table).rows.length < 2) continue;
      makeSortable(table);
      makeShort(table);
    }
  };
})();
