// wordlm/ui/browser/pictures/block_stages.js, block_panel.js and block_layout.js: what the picture of the whole model shows is what the model computes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { lanesBetween, layoutOf } from "../../wordlm/ui/browser/pictures/block_layout.js";
import { sharesOf } from "../../wordlm/ui/browser/pictures/block_panel.js";
import { matrix, matrixNames, stepOf, steps } from "../../wordlm/ui/browser/pictures/block_stages.js";
import { readModel, reading } from "../../wordlm/ui/browser/model/forward.js";
import { assertClose, readBuffer, readJson, readNumbers } from "./fixtures.js";

const TOLERANCE = 1e-4;

const { layout, itos, prompts } = readJson("forward.json");
const numbers = readNumbers("forward.bin");
const model = readModel(readBuffer("weights.bin"), layout);
const hasHeads = layout.kind !== "mlp";

function viewOf({ ids, typed, labels }, head = 0) {
  return { model, itos, head, ids, read: reading(model, ids), prompt: { typed, labels } };
}

/** Return the cells that a picture draws, row by row. */
function cells({ rows, columns, values, from }) {
  return values.slice(from, from + rows * columns);
}

/** Return the numbers in a sentence, but for those that count: "number 3", "head 2", "W_O row 1". */
function said(sentence) {
  const found = sentence.matchAll(/(?<![\w“])([+−]?\d+\.\d+)(?:\s×\s10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?/g);
  return Array.from(found, ([, digits, raised]) => Number(`${digits.replace("−", "-")}e${raised ? Array.from(raised, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(c) - 1).join("").replace("-1", "-") : 0}`));
}

// Where Python has what a matrix shows: the name of its array, and which part of it is a head's.
const EXPECTED = { embedding: "E", queries: "q", keys: "keys", values: "values", scores: "scores", weights: "weights", messages: "messages", beside: "messages", update: "update", contextual: "contextual", hidden: "hidden" };

test("every cell of every matrix is the model's own number", () => {
  for (const prompt of prompts)
    for (let head = 0; head < (hasHeads ? model.heads : 1); head++) {
      const view = viewOf(prompt, head);
      for (const name of matrixNames(model)) {
        const shown = cells(matrix(view, name));
        const whole = EXPECTED[name] && numbers(prompt.expected[EXPECTED[name]]);
        if (name === "word") assertClose(shown, numbers(prompt.expected.E).slice(-model.dModel), TOLERANCE, name);
        else if (name === "slots") assertClose(shown.slice(-whole_E(prompt).length), whole_E(prompt), TOLERANCE, name);
        else if (name === "keys" || name === "values") assertClose(shown, whole.slice(head * shown.length, (head + 1) * shown.length), TOLERANCE, name);
        else assertClose(shown, whole, TOLERANCE, `${prompt.text}: ${name}`);
      }
    }
});

const whole_E = (prompt) => numbers(prompt.expected.E);

test("what a cell says it was made from gives the cell", () => {
  for (const prompt of prompts.slice(0, 8)) {
    const view = viewOf(prompt, hasHeads ? model.heads - 1 : 0);
    const last = prompt.ids.length - 1;
    for (const name of matrixNames(model)) {
      const one = matrix(view, name);
      const column = one.columns - 1, row = one.rows - 1;
      const value = one.values[one.from + row * one.columns + column];
      const found = said(one.say(row, column));
      if (name === "hidden" && value === 0) assert.ok(found.some((number) => number <= 0));
      else assert.ok(found.some((number) => Math.abs(number - value) < 5.1e-4 || (name === "scores" && Math.abs(number - value) < 5.1e-3)), `${name}: ${one.say(row, column)} has no ${value}`);
    }
    if (!hasHeads) continue;
    const [word, slot, sum] = said(matrix(view, "embedding").say(last, 5));
    assert.ok(Math.abs(word + slot - sum) < 2e-3);
    const [own, update, together] = said(matrix(view, "contextual").say(0, 5));
    assert.ok(Math.abs(own + update - together) < 2e-3);
  }
});

test("the numbers of one pair of words lead to its weight", { skip: !hasHeads }, () => {
  for (const prompt of prompts.slice(0, 8)) {
    const view = viewOf(prompt, model.heads - 1), n = prompt.ids.length, K = model.headWidth;
    const key = Math.floor(n / 2);
    const one = matrix(view, "pair", view.head, key);
    const [q, k, products] = [0, 1, 2].map((row) => one.values.slice(row * K, (row + 1) * K));
    assertClose(products, q.map((number, i) => number * k[i]), 1e-6, "products");
    const score = products.reduce((sum, number) => sum + number, 0) / Math.sqrt(K);
    assertClose([score], [numbers(prompt.expected.scores)[view.head * n + key]], TOLERANCE, "score");
    const [total, told, weight] = said(one.note);
    assert.ok(Math.abs(total - score * Math.sqrt(K)) < 5.1e-3, `the products add up to ${score * Math.sqrt(K)}: ${one.note}`);
    assert.ok(Math.abs(told - score) < 5.1e-3 && Math.abs(weight - numbers(prompt.expected.weights)[view.head * n + key]) < 5.1e-4);
  }
});

test("the steps tell this text's own numbers, in at most 25 words a sentence", () => {
  for (const prompt of prompts) {
    const view = viewOf(prompt);
    const told = steps(view);
    assert.equal(told.length, hasHeads ? 8 : 4);
    for (const [, text] of told) for (const sentence of text.split(/(?<=[.:]) (?=[A-Z“])/)) assert.ok(sentence.split(/\s+/).length <= 25, sentence);
    const best = numbers(prompt.expected.probabilities).reduce((most, p) => Math.max(most, p), 0);
    assert.ok(said(told.at(-1)[1]).some((number) => Math.abs(number - best) < 5.1e-4), told.at(-1)[1]);
    assert.ok(told.at(-1)[1].includes(`${view.read.hidden.filter((unit) => unit > 0).length} of ${model.hidden}`));
  }
});

test("each number in the sentences of the steps is the one that it is called", { skip: !hasHeads }, () => {
  const near = (found, expected, decimals, what) => assert.ok(Math.abs(found - expected) <= 0.51 * 10 ** -decimals || Math.abs(found / expected - 1) < 0.06, `${what}: ${found}, not ${expected}`);
  const first = (name, row) => model.arrays[name][row * model.dModel];
  for (const prompt of prompts) {
    const { E, scores, weights, update } = Object.fromEntries(["E", "scores", "weights", "update"].map((name) => [name, numbers(prompt.expected[name])]));
    const n = prompt.ids.length, own = E[(n - 1) * model.dModel], D = model.headWidth;
    for (let head = 0; head < model.heads; head++) {
      const told = steps(viewOf(prompt, head), head).map(([, text]) => said(text));
      const row = weights.slice(head * n, (head + 1) * n), most = row.indexOf(Math.max(...row));
      const [word, slot, sum] = told[1];
      near(word, first("token_embedding.weight", prompt.ids.at(-1)), 2, "the word");
      near(slot, first("position_embedding.weight", model.contextLen - 1), 2, "the slot");
      near(sum, own, 2, "their sum");
      const [products, score] = told[3];
      near(products, scores[head * n + most] * Math.sqrt(D), 2, "the products");
      near(score, scores[head * n + most], 2, "the score");
      if (n > 1) near(told[4].at(-1), row[most], 3, "the weight");
      const [before, change, after] = told[6];
      near(before, own, 2, "the word in its slot");
      near(change, update[0], 2, "the update");
      near(after, own + update[0], 2, "both");
    }
  }
});

test("every matrix is made in one of the steps", () => {
  const count = steps(viewOf(prompts[0])).length;
  for (const name of matrixNames(model)) assert.ok(stepOf(model, name) >= 1 && stepOf(model, name) <= count, name);
});

test("the shares of a word less those of another add up to the difference of their scores", { skip: !hasHeads }, () => {
  for (const prompt of prompts.slice(0, 6)) {
    const view = viewOf(prompt);
    const [first, second] = prompt.likeliest;
    const found = sharesOf(view, first, second);
    const logits = numbers(prompt.expected.logits);
    const sum = found.pairs.reduce((total, share) => total + share, found.own + found.biases);
    assertClose([sum, found.total], [logits[first] - logits[second], logits[first] - logits[second]], TOLERANCE, prompt.text);
  }
});

test("all columns stand side by side, whatever the width, the words and the heads", () => {
  for (const width of [340, 390, 720, 860, 1100, 1286, 1900])
    for (const n of [1, 5, 20, 64])
      for (const heads of [null, 1, 2, 4, 8, 16, 64])
        for (const chosen of heads === null ? [0] : [0, heads - 1]) {
          const made = layoutOf({ width, room: 390, n, heads, chosen, nextShown: 8 });
          let edge = made.embedding.x + made.embedding.width;
          assert.ok(made.embedding.x >= made.names.x + made.names.width);
          for (const { x, width: own } of made.lanes) {
            assert.ok(x >= edge && own > 0, `${width} ${n} ${heads}: a lane at ${x} before ${edge}, ${own} wide`);
            edge = x + own;
          }
          assert.ok(made.narrow ? edge <= width : edge <= made.right.x);
          assert.ok(made.right.x + made.right.width <= width + 0.01);
          assert.equal(made.lanes.length, heads === null ? 0 : made.narrow ? 1 : heads);
        }
});

test("lanes that split begin as parts of the lane they come from and end in their own places", () => {
  const at = (heads) => layoutOf({ width: 1286, room: 390, n: 8, heads, chosen: 0, nextShown: 8 }).lanes;
  for (const [before, after] of [[1, 4], [4, 1], [2, 8], [16, 4]]) {
    const begun = lanesBetween(at(before), at(after), 0), done = lanesBetween(at(before), at(after), 1);
    assert.ok(Math.abs(begun[0].x - at(before)[0].x) < 1e-9);
    const end = (lanes) => lanes.at(-1).x + lanes.at(-1).width;
    assert.ok(Math.abs(end(begun) - end(at(before))) < 30);
    assert.deepEqual(done.map(({ x, width }) => [x, width]), at(after).map(({ x, width }) => [x, width]));
  }
});
