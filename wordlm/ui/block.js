// One model reading one prompt, in the visitor's browser: the whole forward pass as a picture that follows every key.
//
// The server sends what is chosen and where the weights lie; it is not needed for anything else. Follows wordlm/ui/block.py,
// which says what `data` holds; tests/browser/test_block_browser.py holds the two together.

import { fetchBytes, keptBytes } from "./cache.js";
import { matrixPanel, sharesOf, sharesPanel } from "./block_panel.js";
import { createPicture } from "./block_picture.js";
import { steps } from "./block_stages.js";
import { element, number, shownWord } from "./drawing.js";
import { nextWords, readModel, reading } from "./forward.js";
import { Tokenizer } from "./tokenizer.js";

const TOLERANCE = 1e-4;
const SPEEDS = { slowly: 9000, "at a normal pace": 6000, quickly: 3000 };
const LEAST_ID = 4; // of a word that can be written; before it stand the special ones

// Shared by all pictures of the page, and kept when one is left and opened again.
const loaded = new Map();

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".model");
  root.block ??= createBlock(root);
  root.block.receive(data, (values) => setTriggerValue("chosen", values));
  return () => setTimeout(() => { if (!root.isConnected) root.block.leave(); });
}

function createBlock(root) {
  // What is chosen here and now. A press is in force at once; the server hears of it and will say the same.
  const state = { text: "", position: null, hover: null, head: 0, alone: false, off: new Set(), word: null, versus: null, lines: "weights", step: 0, playing: false, speed: "at a normal pace", stage: null };
  const typed = new Set(); // texts typed since the server and the prompt box last agreed
  let data = null, send = () => {}, models = [], timer = 0, progress = "", failure = "";
  const pressed = new Map(); // what was pressed and not yet confirmed by the server

  const player = element("div", { className: "player", aria: { role: "group", label: "The steps of the model" } });
  const sentence = element("p", { className: "sentence", aria: { live: "polite" } });
  const figures = element("div", { className: "figures" });
  const panel = element("div");
  const foot = element("p", { className: "foot" });
  root.replaceChildren(player, sentence, figures, panel, foot);
  const pictures = [];

  const actions = {
    hover(place) { state.hover = place; update(); },
    query(place) {
      const { whole } = viewOf(0);
      state.hover = null;
      state.position = place === whole.ids.length - 1 ? null : whole.positions[place];
      press({ query: place }, ["position"]);
    },
    head(head) {
      state.alone = head === state.head ? !state.alone : true;
      state.head = head;
      press({ head }, ["head"]);
    },
    toggle(head) {
      state.off.has(head) ? state.off.delete(head) : state.off.add(head);
      press({ toggled: head }, ["off"]);
    },
    word(id) {
      state.word = state.word === id ? null : id;
      state.versus = null;
      state.stage = null;
      state.lines = state.word === null ? "weights" : "shares";
      update();
    },
    stage(name, head) {
      const same = state.stage?.name === name && state.stage.head === head;
      state.stage = same ? null : { name, head };
      state.word = null;
      state.lines = "weights";
      if (!same && head !== state.head) state.head = head;
      update();
    },
    pair(head, key) {
      state.head = head;
      press({ head, key, query: viewOf(0).query }, ["head"]);
    },
  };

  function press(values, names) {
    for (const name of names) pressed.set(name, said(name));
    update();
    send(values);
  }

  const said = (name) => (name === "off" ? [...state.off].sort().join() : state[name]);

  function receive(came, tell) {
    [data, send] = [came, tell];
    if (!typed.has(came.text) || came.text === state.text) {
      if (came.text !== state.text) state.hover = null;
      state.text = came.text;
      typed.clear();
    }
    for (const name of ["position", "head", "off"]) {
      const value = name === "off" ? came.off.join() : came[name];
      if (pressed.has(name) && pressed.get(name) !== value) continue;
      pressed.delete(name);
      if (name === "off") state.off = new Set(came.off);
      else state[name] = came[name];
    }
    load();
  }

  async function load() {
    const wanted = data.models;
    try {
      const found = await Promise.all(wanted.map((one) => material(one, (text) => {
        progress = text;
        if (!models.length) update();
      })));
      if (data.models !== wanted) return; // another one was chosen meanwhile
      [models, failure] = [found, ""];
    } catch (error) {
      failure = error.message;
    }
    update();
  }

  function viewOf(place) {
    const { model, tokenizer, itos } = models[place];
    const whole = tokenizer.encodePrompt(state.text, model.contextLen);
    const pinned = state.position === null ? -1 : whole.positions.indexOf(state.position);
    const last = whole.ids.length - 1;
    const query = Math.min(last, state.hover ?? (pinned < 0 ? last : pinned));
    const prompt = whole.upTo(query);
    const off = place === 0 && model.kind !== "mlp" ? [...state.off].filter((head) => head < model.heads) : [];
    const headsOn = off.length ? Array.from({ length: model.heads }, (_, head) => !off.includes(head)) : null;
    // What the prompt up to the word keeps of it, as `reading` does.
    const read = reading(model, prompt.ids, { headsOn });
    const view = { model, itos, whole, query, prompt, ids: prompt.ids, read, head: Math.min(state.head, (model.heads ?? 1) - 1) };
    view.before = headsOn ? reading(model, prompt.ids).probabilities : null;
    if (state.word !== null && model.kind !== "mlp") view.shares = sharesOf(view, state.word, state.versus);
    return view;
  }

  function update() {
    if (!data || !root.isConnected) return;
    if (failure || !models.length) {
      player.replaceChildren();
      figures.replaceChildren();
      panel.replaceChildren();
      foot.textContent = "";
      sentence.textContent = failure
        ? `This browser could not read the model itself (${failure}). Cells and lines, which the server draws, still work.`
        : progress || "Fetching the model, once.";
      if (failure) player.replaceChildren(forms());
      pictures.length = 0;
      return;
    }
    const views = models.map((_, place) => viewOf(place));
    if (views.length === 2) disagree(...views);
    const width = root.clientWidth || 800;
    const room = Math.max(260, Math.min(480, window.innerHeight - 378));
    while (pictures.length < views.length) {
      const place = element("figure");
      figures.append(place);
      pictures.push(createPicture(place, actions));
    }
    while (pictures.length > views.length) {
      pictures.pop();
      figures.lastChild.remove();
    }
    const told = steps(views[0]);
    state.step = Math.min(state.step, told.length);
    drawPlayer(told);
    sentence.replaceChildren(...sentenceOf(told, views));
    for (const [place, view] of views.entries()) pictures[place].show(view, place === 0 || view.model.kind !== "mlp" ? state : { ...state, step: 0 }, { width, room, hues: data.hues });
    drawPanel(views[0], width);
    foot.textContent = confirmed(views[0]);
  }

  function sentenceOf(told, views) {
    if (state.step) return [element("b", { textContent: `${told[state.step - 1][0]}. ` }), told[state.step - 1][1]];
    if (views.length === 2) return [views[0].apart];
    return ["Press Play to follow this text through the model. Point at a word and it looks; point at any cell to see what made it."];
  }

  function forms() {
    return element("fieldset", {}, [
      element("legend", { textContent: "See it as" }),
      ...Object.entries({ cells: "cells", lines: "lines", model: "the whole model" }).map(([form, text]) =>
        element("button", { type: "button", textContent: text, aria: { pressed: form === "model" }, data: { focus: `form-${form}` }, onclick: () => send({ form }) })),
    ]);
  }

  function drawPlayer(told) {
    const focused = root.getRootNode().activeElement?.dataset?.focus;
    const button = (text, title, focus, act, more = {}) => element("button", { type: "button", className: "act", textContent: text, title, aria: { label: title }, data: { focus }, onclick: act, ...more });
    const speed = element("select", { data: { focus: "speed" }, aria: { label: "Pace" }, onchange: (event) => { state.speed = event.target.value; play(state.playing); } },
      Object.keys(SPEEDS).map((name) => element("option", { value: name, textContent: name, selected: name === state.speed })));
    const { itos, read } = viewOf(0);
    const chosen = state.word ?? nextWords(read.probabilities, 20).find(({ id }) => id >= LEAST_ID)?.id;
    player.replaceChildren(
      forms(),
      element("span", { className: "buttons" }, [
        button(state.playing ? "❚❚ Pause" : "▶ Play", state.playing ? "Pause" : "Play the steps", "play", () => play(!state.playing)),
        button("‹", "Step back", "back", () => go(state.step - 1), { disabled: state.step === 0 }),
        button("›", "Step forward", "forth", () => go(state.step + 1), { disabled: state.step === told.length }),
        speed,
      ]),
      element("ol", { className: "steps" }, [["All at once"], ...told].map(([title], step) =>
        element("li", {}, [element("button", { type: "button", textContent: step ? String(step) : "All", title, aria: { label: step ? `Step ${step}: ${title}` : title, current: step === state.step ? "step" : "false" }, data: { focus: `step-${step}` }, onclick: () => go(step) })]))),
      button(`Append ${shownWord(itos[chosen])}`, `Append ${itos[chosen]} and play again`, "append", () => append(chosen)),
    );
    if (focused) player.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
  }

  function go(step) {
    play(false);
    state.step = step;
    update();
  }

  function play(on) {
    clearInterval(timer);
    state.playing = on;
    if (on) {
      const last = steps(viewOf(0)).length;
      if (state.step >= last) state.step = 0;
      state.step += 1;
      timer = setInterval(() => {
        if (!root.isConnected || state.step >= last) return play(false);
        state.step += 1;
        update();
      }, SPEEDS[state.speed]);
    }
    update();
  }

  /** Write a word behind the text and play again, so that a story is written in the picture. */
  function append(id) {
    state.text = `${state.text.trimEnd()} ${models[0].itos[id]}`.trimStart();
    typed.add(state.text);
    Object.assign(state, { position: null, hover: null, word: null, versus: null, lines: "weights" });
    pressed.set("position", null);
    send({ prompt: state.text });
    if (state.step) {
      state.step = 0;
      play(true);
    } else update();
  }

  function drawPanel(view, width) {
    const close = () => {
      Object.assign(state, { stage: null, word: null, versus: null, lines: "weights" });
      update();
    };
    const opened = panel.querySelector("details")?.open;
    const focused = panel.contains(root.getRootNode().activeElement) ? root.getRootNode().activeElement.dataset.focus : null;
    const shared = { width, hues: data.hues, close };
    if (state.word !== null && view.model.kind !== "mlp") {
      const others = nextWords(view.read.probabilities, 12).map(({ id }) => id);
      panel.replaceChildren(sharesPanel(view, state, {
        ...shared,
        others,
        append: state.word >= LEAST_ID ? () => append(state.word) : null,
        compare: (versus) => { state.versus = versus; update(); },
      }));
      if (opened) panel.querySelector("details").open = true;
    } else if (state.stage) panel.replaceChildren(matrixPanel(view, state.stage, shared));
    else panel.replaceChildren();
    if (focused) panel.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
  }

  function disagree(one, other) {
    const words = new Set([...nextWords(one.read.probabilities, 8), ...nextWords(other.read.probabilities, 8)].map(({ id }) => id));
    const apart = (id) => Math.abs(one.read.probabilities[id] - other.read.probabilities[id]);
    const ordered = [...words].sort((a, b) => apart(b) - apart(a));
    one.disagree = other.disagree = new Set(ordered.slice(0, 3));
    const most = ordered[0];
    one.apart = `They disagree most on ${shownWord(one.itos[most])}: ${number(one.read.probabilities[most])} for ${data.models[0].title}, ${number(other.read.probabilities[most])} for ${data.models[1].title}.`;
  }

  /** Say how far the server's numbers are from these, where it read the same. */
  function confirmed(view) {
    const { confirm } = data;
    const place = view.whole.positions.indexOf(confirm.position);
    if (confirm.text !== state.text || confirm.off.join() !== [...state.off].sort().join() || place !== view.query) return "Calculated in your browser.";
    let apart = 0;
    for (const [id, probability] of confirm.words) apart = Math.max(apart, Math.abs(view.read.probabilities[id] - probability));
    for (const [i, weight] of (confirm.weights ?? []).entries()) apart = Math.max(apart, Math.abs(view.read.weights[i] - weight));
    const holds = apart < TOLERANCE;
    return `Calculated in your browser. ${holds ? "✓" : "✗ FAILS:"} the server's weights and probabilities differ from these by at most ${number(apart, 6)}.`;
  }

  const onInput = (event) => {
    if (!root.isConnected) return leave();
    if (!event.target.closest?.(".st-key-prompt") || !models.length) return;
    typed.add(event.target.value);
    state.text = event.target.value;
    state.hover = null;
    update();
  };
  const onKey = (event) => {
    if (event.composedPath()[0].matches?.("input, select, textarea, canvas, .word")) return;
    if (event.key === "ArrowRight") go(Math.min(state.step + 1, steps(viewOf(0)).length));
    else if (event.key === "ArrowLeft") go(Math.max(state.step - 1, 0));
    else return;
    event.preventDefault();
  };
  document.addEventListener("input", onInput);
  root.addEventListener("keydown", onKey);
  let width = 0;
  const resized = new ResizeObserver(() => {
    if (Math.abs(root.clientWidth - width) > 1) {
      width = root.clientWidth;
      update();
    }
  });
  resized.observe(root);

  function leave() {
    clearInterval(timer);
    resized.disconnect();
    document.removeEventListener("input", onInput);
  }

  return { receive, leave };
}

/** Return a model and its tokenizer, from the browser's own store or from the server. */
function material({ digest, url, bytes, layout, vocabulary, title }, say) {
  const name = `${digest}, ${layout.heads} heads, ${layout.kvHeads} kv`; // weights may be split among other numbers of heads
  if (!loaded.has(name)) {
    const megabytes = (count) => (count / 1e6).toFixed(1);
    const got = Promise.all([
      keptBytes(`/weights/${digest}`, () => fetchBytes(`${serverOf()}${url}`, bytes, (came) => say(`Fetching ${title}, once: ${megabytes(came)} of ${megabytes(bytes)} MB`))),
      keptBytes(`/vocabulary/${vocabulary.digest}`, () => fetchBytes(`${serverOf()}${vocabulary.url}`, vocabulary.bytes, () => {})),
    ]).then(([weights, words]) => {
      const { tables, itos } = JSON.parse(new TextDecoder().decode(words));
      return { model: readModel(weights, layout), tokenizer: new Tokenizer(tables, itos), itos };
    });
    got.catch(() => loaded.delete(name)); // asked again with the next change
    loaded.set(name, got);
  }
  return loaded.get(name);
}

/** Where the server's files lie: the address of the page's own script, without what Streamlit adds to it. */
function serverOf() {
  const script = document.querySelector('script[src*="/static/"]');
  return script ? script.src.split("/static/")[0] : location.origin;
}
