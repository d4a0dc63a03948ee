// wordlm/ui/browser/model/forward.js against wordlm/models.py, inspection.py and ablation.py, for one model.

import assert from "node:assert/strict";
import { test } from "node:test";
import { logProbability, nextWords, readModel, reading, rowsAsLast, rowsOf, shareDifference, shares, withoutHead } from "../../wordlm/ui/browser/model/forward.js";
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
        assertClose([shares(model, read, id).total + shares(model, read, id).constant], [logProbability(read, id)], TOLERANCE, `${text}, without ${off}: sum`);
    }
  assert.throws(() => reading(model, [1], { headsOn: [] }), RangeError);
  assert.throws(() => reading(model, [1], { headsOn: Array(layout.heads).fill(false), offMessages: [0] }), RangeError);
});

test("shares are those of the gradient, and with one constant they add up to the word's log p", { skip: !hasHeads }, () => {
  for (const { text, ids, shared } of prompts) {
    const read = reading(model, ids);
    for (const { word, pairs, own, biases, entropy, logProbability: expected } of shared) {
      const found = shares(model, read, word);
      const what = `${text}, shares of ${word}`;
      assertClose(found.pairs, numbers(pairs), TOLERANCE, what);
      assertClose([found.own, found.biases, found.constant], [own, biases, -entropy], TOLERANCE, what);
      const sum = found.pairs.reduce((total, share) => total + share, found.own + found.biases);
      assertClose([sum + found.constant, found.total + found.constant, found.logProbability, logProbability(read, word)], Array(4).fill(expected), TOLERANCE, `${what}: sum`);
      assert.deepEqual(found.replaced, new Float64Array(layout.heads));
    }
  }
});

test("the shares of a part over all words, weighted by their probabilities, come to nothing", { skip: !hasHeads }, () => {
  const few = { ...model, arrays: { ...model.arrays } }; // a vocabulary of 40 words, so that all can be asked
  few.vocabSize = 40;
  for (const name of ["vocab_head.weight", "vocab_head.bias"])
    few.arrays[name] = model.arrays[name].slice(0, (40 * model.arrays[name].length) / model.vocabSize);
  const read = reading(few, [1, 5, 9, 6]);
  const mean = { pairs: new Float64Array(layout.heads * 4), own: 0, biases: 0 };
  for (const [word, p] of read.probabilities.entries()) {
    const found = shares(few, read, word);
    found.pairs.forEach((share, pair) => { mean.pairs[pair] += p * share; });
    mean.own += p * found.own;
    mean.biases += p * found.biases;
  }
  assertClose([...mean.pairs, mean.own, mean.biases], Array(layout.heads * 4 + 2).fill(0), 1e-6, "mean");
});

test("the shares of two words differ by as much as their logits", { skip: !hasHeads }, () => {
  const read = reading(model, prompts[0].ids);
  const [first, second] = nextWords(read.probabilities, 2).map(({ id }) => id);
  const difference = shareDifference(shares(model, read, first), shares(model, read, second));
  const parts = [...difference.pairs, ...difference.replaced, difference.own, difference.biases];
  const logits = read.logits[first] - read.logits[second];
  assertClose([parts.reduce((sum, part) => sum + part), difference.total, difference.logProbability], [logits, logits, logits], TOLERANCE, "difference");
});

/** Return texts that the model writes itself, each from a start of its own, as ids. */
function ownTexts(count) {
  let state = 1; // a small generator with a fixed seed: Park and Miller 1988
  const random = () => (state = (48271 * state) % 2147483647) / 2147483647;
  return Array.from({ length: count }, () => {
    const ids = [1];
    for (let length = 2 + Math.floor(40 * random()); ids.length < length; ) {
      let left = random();
      const next = reading(model, ids).probabilities.findIndex((p) => (left -= p) < 0);
      if (next > 3) ids.push(next); // no special word
    }
    return ids;
  });
}

test("a head's share of the likeliest word says which way its log p goes without the head", { skip: !hasHeads || layout.heads === 1 }, () => {
  const found = ownTexts(100).flatMap((ids) => {
    const read = reading(model, ids), [{ id }] = nextWords(read.probabilities, 1);
    const { pairs, logProbability: now } = shares(model, read, id);
    return Array.from({ length: layout.heads }, (_, head) => {
      const share = pairs.subarray(head * ids.length, (head + 1) * ids.length).reduce((sum, one) => sum + one, 0);
      const { after, held, opened, closed } = withoutHead(model, read, head);
      const change = logProbability(after, id) - now;
      // With the gates held the logarithm is concave in what is taken away: log p falls by the share at least.
      assert.ok(held[id] - now <= -share + 1e-4, `${held[id] - now} for a share of ${share}`);
      if (opened + closed === 0) assertClose([held[id]], [now + change], TOLERANCE, "no gate moves");
      return { share, agrees: share * change < 0 };
    });
  });
  const larger = found.sort((a, b) => Math.abs(b.share) - Math.abs(a.share)).slice(0, found.length / 2);
  const agreeing = larger.filter(({ agrees }) => agrees).length / larger.length;
  assert.ok(agreeing >= 0.9, `${agreeing} of the larger half agree`);
});

test("the MLP has no shares of heads", { skip: hasHeads }, () => {
  assert.throws(() => shares(model, reading(model, [1]), 4), TypeError);
});
