// One model reading one prompt, in the visitor's browser: the whole forward pass as a picture that follows every key.
//
// The server sends what is chosen and where the weights lie; it is not needed for anything else. Follows wordlm/ui/browser/pictures/block.py,
// which says what `data` holds; tests/browser/test_block_browser.py holds the two together.

import { fetchBytes, keptBytes, serverAddress } from "../carrying/cache.js";
import { NARROW } from "./block_layout.js";
import { matrixPanel, sharesOf, sharesPanel } from "./block_panel.js";
import { createPicture } from "./block_picture.js";
import { quoted, steps, summary, toldHead } from "./block_stages.js";
import { element, isStill, number } from "./drawing.js";
import { nextWords, readModel, reading } from "../model/forward.js";
import { Tokenizer } from "../model/tokenizer.js";

const TOLERANCE = 1e-4;
const PACES = { slow: 9000, normal: 5500, quick: 3000 }; // milliseconds a step
const LARGE = 1.4; // on a projector the smallest label, of 14.4 pixels there, is 20 pixels high

// Shared by all pictures of the page, and kept when one is left and opened again.
const loaded = new Map();
let welcomed = false;

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".block");
  root.picture ??= createBlock(root);
  root.picture.receive(data, (values) => setTriggerValue("chosen", values));
  return () => setTimeout(() => { if (!root.isConnected) root.picture.leave(); });
}

function createBlock(root) {
  // What is chosen here and now. A press is in force at once; the server hears of it and will say the same.
  const state = { text: "", position: null, hover: null, head: 0, alone: false, off: new Set(), word: null, versus: null, step: 0, playing: false, pace: "normal", stage: null };
  const typed = new Set(); // texts typed since the server and the prompt box last agreed
  let welcoming = false; // a first visit sees the steps played by themselves, until it does something
  let data = null, send = () => {}, models = [], views = null, shown = "", timer = 0, progress = "", failure = "";
  const pressed = new Map(); // what was pressed and not yet confirmed by the server

  const player = element("div", { className: "player", aria: { role: "group", label: "The steps of the model" } });
  const sentence = element("p", { className: "sentence", aria: { live: "polite" } });
  const figures = element("div", { className: "figures" });
  const panel = element("div");
  const foot = element("p", { className: "check" });
  const below = element("div", { className: "below" });
  root.replaceChildren(player, sentence, figures, panel, below);
  const pictures = [];

  const actions = {
    hover(place) { state.hover = place; update(); },
    query(place) {
      endWelcome();
      const { whole } = views[0];
      state.hover = null;
      state.position = place === whole.ids.length - 1 ? null : whole.positions[place];
      press({ query: place }, ["position"]);
    },
    head(head) {
      endWelcome();
      state.alone = head === state.head ? !state.alone : true;
      state.head = head;
      press({ head }, ["head"]);
    },
    toggle(head) {
      endWelcome();
      state.off.has(head) ? state.off.delete(head) : state.off.add(head);
      press({ toggled: head }, ["off"]);
    },
    word(id) {
      endWelcome();
      state.word = state.word === id ? null : id;
      state.versus = null;
      state.stage = null;
      update();
    },
    stage(name, head) {
      endWelcome();
      const same = state.stage?.name === name && state.stage.head === head;
      state.stage = same ? null : { name, head };
      state.word = null;
      if (!same && head !== state.head) state.head = head;
      update();
    },
    append,
    pair(head, key, place) {
      state.head = head;
      Object.assign(state, { stage: { name: "pair", head, key }, word: null });
      press({ head, key: place, query: views[0].query }, ["head"]);
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
    if (data.welcome && !welcomed && !failure && !isStill()) {
      welcoming = true;
      views = models.map((_, place) => viewOf(place));
      play(true);
    }
    welcomed = true;
    // After most keys the server says only what was drawn when the key was pressed.
    if (views && !failure && whatIsShown() === shown) foot.textContent = confirmed(views[0]);
    else update();
  }

  function whatIsShown() {
    return JSON.stringify([{ ...state, off: said("off") }, data.large, data.beside, data.models.map(({ digest, layout }) => [digest, layout.heads])]);
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
      player.dataset.titles = "";
      figures.replaceChildren();
      panel.replaceChildren();
      below.replaceChildren();
      below.dataset.name = "";
      sentence.textContent = failure
        ? `This browser could not read the model itself (${failure}). Cells and lines, which the server draws, still work.`
        : progress || "Fetching the model, once.";
      if (failure && data.forms) player.replaceChildren(forms());
      pictures.length = 0;
      return;
    }
    shown = whatIsShown();
    views = models.map((_, place) => viewOf(place));
    if (views.length === 2) disagree(...views);
    const zoom = data.large ? LARGE : 1;
    root.style.zoom = zoom;
    root.classList.toggle("projected", data.large);
    const width = root.clientWidth || 800;
    const room = Math.max(data.large ? 130 : 260, Math.min(480, window.innerHeight / zoom - (data.large ? 300 : 382)));
    const nextShown = data.large ? 4 : 8;
    while (pictures.length < views.length) {
      const place = element("figure");
      figures.append(place);
      pictures.push(createPicture(place, actions));
    }
    while (pictures.length > views.length) {
      pictures.pop();
      figures.lastChild.remove();
    }
    views[0].told = toldHead(views[0], state.alone || width < NARROW);
    const told = steps(views[0], views[0].told);
    state.step = Math.min(state.step, told.length);
    drawPlayer(told);
    sentence.replaceChildren(...sentenceOf(told));
    for (const [place, view] of views.entries()) pictures[place].show(view, place === 0 || view.model.kind !== "mlp" ? state : { ...state, step: 0 }, { width, room, hues: data.hues, nextShown });
    drawPanel(views[0], width);
    drawBelow();
    foot.textContent = confirmed(views[0]);
  }

  function sentenceOf(told) {
    if (state.step) return [element("b", { textContent: `${told[state.step - 1][0]}. ` }), told[state.step - 1][1]];
    const [view] = views;
    if (state.word !== null && view.shares)
      return [`Each line is a part of the score of ${quoted(view.itos[state.word])}: in the head's hue it speaks for the word, grey and dashed against it.`];
    const inAll = summary(view);
    if (view.apart) return [`${inAll} ${view.apart}`];
    return [`${inAll} ${matchMedia("(hover: none)").matches ? "Press" : "Point at"} any word, and it looks.`];
  }

  function forms() {
    return element("fieldset", {}, [
      element("legend", { textContent: "See it as" }),
      ...Object.entries({ model: "the whole model", cells: "cells", lines: "lines" }).map(([form, text]) =>
        element("button", { type: "button", textContent: text, aria: { pressed: form === "model" }, data: { focus: `form-${form}` }, onclick: () => send({ form }) })),
    ]);
  }

  // Made once for a kind of model: a button that is made anew between its press and its release would not hear of it.
  function makePlayer(told) {
    const button = (text, title, focus, act) => element("button", { type: "button", className: "act", textContent: text, title, aria: { label: title }, data: { focus }, onclick: act });
    const pace = element("select", { aria: { label: "Pace" }, data: { focus: "pace" }, onchange: () => { state.pace = pace.value; play(state.playing); } },
      Object.keys(PACES).map((name) => element("option", { value: name, textContent: name, selected: name === state.pace })));
    const names = ["All", ...told.map(([, , short]) => short)];
    player.replaceChildren(
      ...(data.forms ? [forms()] : []),
      element("span", { className: "buttons" }, [
        button("", "", "play", () => { welcoming = false; play(!state.playing); }),
        button("‹", "Step back", "back", () => go(state.step - 1)),
        button("›", "Step forward", "forth", () => go(state.step + 1)),
      ]),
      element("ol", { className: "steps" }, names.map((short, step) =>
        element("li", {}, [element("button", { type: "button", aria: { label: step ? `Step ${step}: ${told[step - 1][0]}` : "All at once" }, data: { focus: `step-${step}` }, onclick: () => go(step) },
          step ? [`${step}`, element("span", { textContent: ` ${short}` })] : [short])]))),
      pace,
    );
  }

  function drawPlayer(told) {
    const titles = JSON.stringify(told.map(([title]) => title));
    if (player.dataset.titles !== titles) {
      player.dataset.titles = titles;
      makePlayer(told);
    }
    const at = (focus) => player.querySelector(`[data-focus="${focus}"]`);
    const title = state.playing ? "Pause" : "Play the steps";
    Object.assign(at("play"), { textContent: state.playing ? "Pause" : "▶ Play", title, ariaLabel: title });
    at("back").disabled = state.step === 0;
    at("forth").disabled = state.step === told.length;
    for (const [step, item] of player.querySelectorAll(".steps button").entries()) item.ariaCurrent = step === state.step ? "step" : "false";
  }

  function endWelcome() {
    if (!welcoming) return;
    welcoming = state.playing = false;
    state.step = 0;
    clearInterval(timer);
  }

  function go(step) {
    welcoming = false;
    play(false);
    state.step = step;
    update();
  }

  function play(on) {
    clearInterval(timer);
    state.playing = on;
    if (on) {
      const last = steps(views[0]).length;
      if (state.step >= last) state.step = 0;
      state.step += 1;
      timer = setInterval(() => {
        if (!root.isConnected || state.step >= last) {
          if (welcoming) state.step = 0;
          welcoming = false;
          return play(false);
        }
        state.step += 1;
        update();
      }, PACES[state.pace]);
    }
    update();
  }

  /** Write a word behind the text and play again, so that a story is written in the picture. */
  function append(id) {
    state.text = `${state.text.trimEnd()} ${models[0].itos[id]}`.trimStart();
    typed.add(state.text);
    Object.assign(state, { position: null, hover: null, word: null, versus: null });
    pressed.set("position", null);
    send({ prompt: state.text });
    if (state.step) {
      state.step = 0;
      play(true);
    } else update();
  }

  function drawBelow() {
    const beside = element("select", { data: { focus: "beside" }, onchange: () => send({ beside: beside.value }) },
      [["", "none"], ...data.others].map(([value, textContent]) => element("option", { value, textContent, selected: value === data.beside })));
    const name = JSON.stringify([data.others, data.beside]);
    if (below.dataset.name === name) return;
    below.dataset.name = name;
    below.replaceChildren(
      element("p", { textContent: "Cells: in hue above 0, grey below; the deeper, the further. Lines: the thicker, the larger the weight." }),
      foot,
      data.others.length ? element("label", {}, ["Another model below: ", beside]) : "",
    );
  }

  function drawPanel(view, width) {
    const close = () => {
      Object.assign(state, { stage: null, word: null, versus: null });
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
        compare: (versus) => { state.versus = versus; update(); },
      }));
      if (opened) panel.querySelector("details").open = true;
    } else if (state.stage) panel.replaceChildren(matrixPanel(view, state.stage, shared));
    else panel.replaceChildren();
    // What was just opened below the fold would seem to be nothing.
    const name = state.word !== null ? `word ${state.word}` : state.stage && `${state.stage.name} ${state.stage.head} ${state.stage.key}`;
    if (name && name !== panel.dataset.name) (panel.querySelector("tbody, .cell-said") ?? panel).scrollIntoView({ block: "nearest", behavior: isStill() ? "instant" : "smooth" });
    panel.dataset.name = name ?? "";
    if (focused) panel.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
  }

  function disagree(one, other) {
    const words = new Set([...nextWords(one.read.probabilities, 8), ...nextWords(other.read.probabilities, 8)].map(({ id }) => id));
    const apart = (id) => Math.abs(one.read.probabilities[id] - other.read.probabilities[id]);
    const ordered = [...words].sort((a, b) => apart(b) - apart(a));
    one.disagree = other.disagree = new Set(ordered.slice(0, 3));
    const most = ordered[0];
    one.apart = `They disagree most on ${quoted(one.itos[most])}: ${number(one.read.probabilities[most])} for ${data.models[0].title}, ${number(other.read.probabilities[most])} for ${data.models[1].title}.`;
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
    return `Calculated in your browser. ${holds ? `✓ The server agrees to ${number(apart, 4)}.` : `✗ FAILS: the server differs by ${number(apart, 4)}.`}`;
  }

  const onInput = (event) => {
    if (!root.isConnected) return leave();
    if (!event.target.closest?.(".st-key-prompt") || !models.length) return;
    endWelcome();
    typed.add(event.target.value);
    state.text = event.target.value;
    state.hover = null;
    update();
  };
  const onKey = (event) => {
    if (!root.isConnected) return leave();
    if (!views || event.composedPath()[0].matches?.("input, select, textarea, canvas, .word")) return;
    const head = Number(event.key) - 1;
    if (data.large && head >= 0 && head < (views[0].model.heads ?? 0)) actions.head(head);
    else if (!event.composedPath().includes(root)) return;
    else if (event.key === "ArrowRight") go(Math.min(state.step + 1, steps(views[0]).length));
    else if (event.key === "ArrowLeft") go(Math.max(state.step - 1, 0));
    else return;
    event.preventDefault();
  };
  document.addEventListener("input", onInput);
  document.addEventListener("keydown", onKey);
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
    document.removeEventListener("keydown", onKey);
  }

  return { receive, leave };
}

/** Return a model and its tokenizer, from the browser's own store or from the server. */
function material({ digest, url, bytes, layout, vocabulary, title }, say) {
  const name = `${digest}, ${layout.heads} heads, ${layout.kvHeads} kv`; // weights may be split among other numbers of heads
  if (!loaded.has(name)) {
    const megabytes = (count) => (count / 1e6).toFixed(1);
    const got = Promise.all([
      keptBytes(`/weights/${digest}`, () => fetchBytes(`${serverAddress()}${url}`, bytes, (came) => say(`Fetching ${title}, once: ${megabytes(came)} of ${megabytes(bytes)} MB`))),
      keptBytes(`/vocabulary/${vocabulary.digest}`, () => fetchBytes(`${serverAddress()}${vocabulary.url}`, vocabulary.bytes, () => {})),
    ]).then(([weights, words]) => {
      const { tables, itos } = JSON.parse(new TextDecoder().decode(words));
      return { model: readModel(weights, layout), tokenizer: new Tokenizer(tables, itos), itos };
    });
    got.catch(() => loaded.delete(name)); // asked again with the next change
    loaded.set(name, got);
  }
  return loaded.get(name);
}
