// What every picture draws with: elements, words, colours. Words are written as text, never as markup.

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

// What the elements of the pictures listen to, by their names.
const LISTENERS_OF = {
  BUTTON: ["onclick", "onpointerenter", "onpointerleave", "onkeydown"],
  SELECT: ["onchange"],
  CANVAS: ["onclick", "onpointermove", "onkeydown"],
};

/**
 * Make what stands in a place what `children` are, and keep what is there already: an element that is only changed keeps
 * the focus, a press that has begun, what is open or scrolled in it. Elements that `data.focus` names apart are exchanged,
 * as are pictures of another number of words: their parts do not wander.
 */
export function redraw(place, children) {
  const focused = activeIn(place), name = focused && place.contains(focused) ? focused.dataset.focus : undefined;
  become(place, children.filter((child) => child !== "").map((child) => (typeof child === "string" ? document.createTextNode(child) : child)));
  if (name !== undefined && activeIn(place) !== focused) place.querySelector(`[data-focus="${CSS.escape(name)}"]`)?.focus();
}

/** As `redraw`, for many elements that nobody presses: each child is kept whole where it is the same, or exchanged. */
export function renew(place, children) {
  for (const [i, child] of children.entries())
    if (!place.children[i]) place.append(child);
    else if (!place.children[i].isEqualNode(child)) place.children[i].replaceWith(child);
  while (place.children.length > children.length) place.lastElementChild.remove();
}

const activeIn = (place) => place.getRootNode().activeElement;

function become(place, after) {
  let old = place.firstChild;
  for (const made of after) {
    const following = old?.nextSibling;
    if (!old) place.append(made);
    else change(old, made);
    old = following ?? null;
  }
  while (place.childNodes.length > after.length) place.lastChild.remove();
}

function change(old, made) {
  if (old.nodeType === Node.TEXT_NODE && made.nodeType === Node.TEXT_NODE) {
    if (old.data !== made.data) old.data = made.data;
    return;
  }
  if (old.nodeName !== made.nodeName || old.dataset?.focus !== made.dataset?.focus) return old.replaceWith(made);
  for (const { name } of Array.from(old.attributes)) if (!made.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  for (const { name, value } of made.attributes) if (old.getAttribute(name) !== value || old.nodeName === "CANVAS") old.setAttribute(name, value);
  for (const name of LISTENERS_OF[old.nodeName] ?? []) old[name] = made[name];
  if (old.nodeName === "OPTION") old.selected = made.selected;
  if (old.nodeName === "CANVAS") old.getContext("2d").drawImage(made, 0, 0); // setting its width has emptied it
  become(old, Array.from(made.childNodes));
}

/** Return a choice of one: { value: text } of buttons, `chosen` pressed, with its name before them. */
export const choiceOf = ({ name, label, options, chosen, choose }) =>
  element("div", { className: "choice", aria: { role: "group", label } }, [
    element("span", { textContent: label, aria: { hidden: true } }),
    ...Object.entries(options).map(([value, text]) =>
      element("button", { type: "button", textContent: text, aria: { pressed: value === chosen }, data: { focus: `${name}-${value}` }, onclick: () => choose(value) })),
  ]);

/** Return a switch; `press` is called when it is to change. */
export const switchOf = ({ on, name, title, focus, press }) =>
  element("button", { type: "button", title, aria: { role: "switch", checked: on, label: name }, data: { focus }, onclick: press });

/** Return an SVG element with these attributes. */
export function drawn(name, attributes = {}, children = []) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A word without a letter or digit, such as a full stop, is lost in a sentence and in a list unless it is quoted. */
export const shownWord = (word) => (/[\p{L}\p{N}]/u.test(word) ? word : `“${word}”`);

/** A sentence of ours as nodes: a page translator must leave the model's words, which stand in quotes, as they are. */
export const told = (sentence) =>
  sentence.split(/(“[^”]*”)/).map((part) => (part.startsWith("“") ? element("span", { translate: false, textContent: part }) : part));

/** The label of a word: the number before the word, whatever the direction of the word. */
export const label = (word) => element("bdi", { dir: "ltr", textContent: word.label, translate: false });

/** Whether this visitor wants nothing to move. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/** The three channels of "#rrggbb". */
export const channels = (hue) => [1, 3, 5].map((i) => Number.parseInt(hue.slice(i, i + 2), 16));

/** What is not of a head: the chosen word, numbers that belong to none, what is below 0. */
export const HUES = { query: "#e4572e", plain: "#6b5fd3", below: "#808080" };
