// wordlm/ui/browser/model/forward.js against wordlm/models.py, inspection.py and ablation.py, for one model.

import assert from "node:assert/strict";
import { test } from "node:test";
import { nextWords, readModel, reading, rowsAsLast, rowsOf, shareDifference, shares } from "../../wordlm/ui/browser/model/forward.js";
import { assertClose, readBuffer, readJson, readNumbers } from "./fixtures.js";

const TOLERANCE = 1e-4; // float32 keeps about 7 digits; sums in another order differ in the last of them

const { layout, prompts } = readJson("forward.json");
const numbers = readNumbers("forward.bin");
const weights = readBuffer("weights.bin");
const model = readModel(weights, layout);
const hasHeads = layout.kind !== "mlp";

function assertSame(actual, expected, what) {
  for (const [name, place] of Object.entries(expected))
    assertClose(actual[name], numbers(place), TOLERANCE, `${what}: ${name}`);
}

test("every step of a reading is Python's", () => {
  for (const { text, ids, expected } of prompts) assertSame(reading(model, ids), expected, text);
});

test("probabilities and weights add up to 1", () => {
  for (const { text, ids } of prompts) {
    const read = reading(model, ids);
    assertClose([read.probabilities.reduce((sum, p) => sum + p)], [1], 1e-12, text);
    for (let head = 0; hasHeads && head < layout.heads; head++) {
      const row = read.weights.slice(head * ids.length, (head + 1) * ids.length);
      assertClose([row.reduce((sum, weight) => sum + weight)], [1], 1e-6, `${text}, head ${head}`);
    }
  }
});

test("the likeliest words are those of Python", () => {
  for (const { text, ids, likeliest } of prompts)
    assert.deepEqual(nextWords(reading(model, ids).probabilities, likeliest.length).map(({ id }) => id), likeliest, text);
});

test("of equally likely words the lower id comes first", () => {
  const best = nextWords([0.1, 0.3, 0.1, 0.3, 0.1, 0.1], 3);
  assert.deepEqual(best.map(({ rank, id }) => [rank, id]), [[1, 1], [2, 3], [3, 0]]);
});

test("only the last words that fit are read", () => {
  const ids = Array.from({ length: 2 * layout.contextLen }, (_, i) => 4 + i);
  assert.deepEqual(reading(model, ids), reading(model, ids.slice(-layout.contextLen)));
});

test("one reading leaves another as it is", () => {
  const [first, second] = [prompts.at(-1).ids, prompts.at(-2).ids];
  const kept = reading(model, first);
  const copy = structuredClone(kept);
  reading(model, second);
  if (hasHeads) rowsAsLast(model, second, second.length);
  assert.deepEqual(kept, copy);
});

test("what is no model and no word is refused", () => {
  assert.throws(() => readModel(weights.slice(4), layout), RangeError);
  assert.throws(() => readModel(new ArrayBuffer(weights.byteLength + 4), layout), RangeError);
  for (const ids of [[], [0], [1, layout.vocabSize], [1, 1.5], [1, undefined]])
    assert.throws(() => reading(model, ids), RangeError);
});

test("rows are those that each word has when it is the last one read", { skip: !hasHeads }, () => {
  for (const { text, ids, reach, rows } of prompts) {
    assertClose(rowsAsLast(model, reach, ids.length), numbers(rows.asLast), TOLERANCE, `${text}: rows`);
    const { weights, beyond } = rowsOf(model, reach, ids.length);
    assertClose(weights, numbers(rows.weights), TOLERANCE, `${text}: rows of the kept words`);
    assertClose(beyond, numbers(rows.beyond), TOLERANCE, `${text}: beyond`);
  }
});

test("heads that are off give zeros or their mean message", { skip: !hasHeads }, () => {
  const mean = Float32Array.from(numbers(readJson("forward.json").meanMessages));
  for (const { text, ids, switched } of prompts)
    for (const { off, fill, expected } of switched) {
      const headsOn = Array.from({ length: layout.heads }, (_, head) => !off.includes(head));
      const read = reading(model, ids, { headsOn, offMessages: fill === "mean" ? mean : null });
      assertSame(read, expected, `${text}, without ${off}, ${fill}`);
      assert.deepEqual(read.headsOn, headsOn);
      for (const { id } of nextWords(read.probabilities, 3))
        assertClose([shares(model, read, id).total], [read.logits[id]], TOLERANCE, `${text}, without ${off}: sum`);
    }
  assert.throws(() => reading(model, [1], { headsOn: [] }), RangeError);
  assert.throws(() => reading(model, [1], { headsOn: Array(layout.heads).fill(false), offMessages: [0] }), RangeError);
});

test("shares are those of the gradient, and add up to the logit", { skip: !hasHeads }, () => {
  for (const { text, ids, shared } of prompts) {
    const read = reading(model, ids);
    for (const { word, pairs, own, biases } of shared) {
      const found = shares(model, read, word);
      const what = `${text}, shares of ${word}`;
      assertClose(found.pairs, numbers(pairs), TOLERANCE, what);
      assertClose([found.own, found.biases], [own, biases], TOLERANCE, what);
      const sum = found.pairs.reduce((total, share) => total + share, found.own + found.biases);
      assertClose([sum, found.total], [read.logits[word], read.logits[word]], TOLERANCE, `${what}: sum`);
      assert.deepEqual(found.replaced, new Float64Array(layout.heads));
    }
  }
});

test("the shares of two words differ by as much as their logits", { skip: !hasHeads }, () => {
  const read = reading(model, prompts[0].ids);
  const [first, second] = nextWords(read.probabilities, 2).map(({ id }) => id);
  const difference = shareDifference(shares(model, read, first), shares(model, read, second));
  const parts = [...difference.pairs, ...difference.replaced, difference.own, difference.biases];
  const logits = read.logits[first] - read.logits[second];
  assertClose([parts.reduce((sum, part) => sum + part), difference.total], [logits, logits], TOLERANCE, "difference");
});

test("the MLP has no shares of heads", { skip: hasHeads }, () => {
  assert.throws(() => shares(model, reading(model, [1]), 4), TypeError);
});
