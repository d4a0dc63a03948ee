// What opens below the picture: one matrix in large, or who made a word likely.

import { furthestFromZero } from "./block_cells.js";
import { HUES, channels, element } from "./drawing.js";
import { capital, matrix, openUnits, quoted } from "./block_stages.js";
import { counted, listed, number, numbered, portion, rounded, signedRounded, summands } from "./numbers.js";
import { logProbability, shareDifference, shares, withoutHead } from "../model/forward.js";

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
 * Return who made a word likely: its log p as an exact sum of signed shares, beside what happens without each head.
 *
 * `versus` is a second word whose shares are taken off, or null; `choose` is called with another one.
 */
export function sharesPanel(view, { word, versus }, { hues, close, compare, others }) {
  const { itos } = view;
  const told = sharesTold(view, word, versus);
  const reach = Math.max(1e-9, ...told.rows.flatMap(({ share, change }) => [Math.abs(share), Math.abs(change ?? 0)]));
  const bar = (value, hue) => {
    const size = (50 * Math.abs(value)) / reach;
    return element("i", { style: { background: hue, width: `${size}%`, left: `${value < 0 ? 50 - size : 50}%` } });
  };
  const hueOf = { own: HUES.query, biases: HUES.plain };
  const select = element("select", { data: { focus: "versus" }, onchange: (event) => compare(event.target.value === "" ? null : Number(event.target.value)) }, [
    element("option", { value: "", textContent: "no other word" }),
    ...others.filter((id) => id !== word).map((id) => element("option", { value: id, textContent: itos[id], selected: id === versus })),
  ]);
  return element("section", { className: "panel shares", aria: { label: told.title } }, [
    header(told.title, close),
    element("p", {}, [told.said]),
    element("label", {}, ["Compare with ", select]),
    element("div", { className: "wide", tabIndex: 0, aria: { role: "region", label: told.title }, data: { focus: "shares" } }, [element("table", {}, [
      element("thead", {}, [element("tr", {}, ["", ...told.columns].map((text) => element("th", { textContent: text, scope: "col" })))]),
      element("tbody", {}, told.rows.map(({ title, part, share, change, without }) => {
        const hue = hueOf[part] ?? hues[part];
        return element("tr", {}, [
          element("th", { scope: "row" }, [element("i", { style: { background: hue } }), title]),
          element("td", { textContent: signedRounded(share) }),
          element("td", { className: "bars" }, [element("span", {}, [bar(share, share > 0 ? hue : HUES.below)])]),
          element("td", { textContent: change === null ? "" : signedRounded(change) }),
          ...(versus === null ? [element("td", { textContent: without })] : []),
        ]);
      })),
      element("tfoot", {}, told.sums.map(({ title, sum, check }) => element("tr", {}, [
        element("th", { scope: "row", textContent: title }),
        element("td", { textContent: rounded(sum) }),
        element("td", { colSpan: versus === null ? 3 : 2, textContent: check }),
      ]))),
    ])]),
    element("p", { className: "dim", textContent: told.notes.join(" ") }),
    pairsTable(view, told),
  ]);
}

/** Return the shares of a word, less those of another where there is one. */
export function sharesOf({ model, read }, word, versus) {
  const found = shares(model, read, word);
  return versus === null ? found : shareDifference(found, shares(model, read, versus));
}

/**
 * Return all that the panel of a word says: { title, said, columns, rows, sums, notes, pairs }.
 *
 * rows are { part, title, share, change, without }: `part` is the number of a head, "own" or "biases"; `share` and
 * `change` of log p without the head are in nats, `without` is its probability then, in words. The shares of the rows
 * add up to those of `sums` as they are written, and `pairs` (heads of words) to those of the heads.
 */
export function sharesTold(view, word, versus = null) {
  const { model, read, prompt, itos } = view;
  const n = read.ids.length, heads = Array.from({ length: model.heads }, (_, head) => head);
  const found = sharesOf(view, word, versus);
  const units = openUnits(read);
  const name = quoted(itos[word]), second = versus === null ? "the other words" : quoted(itos[versus]);
  const ofHead = (head) => [found.replaced[head], ...found.pairs.subarray(head * n, (head + 1) * n)];
  const exact = [...heads.map((head) => ofHead(head).reduce((sum, share) => sum + share, 0)), found.own, found.biases];
  const { parts, sum: inAll } = summands([...exact, found.constant]);
  const without = heads.map((head) => (read.headsOn[head] ? switchedOff(view, head, word, versus) : null));
  const now = portion(read.probabilities[word]);
  const rows = parts.slice(0, -1).map((share, i) => {
    const off = without[i] ?? null;
    return {
      part: i < model.heads ? i : i === model.heads ? "own" : "biases",
      title: i < model.heads ? `${headOf(model, i)}${off ? "" : " (off)"}` : i === model.heads ? `${quoted(prompt.typed[n - 1])} in slot ${model.contextLen}` : "biases",
      share,
      change: off ? off.change : null,
      without: off ? `${portion(off.probability)} (now ${now})` : "",
    };
  });
  const what = versus === null ? `log p of ${name}` : `log p of ${name} less that of ${second}`;
  const holds = Math.abs(found.total + found.constant - found.logProbability) < 1e-4 * Math.max(1, Math.abs(found.logProbability));
  const own = { title: what, sum: inAll, check: `${holds ? "✓" : "✗ FAILS:"} the model's own: ${rounded(found.logProbability)}` };
  const sum = { title: "sum", sum: rows.reduce((total, { share }) => total + share, 0), check: "" };
  const mean = { title: "for every word the same", sum: parts.at(-1), check: "the mean log p, minus the entropy" };
  return {
    title: versus === null ? `Who made ${name} likely?` : `Why ${name} rather than ${second}?`,
    said: `${inOneSentence(rows, name, versus === null ? "" : ` rather than ${second}`)} ${versus === null
      ? "A share is what a part adds to this word's score (logit), less the mean of what it adds to all words, weighted by their probabilities. In nats."
      : "A share is what a part adds to the first word's score (logit), less what it adds to the second's. In nats."}`,
    columns: ["its share", "", `without it, ${versus === null ? "log p" : "the difference"} changes by`, ...(versus === null ? ["and the probability becomes"] : [])],
    rows,
    sums: versus === null ? [sum, mean, own] : [own],
    notes: [
      `The shares are exact for the ${counted(units, "hidden unit")} that ${units === 1 ? "is" : "are"} open now. The biases are theirs and the words' own, so they too differ from text to text.`,
      ...whyOtherwise(model, rows, without, versus === null ? "log p" : "the difference"),
    ],
    pairs: heads.map((head) => summands(Array.from(found.pairs.subarray(head * n, (head + 1) * n)), 3, without[head] && rows[head].share).parts),
  };
}

const headOf = (model, head) => (model.heads === 1 ? "the head" : `head ${head + 1}`);
const namedHeads = (model, which) => (model.heads === 1 ? "the head" : numbered("head", which.map((head) => head + 1)));

/** Name rows in a sentence: "head 2", "heads 1 and 3", "head 2 and biases". */
function rowsNamed(rows) {
  const which = rows.filter(({ part }) => typeof part === "number");
  const others = rows.filter(({ part }) => typeof part !== "number").map(({ title }) => (title === "biases" ? "the biases" : title));
  const single = which.length === 1 || which[0]?.title === "the head";
  return listed([...(which.length ? [single ? which[0].title : numbered("head", which.map(({ part }) => part + 1))] : []), ...others]);
}

/** Say who speaks most for a word and who against it; of equal ones all. */
function inOneSentence(rows, name, rather) {
  const shares = rows.map(({ share }) => share);
  const those = (size) => rows.filter(({ share }) => share === size);
  const [most, least] = [Math.max(...shares), Math.min(...shares)];
  const say = (size, side) => {
    const found = those(size);
    const several = found.length > 1 || found[0].part === "biases";
    return `${rowsNamed(found)} ${several ? "speak" : "speaks"} most ${side}, ${found.length > 1 ? "each " : ""}${signedRounded(size, 3)}`;
  };
  if (most <= 0 && least >= 0) return `Nothing speaks for or against ${name}${rather}.`;
  const said = [...(most > 0 ? [say(most, `for ${name}${rather}`)] : []), ...(least < 0 ? [say(least, most > 0 ? "against it" : `against ${name}${rather}`)] : [])];
  return `${capital(said.join("; "))}.`;
}

/** Say for which heads log p goes the other way when they are switched off, and why. */
function whyOtherwise(model, rows, without, what) {
  const heads = rows.filter(({ change, share }) => change !== null && share * change > 0).map(({ part }) => part);
  const bent = heads.filter((head) => without[head].held * rows[head].share > 0);
  const gated = heads.filter((head) => !bent.includes(head));
  return [
    ...(bent.length ? [`Without ${namedHeads(model, bent)} ${what} goes the other way even with the same units open: a share is taken at the present probabilities, and these move far.`] : []),
    ...gated.map((head) => `Without ${headOf(model, head)} ${what} goes the other way, since ${unitsMoved(without[head])}.`),
  ];
}

const unitsMoved = ({ opened, closed }) => {
  const moved = (units, thing, verb) => (units ? [`${thing ? counted(units, thing) : units} ${verb}${units === 1 ? "s" : ""}`] : []);
  return listed([...moved(opened, "hidden unit", "open"), ...moved(closed, opened ? "" : "hidden unit", "close")]);
};

/** Return what becomes of a word without a head: the change of its log p, also with the gates `held`, its probability. */
function switchedOff({ model, read }, head, word, versus) {
  const { after, held, opened, closed } = withoutHead(model, read, head);
  const lead = (of) => of(word) - (versus === null ? 0 : of(versus));
  const before = lead((id) => logProbability(read, id));
  return {
    change: summands([lead((id) => logProbability(after, id)) - before]).sum,
    held: lead((id) => held[id]) - before,
    probability: after.probabilities[word],
    opened,
    closed,
  };
}

/** Return the share of every head and word; each column adds up to the head's, as written, and so does each row. */
function pairsTable({ model, prompt }, { pairs }) {
  const all = (cells) => cells.reduce((sum, cell) => sum + cell, 0);
  const numbers = (cells) => [...cells, all(cells)].map((cell) => element("td", { textContent: signedRounded(cell) }));
  return element("details", { data: { open: "pairs" } }, [
    element("summary", { textContent: "Every head and word in numbers", data: { focus: "pairs" } }),
    element("div", { className: "scroll" }, [element("table", {}, [
      element("thead", {}, [element("tr", {}, ["word", ...pairs.map((_, head) => headOf(model, head)), "sum"].map((text) => element("th", { textContent: text, scope: "col" })))]),
      element("tbody", {}, pairs[0].map((_, j) => element("tr", {}, [
        element("th", { scope: "row" }, [element("bdi", { textContent: prompt.labels[j] })]),
        ...numbers(pairs.map((column) => column[j])),
      ]))),
      element("tfoot", {}, [element("tr", {}, [element("th", { scope: "row", textContent: "sum" }), ...numbers(pairs.map(all))])]),
    ])]),
  ]);
}

function header(text, close) {
  return element("header", {}, [
    element("h4", { textContent: text }),
    element("button", { type: "button", className: "act", textContent: "Close", data: { focus: "close" }, onclick: close }),
  ]);
}
