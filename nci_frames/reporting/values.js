"use strict";
// Data that the page looks up: the answer at each place of its sliders, without decisions here.
(() => {
  /** @type {LiveData} */
  const data = JSON.parse(document.getElementById("live-data").textContent);
  const state = { prevalence: data.first, asked: data.asked.first };
  // The rows of the models at each prevalence, the best first.
  const rows = data.answers.map(({ models }) => {
    /** @type {Row[][]} */
    const at = data.prevalence.map(() => /** @type {Row[]} */ ([]));
    for (const row of nci.unpack(models)) at[Number(row.at)].push(row);
    return at;
  });
  const eta = () => data.prevalence[state.prevalence];
  nci.state = state;
  nci.values = {
    data,
    eta,
    lines: () => data.answers[state.asked].lines[state.prevalence],
    rows: () => rows[state.asked][state.prevalence],
    along: () => rows[state.asked].flatMap((models, place) =>
      models.map((row) => ({ ...row, model: data.drawn[Number(row.model)], share: data.prevalence[place] }))),
    fBeta: (i, prevalence, beta) => {
      const point = data.points[i];
      return point && point[2] && point[3] ? nci.fBeta(point[0] / point[2], point[1] / point[3], prevalence, beta) : null;
    },
    inWords: (at) => data.own ? `class ${data.asked.words[state.asked]} has ${nci.formatGrid(100 * at)} %${at === data.prevalence[data.own[state.asked]] ? ", the mix asked" : ""}` : (at < 0.4 ? `${nci.oneIn(at)} (\u03b7 = ${nci.formatGrid(at)})` : `\u03b7 = ${nci.formatGrid(at)}`),
  };
})();
