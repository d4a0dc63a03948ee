// What opens below the picture: one matrix in large, or who made a word likely.

import { furthestFromZero } from "./block_cells.js";
import { HUES, channels, element, number, signedNumber } from "./drawing.js";
import { matrix, quoted } from "./block_stages.js";
import { reading, shareDifference, shares } from "../model/forward.js";

/**
 * Return a matrix in large. The chosen cell, `stage.cell`, says what it is and what it was made from; `choose` is called
 * with the [row, column] of another, under the pointer or by the arrow keys.
 */
export function matrixPanel(view, { name, head, key, cell: chosen }, { width, hues, close, choose }) {
  const one = matrix(view, name, head, key);
  const long = one.rows === 1 && one.columns > 64; // a long row is broken into lines of 64
  const columns = long ? 64 : one.columns, rows = long ? Math.ceil(one.columns / 64) : one.rows;
  const labels = long ? Array.from({ length: rows }, (_, row) => `from ${64 * row + 1}`) : one.rowNames;
  const side = 92;
  const cell = { width: Math.min(26, Math.max(3, (width - side - 8) / columns)), height: rows > 24 ? 11 : 17 };
  const at = (row, column) => (long ? [0, 64 * row + column] : [row, column]);
  const [row, column] = chosen && chosen[0] < rows && chosen[1] < columns ? chosen : [Math.max(0, rows - 1), 0];
  const canvas = largeCells(view, one, { rows, columns, cell, at, hues, chosen: [row, column] });
  const offer = (r, c) => { if (r >= 0 && c >= 0 && r < rows && c < columns) choose([r, c]); };
  canvas.onpointermove = (event) => offer(Math.floor(event.offsetY / cell.height), Math.floor(event.offsetX / cell.width));
  canvas.onclick = canvas.onpointermove;
  canvas.onkeydown = (event) => {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [];
    if (down === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    offer(row + down, column + right);
  };
  return element("section", { className: "panel", aria: { label: one.title } }, [
    header(`${one.title} (${one.rows} × ${one.columns})`, close),
    element("p", { className: "cell-said", textContent: one.say(...at(row, column)), aria: { role: "status" } }),
    element("div", { className: "large" }, [
      element("div", { className: "row-names", style: { width: `${side}px` }, aria: { hidden: true } },
        labels.map((label) => element("bdi", { textContent: label, style: { height: `${cell.height}px`, fontSize: `${Math.min(12, cell.height)}px` } }))),
      canvas,
    ]),
    one.note ? element("p", { textContent: one.note }) : "",
    element("p", { className: "dim", textContent: `Hue: above 0. Grey: below 0. The deeper, the further; the deepest is ${number(furthestFromZero(one))} from 0.` }),
  ]);
}

/** Return a canvas with the cells of a matrix, the chosen one framed. */
function largeCells(view, one, { rows, columns, cell, at, hues, chosen }) {
  const ratio = window.devicePixelRatio || 1, most = furthestFromZero(one);
  const canvas = element("canvas", {
    width: Math.round(columns * cell.width * ratio),
    height: Math.round(rows * cell.height * ratio),
    style: { width: `${columns * cell.width}px`, height: `${rows * cell.height}px` },
    tabIndex: 0,
    aria: { role: "img", label: `${one.title}. The arrow keys move from cell to cell.` },
    data: { focus: "matrix" },
  });
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const hueOf = (row, column) => {
    if (one.heads === null) return HUES.plain;
    if (one.heads !== "each") return hues[one.heads];
    return hues[one.rows > 1 ? row : Math.floor(column / view.model.messageWidth)];
  };
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      const [r, c] = at(row, column);
      const value = one.values[one.from + r * one.columns + c];
      context.fillStyle = `rgb(${channels(value > 0 ? hueOf(r, c) : HUES.below).join(" ")} / ${Math.abs(value) / most})`;
      context.fillRect(column * cell.width, row * cell.height, cell.width - (cell.width > 5 ? 1 : 0), cell.height - 1);
    }
  context.strokeStyle = HUES.query;
  context.lineWidth = 2;
  context.strokeRect(chosen[1] * cell.width, chosen[0] * cell.height, cell.width, cell.height);
  return canvas;
}

/**
 * Return who made a word likely: its logit as an exact sum of signed shares, beside what happens without each head.
 *
 * `versus` is a second word whose shares are taken off, or null; `choose` is called with another one.
 */
export function sharesPanel(view, { word, versus }, { hues, close, compare, others }) {
  const { model, read, prompt, itos } = view;
  const n = read.ids.length;
  const found = sharesOf(view, word, versus);
  const logit = read.logits[word] - (versus === null ? 0 : read.logits[versus]);
  const name = quoted(itos[word]), second = versus === null ? "" : quoted(itos[versus]);
  const what = versus === null ? `the score (logit) of ${name}` : `the score of ${name} less that of ${second}`;
  const heads = Array.from({ length: model.heads }, (_, head) => {
    let sum = found.replaced[head];
    for (let j = 0; j < n; j++) sum += found.pairs[head * n + j];
    return { head, sum, ...(read.headsOn[head] ? switchedOff(view, head, word, versus) : { change: null, without: null }) };
  });
  const rows = [
    ...heads.map((one) => ({ title: `head ${one.head + 1}`, hue: hues[one.head], ...one })),
    { title: `${quoted(prompt.typed[n - 1])} itself`, hue: HUES.query, sum: found.own, change: null, without: null },
    { title: "the same for every text", hue: HUES.plain, sum: found.biases, change: null, without: null },
  ];
  const reach = Math.max(...rows.flatMap(({ sum, change }) => [Math.abs(sum), Math.abs(change ?? 0)]));
  const now = read.probabilities[word];
  const parted = heads.filter(({ sum, change }) => change !== null && Math.sign(sum) === Math.sign(change) && Math.max(Math.abs(sum), Math.abs(change)) > 0.05);
  const outrun = versus === null ? heads.filter(({ change, without }) => change !== null && Math.sign(change) !== Math.sign(without - now)) : [];
  const bar = (value, hue, className = "") => {
    const size = (50 * Math.abs(value)) / reach;
    return element("i", { className, style: { background: hue, width: `${size}%`, left: `${value < 0 ? 50 - size : 50}%` } });
  };
  const select = element("select", { data: { focus: "versus" }, onchange: (event) => compare(event.target.value === "" ? null : Number(event.target.value)) }, [
    element("option", { value: "", textContent: "no other word" }),
    ...others.filter((id) => id !== word).map((id) => element("option", { value: id, textContent: itos[id], selected: id === versus })),
  ]);
  const difference = Math.abs(found.total - logit);
  return element("section", { className: "panel shares", aria: { label: `Who made ${name} likely?` } }, [
    header(versus === null ? `Who made ${name} likely?` : `Why ${name} rather than ${second}?`, close),
    element("p", {}, [`${capital(inOneSentence(rows, name))} These are the parts of ${what}, ${number(logit, 2)}. The lines show the part of every word: in the head's hue for ${name}, grey and dashed against it.`]),
    element("label", {}, ["Compare with ", select]),
    element("table", {}, [
      element("thead", {}, [element("tr", {}, ["", "its share", "", "without it, the score changes by", ...(versus === null ? ["and its probability becomes"] : [])].map((text) => element("th", { textContent: text, scope: "col" })))]),
      element("tbody", {}, rows.map(({ title, hue, sum, change, without }) => element("tr", {}, [
        element("th", { scope: "row" }, [element("i", { style: { background: hue } }), title]),
        element("td", { textContent: signedNumber(sum) }),
        element("td", { className: "bars" }, [element("span", {}, [bar(sum, sum > 0 ? hue : HUES.below)])]),
        element("td", { textContent: change === null ? "" : signedNumber(change) }),
        versus === null ? element("td", { textContent: without === null ? "" : `${number(without)} (now ${number(now)})` }) : "",
      ]))),
      element("tfoot", {}, [element("tr", {}, [
        element("th", { scope: "row", textContent: "sum" }),
        element("td", { textContent: number(found.total, 4) }),
        element("td", { textContent: difference < 1e-4 ? `✓ the model's own score is ${number(logit, 4)}` : `✗ the model's own score is ${number(logit, 4)}` }),
        element("td"),
      ])]),
    ]),
    element("p", { className: "dim" }, [
      "The shares are exact for the hidden units that are open now. Without a head other units open, so the score changes by something else. ",
      parted.length ? `For ${named(parted)} even the direction differs. ` : "",
      outrun.length ? `Without ${named(outrun)} the score and the probability of ${name} go opposite ways: the scores of other words change more.` : "",
    ]),
    pairsTable(view, found),
  ]);
}

/** Return the shares of a word's logit, less those of another where there is one. */
export function sharesOf({ model, read }, word, versus) {
  const found = shares(model, read, word);
  return versus === null ? found : shareDifference(found, shares(model, read, versus));
}

const capital = (sentence) => sentence[0].toUpperCase() + sentence.slice(1);

/** Say who speaks most for a word and who against it. */
function inOneSentence(rows, name) {
  const [most, least] = [Math.max, Math.min].map((of) => rows.find(({ sum }) => sum === of(...rows.map((row) => row.sum))));
  const against = least.sum < 0 ? `; ${least.title} most against it, ${number(least.sum, 2)}` : "";
  return most.sum > 0 ? `${most.title} speaks most for ${name}, ${signedNumber(most.sum, 2)}${against}.` : `All speak against ${name}, ${least.title} most.`;
}

const named = (heads) => heads.map(({ head }) => `head ${head + 1}`).join(" and ");

/** Return by how much a word's score changes when a head is switched off, and what its probability is then. */
function switchedOff({ model, read, ids }, head, word, versus) {
  const headsOn = read.headsOn.map((on, h) => on && h !== head);
  const { logits, probabilities } = reading(model, ids, { headsOn });
  const of = (scores) => scores[word] - (versus === null ? 0 : scores[versus]);
  return { change: of(logits) - of(read.logits), without: probabilities[word] };
}

function pairsTable({ model, read, prompt }, found) {
  const n = read.ids.length;
  const heads = Array.from({ length: model.heads }, (_, head) => head);
  const all = (cells) => cells.reduce((sum, cell) => sum + cell, 0);
  return element("details", { data: { open: "pairs" } }, [
    element("summary", { textContent: "Every head and word in numbers", data: { focus: "pairs" } }),
    element("div", { className: "scroll" }, [element("table", {}, [
      element("thead", {}, [element("tr", {}, ["word", ...heads.map((head) => `head ${head + 1}`), "sum"].map((text) => element("th", { textContent: text, scope: "col" })))]),
      element("tbody", {}, Array.from({ length: n }, (_, j) => {
        const cells = heads.map((head) => found.pairs[head * n + j]);
        return element("tr", {}, [
          element("th", { scope: "row" }, [element("bdi", { textContent: prompt.labels[j] })]),
          ...[...cells, all(cells)].map((cell) => element("td", { textContent: signedNumber(cell) })),
        ]);
      })),
      element("tfoot", {}, [element("tr", {}, [
        element("th", { scope: "row", textContent: "sum" }),
        ...[...heads.map((head) => all(found.pairs.subarray(head * n, (head + 1) * n))), all(found.pairs)].map((cell) => element("td", { textContent: signedNumber(cell) })),
      ])]),
    ])]),
  ]);
}

function header(text, close) {
  return element("header", {}, [
    element("h4", { textContent: text }),
    element("button", { type: "button", className: "act", textContent: "Close", data: { focus: "close" }, onclick: close }),
  ]);
}
