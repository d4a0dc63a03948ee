// wordlm/ui/browser/pictures/block_state.js: what is drawn follows from one state, whatever comes late, twice or never.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Talk } from "../../wordlm/ui/browser/carrying/talk.js";
import { readModel } from "../../wordlm/ui/browser/model/forward.js";
import { Tokenizer } from "../../wordlm/ui/browser/model/tokenizer.js";
import { append, bring, chooseHead, chooseQuery, chooseWord, closePanel, compareWith, fail, goOn, goTo, hover, lookOf, newState, openPair, openStage, play, progress, receive, toggleHead, type, wantedBy } from "../../wordlm/ui/browser/pictures/block_state.js";
import { readBuffer, readJson } from "./fixtures.js";

const { text: TEXT, tables, models: MODELS } = readJson("state.json");
const WIDE = { narrow: false, hands: false };

const here = Object.fromEntries(Object.entries(MODELS).map(([name, { layout, itos, vocabulary }]) => [
  name,
  { model: readModel(readBuffer(`${name}.bin`), layout), tokenizer: new Tokenizer(tables, itos), itos, vocabulary },
]));

/** Return what the server says of a model, as block.py does. */
function said(names, { text = TEXT, heard = 0, query = null, head = 0, off = [], ...more } = {}) {
  const first = MODELS[names[0]], { positions } = here[names[0]].tokenizer.encodePrompt(text);
  const probabilities = off.length ? first.without : first.probabilities;
  return {
    heard,
    chosen: { query, head, off, form: "model", beside: names[1] ?? "" },
    text,
    follows: true,
    models: names.map((name) => ({ title: `${name} heads`, weights: { digest: name, bytes: 5e6, url: "", keep: true }, layout: MODELS[name].layout, vocabulary: {} })),
    others: [],
    forms: true,
    welcome: false,
    large: false,
    hues: Array.from({ length: 16 }, (_, i) => `#0000${(16 + i).toString(16)}`),
    confirm: {
      text,
      position: query?.position ?? positions.at(-1),
      off,
      words: [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]).slice(0, 10).map((id) => [id, probabilities[id]]),
      weights: text === TEXT && query === null ? first.weights : null,
    },
    ...more,
  };
}

/** A state in which what the server says has been drawn. */
function drawn(names, options) {
  const state = newState();
  hears(state, said(names, options));
  return state;
}

function hears(state, came) {
  const again = receive(state, came);
  bring(state, wantedBy(came), came.models.map(({ weights }) => here[weights.digest]));
  return again;
}

const likeliest = ({ views: [view] }) => {
  const { probabilities } = view.read;
  let most = 0;
  for (const [id, probability] of probabilities.entries()) if (probability > probabilities[most]) most = id;
  return view.itos[most];
};

test("while another model is on its way, what is drawn is the old one's in all its parts, and is said to be", () => {
  const state = drawn(["4"]);
  receive(state, { ...said(["16"]), hues: ["#123456"], others: [["1", "1 head"]] });
  type(state, `${TEXT} dog`);
  progress(state, wantedBy(state.came), "16 heads", 1.2e6, 5e6);
  const look = lookOf(state, WIDE);
  assert.equal(look.waiting, true);
  assert.equal(look.notice, "Fetching 16 heads, once: 1.2 of 5.0 MB. Until then you see 4 heads.");
  assert.equal(look.views[0].model.heads, 4);
  assert.deepEqual([look.hues.length, look.others], [16, []]);
  assert.equal(look.views[0].prompt.typed.at(-1), "dog"); // the old model goes on reading
  assert.equal(look.check, "");
  bring(state, wantedBy(state.came), [here["16"]]);
  const now = lookOf(state, WIDE);
  assert.deepEqual([now.waiting, now.notice, now.views[0].model.heads, now.hues], [false, "", 16, ["#123456"]]);
});

test("beside another model the sentence that compares names each model with its own number", () => {
  const state = drawn(["4", "1"]);
  receive(state, said(["16", "1"]));
  assert.match(lookOf(state, WIDE).sentence[1], /for 4 heads, .* for 1 heads\./);
  bring(state, wantedBy(state.came), [here["16"], here["1"]]);
  const { views, sentence } = lookOf(state, WIDE);
  const [, word] = sentence[1].match(/They disagree most on “(.+?)”/);
  const id = views[0].itos.indexOf(word);
  for (const [place, name] of ["16", "1"].entries()) {
    assert.ok(Math.abs(views[place].read.probabilities[id] - MODELS[name].probabilities[id]) < 1e-4);
    assert.ok(sentence[1].includes(`${MODELS[name].probabilities[id].toFixed(3)} for ${name} heads`), sentence[1]);
  }
});

test("models change from many heads to few under a word that is looked at", () => {
  const state = drawn(["16"]);
  receive(state, said(["4"], { head: 3 }));
  hover(state, 2);
  assert.equal(lookOf(state, WIDE).views[0].read.weights.length, 16 * 3);
  bring(state, wantedBy(state.came), [here["4"]]);
  assert.equal(lookOf(state, WIDE).views[0].read.weights.length, 4 * 3);
});

test("a model that comes after another was chosen is not drawn, and its failure is not told", () => {
  const state = drawn(["4"]);
  const late = said(["16"]), wanted = wantedBy(late);
  receive(state, late);
  hears(state, said(["1"]));
  bring(state, wanted, [here["16"]]);
  assert.equal(lookOf(state, WIDE).views[0].model.heads, 1);
  fail(state, wanted, "the server answered 404");
  progress(state, wanted, "16 heads", 1, 5);
  const look = lookOf(state, WIDE);
  assert.deepEqual([look.notice, look.retry, look.waiting], ["", false, false]);
});

test("a failure is told beside the old picture, can be tried again, and goes once the model came", () => {
  const state = drawn(["4"]);
  receive(state, said(["16"]));
  fail(state, wantedBy(state.came), "the server answered 404");
  const failed = lookOf(state, WIDE);
  assert.match(failed.notice, /could not read the model itself \(the server answered 404\).*You still see 4 heads\./);
  assert.deepEqual([failed.retry, failed.waiting, failed.views[0].model.heads], [true, true, 4]);
  receive(state, said(["16"], { text: `${TEXT} dog` })); // a further message that wants the same does not hide it
  assert.equal(lookOf(state, WIDE).retry, true);
  receive(state, said(["1"])); // another one is wanted now
  assert.deepEqual([lookOf(state, WIDE).notice, lookOf(state, WIDE).retry], ["Fetching 1 heads, once. Until then you see 4 heads.", false]);
  bring(state, wantedBy(state.came), [here["1"]]);
  assert.deepEqual([lookOf(state, WIDE).notice, lookOf(state, WIDE).retry], ["", false]);
});

test("before any model came there is nothing drawn but what is on its way", () => {
  const state = newState();
  receive(state, said(["4"]));
  const look = lookOf(state, WIDE);
  assert.deepEqual([look.views, look.panel, look.notice], [[], null, "Fetching 4 heads, once."]);
  progress(state, wantedBy(state.came), "4 heads", 5e5, 5e6);
  assert.equal(lookOf(state, WIDE).notice, "Fetching 4 heads, once: 0.5 of 5.0 MB.");
});

test("what was pressed holds until the server has heard of it, however many answers were on their way", () => {
  const state = drawn(["4"]);
  const messages = [0, 1, 2].map((head) => toggleHead(state, head));
  assert.deepEqual(messages.map(({ at, off }) => [at, off]), [[1, [0]], [2, [0, 1]], [3, [0, 1, 2]]]);
  hears(state, said(["4"], { heard: 1, off: [0] })); // the first answer is of the first press alone
  assert.deepEqual(lookOf(state, WIDE).views[0].read.headsOn, [false, false, false, true]);
  hears(state, said(["4"], { heard: 3, off: [0, 1, 2] }));
  assert.deepEqual(state.talk.chosen.off, [0, 1, 2]);
  hears(state, said(["4"], { heard: 3, off: [] })); // chosen on another page meanwhile
  assert.deepEqual(state.talk.chosen.off, []);
});

test("a message says all that is chosen, so that the last one is enough", () => {
  const state = drawn(["4"]);
  chooseQuery(state, 3);
  assert.deepEqual(lookOf(state, WIDE).views[0].prompt.typed, ["<BOS>", "lily", "had", "a"]);
  toggleHead(state, 1);
  const last = chooseHead(state, 2);
  assert.deepEqual({ ...last }, { at: 3, query: { label: "3 · a", position: 3 }, key: null, head: 2, off: [1], form: "model", beside: "" });
  assert.equal(chooseQuery(state, state.talk.chosen.query.position + 10).query, null); // the last word moves with the typing
});

test("a server that was started anew is told again what it never heard, and only that", () => {
  const talk = new Talk();
  talk.hear(0, { head: 0 });
  talk.say({ head: 1 });
  talk.hear(1, { head: 1 });
  assert.equal(talk.hear(0, { head: 0 }), false); // nothing was under way: what the link says holds
  assert.deepEqual(talk.chosen, { head: 0 });
  assert.equal(talk.say({ head: 2 }).at, 1);
  talk.hear(1, { head: 2 });
  talk.say({ head: 3 });
  assert.equal(talk.hear(0, { head: 0 }), true);
  assert.deepEqual(talk.chosen, { head: 3 });
  assert.deepEqual(talk.say({}), { at: 1, head: 3 });
  assert.equal(talk.hear(1, { head: 3 }), false);
  talk.hear(1, { head: 0 });
  assert.deepEqual(talk.chosen, { head: 0 });
});

test("a message that is lost on its way is said again with the second answer that knows nothing of it", () => {
  const talk = new Talk();
  talk.hear(0, { head: 0 });
  talk.say({ head: 1 });
  assert.equal(talk.hear(0, { head: 0 }), false); // this one may have been on its way
  assert.equal(talk.hear(0, { head: 0 }), true);
  assert.deepEqual(talk.say({}), { at: 2, head: 1 });
  assert.equal(talk.hear(0, { head: 0 }), false);
  assert.equal(talk.hear(2, { head: 1 }), false);
  assert.deepEqual([talk.isOpen, talk.chosen], [false, { head: 1 }]);
});

test("a picture that is made anew in an old session goes on counting", () => {
  const talk = new Talk();
  talk.hear(7, { head: 0 });
  assert.equal(talk.isOpen, false);
  assert.equal(talk.say({ head: 1 }).at, 8);
});

test("the server's echo of a text that was typed on is not taken for a new one", () => {
  const state = drawn(["4"], { text: "lily" });
  for (const text of ["lily h", "lily ha", "lily had"]) type(state, text);
  for (const text of ["lily h", "lily ha"]) {
    hears(state, said(["4"], { text }));
    assert.equal(state.text, "lily had");
  }
  hears(state, said(["4"], { text: "lily had" }));
  hears(state, said(["4"], { text: "lily h" })); // chosen elsewhere, after all were heard
  assert.equal(state.text, "lily h");
});

test("heads that are off are in the order of their numbers, as the server has them", () => {
  const state = drawn(["16"]);
  toggleHead(state, 10);
  assert.deepEqual(toggleHead(state, 2).off, [2, 10]);
  hears(state, said(["16"], { heard: 2, off: [2, 10] }));
  state.drawn.came.confirm.weights = null; // with heads off the weights are the same; the words are not
  assert.match(lookOf(state, WIDE).check, /✓ The server agrees to/);
});

test("the server's numbers are held against the picture's, and a difference is told", () => {
  const state = drawn(["4"]);
  assert.match(lookOf(state, WIDE).check, /✓ The server agrees to/);
  const { confirm } = state.drawn.came;
  confirm.words[0][1] += 2e-4;
  assert.match(lookOf(state, WIDE).check, /✗ FAILS: the server differs by 0\.0002/);
  confirm.words[0][1] -= 2e-4;
  confirm.weights[5] -= 3e-4;
  assert.match(lookOf(state, WIDE).check, /✗ FAILS: the server differs by 0\.0003/);
  confirm.weights[5] += 3e-4;
  for (const change of [() => toggleHead(state, 0), () => hover(state, 1), () => type(state, "lily")]) {
    change();
    assert.equal(lookOf(state, WIDE).check, "Calculated in your browser.");
    hears(state, said(["4"], { heard: 99 }));
  }
});

test("a chosen word is found by its spelling in another vocabulary, and let go where that lacks it", () => {
  const state = drawn(["4"]);
  chooseWord(state, "ball");
  compareWith(state, "toys");
  assert.equal(lookOf(state, WIDE).panel.shares, here["4"].itos.indexOf("ball"));
  hears(state, said(["own"]));
  const { views, panel } = lookOf(state, WIDE);
  assert.deepEqual([panel.shares, views[0].word, views[0].versus], [5, 5, null]);
  chooseWord(state, "other");
  hears(state, said(["own"]));
  const lost = lookOf(state, WIDE);
  assert.deepEqual([lost.panel, lost.views[0].word], [null, null]);
  assert.doesNotMatch(lost.sentence[1], /undefined/);
  hears(state, said(["4"]));
  assert.equal(lookOf(state, WIDE).views[0].itos[lookOf(state, WIDE).panel.shares], "other");
});

test("opening a matrix of a head chooses that head for the server too", () => {
  const state = drawn(["4"]);
  assert.equal(openStage(state, "values", 2).head, 2);
  hears(state, said(["4"], { heard: 1, head: 2 }));
  assert.deepEqual(lookOf(state, WIDE).panel.stage, { name: "values", head: 2, key: null });
  assert.equal(openStage(state, "keys", 2), null); // it is chosen already
  openStage(state, "keys", 2);
  assert.equal(lookOf(state, WIDE).panel, null); // pressed once more
  assert.deepEqual(openPair(state, 1, 6).key, { label: "6 · ball", position: 6 });
  assert.equal(closePanel(state), null);
  assert.equal(lookOf(state, WIDE).panel, null);
});

test("an appended word is told as the whole text, and the word that looked gives way to the last one", () => {
  const state = drawn(["4"], { query: { label: "3 · a", position: 3 } });
  const { prompt, query } = append(state, "ball");
  assert.deepEqual([prompt, query], [`${TEXT} ball`, null]);
  assert.equal(lookOf(state, WIDE).views[0].prompt.typed.at(-1), "ball");
  hears(state, said(["4"], { heard: 1, text: TEXT })); // an answer that was on its way
  assert.equal(state.text, `${TEXT} ball`);
});

test("the steps play to the end, a first visit sees all again, and any press ends its play", () => {
  const state = drawn(["4"]);
  play(state);
  for (let step = 1; step < 8; step++) goOn(state);
  assert.deepEqual([state.step, state.playing], [8, true]);
  goOn(state);
  assert.deepEqual([state.step, state.playing], [8, false]);
  Object.assign(state, { welcoming: true, step: 8, playing: true });
  goOn(state);
  assert.deepEqual([state.step, state.playing, state.welcoming], [0, false, false]);
  Object.assign(state, { welcoming: true, step: 3, playing: true });
  toggleHead(state, 1);
  assert.deepEqual([state.step, state.playing], [0, false]);
  goTo(state, 5);
  assert.equal(lookOf(state, WIDE).sentence[0], "Weights");
  hears(state, said(["own"]));
  assert.equal(lookOf(state, WIDE).step, 5);
});

test("what is drawn is the model's own, with heads off and on", () => {
  for (const name of Object.keys(MODELS)) {
    const state = drawn([name]);
    const { probabilities, without, off } = MODELS[name];
    const close = (found, expected) => found.every((p, id) => Math.abs(p - expected[id]) < 1e-4);
    assert.ok(close([...lookOf(state, WIDE).views[0].read.probabilities], probabilities), name);
    for (const head of off) toggleHead(state, head);
    const { read, before } = lookOf(state, WIDE).views[0];
    assert.ok(close([...read.probabilities], without) && close([...before], probabilities), name);
    assert.equal(typeof likeliest(lookOf(state, WIDE)), "string");
  }
});
