// The lines of the whole model's picture, which say what is made of what: from the scores of a head to its message, from
// the messages to what the model knows. SVG elements out.

import { HUES, clamp, drawn } from "./drawing.js";
import { number, portion, signedNumber } from "./numbers.js";

const WRITTEN_FROM = 0.1; // a smaller weight has no number beside its line
const SEEN_FROM = 0.004; // a smaller weight has no line

/** Return the groups of lines of a view, one a step that makes them. */
export function linksOf(view, { step, alone }, layout, hues) {
  const group = (made, children) => drawn("g", { class: `${step && made > step ? "later" : ""} ${step === made ? "now" : ""}` }, children);
  const middle = (j) => layout.top + (j + 0.5) * layout.rowHeight;
  if (view.model.kind === "mlp") return [group(3, slotLinks(view, layout, middle)), group(4, layout.narrow ? [] : [slotsOn(layout)])];
  const lines = { scored: [], weighed: [], handed: [], messages: [] };
  for (const [place, one] of layout.lanes.entries()) {
    if (!view.read.headsOn[one.head] || (alone && one.head !== view.head)) continue;
    if (one.strip) lines.scored.push(queryUp(view, one, layout, hues, middle));
    lines.scored.push(drawn("circle", { cx: one.to, cy: middle(view.query), r: 4, fill: HUES.query, stroke: "none" }));
    pairLinks(lines, view, one, step, layout, hues, middle);
    lines.messages.push(messageOn(view, one, place, layout, hues));
  }
  return [group(4, lines.scored), group(5, lines.weighed), group(6, lines.handed), group(6, lines.messages), group(7, [residual(view, layout, middle)])];
}

/** From the query of a head up to the word that asks. */
const queryUp = (view, one, layout, hues, middle) =>
  drawn("path", { pathLength: 1, d: `M ${one.x + one.width - one.strip - 4} ${layout.bottom + 15} h 4 V ${middle(view.query)}`, stroke: hues[one.head], "stroke-width": 1.5 });

/** From the word that looks to each word that it looks at, by weight or by what the pair adds to a pressed next word. */
function pairLinks({ scored, weighed, handed }, view, one, step, layout, hues, middle) {
  const { read, query } = view, { head } = one, n = read.ids.length, beyond = n - query - 1;
  const shares = view.shares?.pairs;
  const largest = shares ? shares.reduce((most, share) => Math.max(most, Math.abs(share)), 1e-9) : 1;
  const thickest = clamp(layout.rowHeight * 0.8, 5, 11), bend = (one.to - one.from) * 0.55;
  for (let j = 0; j <= query; j++) {
    const at = head * n + beyond + j, weight = read.weights[at];
    const share = shares ? shares[at] / largest : weight, size = Math.abs(share);
    const [x0, y0, y] = [one.to, middle(query), middle(j)];
    if (one.width >= 100 && layout.rowHeight >= 17) {
      const label = (value) => drawn("text", { x: one.from + 1, y: y - 3, "font-size": 10.5 }, [value]);
      if (step === 4) scored.push(label(number(read.scores[at], 2)));
      else if (shares ? size > 0.25 : weight >= WRITTEN_FROM) weighed.push(label(shares ? signedNumber(shares[at], 2) : portion(weight, 2)));
    }
    if (size < SEEN_FROM) continue;
    weighed.push(drawn("path", {
      pathLength: 1,
      d: `M ${x0} ${y0} C ${x0 - bend} ${y0} ${one.from + bend} ${y} ${one.from} ${y}`,
      stroke: share > 0 ? hues[head] : HUES.below,
      ...(share > 0 ? {} : { class: "against" }),
      "stroke-width": Math.max(0.7, thickest * size),
      "stroke-opacity": Math.min(1, 0.22 + Math.sqrt(size)),
    }));
    if (weight > 0.03 && one.strip)
      handed.push(drawn("path", {
        pathLength: 1,
        d: `M ${one.to + 4 + one.strip} ${y} h 6 V ${layout.top - 24} h -6`,
        stroke: hues[head],
        "stroke-width": Math.max(0.5, 3 * weight),
        "stroke-opacity": 0.15 + 0.6 * weight,
      }));
  }
}

/** From a head's message along a line of its own to its segment among those side by side. */
function messageOn({ model }, one, place, layout, hues) {
  const into = layout.right.x + ((one.head + 0.5) / model.heads) * layout.right.width;
  if (layout.narrow) {
    const { y } = layout.rest[0];
    return drawn("path", { pathLength: 1, d: `M ${one.x + one.width} ${layout.top - 27} H ${layout.width - 1} V ${y - 4} H ${into} V ${y}`, stroke: hues[one.head], "stroke-width": 1.8 });
  }
  const lift = layout.top - 35 - ((layout.lanes.length - place) * 14) / layout.lanes.length;
  return drawn("path", { pathLength: 1, d: `M ${one.x + one.width / 2} ${layout.top - 31} V ${lift} H ${into} V ${layout.top - 31}`, stroke: hues[one.head], "stroke-width": layout.lanes.length > 8 ? 1 : 1.8 });
}

/** The word itself on its way around the heads. */
function residual({ query }, layout, middle) {
  const { y } = layout.rest.find(({ name }) => name === "word"), { embedding } = layout;
  if (layout.narrow)
    return drawn("path", { class: "residual", d: `M ${embedding.x + embedding.width / 2} ${middle(query) + layout.rowHeight / 2} V ${layout.bottom + 40} H 1 V ${y + 6} H ${layout.right.x}`, stroke: HUES.query });
  const out = embedding.x + embedding.width + 9;
  return drawn("path", { class: "residual", d: `M ${out - 8} ${middle(query)} H ${out} V ${layout.bottom + 43} H ${layout.right.x - 18} V ${y + 7} H ${layout.right.x - 2}`, stroke: HUES.query });
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
