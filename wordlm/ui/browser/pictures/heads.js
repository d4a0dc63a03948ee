// The heads' picture: where each head looks, as cells or as lines, and the likeliest next words beside it.
// Follows wordlm/ui/browser/pictures/heads.py, which says what `data` holds; tests/browser/test_heads_browser.py holds the two together.
// wordlm/ui/browser/pictures/squares.py draws the same squares as a file; tests/test_squares.py holds their colours together.
// Words are written as text, never as markup.

import { Talk } from "../carrying/talk.js";
import { HUES, channels, drawn, element, redraw, shownWord, switchOf } from "./drawing.js";

export const SCALES = {
  root: { name: "square root", share: (w) => Math.sqrt(w), ticks: [0, 0.05, 0.25, 0.5, 1] },
  even: { name: "against looking evenly", share: (w, keys) => Math.log2(Math.max(w * keys, 1)) / 4, ticks: [1, 2, 4, 8, 16] },
  absolute: { name: "0 to 1", share: (w) => w, ticks: [0, 0.25, 0.5, 0.75, 1] },
  "per view": { name: "0 to the largest", share: (w, _keys, largest) => w / largest, ticks: [0, 0.25, 0.5, 0.75, 1] },
  logarithmic: { name: "logarithmic", share: (w) => 1 + Math.log10(Math.max(w, 1e-4)) / 4, ticks: [0.0001, 0.001, 0.01, 0.1, 1] },
};

export const written = (w) => (w > 0 && w < 0.001 ? "< 0.001" : w.toFixed(3));
export function signed(w) {
  if (w !== 0 && Math.abs(w) < 0.001) return w > 0 ? "< 0.001" : "> −0.001";
  return (w > 0 ? "+" : "") + w.toFixed(3).replace("-", "−");
}

// Row i of a head holds i + 1 weights, one row after the other.
export const rowStart = (i) => (i * (i + 1)) / 2;

export function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

// What is shown of a row's weights: all, without the first key, or that with the rest scaled up to 1.
export function shownRow(row, first) {
  if (first === "shown" || row.length < 2) return Array.from(row);
  const rest = row.slice(1).reduce((sum, w) => sum + w, 0);
  return Array.from(row, (w, key) => (key === 0 ? NaN : first.endsWith("up") && rest > 0 ? w / rest : w));
}

// The colour of a weight: from nothing, which is the page's own background, to the head's hue; grey where less than even.
// A difference has a hue of its own where it is negative.
export function colour(w, keys, hue, scale, largest, negative = null) {
  if (negative && w < 0) return colour(-w, keys, negative, scale === "even" ? "root" : scale, largest);
  if (negative && scale === "even") return colour(w, keys, hue, "root", largest);
  if (!(w >= 0)) return null;
  const rgb = channels(hue).join(" ");
  if (scale === "even" && w * keys < 1) return `rgb(128 128 128 / ${(0.35 * (1 - w * keys)).toFixed(3)})`;
  const share = Math.min(1, Math.max(0, SCALES[scale].share(w, keys, largest)));
  return `rgb(${rgb} / ${share.toFixed(3)})`;
}

// Black or white, whichever has the better contrast (WCAG 2.2, relative luminance) on a tint over the page's background.
export function inkOn(tint, background) {
  const [r, g, b, share] = tint ? tint.match(/[\d.]+/g).map(Number) : [0, 0, 0, 0];
  const behind = channels(background);
  const light = [r, g, b]
    .map((value, i) => (share * value + (1 - share) * behind[i]) / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
  return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) ? "#000" : "#fff";
}

// The number before the word, whatever the direction of the word.
const label = (word) => element("bdi", { dir: "ltr", textContent: word.label, translate: false });

/** @param {{ data: import("../carrying/messages.js").HeadsData, parentElement: any, setTriggerValue: (name: string, said: import("../carrying/messages.js").Said) => void }} component */
export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".heads");
  root.talk ??= new Talk();
  if (root.talk.hear(data.heard, data.chosen)) setTriggerValue("chosen", root.talk.say({}));
  const view = viewOf(data, root, (changes) => setTriggerValue("chosen", root.talk.say(changes)));
  const draw = () => {
    measure(view);
    const behind = getComputedStyle(root).getPropertyValue("--st-background-color").trim();
    view.background = /^#[0-9a-f]{6}/i.test(behind) ? behind : "#ffffff";
    root.classList.toggle("large", data.large);
    const row = strip(view), words = next(view);
    const picture = data.form === "lines" ? lines(view) : squares(view);
    const said = element("div", { className: "said" }, [answer(view), controls(view)]);
    const beside = (main) => (words ? element("div", { className: "beside" }, [main, words]) : main);
    redraw(root, [...(view.above ? [beside(row), said, picture] : [row, said, beside(picture)]), legend(view)]);
    place(view);
  };
  draw();
  const resized = new ResizeObserver(() => {
    if (Math.abs((root.clientWidth || 800) - view.width) > 1) draw();
  });
  resized.observe(root);
  const keys = (event) => {
    const typing = event.composedPath()[0]?.matches?.("input, textarea, select, [contenteditable]");
    if (!data.large || typing || event.altKey || event.ctrlKey || event.metaKey) return;
    const head = event.key.length === 1 ? event.key.charCodeAt(0) - 97 : -1; // a for head 1
    if (head >= 0 && head < data.heads.length) view.choose({ head });
  };
  document.addEventListener("keydown", keys);
  return () => {
    resized.disconnect();
    document.removeEventListener("keydown", keys);
  };
}

// What the parts draw from; `say` tells the server what is chosen.
function viewOf(data, root, say) {
  const weights = unpack(data.rows), size = rowStart(data.words.length);
  const row = (head, query) =>
    shownRow(weights.subarray(head * size + rowStart(query), head * size + rowStart(query + 1)), data.first);
  const wordAt = (place) => ({ label: data.words[place].label, position: data.words[place].position });
  /** @param {{ query?: number, key?: number, [name: string]: unknown }} changed */
  const choose = ({ query, key, ...changes }) => {
    if (query !== undefined) Object.assign(changes, { query: query === data.words.length - 1 ? null : wordAt(query), key: null });
    if (key !== undefined) changes.key = wordAt(key);
    say(changes);
  };
  const toggle = (head) => {
    const { off } = root.talk.chosen;
    say({ off: off.includes(head) ? off.filter((one) => one !== head) : [...off, head].sort((a, b) => a - b) });
  };
  const n = data.words.length;
  return { data, root, row, n, choose, toggle, largest: largestShown({ data, row, n }) };
}

// What is shared out to the parts. A row of squares has no room for many heads: then one is large and all are small. The
// strip is high then, so the next words go beside it; on a projector it has the chosen head alone, since many lines
// could not be read from the back of a room. Lines need the strip's whole width below it, so then too they go beside it.
function measure(view) {
  const { data, root } = view;
  view.width = root.clientWidth || 800;
  view.narrow = view.width <= 700;
  view.aside = data.next.length && !view.narrow ? 300 : 0;
  view.labels = Math.min(70, 10 + 7 * Math.max(...data.words.map((word) => word.typed.length)));
  view.equal = (view.width - view.aside - view.labels) / data.heads.length - 14;
  view.many = view.narrow ? data.heads.length > 4 : view.equal < 120;
  view.above = view.aside > 0 && (data.form === "lines" || (view.many && !data.large));
  view.lines = view.many && data.large ? [data.head] : [...data.heads.keys()];
}

function largestShown({ data, row, n }) {
  let largest = 0;
  // The first row has one key and weight 1 in every prompt; it would set the largest everywhere.
  for (const head of data.heads.keys())
    for (let query = 1; query < n; query++) for (const w of row(head, query)) if (Math.abs(w) > largest) largest = Math.abs(w);
  return largest || 1;
}

function controls({ data, choose }) {
  const group = (name, title, options) =>
    element("fieldset", {}, [
      element("legend", { textContent: title }),
      ...Object.entries(options).map(([value, text]) =>
        element("button", {
          type: "button",
          textContent: text,
          aria: { pressed: data[name] === value },
          data: { focus: `${name}-${value}` },
          onclick: () => choose({ [name]: value }),
        }),
      ),
    ]);
  const scale = element("select", { data: { focus: "scale" }, onchange: (event) => choose({ scale: event.target.value }) });
  for (const [value, { name }] of Object.entries(SCALES))
    scale.append(element("option", { value, textContent: name, defaultSelected: value === data.scale }));
  const first = element("select", { data: { focus: "first" }, onchange: (event) => choose({ first: event.target.value }) });
  for (const value of ["shown", "left out", "left out, rest scaled up"])
    first.append(element("option", { value, textContent: value, defaultSelected: value === data.first }));
  const menu = element("details", { className: "more" }, [
    element("summary", { textContent: "Colours and more", data: { focus: "more" } }),
    element("div", {}, [
      element("label", { textContent: "Colours " }, [scale]),
      element("label", { textContent: `Column of ${data.words[0].label} ` }, [first]),
    ]),
  ]);
  return element("div", { className: "controls" }, [
    group("form", "See it as", { ...(data.switches ? { model: "the whole model" } : {}), cells: "cells", lines: "lines" }),
    menu,
  ]);
}

// The chosen word's row lifted out: a column a word, a line a head. On a narrow screen a line a word, a column a head.
function strip(view) {
  const { data, row, n, choose, lines } = view;
  const title = Math.max(...data.heads.map((head) => head.title.length));
  view.names = (data.large ? 2 : 1) * Math.max(data.switches ? 112 : 60, 7 * title + (data.switches ? 55 : 30));
  const column = (view.width - (view.above ? view.aside : 0) - view.names - 6) / n - 1;
  view.across = column >= (view.above ? 10 : 12);
  view.column = view.across
    ? Math.min(data.large ? 120 : 92, column)
    : Math.min(Math.max(56, Math.min(88, 7 * title)), (view.width - 130) / lines.length - 1);
  const height = lines.length > 8 ? "thin" : lines.length > 4 ? "low" : "";
  const numbered = data.large ? 62 : height === "thin" ? 30 : 42;
  const grid = element("div", { className: `strip ${view.across ? "across" : "down"} ${height}`, aria: { role: "group", label: "Words" } });
  const put = (item, word, line) => {
    item.style.gridArea = view.across ? `${line + 2} / ${word + 2}` : `${word + 2} / ${line + 2}`;
    grid.append(item);
  };
  grid.dir = data.direction;
  grid.style.setProperty("--column", `${view.column}px`);
  grid.style.setProperty("--names", `${view.across ? view.names : 120}px`);
  grid.style.setProperty("--count", view.across ? n : lines.length);
  const longest = Math.max(...data.words.map((word) => Math.min(14, word.typed.length)));
  view.upright = view.across && longest * 7.5 + 8 > view.column;
  grid.classList.toggle("upright", view.upright);
  grid.style.setProperty("--words", view.upright ? `${Math.max(30, 0.55 * longest * Math.min(data.large ? 20 : 13, view.column))}px` : "auto");
  for (const [i, word] of data.words.entries()) {
    const item = element(
      "button",
      {
        type: "button",
        className: `word ${word.sort}`,
        translate: false,
        title: `${word.label}: the model reads ${word.token}`,
        aria: { pressed: i === data.query, label: `${word.label}, number ${word.id} of the vocabulary` },
        tabIndex: i === data.query ? 0 : -1,
        data: { focus: `word-${i}`, word: i },
        onclick: () => choose({ query: i }),
        onkeydown: (event) => moveAmongWords(event, i, n, view.across && data.direction === "rtl" ? -1 : 1),
      },
      [element("bdi", { textContent: word.typed })],
    );
    put(item, i, -1);
  }
  for (const [line, h] of lines.entries()) {
    const head = data.heads[h];
    put(headName(view, h), -1, line);
    const shown = row(h, data.query);
    for (let key = 0; key <= data.query; key++) {
      const w = shown[key];
      const tint = head.on ? colour(w, data.query + 1, head.hue, data.scale, view.largest, head.negative) : null;
      const number = head.negative ? signed(w) : w >= 0 ? written(w) : "left out";
      const cell = element("button", {
        type: "button",
        className: "cell",
        tabIndex: -1,
        title: `${head.title}: ${data.words[data.query].label} looks at ${data.words[key].label}, ${number}`,
        textContent: Number.isFinite(w) && view.column >= numbered ? number.replace(/^[<>].*/, "·") : "",
        style: { background: tint ?? "none", color: inkOn(tint, view.background) },
        data: { head: h, key },
        onclick: () => choose({ head: h, key, query: data.query }),
      });
      cell.classList.toggle("picked", h === data.head && key === data.key);
      put(cell, key, line);
    }
  }
  return grid;
}

// The words are one stop of the Tab key; arrow keys move among them.
function moveAmongWords(event, place, n, right) {
  const to = { ArrowLeft: place - right, ArrowUp: place - 1, ArrowRight: place + right, ArrowDown: place + 1, Home: 0, End: n - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  event.currentTarget.parentElement.querySelector(`[data-word="${Math.min(n - 1, Math.max(0, to))}"]`).focus();
}

function headName({ data, choose, toggle, across, column }, h) {
  const head = data.heads[h];
  const tight = !across && column < 40;
  const name = element("button", {
    type: "button",
    className: "name",
    aria: { pressed: h === data.head },
    title: `Choose ${head.title}`,
    data: { focus: `head-${h}` },
    onclick: () => choose({ head: h }),
  }, [element("i", { style: { background: head.negative ? `linear-gradient(90deg, ${head.hue} 50%, ${head.negative} 50%)` : head.hue } }), head.title]);
  if (!data.switches || tight) return element("span", { className: `head ${tight ? "tight" : ""}` }, [name]);
  const on = switchOf({ on: head.on, name: `head ${h + 1} on`, title: head.on ? `Switch head ${h + 1} off` : `Switch head ${h + 1} on`, focus: `on-${h}`, press: () => toggle(h) });
  return element("span", { className: `head ${head.on ? "" : "off"}` }, [name, on]);
}

function answer({ data, row, choose }) {
  const { head, query, key } = data;
  const line = element("p", { className: "answer", aria: { role: "status" } });
  const w = row(head, query)[key];
  if (data.compared) {
    const [a, b, difference] = [0, 1, 2].map((one) => row(one, query)[key]);
    if (Number.isFinite(difference))
      line.append(label(data.words[query]), " looks at ", label(data.words[key]), `: ${data.heads[0].title} ${written(a)}, ${data.heads[1].title} ${written(b)}, `, element("b", { textContent: `${signed(difference)}` }));
    return line;
  }
  if (!(w >= 0)) return line;
  line.append(
    element("i", { style: { background: data.heads[head].hue } }),
    `${data.heads[head].title}: `, label(data.words[query]), " looks at ", label(data.words[key]), ", ",
    element("b", { textContent: written(w) }),
  );
  if (!data.scores) return line;
  line.append(
    ` = softmax of ${data.scores[head][key].toFixed(2).replace("-", "−")} over ${data.reads} words`,
    data.beyond[head] > 0 ? `; ${written(data.beyond[head])} falls on earlier words that the picture no longer shows` : "",
  );
  if (!data.large)
    line.append(element("button", {
      type: "button",
      className: "how",
      textContent: "How is it made?",
      data: { focus: "how" },
      onclick: () => {
        choose({ made: true });
        bringIntoView(document.querySelector(".st-key-tab"));
      },
    }));
  return line;
}

// The page is long enough to be scrolled so far only once the answer has come.
function bringIntoView(part) {
  const grown = new ResizeObserver(() => part.scrollIntoView());
  if (part) grown.observe(part);
  setTimeout(() => grown.disconnect(), 2000);
}

// One square a head, each word's row as it is when that word is the last one read.
function squares(view) {
  const { data, many, narrow } = view;
  const box = element("div", { className: "squares" });
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
  const { data, row, n, choose } = view;
  const head = data.heads[h];
  const cell = side / n;
  const canvas = element("canvas", { tabIndex: -1, aria: { role: "img", label: `${head.title}: row is the word that looks, column the word that is looked at` } });
  const ratio = window.devicePixelRatio || 1;
  canvas.width = canvas.height = Math.round(side * ratio);
  Object.assign(canvas.style, { width: `${side}px`, height: `${side}px` });
  const draw = canvas.getContext("2d");
  draw.scale(ratio, ratio);
  draw.fillStyle = "rgb(128 128 128 / 0.09)";
  for (let query = 0; query < n; query++) draw.fillRect(0, query * cell, (query + 1) * cell, cell + 0.5);
  const gap = cell > 9 ? 1 : 0;
  for (let query = 0; query < n; query++)
    row(h, query).forEach((w, key) => {
      const tint = colour(w, query + 1, head.hue, data.scale, view.largest, head.negative);
      if (!tint) return;
      draw.fillStyle = tint;
      draw.fillRect(key * cell, query * cell, cell - gap + (gap ? 0 : 0.3), cell - gap + (gap ? 0 : 0.3));
    });
  draw.strokeStyle = HUES.query;
  draw.lineWidth = small ? 1 : 1.5;
  draw.strokeRect(0.75, data.query * cell + 0.75, (data.query + 1) * cell - 1.5, Math.max(1.5, cell - 1.5));
  if (h === data.head && data.key <= data.query) {
    draw.lineWidth = 1;
    draw.strokeRect(data.key * cell + 0.5, data.key * cell + 0.5, cell - 1, side - data.key * cell - 1);
    draw.lineWidth = 3;
    draw.strokeRect(data.key * cell + 1, data.query * cell + 1, Math.max(3, cell - 2), Math.max(3, cell - 2));
  }
  const at = (event) => [event.offsetY, event.offsetX].map((place) => Math.min(n - 1, Math.floor((place / side) * n)));
  canvas.onpointermove = (event) => {
    const [query, key] = at(event);
    const w = key <= query ? row(h, query)[key] : NaN;
    event.currentTarget.title = Number.isFinite(w) ? `${head.title}: ${data.words[query].label} looks at ${data.words[key].label}, ${head.negative ? signed(w) : written(w)}` : "";
  };
  canvas.onclick = (event) => {
    const [query, key] = at(event);
    choose(small ? { head: h } : key <= query ? { head: h, query, key } : { head: h, query });
  };
  // Where a cell is too small for its word, the chosen words alone stand at the edges.
  const readable = cell >= (data.large ? 20 : 10);
  const words = (className, chosen) =>
    element("div", {
      className,
      style: { [className === "rows" ? "height" : "width"]: `${side}px`, fontSize: readable && cell < 12 ? `${cell}px` : "" },
      aria: { hidden: true },
    },
      data.words.map((word, i) => element("bdi", {
        textContent: readable || i === chosen ? word.typed : "",
        className: i === chosen ? "picked" : "",
        style: { [className === "rows" ? "height" : "width"]: `${cell}px` },
      })));
  const looks = row(h, data.query);
  const most = looks.reduce((best, w, key) => (Math.abs(w) > Math.abs(looks[best] || 0) ? key : best), 0);
  const said = head.negative ? ["most apart at ", label(data.words[most]), `, ${signed(looks[most])}`] : ["looks most at ", label(data.words[most]), `, ${written(looks[most])}`];
  const figure = element("figure", { className: `square ${h === data.head ? "chosen" : ""} ${head.on ? "" : "off"}`, style: { "--hue": head.hue } }, [
    element("figcaption", {}, small
      ? [element("button", { type: "button", textContent: head.title, aria: { pressed: h === data.head }, data: { focus: `small-${h}` }, onclick: () => choose({ head: h }) })]
      : [element("b", { textContent: head.title }), data.large || side < 120 ? "" : element("span", {}, said)]),
    element("div", { className: "plot" }, [rows ? words("rows", data.query) : "", canvas, !small && (readable || h === data.head) ? words("columns", h === data.head ? data.key : -1) : ""]),
  ]);
  figure.style.setProperty("--hue", head.hue);
  return figure;
}

// The same weights as lines: from the word that looks, below, to the words that it looks at, above.
function lines(view) {
  const { data, row, n } = view;
  const side = view.across ? n * (view.column + 1) : n * 22;
  const reach = view.across ? (data.large ? 130 : 210) : Math.min(220, view.width - 130);
  const at = (word, looks) => {
    const along = (view.across && data.direction === "rtl" ? n - word - 0.5 : word + 0.5) * (side / n);
    return view.across ? [along, looks ? reach - 4 : 4] : [looks ? reach - 4 : 4, along];
  };
  const svg = drawn("svg", {
    class: "lines",
    width: view.across ? side : reach,
    height: view.across ? reach : side,
    role: "img",
    "aria-label": "Lines from each word to the words that it looks at; a thicker line is a larger weight",
  });
  const line = (h, query, key, w, strength) => {
    const [[x0, y0], [x1, y1]] = [at(query, true), at(key, false)];
    const shift = (h - (data.heads.length - 1) / 2) * Math.min(5, view.column / (data.heads.length + 1));
    const [dx, dy] = view.across ? [shift, 0] : [0, shift];
    const bend = view.across ? `${x0 + dx} ${(y0 + y1) / 2} ${x1 + dx} ${(y0 + y1) / 2}` : `${(x0 + x1) / 2} ${y0 + dy} ${(x0 + x1) / 2} ${y1 + dy}`;
    svg.append(drawn("path", {
      d: `M ${x0 + dx} ${y0 + dy} C ${bend} ${x1 + dx} ${y1 + dy}`,
      fill: "none",
      stroke: data.heads[h].hue,
      "stroke-width": Math.max(0.6, 9 * w * (strength < 1 ? 0.4 : 1)),
      "stroke-opacity": strength * Math.min(1, 0.12 + Math.sqrt(w)),
    }));
  };
  for (const [h, head] of data.heads.entries()) {
    if (!head.on || head.negative) continue;
    for (let query = 0; query < n; query++) {
      const strength = query === data.query ? 1 : n <= 24 ? 0.12 : 0;
      if (strength) for (const [key, w] of row(h, query).entries()) if (w > 0.005) line(h, query, key, w, strength);
    }
  }
  const looks = element("div", { className: `looks ${view.across ? "across" : "down"} ${view.upright ? "turned" : ""}`, aria: { hidden: true } },
    data.words.map((word, i) => element("bdi", { textContent: word.typed, className: i === data.query ? "query" : "" })));
  looks.style.setProperty("--column", `${view.across ? view.column + 1 : 22}px`);
  return element("div", { className: `linked ${view.across ? "across" : "down"}`, dir: data.direction, style: { marginInlineStart: view.across ? `${view.names}px` : 0 } },
    [svg, looks]);
}

// What two models expect, a bar each.
function nextOfTwo({ data }) {
  const top = Math.max(...data.next.map((word) => Math.max(word.before, word.after)));
  const bar = (share, hue) => element("i", { style: { width: `${(100 * share) / top}%`, background: hue } });
  return element("section", { className: "next two" }, [
    element("h4", {}, ["Next word after ", element("bdi", { textContent: data.words[data.query].typed })]),
    element("ol", {}, data.next.map((word) =>
      element("li", {}, [
        element("bdi", { textContent: shownWord(word.word) }),
        element("span", { className: "bar" }, [bar(word.before, data.heads[0].hue), bar(word.after, data.heads[1].hue)]),
        element("span", { className: "number", textContent: `${written(word.before)} · ${written(word.after)}` }),
      ]))),
  ]);
}

function next(view) {
  const { data } = view;
  if (!data.next.length) return null;
  if (data.compared) return nextOfTwo(view);
  const top = Math.max(...data.next.map((word) => Math.max(word.before, word.after ?? 0)));
  const changed = data.next.some((word) => word.after !== null);
  const list = element("ol", {}, data.next.map((word) =>
    element("li", {}, [
      element("button", { type: "button", title: "Why this word?", data: { focus: `next-${word.word}` }, onclick: () => view.choose({ word: word.word }) }, [element("bdi", { textContent: shownWord(word.word) })]),
      element("span", { className: "bar" }, [
        changed ? element("i", { className: "before", style: { width: `${(100 * word.before) / top}%` } }) : "",
        element("i", { style: { width: `${(100 * (word.after ?? word.before)) / top}%` } }),
      ]),
      element("span", { className: "number", textContent: changed ? `${written(word.after)} (was ${written(word.before)})` : written(word.before) }),
    ])));
  return element("section", { className: "next" }, [
    element("h4", {}, ["Next word after ", element("bdi", { textContent: data.words[data.query].typed }), changed ? ` without ${data.without}` : ""]),
    list,
  ]);
}

function legend({ data, largest }) {
  const scale = SCALES[data.scale];
  const ticks = data.scale === "per view" ? scale.ticks.map((share) => share * largest) : scale.ticks;
  const hue = data.heads[Math.min(data.head, data.heads.length - 1)].hue;
  const even = data.scale === "even";
  const cells = data.large
    ? `The row looks at the column. Colour: weight, ${scale.name}`
    : `Row: the word that looks; outlined: ${data.words[data.query].label}. Column: the word that is looked at. Colour: weight, ${scale.name}`;
  const said = data.form === "lines"
    ? "Lines go from the word that looks to the words that it looks at; the thicker, the larger the weight. Colour of the cells above:"
    : data.compared ? `${cells}. A − B: blue where A looks more, orange where B does` : cells;
  return element("div", { className: "legend" }, [
    element("span", { textContent: said }),
    ...ticks.map((tick) => element("span", {}, [
      element("i", { style: { background: even ? colour(tick / 10, 10, hue, "even", 1) : colour(tick, 10, hue, data.scale, largest) } }),
      even ? `${tick} ×` : tick === 0 ? "0" : String(+tick.toPrecision(2)),
    ])),
    data.first === "shown" ? "" : element("span", { textContent: `first column ${data.first}` }),
  ]);
}

// A pressed word or cell of a long strip stays in sight.
function place({ root }) {
  const box = root.querySelector(".strip");
  const chosen = root.querySelector('.word[aria-pressed="true"]');
  if (!box || !chosen) return;
  if (box.scrollWidth > box.clientWidth + 2) box.scrollLeft = chosen.offsetLeft - box.clientWidth / 2;
  if (box.scrollHeight > box.clientHeight + 2) box.scrollTop = chosen.offsetTop - box.clientHeight / 2;
}
