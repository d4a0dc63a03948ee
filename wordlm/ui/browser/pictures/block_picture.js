// The picture of one model reading one prompt. The text runs down, the model runs right: words, embeddings, a lane a
// head, and what follows for the chosen word alone. All columns share the rows of the words.
//
// What is a matrix is drawn on a canvas, what connects is SVG, what is read or pressed is HTML above both.

import { lanesBetween, layoutOf } from "./block_layout.js";
import { HUES, channels, clamp, drawn, element, isStill, number, shownWord, signedNumber } from "./drawing.js";
import { nextWords } from "../model/forward.js";
import { looksMostAt, matrix, sayPair, stepOf, withoutHeads } from "./block_stages.js";

const SPLIT_MS = 700;
const FRAME = "rgb(128 128 128 / 0.5)";
const LEAST_ID = 4; // of a word that can be written; before it stand the special ones
const WRITTEN_FROM = 0.1; // a smaller weight has no number beside its line

/** Draw a matrix into a box, a cell a value: the hue where it is above 0, grey below, the deeper the further from 0. */
function drawCells(context, { rows, columns, values, from }, box, rgb, { alphas = null, reach = null } = {}) {
  const most = reach ?? furthest(values, from, rows * columns);
  const below = channels(HUES.below), image = new ImageData(columns, rows);
  for (let cell = 0; cell < rows * columns; cell++) {
    const value = values[from + cell];
    const colour = value > 0 ? rgb(cell) : below;
    image.data.set(colour, 4 * cell);
    image.data[4 * cell + 3] = (255 * Math.min(1, Math.abs(value) / most) * (alphas ? alphas[Math.floor(cell / columns)] : 1));
  }
  const small = new OffscreenCanvas(columns, rows);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, box.x, box.y, box.width, box.height);
}

function furthest(values, from, count) {
  let most = 1e-9;
  for (let i = from; i < from + count; i++) most = Math.max(most, Math.abs(values[i]));
  return most;
}

/**
 * Return a picture in an element, to be called `show` with a view. `actions` has what a press does: query(place),
 * hover(place | null), head(head), toggle(head), word(id), stage(name, head), append(id), pair(head, key, place of
 * the key).
 */
export function createPicture(root, actions) {
  const canvas = element("canvas", { className: "cells", aria: { hidden: true } });
  const links = drawn("svg", { class: "links", "aria-hidden": "true" });
  const words = element("div", { className: "words", aria: { role: "group", label: "Words" } });
  const titles = element("div", { className: "titles" });
  const next = element("section", { className: "next" });
  const tip = element("p", { className: "tip", hidden: true });
  const board = element("div", { className: "board" }, [canvas, links, titles, words, next, tip]);
  root.replaceChildren(board);

  let regions = []; // what a pointer over the canvas meets: { box, matrix, stage, head }
  let drawnWords = "", lanes = null, moving = 0, last = null;

  const meet = (event) => {
    const bounds = board.getBoundingClientRect();
    const zoom = bounds.width / board.clientWidth;
    const [x, y] = [(event.clientX - bounds.left) / zoom, (event.clientY - bounds.top) / zoom];
    const region = regions.find(({ box }) => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height);
    if (!region) return null;
    const row = Math.floor(((y - region.box.y) / region.box.height) * region.rows);
    const column = Math.floor(((x - region.box.x) / region.box.width) * region.columns);
    return { ...region, row, column, x, y };
  };
  const tell = (event) => {
    const met = event.target.closest?.(".words, .next, button, input") ? null : meet(event);
    tip.hidden = !met;
    board.style.cursor = met ? "pointer" : "";
    if (!met) return;
    tip.textContent = met.say(met.row, met.column);
    const [wide, high] = [board.clientWidth, board.clientHeight];
    tip.style.left = `${clamp(met.x + 14, 0, Math.max(0, wide - tip.offsetWidth))}px`;
    tip.style.top = `${met.y + 18 + tip.offsetHeight > high ? met.y - 12 - tip.offsetHeight : met.y + 18}px`;
  };
  board.addEventListener("pointermove", tell);
  board.addEventListener("pointerleave", () => { tip.hidden = true; });
  board.addEventListener("click", (event) => {
    if (event.target.closest("button, input, .next")) return;
    const met = meet(event);
    tip.hidden = true; // it would lie over what the press shows
    if (met?.press) met.press(met.row, met.column);
  });

  /** Draw a view; `state` says what is chosen, `hues` are the heads'. */
  function show(view, state, { width, room, hues, nextShown }) {
    const heads = view.model.kind === "mlp" ? null : view.model.heads;
    const shown = view.whole.ids.length;
    const layout = layoutOf({ width, room, n: shown, heads, chosen: view.head, nextShown });
    const from = lanes;
    cancelAnimationFrame(moving);
    const splits = from?.length && layout.lanes.length && from.length !== layout.lanes.length && !layout.narrow && last?.narrow === false;
    last = layout;
    if (splits && !isStill()) {
      const begun = performance.now();
      const frame = (now) => {
        const share = clamp((now - begun) / SPLIT_MS, 0, 1);
        lanes = lanesBetween(from, layout.lanes, 1 - (1 - share) ** 3);
        paint(view, state, { ...layout, lanes: share < 1 ? lanes : layout.lanes }, hues);
        if (share < 1) moving = requestAnimationFrame(frame);
        else lanes = layout.lanes;
      };
      frame(begun);
      return;
    }
    lanes = layout.lanes;
    paint(view, state, layout, hues);
  }

  function paint(view, state, layout, hues) {
    board.style.width = `${layout.width}px`;
    board.style.height = `${layout.height}px`;
    board.classList.toggle("narrow", layout.narrow);
    regions = [];
    drawWords(view, layout);
    drawMatrices(view, state, layout, hues);
    drawLinks(view, state, layout, hues);
    drawTitles(view, state, layout, hues);
    drawNext(view, state, layout);
  }

  // The words are made anew only when they change: one that is made anew under the pointer would be entered again.
  function drawWords(view, layout) {
    const { whole, query } = view;
    const turns = layout.rowHeight < 12.5; // two columns by turns, so that each word has the height of two rows
    const name = JSON.stringify([whole.labels, layout.rowHeight, layout.names]);
    if (name !== drawnWords) {
      drawnWords = name;
      const font = turns ? 10.5 : Math.min(15, layout.rowHeight * 0.72);
      const width = turns ? layout.names.width / 2 : layout.names.width;
      words.replaceChildren(...whole.typed.map((typed, i) =>
        element("button", {
          type: "button",
          className: "word",
          title: `${whole.labels[i]}: the model reads ${whole.tokens[i]}`,
          aria: { label: whole.labels[i] },
          data: { word: i, focus: `word-${i}` },
          style: {
            top: `${layout.top + (i + 0.5) * layout.rowHeight}px`,
            left: `${layout.names.x + (turns && i % 2 ? width : 0)}px`,
            width: `${width}px`,
            fontSize: `${font}px`,
          },
          onpointerenter: (event) => { if (event.pointerType === "mouse") actions.hover(i); },
          onpointerleave: (event) => { if (event.pointerType === "mouse") actions.hover(null); },
          onclick: () => actions.query(i),
          onkeydown: (event) => moveAmong(event, i, whole.ids.length),
        }, [element("bdi", { textContent: typed })])));
    }
    for (const [i, word] of Array.from(words.children).entries()) {
      word.classList.toggle("later", i > query);
      word.setAttribute("aria-pressed", String(i === query));
      word.tabIndex = i === query ? 0 : -1;
    }
  }

  function moveAmong(event, place, n) {
    const to = { ArrowUp: place - 1, ArrowLeft: place - 1, ArrowDown: place + 1, ArrowRight: place + 1, Home: 0, End: n - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    words.children[clamp(to, 0, n - 1)].focus();
  }

  function drawMatrices(view, state, layout, hues) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(layout.width * ratio);
    canvas.height = Math.round(layout.height * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const { model, read, query } = view;
    const n = read.ids.length, shown = query + 1, beyond = n - shown; // words that are read but no longer shown
    const rowsOf = (one) => ({ ...one, rows: shown, from: one.from + beyond * one.columns });
    const box = (x, width, rows = shown) => ({ x, y: layout.top, width, height: rows * layout.rowHeight });
    const plain = channels(HUES.plain), hue = hues.map(channels);
    const alpha = (name) => {
      context.globalAlpha = state.step && stepOf(model, name) > state.step ? 0.06 : 1;
    };
    const put = (one, where, rgb, options = {}, stage = one.name, head = view.head) => {
      alpha(one.name);
      drawCells(context, one, where, rgb, options);
      regions.push({ box: where, rows: one.rows, columns: one.columns, say: options.say ?? one.say, press: () => actions.stage(stage, head) });
    };
    const frame = (name, where, colour, width = 1) => {
      alpha(name);
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.strokeRect(where.x, where.y, where.width, where.height);
    };

    const embedding = matrix(view, "embedding");
    const shift = (say) => (row, column) => say(row + beyond, column);
    put(rowsOf(embedding), box(layout.embedding.x, layout.embedding.width), () => plain, { say: shift(embedding.say) });
    for (const one of layout.lanes) {
      const { head } = one, off = !read.headsOn[head];
      const faint = (off ? 0.25 : 1) * (state.alone && head !== view.head ? 0.15 : 1);
      const keys = matrix(view, "keys", head), values = matrix(view, "values", head);
      const messages = { ...matrix(view, "messages"), rows: 1, from: head * model.messageWidth };
      if (one.strip) {
        put(rowsOf(keys), box(one.x, one.strip), () => hue[head], { say: shift(keys.say), alphas: new Float32Array(shown).fill(faint) }, "keys", head);
        // A value that hardly counts is faint, since it is handed on by its weight.
        const alphas = Float32Array.from({ length: shown }, (_, j) => faint * (state.step === 3 ? 1 : 0.12 + 0.88 * Math.sqrt(read.weights[head * n + beyond + j])));
        put(rowsOf(values), box(one.to + 4, one.strip), () => hue[head], { say: shift(values.say), alphas }, "values", head);
        const queries = { ...matrix(view, "queries"), rows: 1, from: head * model.headWidth };
        const where = { x: one.x, y: layout.bottom + 10, width: one.width - one.strip - 4, height: 10 };
        put(queries, where, () => hue[head], { say: (_, k) => matrix(view, "queries").say(head, k), alphas: [faint] }, "queries", head);
      }
      put(messages, { x: one.x, y: layout.top - 30, width: one.width, height: 13 }, () => hue[head], { say: (_, k) => matrix(view, "messages").say(head, k), alphas: [faint] }, "messages", head);
      frame("messages", { x: one.x, y: layout.top - 30, width: one.width, height: 13 }, FRAME);
      regions.push({
        box: { x: one.from, y: layout.top, width: one.to - one.from, height: shown * layout.rowHeight },
        rows: shown,
        columns: 1,
        say: (row) => sayPair(view, head, row + beyond),
        press: (row) => actions.pair(head, row + beyond, row),
      });
    }
    // Between rows a hair of the page, so that each word has its own line.
    context.globalAlpha = 1;
    if (layout.rowHeight > 5)
      for (let j = 0; j <= shown; j++) {
        const gap = layout.rowHeight > 12 ? 4 : 1.4;
        context.clearRect(0, layout.top + j * layout.rowHeight - gap / 2, layout.lanes.length ? layout.lanes.at(-1).x + layout.lanes.at(-1).width + 2 : layout.embedding.x + layout.embedding.width + 2, gap);
      }
    frame("embedding", { x: layout.embedding.x - 1, y: layout.top + query * layout.rowHeight, width: layout.embedding.width + 2, height: layout.rowHeight }, HUES.query, 1.5);

    if (model.kind === "mlp") {
      put(matrix(view, "slots"), layout.slots, () => plain);
      frame("slots", layout.slots, FRAME);
    }
    for (const { name, y, height } of layout.rest) {
      const one = matrix(view, name);
      const rgb = name === "beside" ? (cell) => hue[Math.floor(cell / model.messageWidth)] : () => plain;
      put(one, { x: layout.right.x, y, width: layout.right.width, height }, rgb, {}, name);
      frame(name, { x: layout.right.x, y, width: layout.right.width, height }, name === "word" ? HUES.query : FRAME);
    }
  }

  function drawLinks(view, state, layout, hues) {
    const { model, read, query } = view;
    const n = read.ids.length, beyond = n - query - 1;
    links.setAttribute("width", layout.width);
    links.setAttribute("height", layout.height);
    const middle = (j) => layout.top + (j + 0.5) * layout.rowHeight;
    const group = (step, children) => drawn("g", {
      class: `${state.step && step > state.step ? "later" : ""} ${state.step === step ? "now" : ""}`,
    }, children);
    const scored = [], weighed = [], handed = [], messages = [], added = [];
    const shares = view.shares?.pairs;
    const largest = shares ? shares.reduce((most, share) => Math.max(most, Math.abs(share)), 1e-9) : 1;
    const thickest = clamp(layout.rowHeight * 0.8, 5, 11);
    for (const [place, one] of layout.lanes.entries()) {
      const { head } = one;
      if (!read.headsOn[head] || (state.alone && head !== view.head)) continue;
      const [x0, y0] = [one.to, middle(query)];
      if (one.strip)
        scored.push(drawn("path", { pathLength: 1, d: `M ${one.x + one.width - one.strip - 4} ${layout.bottom + 15} h 4 V ${y0}`, stroke: hues[head], "stroke-width": 1.5 }));
      const numbers = state.step === 4 ? scored : weighed;
      const label = (j, value) => drawn("text", { x: one.from + 1, y: middle(j) - 3, "font-size": 10.5 }, [value]);
      scored.push(drawn("circle", { cx: x0, cy: y0, r: 4, fill: HUES.query, stroke: "none" }));
      for (let j = 0; j <= query; j++) {
        const weight = read.weights[head * n + beyond + j];
        const share = shares ? shares[head * n + beyond + j] / largest : weight;
        const size = Math.abs(share);
        if (one.width >= 100 && layout.rowHeight >= 17) {
          if (state.step === 4) numbers.push(label(j, number(read.scores[head * n + beyond + j], 2)));
          else if (shares ? size > 0.25 : weight >= WRITTEN_FROM) numbers.push(label(j, shares ? signedNumber(shares[head * n + beyond + j], 2) : number(weight, 2)));
        }
        if (size < 0.004) continue;
        const bend = (one.to - one.from) * 0.55;
        weighed.push(drawn("path", {
          pathLength: 1,
          d: `M ${x0} ${y0} C ${x0 - bend} ${y0} ${one.from + bend} ${middle(j)} ${one.from} ${middle(j)}`,
          stroke: share > 0 ? hues[head] : HUES.below,
          ...(share > 0 ? {} : { class: "against" }),
          "stroke-width": Math.max(0.7, thickest * size),
          "stroke-opacity": Math.min(1, 0.22 + Math.sqrt(size)),
        }));
        if (weight > 0.03 && one.strip)
          handed.push(drawn("path", {
            pathLength: 1,
            d: `M ${one.to + 4 + one.strip} ${middle(j)} h 6 V ${layout.top - 24} h -6`,
            stroke: hues[head],
            "stroke-width": Math.max(0.5, 3 * weight),
            "stroke-opacity": 0.15 + 0.6 * weight,
          }));
      }
      if (layout.narrow) {
        const { y } = layout.rest[0];
        messages.push(drawn("path", { pathLength: 1, d: `M ${one.x + one.width} ${layout.top - 27} H ${layout.width - 1} V ${y - 4} H ${layout.right.x + ((head + 0.5) / model.heads) * layout.right.width} V ${y}`, stroke: hues[head], "stroke-width": 1.8 }));
        continue;
      }
      // From the message along a line of its own to its segment among those side by side.
      const lift = layout.top - 35 - ((layout.lanes.length - place) * 14) / layout.lanes.length;
      const [begin, end] = [one.x + one.width / 2, layout.right.x + ((head + 0.5) / model.heads) * layout.right.width];
      messages.push(drawn("path", { pathLength: 1, d: `M ${begin} ${layout.top - 31} V ${lift} H ${end} V ${layout.top - 31}`, stroke: hues[head], "stroke-width": layout.lanes.length > 8 ? 1 : 1.8 }));
    }
    if (layout.lanes.length && layout.narrow) {
      const { y } = layout.rest.find(({ name }) => name === "word");
      added.push(drawn("path", { class: "residual", d: `M ${layout.embedding.x + layout.embedding.width / 2} ${middle(query) + layout.rowHeight / 2} V ${layout.bottom + 40} H 1 V ${y + 6} H ${layout.right.x}`, stroke: HUES.query }));
    } else if (layout.lanes.length) {
      const out = layout.embedding.x + layout.embedding.width + 9, low = layout.bottom + 43, into = layout.right.x - 18;
      const { y } = layout.rest.find(({ name }) => name === "word");
      added.push(drawn("path", { class: "residual", d: `M ${out - 8} ${middle(query)} H ${out} V ${low} H ${into} V ${y + 7} H ${layout.right.x - 2}`, stroke: HUES.query }));
    }
    if (model.kind === "mlp") links.replaceChildren(group(3, slotLinks(view, layout, middle)), group(4, layout.narrow ? [] : [slotsOn(layout)]));
    else links.replaceChildren(group(4, scored), group(5, weighed), group(6, handed), group(6, messages), group(7, added));
  }

  /** From each word to its slot among all of them. */
  function slotLinks({ model, query }, layout, middle) {
    const from = layout.embedding.x + layout.embedding.width + 3, each = layout.slots.height / model.contextLen;
    return Array.from({ length: query + 1 }, (_, j) => {
      const into = layout.slots.y + (model.contextLen - query - 1 + j + 0.5) * each, bend = (layout.slots.x - from) / 2;
      return drawn("path", { pathLength: 1, d: `M ${from} ${middle(j)} C ${from + bend} ${middle(j)} ${layout.slots.x - bend} ${into} ${layout.slots.x - 2} ${into}`, stroke: HUES.plain, "stroke-opacity": 0.6, "stroke-width": 1 });
    });
  }

  /** From all slots to the hidden layer. */
  function slotsOn({ slots, right, rest }) {
    const [x, y, into] = [slots.x + slots.width, slots.y + slots.height / 2, rest[0].y + 7], bend = (right.x - x) / 2;
    return drawn("path", { pathLength: 1, d: `M ${x} ${y} C ${x + bend} ${y} ${right.x - bend} ${into} ${right.x - 2} ${into}`, stroke: HUES.plain, "stroke-width": 3 });
  }

  function drawTitles(view, state, layout, hues) {
    const { model, read, prompt } = view;
    const query = `“${prompt.typed.at(-1)}”`;
    const focused = root.getRootNode().activeElement?.dataset?.focus;
    const at = (x, y, width, children, className = "") => element("div", { className: `title ${className}`, style: { left: `${x}px`, top: `${y}px`, width: `${width}px` } }, children);
    const faded = (name) => (state.step && stepOf(model, name) > state.step ? "later" : "");
    const opens = (text, name, head = view.head) =>
      element("button", { type: "button", className: "open", textContent: text, title: `Open: ${matrix(view, name, head).title}`, aria: { pressed: state.stage?.name === name && (name !== "keys" || state.stage.head === head) }, data: { focus: `open-${name}-${head}` }, onclick: () => actions.stage(name, head) });
    const headName = (head, small) => element("button", {
      type: "button",
      className: "name",
      title: state.alone && head === view.head ? "Show all heads" : `Show head ${head + 1} alone`,
      aria: { pressed: head === view.head, label: `head ${head + 1}` },
      style: small ? { borderBottom: `3px solid ${hues[head]}` } : {},
      data: { focus: `head-${head}` },
      onclick: () => actions.head(head),
    }, small ? [String(head + 1)] : [element("i", { style: { background: hues[head] } }), `head ${head + 1}`]);
    const made = [
      at(layout.names.x, layout.top - 18, layout.names.width, ["words"], "dim"),
      ...(layout.lanes.length ? [at(layout.embedding.x, layout.top - 32, layout.embedding.width + (layout.narrow ? 10 : 26), [opens("messages", "messages")], `end ${faded("messages")}`)] : []),
      at(layout.embedding.x, layout.top - 18, layout.embedding.width + 30, [opens("embedding", "embedding")], faded("embedding")),
    ];
    for (const one of layout.lanes) {
      const { head } = one;
      const most = looksMostAt(read, head), n = read.ids.length;
      const small = one.width < 95;
      const shown = layout.narrow ? hues.slice(0, model.heads).keys() : [head];
      const names = Array.from(shown, (h) => headName(h, small || layout.narrow));
      const on = element("input", {
        type: "checkbox",
        checked: read.headsOn[head],
        title: read.headsOn[head] ? `Switch head ${head + 1} off` : `Switch head ${head + 1} on`,
        aria: { role: "switch", label: `head ${head + 1} on` },
        data: { focus: `on-${head}` },
        onchange: () => actions.toggle(head),
      });
      const across = layout.narrow ? { x: 0, width: layout.width } : one;
      made.push(at(across.x, 0, across.width, one.width < 60 ? names : layout.narrow ? [element("span", { className: "names" }, ["heads", ...names]), element("label", {}, [`head ${head + 1} `, on])] : [element("span", { className: "names" }, names), on], `lane ${state.step > 3 && head === view.told ? "told" : ""} ${one.width < 60 ? "mini" : ""} ${read.headsOn[head] ? "" : "off"} ${faded("keys")}`));
      if (!small)
        made.push(at(one.x, 25, one.width, [element("span", {}, read.headsOn[head] ? [`most at “`, element("bdi", { textContent: prompt.typed[most] }), `” ${number(read.weights[head * n + most])}`] : ["off: it hands on zeros"])], `dim ${faded("weights")}`));
      if (one.strip && one.width >= 100) {
        made.push(at(one.x, layout.bottom + 22, one.width, [opens(`query of ${query}`, "queries", head)], faded("queries")));
        made.push(at(one.x, layout.top - 16, one.strip + 20, [opens("keys", "keys", head)], faded("keys")));
        made.push(at(one.to - 16, layout.top - 16, one.strip + 24, [opens("values", "values", head)], `end ${faded("values")}`));
      }
    }
    const { x, width } = layout.right;
    if (model.kind === "mlp") made.push(at(layout.slots.x, layout.top - 20, layout.slots.width, [opens(`all ${model.contextLen} slots side by side`, "slots")], faded("slots")));
    const hiddenSaid = `↓ hidden layer: ${read.hidden.reduce((count, unit) => count + (unit > 0), 0)} of ${model.hidden} open`;
    const said = model.kind === "mlp"
      ? [[hiddenSaid, "hidden"]]
      : [
          [model.heads === 1 ? `the message: ${model.messageWidth} numbers` : `side by side: ${model.heads} × ${model.messageWidth} = ${model.heads * model.messageWidth}`, "beside"],
          ["↓ mixed by W_O: the update", "update"],
          [`+ ${query} itself (residual)`, "word"],
          [`= what the model knows at ${query}`, "contextual"],
          [hiddenSaid, "hidden"],
        ];
    for (const [text, name] of said) {
      const { y } = layout.rest.find((one) => one.name === name);
      const above = name === "beside" && !layout.narrow ? 0 : y - 20;
      made.push(at(x, above, width, [opens(text, name)], faded(name)));
    }
    titles.replaceChildren(...made);
    if (focused) root.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
  }

  function drawNext(view, state, layout) {
    const { read, itos, prompt, before } = view;
    const list = nextWords(read.probabilities, layout.nextShown);
    const y = layout.rest.at(-1).y + 26;
    Object.assign(next.style, { left: `${layout.right.x}px`, top: `${y}px`, width: `${layout.right.width}px` });
    next.classList.toggle("later", state.step > 0 && stepOf(view.model, "hidden") > state.step);
    next.replaceChildren(
      element("h4", {}, ["Next word after ", element("bdi", { textContent: shownWord(prompt.typed.at(-1)) }), ` ${withoutHeads(read)}`.trimEnd()]),
      element("ol", {}, list.map(({ id, probability }) => element("li", { className: view.disagree?.has(id) ? "apart" : "" }, [
        element("button", { type: "button", title: "Who made this word likely?", aria: { pressed: id === state.word }, data: { focus: `next-${id}` }, onclick: () => actions.word(id) }, [element("bdi", { textContent: shownWord(itos[id]) })]),
        element("span", { className: "bar" }, [
          before ? element("i", { className: "before", style: { width: `${100 * before[id]}%` } }) : "",
          element("i", { style: { width: `${100 * probability}%` } }),
        ]),
        element("span", { className: "number", textContent: before ? `${number(probability)} (was ${number(before[id])})` : number(probability) }),
      ]))),
      view.query < view.whole.ids.length - 1 ? "" : appendButton(itos, state.word ?? list.find(({ id }) => id >= LEAST_ID)?.id),
    );
  }

  function appendButton(itos, id) {
    if (!(id >= LEAST_ID)) return "";
    return element("button", { type: "button", className: "act append", title: "Write it behind the text and play again", textContent: `Append ${shownWord(itos[id])}`, data: { focus: "append" }, onclick: () => actions.append(id) });
  }

  return { show };
}
