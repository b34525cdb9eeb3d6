"use strict";
// The data of charts and tables, stored as columns; a column of few distinct values stores each once.
(() => {
  /** @type {Nci["column"]} */
  nci.column = (column) => (Array.isArray(column) ? column : column.places.map((place) => column.values[place]));
  nci.unpack = ({ count, columns }) => {
    const whole = Object.entries(columns).map(([field, column]) => /** @type {const} */ ([field, nci.column(column)]));
    return Array.from({ length: count }, (_, row) => Object.fromEntries(whole.map(([field, column]) => [field, column[row]])));
  };
})();
