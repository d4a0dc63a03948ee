// The row above the whole model's picture: what to see it as, its steps, and how they are played.

import { choiceOf, element } from "./drawing.js";

/** How long a step is seen while they play, in milliseconds. */
export const PACES = { slow: 9000, normal: 5500, quick: 3000 };

const FORMS = { model: "the whole model", cells: "cells", lines: "lines" };

/** Return the row's elements; `look` is that of block_state.js with `playing`, `pace` and whether it offers `forms`. */
export function playerOf({ titles, step, playing, pace, forms }, actions) {
  const row = forms ? [choiceOf({ name: "form", label: "See it as", options: FORMS, chosen: "model", choose: actions.form })] : [];
  if (!titles.length) return row;
  const button = (text, title, focus, onclick, more = {}) =>
    element("button", { type: "button", className: "act", textContent: text, title, aria: { label: title }, data: { focus }, onclick, ...more });
  const names = ["All", ...titles.map(({ short }) => short)];
  return [
    ...row,
    element("span", { className: "buttons" }, [
      button(playing ? "Pause" : "▶ Play", playing ? "Pause" : "Play the steps", "play", playing ? actions.pause : actions.play),
      button("‹", "Step back", "back", () => actions.go(step - 1), { disabled: step === 0 }),
      button("›", "Step forward", "forth", () => actions.go(step + 1), { disabled: step === titles.length }),
    ]),
    element("ol", { className: "steps" }, names.map((short, place) =>
      element("li", {}, [element("button", {
        type: "button",
        aria: { label: place ? `Step ${place}: ${titles[place - 1].title}` : "All at once", current: place === step ? "step" : "false" },
        data: { focus: `step-${place}` },
        onclick: () => actions.go(place),
      }, place ? [`${place}`, element("span", { textContent: ` ${short}` })] : [short])]))),
    element("select", { aria: { label: "Pace" }, data: { focus: "pace" }, onchange: (event) => actions.pace(event.target.value) },
      Object.keys(PACES).map((name) => element("option", { value: name, textContent: name, defaultSelected: name === pace }))),
  ];
}
