// The words of the whole model's picture, a row each: pressed, one looks; under the pointer it looks for as long.

import { clamp, element } from "./drawing.js";

/** Return the buttons of a view's words, to be drawn into `words`. */
export function wordsOf({ whole, query }, layout, words, actions) {
  const turns = layout.rowHeight < 12.5; // two columns by turns, so that each word has the height of two rows
  const width = turns ? layout.names.width / 2 : layout.names.width;
  const hover = (place) => (event) => { if (event.pointerType === "mouse") actions.hover(place); };
  return whole.typed.map((typed, i) =>
    element("button", {
      type: "button",
      className: `word ${i > query ? "later" : ""}`,
      title: `${whole.labels[i]}: the model reads ${whole.tokens[i]}`,
      translate: false,
      tabIndex: i === query ? 0 : -1,
      aria: { label: whole.labels[i], pressed: i === query },
      data: { word: i, focus: `word-${i}` },
      style: {
        top: `${layout.top + (i + 0.5) * layout.rowHeight}px`,
        left: `${layout.names.x + (turns && i % 2 ? width : 0)}px`,
        width: `${width}px`,
        fontSize: `${turns ? 10.5 : Math.min(15, layout.rowHeight * 0.72)}px`,
      },
      onpointerenter: hover(i),
      onpointerleave: hover(null),
      onclick: () => actions.query(i),
      onkeydown: (event) => moveAmong(event, i, words),
    }, [element("bdi", { textContent: typed })]));
}

/** The words are one stop of the Tab key; arrow keys move among them. */
function moveAmong(event, place, words) {
  const last = words.children.length - 1;
  const to = { ArrowUp: place - 1, ArrowLeft: place - 1, ArrowDown: place + 1, ArrowRight: place + 1, Home: 0, End: last }[event.key];
  if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  event.stopPropagation();
  words.children[clamp(to, 0, last)].focus();
}
