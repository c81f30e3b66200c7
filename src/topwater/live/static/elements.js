// How elements are found and made. Text is only ever set as text, so a key can hold anything.

export const find = (id) => document.getElementById(id);

const DRAWN = ["svg", "path", "line", "circle", "text"];

export function make(tag, { text, ...attributes } = {}, children = []) {
  const node = DRAWN.includes(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) node.setAttribute(name, value);
  }
  if (text !== undefined) node.textContent = text;
  node.append(...children);
  return node;
}

export const unseen = (text) => make("span", { class: "unseen", text });
export const mute = (text) => make("span", { "aria-hidden": "true", text });

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A button that shows the rest of a list, or hides it again. */
export function drawMore(id, length, most, all) {
  find(id).hidden = length <= most;
  setText(find(id), all ? `Show the first ${most}` : `Show all ${length.toLocaleString("en")}`);
}
