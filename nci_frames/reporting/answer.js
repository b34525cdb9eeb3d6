"use strict";
// The answer at the position of the sliders, with the sentences of the library.
nci.say = () => {
  const { data, lines } = nci.values;
  const [first, second, ...more] = lines();
  const asked = nci.state.asked === data.asked.first;
  /** @type {(text: string) => HTMLElement} */
  const paragraph = (text) => {
    const element = document.createElement("p");
    element.append(text);
    return element;
  };
  const main = paragraph(`${first} `);
  main.append(nci.strong(second));
  if (!asked && !data.own) more.push("Differences between models are tested for the question that was asked.");
  document.getElementById("live-answer").replaceChildren(main, ...more.map(paragraph));
  for (const box of document.querySelectorAll("[data-said]")) {
    const said = data.said[/** @type {HTMLElement} */ (box).dataset.said][nci.state.prevalence].map(paragraph);
    for (const line of said) line.className = "soft small";
    box.replaceChildren(...said);
  }
};
