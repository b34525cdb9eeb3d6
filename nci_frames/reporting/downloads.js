"use strict";
// The data of a chart as CSV, where no text can be read as a formula.
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
  // Columns that only position shapes.
  const PLACES = new Set(["from", "to", "t", "beta_high", "beta_low", "odds", "place", "eta"]);
  nci.chartCsv = (box) => {
    const chart = nci.chartOf(box);
    if (!chart) return "";
    const sets = [...chart.sets].map(([name, layer]) => {
      // Only rows with a model: shapes for "unknown" have none.
      const rows = chart.view.data(name).filter((row) => (row.model ?? null) !== null);
      return { layer, rows, columns: new Set(rows.flatMap((row) => Object.keys(row)).filter((column) => !PLACES.has(column))) };
    });
    // Leave out data sets whose columns are a subset of another set.
    const whole = sets.filter((set) => set.columns.has("model") &&
      !sets.some((other) => other.columns.size > set.columns.size && [...set.columns].every((column) => other.columns.has(column))));
    const rows = whole.flatMap(({ layer, rows, columns }) =>
      rows.map((row) => {
        const first = { ...(whole.length > 1 && { layer }), model: row.model };
        return { ...first, ...Object.fromEntries([...columns].map((name) => [name, row[name]])) };
      }));
    return nci.csv([...new Map(rows.map((row) => [JSON.stringify(row), row])).values()]);
  };
  for (const element of document.querySelectorAll("[data-csv]")) {
    const button = /** @type {HTMLElement} */ (element);
    button.hidden = false;
    button.addEventListener("click", () => {
      const text = nci.chartCsv(document.querySelector(`[data-spec="${button.dataset.csv}"]`));
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
      link.download = `${button.dataset.csv.replace("spec-", "")}.csv`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }
})();
