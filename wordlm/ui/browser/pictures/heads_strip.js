// The row of the chosen word, lifted out of the heads' picture: each head's name and switch, each word, each weight.

import { colour, inkOn } from "./heads_weights.js";
import { signedPortion, portion } from "./numbers.js";
import { element, switchOf } from "./drawing.js";

// The chosen word's row lifted out: a column a word, a line a head. On a narrow screen a line a word, a column a head.
export function strip(view) {
  const { data, row, n, lines } = view;
  const title = Math.max(...data.heads.map((head) => head.title.length));
  view.names = (data.large ? 2 : 1) * Math.max(data.switches ? 112 : 60, 7 * title + (data.switches ? 55 : 30));
  const column = (view.width - (view.above ? view.aside : 0) - view.names - 6) / n - 1;
  view.across = column >= (view.above ? 10 : 12);
  view.column = view.across
    ? Math.min(data.large ? 120 : 92, column)
    : Math.min(Math.max(56, Math.min(88, 7 * title)), (view.width - 130) / lines.length - 1);
  const height = lines.length > 8 ? "thin" : lines.length > 4 ? "low" : "";
  view.numbered = data.large ? 62 : height === "thin" ? 30 : 42;
  const grid = element("div", { className: `strip ${view.across ? "across" : "down"} ${height}`, data: { focus: `strip of ${n}` }, aria: { role: "group", label: "Words" } });
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
  for (const i of data.words.keys()) put(stripWord(view, i), i, -1);
  for (const [line, h] of lines.entries()) {
    put(headName(view, h), -1, line);
    for (const [key, w] of row(h, data.query).entries()) put(stripCell(view, h, key, w), key, line);
  }
  return grid;
}

function stripWord(view, i) {
  const { data, choose, n } = view, word = data.words[i];
  return element("button", {
    type: "button",
    className: `word ${word.sort}`,
    translate: false,
    title: `${word.label}: the model reads ${word.token}`,
    aria: { pressed: i === data.query, label: `${word.label}, number ${word.id} of the vocabulary` },
    tabIndex: i === data.query ? 0 : -1,
    data: { focus: `word-${i}`, word: i },
    onclick: () => choose({ query: i }),
    onkeydown: (event) => moveAmongWords(event, i, n, view.across && data.direction === "rtl" ? -1 : 1),
  }, [element("bdi", { textContent: word.typed })]);
}

function stripCell(view, h, key, w) {
  const { data, choose } = view, head = data.heads[h];
  const tint = head.on ? colour(w, data.query + 1, head.hue, data.scale, view.largest, head.negative) : null;
  const number = head.negative ? signedPortion(w) : w >= 0 ? portion(w) : "left out";
  return element("button", {
    type: "button",
    className: `cell ${h === data.head && key === data.key ? "picked" : ""}`,
    tabIndex: -1,
    title: `${head.title}: ${data.words[data.query].label} looks at ${data.words[key].label}, ${number}`,
    textContent: Number.isFinite(w) && view.column >= view.numbered ? number.replace(/^[<>].*/, "·") : "",
    style: { background: tint ?? "none", color: inkOn(tint, view.background) },
    data: { head: h, key },
    onclick: () => choose({ head: h, key, query: data.query }),
  });
}

// The words are one stop of the Tab key; arrow keys move among them.
function moveAmongWords(event, place, n, right) {
  const to = { ArrowLeft: place - right, ArrowUp: place - 1, ArrowRight: place + right, ArrowDown: place + 1, Home: 0, End: n - 1 }[event.key];
  if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
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
