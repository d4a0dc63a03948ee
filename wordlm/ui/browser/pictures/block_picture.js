// The picture of one model reading one prompt. The text runs down, the model runs right: words, embeddings, a lane a
// head, and what follows for the chosen word alone. All columns share the rows of the words.
//
// What is a matrix is drawn on a canvas, what connects is SVG, what is read or pressed is HTML above both.

import { drawMatrices } from "./block_cells.js";
import { lanesBetween, layoutOf } from "./block_layout.js";
import { linksOf } from "./block_links.js";
import { isLater, nextOf } from "./block_next.js";
import { titlesOf } from "./block_titles.js";
import { wordsOf } from "./block_words.js";
import { clamp, drawn, element, isStill, redraw, renew } from "./drawing.js";

const SPLIT_MS = 700;

/**
 * Return a picture in an element, to be called `show` with a view. `actions` has what a press does: query(place),
 * hover(place | null), head(head), toggle(head), word(word), stage(name, head), pair(head, place), append(word).
 */
export function createPicture(root, actions) {
  const canvas = element("canvas", { className: "cells", aria: { hidden: true } });
  const links = drawn("svg", { class: "links", "aria-hidden": "true" });
  const words = element("div", { className: "words", aria: { role: "group", label: "Words" } });
  const titles = element("div", { className: "titles" });
  const next = element("section", { className: "next" });
  const board = element("div", { className: "board" }, [canvas, links, titles, words, next]);
  root.replaceChildren(board);
  const meet = pointAt(board);
  let lanes = null, moving = 0, last = null;

  /** Draw a view; `look` says what is seen of it, `space` what room it has, `hues` are the heads'. */
  function show(view, look, space, hues) {
    const heads = view.model.kind === "mlp" ? null : view.model.heads;
    const layout = layoutOf({ ...space, n: view.whole.ids.length, heads, chosen: view.head });
    const from = lanes;
    cancelAnimationFrame(moving);
    const splits = from?.length && layout.lanes.length && from.length !== layout.lanes.length && !layout.narrow && last?.narrow === false;
    last = layout;
    if (splits && !isStill()) return split(from, layout, (between) => paint(view, look, between, hues, space.scale));
    lanes = layout.lanes;
    paint(view, look, layout, hues, space.scale);
  }

  /** Let the lanes of another number of heads become those of a layout. */
  function split(from, layout, draw) {
    const begun = performance.now();
    const frame = (now) => {
      const share = clamp((now - begun) / SPLIT_MS, 0, 1);
      lanes = share < 1 ? lanesBetween(from, layout.lanes, 1 - (1 - share) ** 3) : layout.lanes;
      draw({ ...layout, lanes });
      if (share < 1) moving = requestAnimationFrame(frame);
    };
    frame(begun);
  }

  function paint(view, look, layout, hues, scale) {
    Object.assign(board.style, { width: `${layout.width}px`, height: `${layout.height}px` });
    board.classList.toggle("narrow", layout.narrow);
    redraw(words, wordsOf(view, layout, words, actions));
    meet.regions = drawMatrices(canvas, view, look, layout, hues, scale, actions);
    links.setAttribute("width", layout.width);
    links.setAttribute("height", layout.height);
    renew(links, linksOf(view, look, layout, hues));
    redraw(titles, titlesOf(view, look, layout, hues, actions));
    const place = { left: `${layout.right.x}px`, top: `${layout.rest.at(-1).y + 26}px`, width: `${layout.right.width}px` };
    Object.assign(next.style, place);
    next.classList.toggle("later", isLater(view, look));
    redraw(next, nextOf(view, layout.nextShown, actions, look.appends));
  }

  return { show };
}

/** Let a pointer over the matrices say what it meets and press it. Returns { regions }, to be set to what is drawn. */
function pointAt(board) {
  const met = { regions: [] };
  const tip = element("p", { className: "tip", hidden: true });
  board.append(tip);
  const meet = (event) => {
    // The board may be enlarged as a whole; its own pixels are counted without that.
    const bounds = board.getBoundingClientRect(), scale = bounds.width / board.clientWidth;
    const [x, y] = [(event.clientX - bounds.left) / scale, (event.clientY - bounds.top) / scale];
    const region = met.regions.find(({ box }) => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height);
    if (!region) return null;
    const row = Math.floor(((y - region.box.y) / region.box.height) * region.rows);
    const column = Math.floor(((x - region.box.x) / region.box.width) * region.columns);
    return { ...region, row, column, x, y };
  };
  board.addEventListener("pointermove", (event) => {
    const found = event.target.closest?.(".words button, .next, button") ? null : meet(event);
    tip.hidden = !found;
    board.style.cursor = found ? "pointer" : "";
    if (!found) return;
    tip.textContent = found.say(found.row, found.column);
    tip.style.left = `${clamp(found.x + 14, 0, Math.max(0, board.clientWidth - tip.offsetWidth))}px`;
    tip.style.top = `${found.y + 18 + tip.offsetHeight > board.clientHeight ? found.y - 12 - tip.offsetHeight : found.y + 18}px`;
  });
  board.addEventListener("pointerleave", () => { tip.hidden = true; });
  board.addEventListener("click", (event) => {
    if (event.target.closest("button, .next")) return;
    const found = meet(event);
    tip.hidden = true; // it would lie over what the press shows
    found?.press(found.row, found.column);
  });
  return met;
}
