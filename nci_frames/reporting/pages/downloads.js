"use strict";
// The data of a chart as CSV, in which no text is taken for a formula.
(() => {
  const FORMULA = /(^|[;\t\r\n])((?:(?![\t\r\n])[\s\p{Z}\p{C}])*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/gu;
  const guarded = (/** @type {string} */ text) => text.replace(FORMULA, "$1'$2").replace(/^([\t\r\n])/, "'$1");
  const cell = (/** @type {Row[string]} */ value) => {
    if (value === null || value === undefined) return "";
    if (typeof value !== "string") return String(value);
    const text = guarded(value);
    return /[",;\r\n\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  nci.csv = (rows) => {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    return [columns, ...rows.map((row) => columns.map((name) => row[name]))]
      .map((row) => row.map(cell).join(","))
      .join("\n");
  };
  for (const element of document.querySelectorAll("[data-csv]")) {
    const button = /** @type {HTMLElement} */ (element);
    button.hidden = false;
    button.addEventListener("click", () => {
      const chart = nci.chartOf(document.querySelector(`[data-spec="${button.dataset.csv}"]`));
      if (!chart?.source) return;
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([nci.csv(chart.view.data(chart.source))], { type: "text/csv" }));
      link.download = `${button.dataset.csv.replace("spec-", "")}.csv`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }
})();
