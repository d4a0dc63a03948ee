// What every picture draws with: elements, words, colours. Words are written as text, never as markup.

export { number, signedNumber } from "./numbers.js";

/** Return an HTML element; `style`, `data` and `aria` (with `role`) are set as such, all else as properties. */
export function element(name, properties = {}, children = []) {
  const made = document.createElement(name);
  const { style, data, aria, ...rest } = properties;
  Object.assign(made, rest);
  for (const [key, value] of Object.entries(style ?? {}))
    if (key.startsWith("--")) made.style.setProperty(key, value);
    else made.style[key] = value;
  for (const [key, value] of Object.entries(aria ?? {})) made.setAttribute(key === "role" ? key : `aria-${key}`, value);
  Object.assign(made.dataset, data);
  made.append(...children);
  return made;
}

/** Return an SVG element with these attributes. */
export function drawn(name, attributes = {}, children = []) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A word without a letter or digit, such as a full stop, is lost in a sentence and in a list unless it is quoted. */
export const shownWord = (word) => (/[\p{L}\p{N}]/u.test(word) ? word : `“${word}”`);

/** Whether this visitor wants nothing to move. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/** The three channels of "#rrggbb". */
export const channels = (hue) => [1, 3, 5].map((i) => Number.parseInt(hue.slice(i, i + 2), 16));

/** What is not of a head: the chosen word, numbers that belong to none, what is below 0. */
export const HUES = { query: "#e4572e", plain: "#6b5fd3", below: "#808080" };
