"use strict";
// The ranked table at the position of the sliders; its head names the fields.
(() => {
  const { data, rows } = nci.values;
  const table = /** @type {PageTable} */ (document.getElementById("table-live"));
  const fields = [...table.tHead.rows[0].cells].slice(1).map((head) => head.dataset.field);
  /** @type {(row: Row) => string} */
  const against = (row) => {
    if (row.rank === 1) return "best in this log";
    if (row.rank === null) return nci.UNDEFINED;
    if (row.distinguishable === null) return nci.state.asked === data.asked.first && !data.own ? "cannot be told" : "not tested";
    return row.distinguishable ? "significantly worse" : "not distinguishable";
  };
  const share = (/** @type {Row[string]} */ value) => nci.formatValue(/** @type {number} */ (value));
  /** @type {(value: Row[string], told: Row[string]) => string} */
  const doubted = (value, told) => share(value) + (value !== null && told === false ? " ?" : "");
  /** @type {Record<string, (row: Row) => string>} */
  const forms = {
    rank: (row) => String(row.rank ?? nci.UNDEFINED),
    // Only an infinite threshold has no alerts; JSON has no infinity.
    threshold: (row) => (row.threshold === null && row.pos_fraction !== 0 ? nci.UNDEFINED : nci.formatThreshold(/** @type {number | null} */ (row.threshold))),
    value: (row) => doubted(row.value, row.supported),
    lower: (row) => (row.lower === null ? nci.UNDEFINED : `${share(row.lower)} to ${share(row.upper)}`),
    precision: (row) => doubted(row.precision, row.precise),
  };
  nci.fillRanking = () => {
    table.tBodies[0].replaceChildren(
      ...rows().map((row) => {
        const line = document.createElement("tr");
        const head = document.createElement("th");
        head.scope = "row";
        head.textContent = data.models[Number(row.model)] ?? "null";
        line.append(head);
        for (const field of fields) {
          const cell = line.insertCell();
          if (field === "distinguishable") {
            cell.textContent = against(row);
            continue;
          }
          const [text, value] = [forms[field]?.(row) ?? share(row[field]), row[field]];
          cell.className = "number";
          if (value === null) cell.textContent = text;
          else {
            const data = document.createElement("data");
            data.value = String(value);
            data.textContent = text;
            cell.append(data);
          }
          if (field === "value") cell.style.fontWeight = row.rank === 1 ? "bold" : "";
        }
        return line;
      }),
    );
    nci.refreshTable(table);
  };
})();
