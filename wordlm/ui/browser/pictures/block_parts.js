// The parts of the whole model's picture on the page, from the row of steps to what stands below, and how they come to
// show what `lookOf` of block_state.js returns.

import { nextWords } from "../model/forward.js";
import { matrixPanel, sharesPanel } from "./block_panel.js";
import { createPicture } from "./block_picture.js";
import { playerOf } from "./block_player.js";
import { element, isStill, redraw, told } from "./drawing.js";
import { rounded } from "./numbers.js";

const LARGE = 1.4; // on a projector the smallest label, of 14.4 pixels there, is 20 pixels high

export class Parts {
  kept = 0; // bytes of ours that this browser keeps

  constructor(root) {
    this.root = root;
    this.player = element("div", { className: "player", aria: { role: "group", label: "The steps of the model" } });
    this.notice = element("p", { className: "notice", aria: { role: "status" } });
    this.sentence = element("p", { className: "sentence", aria: { live: "polite" } });
    this.figures = element("div", { className: "figures" });
    this.panel = element("div");
    this.below = element("div", { className: "below" });
    this.stage = element("div", { className: "stage" }, [this.player, this.notice, this.sentence, this.figures, this.panel, this.below]);
    this.pictures = [];
    root.replaceChildren(this.stage);
  }

  /** Return what room the picture has. A projector enlarges it as a whole, which every engine counts alike. */
  space(large) {
    const scale = large ? LARGE : 1;
    Object.assign(this.stage.style, { transform: large ? `scale(${LARGE})` : "", width: `${100 / scale}%` });
    this.root.classList.toggle("projected", large);
    const width = this.stage.clientWidth || 800;
    const room = Math.max(large ? 130 : 260, Math.min(480, window.innerHeight / scale - (large ? 300 : 382)));
    return { width, room, scale, nextShown: large ? 4 : 8 };
  }

  draw(look, space, actions) {
    redraw(this.player, playerOf(look, actions));
    this.drawNotice(look.notice, look.retry, actions);
    const [title, text] = look.sentence;
    redraw(this.sentence, text ? [...(title ? [element("b", { textContent: `${title}. ` })] : []), ...told(text)] : []);
    this.figures.classList.toggle("waiting", look.waiting);
    this.figures.inert = this.panel.inert = look.waiting;
    this.fitPictures(look.views.length, actions);
    for (const [place, view] of look.views.entries()) {
      const hasSteps = place === 0 || view.model.kind !== "mlp";
      this.pictures[place].show(view, hasSteps ? look : { ...look, step: 0 }, space, look.hues);
    }
    this.drawPanel(look, space, actions);
    redraw(this.below, look.views.length ? this.belowOf(look, actions) : []);
    this.root.style.height = space.scale === 1 ? "" : `${this.stage.offsetHeight * space.scale}px`;
  }

  drawNotice(said, retry, actions) {
    this.notice.hidden = said === "";
    const again = element("button", { type: "button", className: "act", textContent: "Try again", data: { focus: "retry" }, onclick: actions.retry });
    redraw(this.notice, [...told(said), ...(retry ? [again] : [])]);
  }

  fitPictures(count, actions) {
    while (this.pictures.length < count) {
      const place = element("figure");
      this.figures.append(place);
      this.pictures.push(createPicture(place, actions));
    }
    while (this.pictures.length > count) {
      this.pictures.pop();
      this.figures.lastChild.remove();
    }
  }

  drawPanel({ panel: opened, views: [view], hues }, { width }, actions) {
    const shared = { width, hues, close: actions.close };
    if (!opened) redraw(this.panel, []);
    else if (opened.stage) redraw(this.panel, [matrixPanel(view, opened.stage, { ...shared, choose: actions.cell })]);
    else {
      const others = nextWords(view.read.probabilities, 12).map(({ id }) => id);
      const compare = (id) => actions.versus(id === null ? null : view.itos[id]);
      redraw(this.panel, [sharesPanel(view, { word: view.word, versus: view.versus }, { ...shared, others, compare })]);
    }
    // What was just opened below the fold would seem to be nothing.
    const name = opened ? JSON.stringify([opened.shares, view.versus, opened.stage?.name, opened.stage?.head, opened.stage?.key]) : "";
    if (name && name !== this.panel.dataset.name)
      (this.panel.querySelector("tbody, .cell-said") ?? this.panel).scrollIntoView({ block: "nearest", behavior: isStill() ? "instant" : "smooth" });
    this.panel.dataset.name = name;
  }

  belowOf({ check, others, beside }, actions) {
    const option = ([value, textContent]) => element("option", { value, textContent, defaultSelected: value === beside });
    const choose = (event) => actions.beside(event.target.value);
    const keeps = `Clear what this browser keeps (${rounded(this.kept / 1e6, 1)} MB)`;
    return [
      element("p", { textContent: "Cells: in hue above 0, grey below; the deeper, the further. Lines: the thicker, the larger the weight." }),
      element("p", { className: "check", textContent: check }),
      ...(others.length ? [element("label", {}, ["Another model below: ", element("select", { data: { focus: "beside" }, onchange: choose }, [["", "none"], ...others].map(option))])] : []),
      ...(this.kept ? [element("button", { type: "button", className: "forget", textContent: keeps, title: "Models and scripts, which are not fetched again", data: { focus: "forget" }, onclick: actions.forget })] : []),
    ];
  }

  /** Say that this browser could not draw the picture, and offer those of the server. */
  fail(error, look, actions) {
    this.pictures.length = 0;
    for (const part of [this.figures, this.panel, this.below, this.sentence]) part.replaceChildren();
    redraw(this.player, playerOf({ ...look, titles: [] }, actions));
    this.drawNotice(`This browser could not draw the picture (${error.message}). Cells and lines still work. `, true, actions);
  }

  /** Call `changed` whenever the width changes; returns what ends that. */
  watch(changed) {
    let width = 0;
    const resized = new ResizeObserver(() => {
      if (Math.abs(this.root.clientWidth - width) <= 1) return;
      width = this.root.clientWidth;
      changed();
    });
    resized.observe(this.root);
    return () => resized.disconnect();
  }
}
