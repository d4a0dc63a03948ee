// The whole model reading a prompt, in the visitor's browser, as a picture that follows every key: joins what the server
// says and the visitor does (block_state.js) to what is drawn.
//
// The server sends what is chosen and where the weights lie; it is not needed for anything else. Follows wordlm/ui/
// browser/pictures/block.py; tests/browser/test_block_browser.py holds the two together.

import { forgetKept, keptSize } from "../carrying/cache.js";
import { fetchModels, fetchedOf } from "../model/fetched.js";
import { nextWords } from "../model/forward.js";
import { NARROW } from "./block_layout.js";
import { matrixPanel, sharesPanel } from "./block_panel.js";
import { createPicture } from "./block_picture.js";
import { PACES, playerOf } from "./block_player.js";
import { append, bring, chooseBeside, chooseCell, chooseForm, chooseHead, chooseQuery, chooseWord, closePanel, compareWith, fail, goOn, goTo, hover, lookOf, newState, openPair, openStage, play, progress, receive, toggleHead, type, wantedBy } from "./block_state.js";
import { keyOfHead } from "./block_titles.js";
import { element, isStill, redraw, told } from "./drawing.js";

const LARGE = 1.4; // on a projector the smallest label, of 14.4 pixels there, is 20 pixels high

let welcomed = false; // once a page, the steps play by themselves

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".block");
  root.picture ??= createBlock(root);
  root.picture.receive(data, (message) => setTriggerValue("chosen", message));
  return () => setTimeout(() => { if (!root.isConnected) root.picture.leave(); });
}

function createBlock(root) {
  const state = newState(), parts = createParts(root);
  let send = () => {}, timer = 0;
  const say = (message) => { if (message !== null) send(message); };
  const act = (change) => (...values) => {
    const message = change(state, ...values);
    update();
    say(message);
  };
  const actions = {
    hover: act(hover),
    query: act(chooseQuery),
    head: act(chooseHead),
    toggle: act(toggleHead),
    word: act(chooseWord),
    versus: act(compareWith),
    stage: act(openStage),
    pair: act(openPair),
    cell: act(chooseCell),
    close: act(closePanel),
    form: act(chooseForm),
    beside: act(chooseBeside),
    append(word) {
      const message = append(state, word);
      if (state.step) playFrom(0);
      else update();
      say(message);
    },
    go(step) {
      goTo(state, step);
      keepTime();
    },
    play() {
      state.welcoming = false;
      if (state.playing) state.playing = false;
      else play(state);
      keepTime();
    },
    pace(pace) {
      state.pace = pace;
      keepTime();
    },
    retry: load,
    async forget() {
      await forgetKept();
      tellKept();
    },
  };

  function playFrom(step) {
    state.step = step;
    play(state);
    keepTime();
  }

  /** Let time go on where the steps play. */
  function keepTime() {
    clearInterval(timer);
    if (state.playing)
      timer = setInterval(() => {
        goOn(state);
        if (!state.playing || !root.isConnected) clearInterval(timer);
        update();
      }, PACES[state.pace]);
    update();
  }

  function receiveData(came, tell) {
    send = tell;
    const again = receive(state, came);
    const models = fetchedOf(came.models);
    if (models === null) load();
    else begin(wantedBy(came), models);
    say(again);
  }

  async function load() {
    const { came } = state, wanted = wantedBy(came);
    state.failure = "";
    update();
    try {
      await fetchModels(came.models, (...far) => {
        progress(state, wanted, ...far);
        update();
      });
    } catch (error) {
      if (error.name === "AbortError") return; // no longer wanted
      fail(state, wanted, error.message);
      return update();
    }
    if (wanted === wantedBy(state.came)) begin(wanted, fetchedOf(came.models));
    tellKept();
  }

  function begin(wanted, models) {
    bring(state, wanted, models);
    if (state.came.welcome && !welcomed && !isStill()) {
      state.welcoming = true;
      playFrom(0);
    } else update();
    welcomed = true;
  }

  async function tellKept() {
    parts.kept = await keptSize();
    update();
  }

  /** Draw what follows from the state. After most keys the server says only what was drawn when the key was pressed. */
  function update() {
    if (state.came === null || !root.isConnected) return;
    const space = parts.space(state.came.large);
    const look = lookOf(state, { narrow: space.width < NARROW, hands: matchMedia("(hover: none)").matches });
    const { came } = state.drawn ?? state, { playing, pace, alone } = state;
    Object.assign(look, { playing, pace, alone, forms: state.came.forms, keys: state.came.large, appends: came.follows });
    try {
      parts.draw(look, came, space, state, actions);
    } catch (error) {
      parts.fail(error, look, actions);
    }
  }

  const onInput = (event) => {
    if (!root.isConnected) return leave();
    if (!event.target.closest?.(".st-key-prompt") || !state.drawn?.came.follows) return;
    type(state, event.target.value);
    update();
  };
  const onKey = (event) => {
    if (!root.isConnected) return leave();
    if (event.altKey || event.ctrlKey || event.metaKey || !state.drawn || isWriting(event)) return;
    const act = keyOf(event, state, actions, event.composedPath().includes(root));
    if (!act) return;
    event.preventDefault();
    act();
  };
  document.addEventListener("input", onInput);
  document.addEventListener("keydown", onKey);
  const unwatch = parts.watch(update);

  function leave() {
    clearInterval(timer);
    unwatch();
    document.removeEventListener("input", onInput);
    document.removeEventListener("keydown", onKey);
  }

  return { receive: receiveData, leave };
}

const isWriting = (event) => event.composedPath()[0].matches?.("input, select, textarea, canvas, .word");

/** Return what a key does, if anything: arrows in the picture change the step; on a projector digits do, and letters choose a head. */
function keyOf({ key }, state, actions, inside) {
  const { titles, step, heads } = keysOf(state);
  if (inside && key === "ArrowRight") return () => actions.go(Math.min(step + 1, titles));
  if (inside && key === "ArrowLeft") return () => actions.go(Math.max(step - 1, 0));
  if (!state.came.large) return null;
  if (/^[0-9]$/.test(key) && Number(key) <= titles) return () => actions.go(Number(key));
  for (let head = 0; head < heads; head++) if (key === keyOfHead(head)) return () => actions.head(head);
  return null;
}

function keysOf(state) {
  const { titles, step, views } = lookOf(state, { narrow: false, hands: false });
  return { titles: titles.length, step, heads: views[0].model.heads ?? 0 };
}

/** Make the parts of the picture in an element: { draw, fail, space, watch, kept }. */
function createParts(root) {
  const player = element("div", { className: "player", aria: { role: "group", label: "The steps of the model" } });
  const notice = element("p", { className: "notice", aria: { role: "status" } });
  const sentence = element("p", { className: "sentence", aria: { live: "polite" } });
  const figures = element("div", { className: "figures" });
  const panel = element("div");
  const below = element("div", { className: "below" });
  const stage = element("div", { className: "stage" }, [player, notice, sentence, figures, panel, below]);
  root.replaceChildren(stage);
  const pictures = [];
  const parts = { kept: 0, draw, fail, space, watch };

  /** What room the picture has. A projector enlarges it as a whole, which every engine counts alike. */
  function space(large) {
    const scale = large ? LARGE : 1;
    Object.assign(stage.style, { transform: large ? `scale(${LARGE})` : "", width: `${100 / scale}%` });
    root.classList.toggle("projected", large);
    const width = stage.clientWidth || 800;
    const room = Math.max(large ? 130 : 260, Math.min(480, window.innerHeight / scale - (large ? 300 : 382)));
    return { width, room, scale, nextShown: large ? 4 : 8 };
  }

  function draw(look, came, room, state, actions) {
    redraw(player, playerOf(look, actions));
    drawNotice(look, actions);
    const [title, text] = look.sentence;
    redraw(sentence, text ? [...(title ? [element("b", { textContent: `${title}. ` })] : []), ...told(text)] : []);
    figures.classList.toggle("waiting", look.waiting);
    figures.inert = panel.inert = look.waiting;
    fitPictures(look.views.length, actions);
    for (const [place, view] of look.views.entries()) {
      const steps = place === 0 || view.model.kind !== "mlp";
      pictures[place].show(view, steps ? look : { ...look, step: 0 }, room, came.hues);
    }
    drawPanel(look, came, room, state, actions);
    redraw(below, look.views.length ? belowOf(look, came, parts.kept, actions) : []);
    root.style.height = room.scale === 1 ? "" : `${stage.offsetHeight * room.scale}px`;
  }

  function drawNotice({ notice: said, retry }, actions) {
    notice.hidden = said === "";
    redraw(notice, [...told(said), ...(retry ? [element("button", { type: "button", className: "act", textContent: "Try again", data: { focus: "retry" }, onclick: actions.retry })] : [])]);
  }

  function fitPictures(count, actions) {
    while (pictures.length < count) {
      const place = element("figure");
      figures.append(place);
      pictures.push(createPicture(place, actions));
    }
    while (pictures.length > count) {
      pictures.pop();
      figures.lastChild.remove();
    }
  }

  function drawPanel({ panel: opened, views: [view] }, came, { width }, { versus }, actions) {
    const shared = { width, hues: came.hues, close: actions.close };
    if (!opened) redraw(panel, []);
    else if (opened.stage) redraw(panel, [matrixPanel(view, opened.stage, { ...shared, choose: actions.cell })]);
    else {
      const others = nextWords(view.read.probabilities, 12).map(({ id }) => id);
      redraw(panel, [sharesPanel(view, { word: view.word, versus: view.versus }, { ...shared, others, compare: (id) => actions.versus(id === null ? null : view.itos[id]) })]);
    }
    // What was just opened below the fold would seem to be nothing.
    const name = opened ? JSON.stringify([opened.shares, versus, opened.stage?.name, opened.stage?.head, opened.stage?.key]) : "";
    if (name && name !== panel.dataset.name) (panel.querySelector("tbody, .cell-said") ?? panel).scrollIntoView({ block: "nearest", behavior: isStill() ? "instant" : "smooth" });
    panel.dataset.name = name;
  }

  /** Say that this browser could not draw the picture, and offer those of the server. */
  function fail(error, look, actions) {
    pictures.length = 0;
    for (const part of [figures, panel, below, sentence]) part.replaceChildren();
    redraw(player, playerOf({ ...look, titles: [] }, actions));
    drawNotice({ notice: `This browser could not draw the picture (${error.message}). Cells and lines still work. `, retry: true }, actions);
  }

  function watch(changed) {
    let width = 0;
    const resized = new ResizeObserver(() => {
      if (Math.abs(root.clientWidth - width) > 1) {
        width = root.clientWidth;
        changed();
      }
    });
    resized.observe(root);
    return () => resized.disconnect();
  }

  return parts;
}

function belowOf(look, { others, chosen }, kept, actions) {
  const option = ([value, textContent]) => element("option", { value, textContent, defaultSelected: value === chosen.beside });
  return [
    element("p", { textContent: "Cells: in hue above 0, grey below; the deeper, the further. Lines: the thicker, the larger the weight." }),
    element("p", { className: "check", textContent: look.check }),
    ...(others.length
      ? [element("label", {}, ["Another model below: ", element("select", { data: { focus: "beside" }, onchange: (event) => actions.beside(event.target.value) }, [["", "none"], ...others].map(option))])]
      : []),
    ...(kept
      ? [element("button", { type: "button", className: "forget", textContent: `Clear what this browser keeps (${(kept / 1e6).toFixed(1)} MB)`, title: "Models and scripts that are not fetched again", data: { focus: "forget" }, onclick: actions.forget })]
      : []),
  ];
}
