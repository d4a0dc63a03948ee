// The heads' weights as squares: each word's row as it is when that word is the last one read.

import { colour } from "./heads_weights.js";
import { signedPortion, portion } from "./numbers.js";
import { HUES, element, label } from "./drawing.js";

// One square a head, each word's row as it is when that word is the last one read.
export function squares(view) {
  const { data, many, narrow } = view;
  const box = element("div", { className: "squares", data: { focus: `squares of ${view.n}` } });
  if (!many) {
    const one = narrow && !data.compared;
    const side = one ? Math.min(360, view.width - view.labels - 10)
      : Math.min(data.large ? 420 : data.compared ? 230 : data.heads.length === 1 ? 270 : 190, view.equal);
    const shown = one ? [data.head] : [...data.heads.keys()];
    box.append(...shown.map((h) => square(view, h, side, { rows: h === shown[0] })));
    return box;
  }
  const large = Math.min(Math.max(190, 0.28 * window.innerHeight), view.width - view.labels);
  const inRow = Math.ceil(data.heads.length / 2);
  const small = data.large ? 76 : Math.max(60, Math.min(118, (view.width - large - view.labels) / inRow - 12));
  const rest = [...data.heads.keys()].map((h) => square(view, h, small, { small: true }));
  const maxWidth = data.large || narrow ? "none" : `${inRow * (small + 8)}px`;
  box.append(square(view, data.head, large, { rows: true }), element("div", { className: "many", style: { maxWidth } }, rest));
  return box;
}

function square(view, h, side, { small = false, rows = false }) {
  const { data, choose } = view, head = data.heads[h], cell = side / view.n;
  const canvas = cellsOf(view, h, side, small);
  // Where a cell is too small for its word, the chosen words alone stand at the edges.
  const readable = cell >= (data.large ? 20 : 10);
  const words = (className, chosen) => {
    const extent = className === "rows" ? "height" : "width";
    const fontSize = readable && cell < 12 ? `${cell}px` : "";
    return element("div", { className, style: { [extent]: `${side}px`, fontSize }, aria: { hidden: true } },
      data.words.map((word, i) => element("bdi", { textContent: readable || i === chosen ? word.typed : "", className: i === chosen ? "picked" : "", style: { [extent]: `${cell}px` } })));
  };
  const name = small
    ? [element("button", { type: "button", textContent: head.title, aria: { pressed: h === data.head }, data: { focus: `small-${h}` }, onclick: () => choose({ head: h }) })]
    : [element("b", { textContent: head.title }), data.large || side < 120 ? "" : element("span", {}, saidOf(view, h))];
  return element("figure", { className: `square ${h === data.head ? "chosen" : ""} ${head.on ? "" : "off"}`, style: { "--hue": head.hue } }, [
    element("figcaption", {}, name),
    element("div", { className: "plot" }, [rows ? words("rows", data.query) : "", canvas, !small && (readable || h === data.head) ? words("columns", h === data.head ? data.key : -1) : ""]),
  ]);
}

function saidOf({ data, row }, h) {
  const looks = row(h, data.query);
  const most = looks.reduce((best, w, key) => (Math.abs(w) > Math.abs(looks[best] || 0) ? key : best), 0);
  const [said, number] = data.heads[h].negative ? ["most apart at ", signedPortion(looks[most])] : ["looks most at ", portion(looks[most])];
  return [said, label(data.words[most]), `, ${number}`];
}

/** Return a head's square; the cell under the pointer says its number, pressed it is chosen. */
function cellsOf(view, h, side, small) {
  const { data, row, n, choose } = view, head = data.heads[h];
  const canvas = element("canvas", { tabIndex: -1, aria: { role: "img", label: `${head.title}: row is the word that looks, column the word that is looked at` } });
  const ratio = window.devicePixelRatio || 1;
  canvas.width = canvas.height = Math.round(side * ratio);
  Object.assign(canvas.style, { width: `${side}px`, height: `${side}px` });
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  drawSquare(context, view, h, side / n);
  frameChosen(context, view, h, side, small);
  const at = (event) => [event.offsetY, event.offsetX].map((place) => Math.min(n - 1, Math.floor((place / side) * n)));
  canvas.onpointermove = (event) => {
    const [query, key] = at(event);
    const w = key <= query ? row(h, query)[key] : NaN;
    event.currentTarget.title = Number.isFinite(w) ? `${head.title}: ${data.words[query].label} looks at ${data.words[key].label}, ${head.negative ? signedPortion(w) : portion(w)}` : "";
  };
  canvas.onclick = (event) => {
    const [query, key] = at(event);
    choose(small ? { head: h } : key <= query ? { head: h, query, key } : { head: h, query });
  };
  return canvas;
}

function drawSquare(context, { data, row, n, largest }, h, cell) {
  const head = data.heads[h], gap = cell > 9 ? 1 : 0, width = cell - gap + (gap ? 0 : 0.3);
  context.fillStyle = "rgb(128 128 128 / 0.09)";
  for (let query = 0; query < n; query++) context.fillRect(0, query * cell, (query + 1) * cell, cell + 0.5);
  for (let query = 0; query < n; query++)
    for (const [key, w] of row(h, query).entries()) {
      const tint = colour(w, query + 1, head.hue, data.scale, largest, head.negative);
      if (!tint) continue;
      context.fillStyle = tint;
      context.fillRect(key * cell, query * cell, width, width);
    }
}

/** The row of the word that looks, and in the chosen head's square the word that is looked at. */
function frameChosen(context, { data, n }, h, side, small) {
  const cell = side / n;
  context.strokeStyle = HUES.query;
  context.lineWidth = small ? 1 : 1.5;
  context.strokeRect(0.75, data.query * cell + 0.75, (data.query + 1) * cell - 1.5, Math.max(1.5, cell - 1.5));
  if (h !== data.head || data.key > data.query) return;
  context.lineWidth = 1;
  context.strokeRect(data.key * cell + 0.5, data.key * cell + 0.5, cell - 1, side - data.key * cell - 1);
  context.lineWidth = 3;
  context.strokeRect(data.key * cell + 1, data.query * cell + 1, Math.max(3, cell - 2), Math.max(3, cell - 2));
}
