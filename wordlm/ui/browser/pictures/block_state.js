// What the picture of the whole model knows, and what follows from it for the eye. Nothing here draws or fetches, so node
// tests it (tests/js/block_state.test.js).
//
// A state holds what the server said last (`came`), what is drawn (`drawn`: one of its messages with the models that it
// names, so that data, models and hues on screen always belong together), what is on its way or failed, and what was
// chosen here. `lookOf` makes of it all that is drawn.

import { Talk } from "../carrying/talk.js";
import { nameOfModel } from "../model/fetched.js";
import { nextWords, reading } from "../model/forward.js";
import { sharesOf } from "./block_panel.js";
import { quoted, steps, summary, toldHead } from "./block_stages.js";
import { number, portion, rounded } from "./numbers.js";

const TOLERANCE = 1e-4;

export function newState() {
  return {
    /** @type {import("../carrying/messages.js").BlockData | null} */
    came: null,
    /** @type {{ came: import("../carrying/messages.js").BlockData, models: any[] } | null} */
    drawn: null,
    /** @type {{ title: string, received: number, bytes: number } | null} */
    loading: null, // { title, received, bytes } of the model that came furthest behind
    failure: "",
    talk: new Talk(), // its `chosen`: what the server may hear of, a `Chosen`
    text: "",
    typed: new Set(), // the texts of the prompt box since the server and it last agreed
    hover: null,
    alone: false, // whether the chosen head is seen alone
    word: null, // a pressed next word and its rival, as they are spelled: another vocabulary has other numbers for them
    versus: null,
    stage: null, // the opened matrix: { name, head, key, cell }
    step: 0,
    playing: false,
    pace: "normal",
    welcoming: false, // a first visit sees the steps played by themselves, until it does something
  };
}

// What comes in

/**
 * Take what the server says. Returns a message where it must be told again what was chosen here, else null.
 * @param {ReturnType<newState>} state
 * @param {import("../carrying/messages.js").BlockData} came
 */
export function receive(state, came) {
  const lost = state.talk.hear(came.heard, came.chosen);
  if (!state.typed.has(came.text) || came.text === state.text) {
    if (came.text !== state.text) state.hover = null;
    state.text = came.text;
    state.typed.clear();
  }
  if (state.came === null || wantedBy(came) !== wantedBy(state.came)) Object.assign(state, { loading: null, failure: "" });
  state.came = came;
  return lost ? state.talk.say({}) : null;
}

/** Return what names the models that a message of the server wants drawn. */
export const wantedBy = ({ models }) => JSON.stringify(models.map(nameOfModel));

/** Draw from now on what the server said last, with its `models`; those of an earlier wish, `wanted`, come too late. */
export function bring(state, wanted, models) {
  if (wanted !== wantedBy(state.came)) return;
  Object.assign(state, { drawn: { came: state.came, models }, loading: null, failure: "" });
}

/** Note how far a model on its way is; of several the one that is furthest behind is told. */
export function progress(state, wanted, title, received, bytes) {
  if (wanted !== wantedBy(state.came)) return;
  const { loading } = state;
  if (loading === null || loading.title === title || received / bytes < loading.received / loading.bytes) state.loading = { title, received, bytes };
}

/** Note that what is `wanted` could not be fetched. What an earlier wish met is of no interest. */
export function fail(state, wanted, reason) {
  if (wanted === wantedBy(state.came)) Object.assign(state, { failure: reason, loading: null });
}

/** Take a text that the visitor types. */
export function type(state, text) {
  endWelcome(state);
  write(state, text);
}

function write(state, text) {
  state.typed.add(state.text).add(text); // an answer may be on its way that knows only the text before
  Object.assign(state, { text, hover: null });
}

// What is pressed. Each returns the message for the server, or null where it need not know.

export function hover(state, place) {
  state.hover = place;
  return null;
}

export function chooseQuery(state, place) {
  endWelcome(state);
  const { whole } = viewOf(state, 0);
  state.hover = null;
  const last = place === whole.ids.length - 1;
  return state.talk.say({ query: last ? null : placeOf(whole, place), key: null });
}

const placeOf = ({ labels, positions }, place) => ({ label: labels[place], position: positions[place] });

/** Choose a head; pressed once more it is seen alone, then with the others again. */
export function chooseHead(state, head) {
  endWelcome(state);
  state.alone = head === state.talk.chosen.head ? !state.alone : true;
  return state.talk.say({ head });
}

export function toggleHead(state, head) {
  endWelcome(state);
  const { off } = state.talk.chosen;
  return state.talk.say({ off: off.includes(head) ? off.filter((one) => one !== head) : inOrder([...off, head]) });
}

/** Ask who made a word likely, or no longer. */
export function chooseWord(state, word) {
  endWelcome(state);
  Object.assign(state, { word: state.word === word ? null : word, versus: null, stage: null });
  return null;
}

export function compareWith(state, word) {
  state.versus = word;
  return null;
}

/** Open a matrix of a head, which is the chosen one from then on; pressed once more it closes. */
export function openStage(state, name, head) {
  endWelcome(state);
  const same = state.stage?.name === name && state.stage.head === head;
  Object.assign(state, { stage: same ? null : { name, head, key: null }, word: null });
  return head === state.talk.chosen.head ? null : state.talk.say({ head });
}

/** Open how the query meets one key of a head: the word at a `place` of the text. */
export function openPair(state, head, place) {
  endWelcome(state);
  const { whole, query, ids } = viewOf(state, 0);
  Object.assign(state, { stage: { name: "pair", head, key: ids.length - 1 - query + place }, word: null });
  return state.talk.say({ head, key: placeOf(whole, place) });
}

export function chooseCell(state, cell) {
  state.stage = { ...state.stage, cell };
  return null;
}

export function closePanel(state) {
  Object.assign(state, { stage: null, word: null, versus: null });
  return null;
}

/** Write a word behind the text, which a story is made of. */
export function append(state, word) {
  endWelcome(state);
  write(state, `${state.text.trimEnd()} ${word}`.trimStart());
  Object.assign(state, { word: null, versus: null });
  return state.talk.say({ prompt: state.text, query: null, key: null });
}

export const chooseForm = (state, form) => state.talk.say({ form });
export const chooseBeside = (state, beside) => state.talk.say({ beside });

// The steps

/** See one step, and let it stand; the first visit's play ends with it. */
export function goTo(state, step) {
  Object.assign(state, { playing: false, welcoming: false, step });
}

/** Play the steps from the one behind that which is seen, or from the first one. */
export function play(state) {
  const { step } = state, last = lastStep(state);
  Object.assign(state, { playing: true, welcoming: false, step: step >= last ? 1 : step + 1 });
}

/** Go on to the next step; behind the last one the play ends, and a first visit sees all again. */
export function goOn(state) {
  if (state.step < lastStep(state)) state.step += 1;
  else Object.assign(state, { playing: false, step: state.welcoming ? 0 : state.step, welcoming: false });
}

const lastStep = (state) => steps(viewOf(state, 0)).length;

function endWelcome(state) {
  if (state.welcoming) Object.assign(state, { welcoming: false, playing: false, step: 0 });
}

// What follows for the eye

/**
 * Return all that is drawn. `notice` says what is on its way or failed, and `retry` whether it can be tried again; `waiting` tells that what is
 * drawn is what was chosen before. `views` are one a model, and there is none while none was fetched. `titles` name the
 * steps, `sentence` is in parts, the first of which stands out where a step is seen. What else belongs to the models that
 * are drawn comes from the message that named them; what can be done here follows the last one.
 */
export function lookOf(state, { narrow, hands }) {
  const { drawn, came, failure, playing, pace, alone } = state;
  const waiting = drawn !== null && drawn.came !== came;
  const { hues, others, follows } = (drawn ?? state).came;
  const look = {
    notice: noticeOf(state), retry: failure !== "", waiting, playing, pace, alone, forms: came.forms, keys: came.large,
    hues, others, beside: state.talk.chosen.beside, appends: follows, views: [], titles: [], step: 0, sentence: [], check: "", panel: null,
  };
  if (drawn === null) return look;
  const views = drawn.models.map((_, place) => viewOf(state, place));
  if (views.length === 2) disagree(drawn.came.models, ...views);
  views[0].told = toldHead(views[0], state.alone || narrow);
  const told = steps(views[0], views[0].told);
  const step = Math.min(state.step, told.length);
  const [view] = views;
  return {
    ...look,
    views,
    titles: told.map(([title, , short]) => ({ title, short })),
    step,
    sentence: step ? [told[step - 1][0], told[step - 1][1]] : ["", standing(view, hands)],
    check: waiting ? "" : confirmed(state, view),
    panel: view.word !== null && view.shares ? { shares: view.word } : state.stage && { stage: state.stage },
  };
}

function noticeOf({ drawn, came, loading, failure }) {
  const still = drawn === null || drawn.came === came ? "" : ` Until then you see ${titlesOfModels(drawn.came)}.`;
  if (failure) return `This browser could not read the model itself (${failure}). Cells and lines, which the server draws, still work.${still.replace("Until then you", "You still")}`;
  if (drawn?.came === came) return "";
  const megabytes = (bytes) => rounded(bytes / 1e6, 1);
  const far = loading === null ? "" : `: ${megabytes(loading.received)} of ${megabytes(loading.bytes)} MB`;
  return `Fetching ${came === null ? "the model" : titlesOfModels(came)}, once${far}.${still}`;
}

const titlesOfModels = ({ models }) => models.map(({ title }) => title).join(" and ");

/** Return what is seen of the model at a `place`: its reading up to the word that looks, and what is chosen in it. */
function viewOf(state, place) {
  const { model, tokenizer, itos } = state.drawn.models[place];
  const { chosen } = state.talk;
  const whole = tokenizer.encodePrompt(state.text, model.contextLen);
  const pinned = chosen.query === null ? -1 : whole.positions.indexOf(chosen.query.position);
  const last = whole.ids.length - 1;
  const query = Math.min(last, state.hover ?? (pinned < 0 ? last : pinned));
  const prompt = whole.upTo(query);
  const off = place === 0 && model.kind !== "mlp" ? chosen.off.filter((head) => head < model.heads) : [];
  const headsOn = off.length ? Array.from({ length: model.heads }, (_, head) => !off.includes(head)) : null;
  // What the prompt up to the word keeps of it, as `reading` does.
  const read = reading(model, prompt.ids, { headsOn });
  const view = { model, itos, whole, query, prompt, ids: prompt.ids, read, head: Math.min(chosen.head, (model.heads ?? 1) - 1) };
  view.before = headsOn ? reading(model, prompt.ids).probabilities : null;
  view.word = idOf(state.word, view);
  view.versus = view.word === null ? null : idOf(state.versus, view);
  if (view.word !== null) view.shares = sharesOf(view, view.word, view.versus);
  return view;
}

/** Return a word's number in the vocabulary of a model with heads, or null: another vocabulary may not know it. */
function idOf(word, { model, itos }) {
  const id = word === null || model.kind === "mlp" ? -1 : itos.indexOf(word);
  return id < 0 ? null : id;
}

function disagree(models, one, other) {
  const words = new Set([...nextWords(one.read.probabilities, 8), ...nextWords(other.read.probabilities, 8)].map(({ id }) => id));
  const apart = (id) => Math.abs(one.read.probabilities[id] - other.read.probabilities[id]);
  const ordered = [...words].sort((a, b) => apart(b) - apart(a));
  one.disagree = other.disagree = new Set(ordered.slice(0, 3));
  const most = ordered[0];
  one.apart = `They disagree most on ${quoted(one.itos[most])}: ${portion(one.read.probabilities[most])} for ${models[0].title}, ${portion(other.read.probabilities[most])} for ${models[1].title}.`;
}

function standing(view, hands) {
  if (view.word !== null && view.shares)
    return `Each line is what a head takes from a word for ${quoted(view.itos[view.word])} rather than the other words: in the head's hue it speaks for it, grey and dashed against it.`;
  const inAll = summary(view);
  return view.apart ? `${inAll} ${view.apart}` : `${inAll} ${hands ? "Press" : "Point at"} any word, and it looks.`;
}

/** Say how far the server's numbers are from these, where it read the same text with the same model and heads. */
function confirmed({ drawn, text, talk }, view) {
  const { confirm } = drawn.came;
  const same = confirm.text === text && confirm.off.join() === talk.chosen.off.join() && view.whole.positions.indexOf(confirm.position) === view.query;
  if (!same) return "Calculated in your browser.";
  let apart = 0;
  const meet = (here, there) => { apart = Math.max(apart, Math.abs(here - there)); };
  for (const [id, probability] of confirm.words) meet(view.read.probabilities[id], probability);
  for (const [i, weight] of (confirm.weights ?? []).entries()) meet(view.read.weights[i], weight);
  const holds = apart < TOLERANCE;
  return `Calculated in your browser. ${holds ? `✓ The server agrees to ${number(apart, 4)}.` : `✗ FAILS: the server differs by ${number(apart, 4)}.`}`;
}

const inOrder = (numbers) => numbers.sort((a, b) => a - b);
