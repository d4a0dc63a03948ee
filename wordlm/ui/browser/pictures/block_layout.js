// Where everything stands in the picture of a whole model, in pixels. Numbers in, numbers out: nothing here draws.

import { clamp } from "./drawing.js";

/** A screen with less width has one lane, and what follows stands below it. */
export const NARROW = 700;

/**
 * Return where everything stands: { width, height, narrow, nextShown, rowHeight, top, bottom, names, embedding, lanes,
 * slots, right, rest }. `rest` is what follows for the chosen word alone; `slots` is where the MLP, which has no lanes,
 * has all of them.
 *
 * `lanes` are [{ head, x, width, strip, from, to }]: a lane with the strips of its keys and values, as wide as `strip`
 * (0 where there is no room), and between `from` and `to` the lines. On a narrow screen there is the chosen head's alone.
 */
export function layoutOf({ width, room, n, heads, chosen, nextShown }) {
  const narrow = width < NARROW;
  const rowHeight = clamp(room / n, narrow ? 9 : 6, 34);
  const top = heads === null ? 30 : 96;
  const tight = narrow || width < 960;
  const names = { x: 0, width: tight ? 96 : 128 };
  const embedding = { x: names.width + 4, width: tight ? 52 : 84 };
  const rightWidth = narrow ? width - 12 : clamp(width * 0.24, 230, 340);
  const from = embedding.x + embedding.width + (narrow ? 14 : 30);
  const to = narrow ? width - 14 : width - rightWidth - 36;
  const bottom = top + n * rowHeight;
  const right = { x: narrow ? 6 : width - rightWidth, y: narrow ? bottom + 64 : 0, width: rightWidth };
  const slots = { x: from + (narrow ? 0 : 40), y: top, width: Math.min(300, to - from - (narrow ? 0 : 80)), height: Math.max(bottom - top, 200) };
  const rest = restOf(heads, narrow ? right.y : top - 70);
  const height = Math.max(rest.at(-1).y + 88 + nextShown * 22, bottom + (heads === null ? 12 : 54));
  return { width, narrow, nextShown, rowHeight, top, bottom, height, names, embedding, slots, right, rest, lanes: lanesOf(heads, chosen, from, to, narrow) };
}

/** Return what follows for the chosen word alone, { name, y, height } each, from top to bottom. */
function restOf(heads, y) {
  if (heads === null) return [{ name: "hidden", y: y + 110, height: 14 }];
  return [40, 80, 118, 156, 196].map((below, i) => ({ name: ["beside", "update", "word", "contextual", "hidden"][i], y: y + below, height: 13 }));
}

function lanesOf(heads, chosen, from, to, narrow) {
  if (heads === null) return [];
  const total = to - from;
  if (narrow) return [lane(chosen, from, total)];
  const gap = Math.min(heads > 4 ? 8 : 22, total / heads / 4);
  const even = (total - gap * (heads - 1)) / heads;
  const wide = even >= 100 ? even : Math.min(190, total * 0.4);
  const others = heads === 1 ? 0 : (total - gap * (heads - 1) - wide) / (heads - 1);
  let x = from;
  return Array.from({ length: heads }, (_, head) => {
    const width = head === chosen ? wide : others;
    x += width + gap;
    return lane(head, x - width - gap, width);
  });
}

function lane(head, x, width) {
  const strip = width < 50 ? 0 : Math.min(90, width * 0.27);
  return { head, x, width, strip, from: x + strip + 4, to: x + width - strip - 4 };
}

/** Return lanes on their way from those of another number of heads: each starts as its part of the lane it came from. */
export function lanesBetween(before, after, share) {
  return after.map((one, place) => {
    const [x, width] = part(before, place / after.length, (place + 1) / after.length);
    const mixed = lane(one.head, x + (one.x - x) * share, width + (one.width - width) * share);
    return mixed;
  });
}

/** Return the x and the width of a part of lanes side by side, given by two shares of their number. */
function part(lanes, first, last) {
  const at = (share) => {
    const place = Math.min(lanes.length - 1, Math.floor(share * lanes.length + 1e-9));
    return lanes[place].x + (share * lanes.length - place) * lanes[place].width;
  };
  return [at(first), Math.max(2, at(last) - at(first))];
}
