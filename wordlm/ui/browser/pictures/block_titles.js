// What stands above and below the matrices of the whole model's picture: their names, which open them, and the heads.

import { looksMostAt, matrix, stepOf } from "./block_stages.js";
import { element, switchOf } from "./drawing.js";
import { portion } from "./numbers.js";

/** The key that chooses a head on a projector, where digits choose a step: a for head 1, up to p for head 16. */
export const keyOfHead = (head) => (head < 16 ? String.fromCharCode(97 + head) : "");

/** Return the titles of a view as elements. */
export function titlesOf(view, look, layout, hues, actions) {
  const { model, read, prompt } = view, { step } = look;
  const query = `“${prompt.typed.at(-1)}”`;
  const faded = (name) => (step && stepOf(model, name) > step ? "later" : "");
  const opens = (text, name, head = view.head) =>
    element("button", {
      type: "button",
      className: "open",
      textContent: text,
      title: `Open: ${matrix(view, name, head).title}`,
      aria: { pressed: look.panel?.stage?.name === name && (!BY_HEAD.has(name) || look.panel.stage.head === head) },
      data: { focus: `open-${name}-${head}` },
      onclick: () => actions.stage(name, head),
    });
  const made = [
    at(layout.names.x, layout.top - 18, layout.names.width, ["words"], "dim"),
    at(layout.embedding.x, layout.top - 18, layout.embedding.width + 30, [opens("embedding", "embedding")], faded("embedding")),
  ];
  if (layout.lanes.length)
    made.push(at(layout.embedding.x, layout.top - 32, layout.embedding.width + (layout.narrow ? 10 : 26), [opens("messages", "messages")], `end ${faded("messages")}`));
  for (const one of layout.lanes) {
    made.push(headTitle(view, look, one, layout, hues, actions, faded));
    if (one.width >= 95) made.push(at(one.x, 25, one.width, saidOfHead(view, one.head, one.width >= 130), `dim ${faded("weights")}`));
    if (!one.strip || one.width < 100) continue;
    made.push(at(one.x, layout.bottom + 22, one.width, [opens(`query of ${query}`, "queries", one.head)], faded("queries")));
    made.push(at(one.x, layout.top - 16, one.strip + 20, [opens("keys", "keys", one.head)], faded("keys")));
    made.push(at(one.to - 16, layout.top - 16, one.strip + 24, [opens("values", "values", one.head)], `end ${faded("values")}`));
  }
  if (model.kind === "mlp") made.push(at(layout.slots.x, layout.top - 20, layout.slots.width, [opens(`all ${model.contextLen} slots side by side`, "slots")], faded("slots")));
  for (const [text, name] of namesOfRest(model, read, query)) {
    const { y } = layout.rest.find((one) => one.name === name);
    made.push(at(layout.right.x, name === "beside" && !layout.narrow ? 0 : y - 20, layout.right.width, [opens(text, name)], faded(name)));
  }
  return made;
}

const BY_HEAD = new Set(["keys", "values", "queries", "messages", "pair"]);

const at = (x, y, width, children, className = "") =>
  element("div", { className: `title ${className}`, style: { left: `${x}px`, top: `${y}px`, width: `${width}px` } }, children);

/** The name of a head, or of all where one is seen at a time, and its switch. */
function headTitle(view, look, one, layout, hues, actions, faded) {
  const { model, read } = view, { head } = one, mini = one.width < 60, on = read.headsOn[head];
  const shown = layout.narrow ? Array.from({ length: model.heads }, (_, h) => h) : [head];
  const names = shown.map((h) => headName(view, look, h, one.width < 95 || layout.narrow, hues, actions));
  const turn = switchOf({ on, name: `head ${head + 1} on`, title: on ? `Switch head ${head + 1} off` : `Switch head ${head + 1} on`, focus: `on-${head}`, press: () => actions.toggle(head) });
  let parts = [element("span", { className: "names" }, names), turn];
  if (mini) parts = names;
  else if (layout.narrow) parts = [element("span", { className: "names" }, ["heads", ...names]), element("label", {}, [`head ${head + 1} `, turn])];
  const across = layout.narrow ? { x: 0, width: layout.width } : one;
  const told = look.step > 3 && head === view.told ? "told" : "";
  return at(across.x, 0, across.width, parts, `lane ${told} ${mini ? "mini" : ""} ${on ? "" : "off"} ${faded("keys")}`);
}

function headName(view, look, head, small, hues, actions) {
  const { alone, keys } = look;
  return element("button", {
    type: "button",
    className: `name ${view.read.headsOn[head] ? "" : "off"}`,
    title: alone && head === view.head ? "Show all heads" : `Show head ${head + 1} alone`,
    aria: { pressed: head === view.head, label: `head ${head + 1}` },
    style: small ? { borderBottom: `3px solid ${hues[head]}` } : {},
    data: { focus: `head-${head}` },
    onclick: () => actions.head(head),
  }, [
    keys ? element("kbd", { textContent: keyOfHead(head), style: { borderColor: hues[head] } }) : small ? "" : element("i", { style: { background: hues[head] } }),
    small ? String(head + 1) : `head ${head + 1}`,
  ]);
}

function saidOfHead({ read, prompt }, head, wide) {
  if (!read.headsOn[head]) return [element("span", {}, ["off: it hands on zeros"])];
  const most = looksMostAt(read, head);
  return [
    element("span", {}, [`${wide ? "most at " : ""}“`, element("bdi", { textContent: prompt.typed[most], translate: false }), "”"]),
    element("span", { className: "number", textContent: portion(read.weights[head * read.ids.length + most]) }),
  ];
}

function namesOfRest(model, read, query) {
  const hidden = [`↓ hidden layer: ${read.hidden.reduce((count, unit) => count + (unit > 0), 0)} of ${model.hidden} open`, "hidden"];
  if (model.kind === "mlp") return [hidden];
  return [
    [model.heads === 1 ? `the message: ${model.messageWidth} numbers` : `side by side: ${model.heads} × ${model.messageWidth} = ${model.heads * model.messageWidth}`, "beside"],
    ["↓ mixed by W_O: the update", "update"],
    [`+ ${query} itself (residual)`, "word"],
    [`= what the model knows at ${query}`, "contextual"],
    hidden,
  ];
}
