// The whole model reading a prompt, in the visitor's browser, as a picture that follows every key: joins what the server
// says and the visitor does (block_state.js) to what is drawn (block_parts.js).
//
// A key in the page's prompt box is heard here (`hearTyping`) and drawn at once; the server hears of it from the box itself,
// and of what is pressed in the picture by a message. It sends what is chosen and where the weights lie, and confirms the
// numbers; it is not needed for anything else. Follows wordlm/ui/
// browser/pictures/block.py; tests/browser/test_block_browser.py holds the two together.

import { forgetKept, keptSize } from "../carrying/cache.js";
import { fetchModels, fetchedOf } from "../model/fetched.js";
import { NARROW } from "./block_layout.js";
import { Parts } from "./block_parts.js";
import { PACES } from "./block_player.js";
import { append, bring, chooseBeside, chooseCell, chooseForm, chooseHead, chooseQuery, chooseWord, closePanel, compareWith, fail, goOn, goTo, hover, lookOf, newState, openPair, openStage, play, progress, receive, toggleHead, type, wantedBy } from "./block_state.js";
import { keyOfHead } from "./block_titles.js";
import { isStill } from "./drawing.js";

let welcomed = false; // once a page, the steps play by themselves

/** @param {{ data: import("../carrying/messages.js").BlockData, parentElement: any, setTriggerValue: (name: string, said: import("../carrying/messages.js").Said) => void }} component */
export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".block");
  root.picture ??= new Block(root);
  root.picture.receive(data, (message) => setTriggerValue("chosen", message));
  return () => setTimeout(() => { if (!root.isConnected) root.picture.leave(); });
}

class Block {
  constructor(root) {
    this.root = root;
    this.state = newState();
    this.look = null; // what is drawn, as `lookOf` returned it
    this.parts = new Parts(root);
    this.actions = this.actionsOfVisitor();
    this.timer = 0;
    /** @type {(said: import("../carrying/messages.js").Said) => void} */
    this.send = () => {};
    this.onInput = (event) => this.isHere() && this.hearTyping(event);
    this.onKey = (event) => this.isHere() && this.hearKey(event);
    document.addEventListener("input", this.onInput);
    document.addEventListener("keydown", this.onKey);
    this.unwatch = this.parts.watch(() => this.update());
    this.tellKept();
  }

  leave() {
    clearInterval(this.timer);
    this.unwatch();
    document.removeEventListener("input", this.onInput);
    document.removeEventListener("keydown", this.onKey);
  }

  isHere() {
    if (!this.root.isConnected) this.leave();
    return this.root.isConnected;
  }

  /** What a press does: it changes the state, is drawn at once, and the server is told where it must know. */
  actionsOfVisitor() {
    const act = (change) => (...values) => {
      const message = change(this.state, ...values);
      this.update();
      this.say(message);
    };
    return {
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
      append: (word) => this.append(word),
      go: (step) => this.keepTime(() => goTo(this.state, step)),
      play: () => this.keepTime(() => play(this.state)),
      pause: () => this.keepTime(() => goTo(this.state, this.state.step)),
      pace: (pace) => this.keepTime(() => { this.state.pace = pace; }),
      retry: () => this.load(),
      forget: () => forgetKept().then(() => this.tellKept()),
    };
  }

  say(message) {
    if (message !== null) this.send(message);
  }

  /** Write a word behind the text and play again, so that a story is written in the picture. */
  append(word) {
    const message = append(this.state, word);
    if (this.state.step) this.playAgain();
    else this.update();
    this.say(message);
  }

  playAgain() {
    this.keepTime(() => {
      this.state.step = 0;
      play(this.state);
    });
  }

  /** Change which step is seen, and let time go on where the steps play. */
  keepTime(change) {
    change();
    clearInterval(this.timer);
    if (this.state.playing)
      this.timer = setInterval(() => {
        goOn(this.state);
        if (!this.state.playing || !this.root.isConnected) clearInterval(this.timer);
        this.update();
      }, PACES[this.state.pace]);
    this.update();
  }

  receive(came, send) {
    this.send = send;
    const again = receive(this.state, came);
    const models = fetchedOf(came.models);
    if (models === null) this.load();
    else this.begin(wantedBy(came), models);
    this.say(again);
  }

  async load() {
    const { state } = this, { came } = state, wanted = wantedBy(came);
    state.failure = "";
    this.update();
    try {
      await fetchModels(came.models, (...far) => {
        progress(state, wanted, ...far);
        this.update();
      });
    } catch (error) {
      if (error.name === "AbortError") return; // no longer wanted
      fail(state, wanted, error.message);
      return this.update();
    }
    if (wanted === wantedBy(state.came)) this.begin(wanted, fetchedOf(came.models));
    this.tellKept();
  }

  begin(wanted, models) {
    const { state } = this, welcomes = state.came.welcome && !welcomed && !isStill();
    bring(state, wanted, models);
    welcomed = true;
    if (!welcomes) return this.update();
    this.playAgain();
    state.welcoming = true;
  }

  async tellKept() {
    this.parts.kept = await keptSize();
    this.update();
  }

  update() {
    const { state, parts } = this;
    if (state.came === null || !this.root.isConnected) return;
    const space = parts.space(state.came.large);
    const look = this.look = lookOf(state, { narrow: space.width < NARROW, hands: matchMedia("(hover: none)").matches });
    try {
      parts.draw(look, space, this.actions);
    } catch (error) {
      parts.fail(error, look, this.actions);
    }
  }

  hearTyping({ target }) {
    if (!target.closest?.(".st-key-prompt") || !this.state.drawn?.came.follows) return;
    type(this.state, target.value);
    this.update();
  }

  hearKey(event) {
    const { state, actions } = this, [first] = event.composedPath();
    if (event.altKey || event.ctrlKey || event.metaKey || !state.drawn || first.matches?.("input, select, textarea, canvas, .word")) return;
    const act = keyOf(event.key, this.look, actions, event.composedPath().includes(this.root));
    if (!act) return;
    event.preventDefault();
    act();
  }
}

/** Return what a key does, if anything: arrows in the picture go from step to step; on a projector digits do, and letters choose a head. */
function keyOf(key, { titles, step, views, keys }, actions, inside) {
  const last = titles.length, [{ model }] = views;
  if (inside && key === "ArrowRight") return () => actions.go(Math.min(step + 1, last));
  if (inside && key === "ArrowLeft") return () => actions.go(Math.max(step - 1, 0));
  if (!keys) return null;
  if (/^\d$/.test(key) && Number(key) <= last) return () => actions.go(Number(key));
  for (let head = 0; head < (model.heads ?? 0); head++) if (key === keyOfHead(head)) return () => actions.head(head);
  return null;
}
