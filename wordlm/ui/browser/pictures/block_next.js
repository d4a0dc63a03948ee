// The likeliest next words of the whole model's picture. Pressed, one shows who made it likely.

import { stepOf, withoutHeads } from "./block_stages.js";
import { element, shownWord } from "./drawing.js";
import { portion } from "./numbers.js";
import { nextWords } from "../model/forward.js";

const LEAST_ID = 4; // of a word that can be written; before it stand the special ones

/** Return the list of a view's next words and what stands around it; `appends` offers to write one behind the text. */
export function nextOf(view, nextShown, actions, appends) {
  const { read, itos, prompt, before } = view, asks = view.model.kind !== "mlp";
  const list = nextWords(read.probabilities, nextShown);
  const button = (word, id) => element("button", {
    type: "button",
    title: asks ? "Who made this word likely?" : "The MLP has no heads that could have made this word likely",
    disabled: !asks,
    translate: false,
    aria: { pressed: id === view.word },
    data: { focus: `next-${word}` },
    onclick: () => actions.word(word),
  }, [element("bdi", { textContent: shownWord(word) })]);
  const appended = view.word ?? list.find(({ id }) => id >= LEAST_ID)?.id;
  return [
    element("h4", {}, ["Next word after ", element("bdi", { textContent: shownWord(prompt.typed.at(-1)), translate: false }), ` ${withoutHeads(read)}`.trimEnd()]),
    element("ol", {}, list.map(({ id, probability }) => element("li", { className: view.disagree?.has(id) ? "apart" : "" }, [
      button(itos[id], id),
      element("span", { className: "bar" }, [
        ...(before ? [element("i", { className: "before", style: { width: `${100 * before[id]}%` } })] : []),
        element("i", { style: { width: `${100 * probability}%` } }),
      ]),
      element("span", { className: "number" }, [portion(probability), ...(before ? [element("small", { textContent: ` (was ${portion(before[id])})` })] : [])]),
    ]))),
    ...(appends && view.query === view.whole.ids.length - 1 && appended >= LEAST_ID ? [appendButton(itos[appended], actions)] : []),
  ];
}

/** Whether the next words belong to a step that is not yet seen. */
export const isLater = (view, { step }) => step > 0 && stepOf(view.model, "hidden") > step;

const appendButton = (word, actions) =>
  element("button", { type: "button", className: "act append", title: "Write it behind the text and play again", data: { focus: "append" }, onclick: () => actions.append(word) },
    ["Append ", element("span", { textContent: shownWord(word), translate: false })]);
