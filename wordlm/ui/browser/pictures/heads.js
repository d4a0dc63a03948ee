// The heads' picture: where each head looks, as cells or as lines, and the likeliest next words beside it.
// Follows wordlm/ui/browser/pictures/heads.py; tests/browser/test_heads_browser.py holds the two together.

import { Talk } from "../carrying/talk.js";
import { lines } from "./heads_lines.js";
import { squares } from "./heads_squares.js";
import { strip } from "./heads_strip.js";
import { SCALES, colour, rowStart, shownRow, unpack } from "./heads_weights.js";
import { counted, number, portion, signedPortion } from "./numbers.js";
import { choiceOf, element, label, redraw, shownWord } from "./drawing.js";

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
    choiceOf({ name: "form", label: "See it as", options: { ...(data.switches ? { model: "the whole model" } : {}), cells: "cells", lines: "lines" }, chosen: data.form, choose: (form) => choose({ form }) }),
    menu,
  ]);
}

function answer({ data, row, choose }) {
  const { head, query, key } = data;
  const line = element("p", { className: "answer", aria: { role: "status" } });
  const w = row(head, query)[key];
  if (data.compared) {
    const [a, b, difference] = [0, 1, 2].map((one) => row(one, query)[key]);
    if (Number.isFinite(difference))
      line.append(label(data.words[query]), " looks at ", label(data.words[key]), `: ${data.heads[0].title} ${portion(a)}, ${data.heads[1].title} ${portion(b)}, `, element("b", { textContent: `${signedPortion(difference)}` }));
    return line;
  }
  if (!(w >= 0)) return line;
  line.append(
    element("i", { style: { background: data.heads[head].hue } }),
    `${data.heads[head].title}: `, label(data.words[query]), " looks at ", label(data.words[key]), ", ",
    element("b", { textContent: portion(w) }),
  );
  if (!data.scores) return line;
  line.append(
    ` = softmax of ${number(data.scores[head][key], 2)} over ${counted(data.reads, "score")}`,
    data.beyond[head] > 0 ? `; ${portion(data.beyond[head])} falls on earlier words that the picture no longer shows` : "",
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
        element("span", { className: "number", textContent: `${portion(word.before)} · ${portion(word.after)}` }),
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
      element("span", { className: "number", textContent: changed ? `${portion(word.after)} (was ${portion(word.before)})` : portion(word.before) }),
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
