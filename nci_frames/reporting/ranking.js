"use strict";
// The ranked tables: at the prevalence and beta of the sliders, and over a grid of one of them.
(() => {
  const { data, place, told, measures, groups, fName, heading } = nci.values;
  const { models } = data;

  /** @type {(cell: HTMLTableCellElement, value: number, rank?: number, supported?: boolean, group?: number) => void} */
  const fill = (cell, value, rank, supported = true, group = null) => {
    const number = document.createElement("data");
    number.value = String(value);
    number.textContent = nci.formatValue(value);
    if (!supported && value !== null) {
      const pale = document.createElement("span");
      pale.style.opacity = "0.75";
      pale.append(number, " ?");
      cell.replaceChildren(pale);
      cell.style.backgroundColor = "";
      return;
    }
    cell.replaceChildren(value === null ? nci.UNDEFINED : number);
    if (rank === 1) cell.replaceChildren(nci.strong(number));
    if (rank !== undefined) {
      const small = document.createElement("small");
      small.textContent = String(rank ?? "");
      cell.append(small);
    }
    if (group) {
      const letter = document.createElement("sup");
      letter.textContent = nci.formatGroup(group);
      cell.append(letter);
    }
    const shade = 0.42 * Math.min(Math.max(value, 0), 1);
    cell.style.backgroundColor = rank === undefined ? "" : `rgba(0, 114, 178, ${shade.toFixed(3)})`;
  };

  const explorer = /** @type {PageTable} */ (document.getElementById("table-live"));
  /** @type {HTMLTableRowElement[]} */
  let rows = [];
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
    rows = [...explorer.tBodies[0].rows];
  };
  nci.fillExplorer = (best, values, f, areas) => {
    const [bestRanks, fRanks, areaRanks] = [values, f, areas].map(nci.ranks);
    const [own, at, area] = /** @type {const} */ (["own", "f_beta", "pr_auc"]).map((measure) =>
      groups(measure, nci.state.prevalence, nci.state.beta),
    );
    rows.forEach((row, i) => {
      const [threshold, tpr, fpr] = best[i] ?? [undefined, null, null];
      row.cells[1].textContent = String(bestRanks[i] ?? nci.UNDEFINED);
      row.cells[2].textContent = best[i] ? nci.formatThreshold(threshold) : nci.UNDEFINED;
      const { prevalence, beta } = nci.state;
      const known = told.own(i, prevalence, beta);
      fill(row.cells[3], values[i], bestRanks[i], known, own[i]);
      fill(row.cells[4], best[i] && nci.precision(tpr, fpr, prevalence), undefined, known);
      fill(row.cells[5], tpr);
      fill(row.cells[6], f[i], fRanks[i], told.f_beta(i, prevalence, beta), at[i]);
      fill(row.cells[7], areas[i], areaRanks[i], told.pr_auc(i, prevalence, beta), area[i]);
    });
    for (const name of explorer.querySelectorAll("[data-f-name]")) name.textContent = fName();
    nci.refreshTable(explorer);
  };

  // Tables whose columns are a grid of the one, and that depend on the other.
  /** @type {PageTable[]} */
  const ranked = [...document.querySelectorAll("table[data-live]")].map((table) => /** @type {PageTable} */ (table));
  const readRows = (/** @type {PageTable} */ table) => {
    table.nciLive = JSON.parse(document.getElementById(table.dataset.live).textContent);
    table.nciRows = [...table.tBodies[0].rows].map((row, i) => [row, place.get(table.nciLive.rows[i])]);
  };
  const fillTable = (/** @type {PageTable} */ table) => {
    const { grid, over, measure } = table.nciLive;
    grid.forEach((at, column) => {
      const here = { ...nci.state, [over]: at };
      const values = models.map((_, i) => measures[measure](i, here.prevalence, here.beta));
      const ranks = nci.ranks(values);
      const letters = groups(measure, here.prevalence, here.beta);
      for (const [row, i] of table.nciRows) {
        fill(row.cells[column + 1], values[i], ranks[i], told[measure](i, here.prevalence, here.beta), letters[i]);
      }
    });
    table.querySelector("[data-what]").textContent = heading(over);
    nci.refreshTable(table);
  };
  nci.fillTables = () => ranked.forEach(fillTable);
  nci.startRanking = () => {
    buildExplorer();
    ranked.forEach(readRows);
    nci.startTables();
    explorer.tHead.rows[0].cells[1].querySelector("button").click();
  };
})();
