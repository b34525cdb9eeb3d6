"use strict";
// The ranked table at the place of the sliders.
(() => {
  const { data, rows } = nci.values;
  const table = /** @type {PageTable} */ (document.getElementById("table-live"));
  /** @type {(row: Row) => string} */
  const against = (row) => {
    if (row.rank === 1) return "best in this log";
    if (row.rank === null) return nci.UNDEFINED;
    if (row.distinguishable === null) return nci.state.asked === data.asked.first ? "cannot be told" : "not tested";
    return row.distinguishable ? "significantly worse" : "not distinguishable";
  };
  const share = (/** @type {Row[string]} */ value) => nci.formatValue(/** @type {number} */ (value));
  nci.fillRanking = () => {
    table.tBodies[0].replaceChildren(
      ...rows().map((row) => {
        const line = document.createElement("tr");
        const head = document.createElement("th");
        head.scope = "row";
        head.textContent = data.models[Number(row.model)] ?? "null";
        line.append(head);
        const bounds = row.lower === null ? nci.UNDEFINED : `${share(row.lower)} to ${share(row.upper)}`;
        const doubt = row.value !== null && row.supported === false ? " ?" : "";
        /** @type {[string, Row[string]][]} */
        const cells = [
          [String(row.rank ?? nci.UNDEFINED), row.rank],
          [row.threshold === null ? nci.UNDEFINED : nci.formatThreshold(Number(row.threshold)), row.threshold],
          [share(row.value) + doubt, row.value],
          [bounds, row.lower],
          [share(row.precision) + (row.precision === null ? "" : doubt), row.precision],
          [share(row.recall), row.recall],
          [share(row.pos_fraction), row.pos_fraction],
        ];
        for (const [text, value] of cells) {
          const cell = line.insertCell();
          cell.className = "number";
          if (value === null) cell.textContent = text;
          else {
            const data = document.createElement("data");
            data.value = String(value);
            data.textContent = text;
            cell.append(data);
          }
        }
        line.cells[3].style.fontWeight = row.rank === 1 ? "bold" : "";
        line.insertCell().textContent = against(row);
        return line;
      }),
    );
    nci.refreshTable(table);
  };
})();
