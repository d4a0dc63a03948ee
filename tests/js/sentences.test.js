// Every sentence of block_stages.js and block_panel.js over models and texts made up here: one word and 64, all unknown,
// one head and 16, one set of keys and values, ties, and outputs near 0 and 1. The distinct ones are written to the file
// that WORDLM_SENTENCES names, to be read.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { readModel, reading } from "../../wordlm/ui/browser/model/forward.js";
import { sharesTold } from "../../wordlm/ui/browser/pictures/block_panel.js";
import { matrix, matrixNames, sayPair, steps, summary } from "../../wordlm/ui/browser/pictures/block_stages.js";

const VOCABULARY = ["<PAD>", "<BOS>", "<EOS>", "<UNK>", "the", "cat", ".", "שלום", "sat"];

// What no sentence may hold.
const FAULTS = [/undefined|NaN|\[object/, /(?<![\d.,])1 (scores|heads|words|units|numbers|slots|values|products|hidden units)\b/, /[+−]0\.0+(?!\d)/, /\d, and \d|”, and “/, /and head \d+ and/,
  /(?<![\d.])1\.000(?=[^\d]* (now|at most))/, / {2}/, /\b(\w+) \1\b/, /\.\./, /‘|Infinity|e[-+]\d/, /(?<!\d)-\d/, /× 10|[<>] \d/, /the same for every text|itself/, /Every \d+ heads/];

/** Return a model of random parameters, of so wide a spread; 0 makes all words equal. */
function made({ kind = "multihead", heads = 4, kvHeads = heads, dModel = 16, hidden = 12, contextLen = 64, spread = 0.5 }) {
  const V = VOCABULARY.length, keyWidth = (dModel / (heads ?? 1)) * (kvHeads ?? 1);
  const shapes = kind === "mlp"
    ? { "token_embedding.weight": [V, dModel], "hidden_layer.weight": [hidden, contextLen * dModel] }
    : {
        "token_embedding.weight": [V, dModel], "position_embedding.weight": [contextLen, dModel],
        "W_Q.weight": [dModel, dModel], "W_K.weight": [keyWidth, dModel], "W_V.weight": [keyWidth, dModel], "W_O.weight": [dModel, dModel],
        "hidden_layer.weight": [hidden, dModel],
      };
  Object.assign(shapes, { "hidden_layer.bias": [hidden], "vocab_head.weight": [V, hidden], "vocab_head.bias": [V] });
  const arrays = {};
  let size = 0, state = 7;
  for (const [name, shape] of Object.entries(shapes)) {
    arrays[name] = [size, ...shape];
    size += shape.reduce((product, extent) => product * extent, 1);
  }
  const random = () => (state = (48271 * state) % 2147483647) / 2147483647;
  const numbers = Float32Array.from({ length: size }, () => spread * (2 * random() - 1));
  return readModel(numbers.buffer, { kind, heads, kvHeads, vocabSize: V, contextLen, dModel, hidden, arrays });
}

const MODELS = [
  { heads: 1 }, { heads: 2 }, { heads: 4 }, { heads: 16 }, { heads: 2, kvHeads: 1 }, { heads: 4, kvHeads: 1 }, { heads: 4, kvHeads: 2 }, { heads: 8, kvHeads: 4 }, { heads: 8, kvHeads: 2 },
  { heads: 4, spread: 0 }, { heads: 1, spread: 0 }, { heads: 4, spread: 3 }, { heads: 1, spread: 0.01 }, { heads: 4, hidden: 1 }, { heads: 2, contextLen: 8 },
  { kind: "mlp", heads: null, kvHeads: null }, { kind: "mlp", heads: null, kvHeads: null, hidden: 1, spread: 0 },
];
const TEXTS = [[1], [4], [1, 5], [1, 3], [3, 3, 3], [1, 4, 5, 6, 7], [1, 5, 5, 5, 5], Array(64).fill(3), Array.from({ length: 64 }, (_, i) => 4 + (i % 5))];

/** Yield every case: a view with its heads as they are, without one head, and without all. */
function* views() {
  for (const options of MODELS) {
    const model = made(options);
    for (const ids of TEXTS) {
      const kept = ids.slice(-model.contextLen);
      const typed = kept.map((id) => (id === 3 ? "zyzzyva" : VOCABULARY[id]));
      const on = Array(model.heads ?? 0).fill(true);
      for (const headsOn of model.kind === "mlp" ? [null] : [null, on.with(0, false), on.fill(false)])
        yield { model, ids: kept, itos: VOCABULARY, head: Math.max(0, (model.heads ?? 1) - 1), read: reading(model, kept, { headsOn }), prompt: { typed, labels: typed.map((word, i) => `${i + 1} ${word}`) } };
    }
  }
}

/** Yield every sentence of a view. */
function* sentences(view) {
  const { model, read } = view, n = read.ids.length;
  yield summary(view);
  for (const head of model.kind === "mlp" ? [0] : [0, model.heads - 1]) for (const step of steps(view, head)) yield* step;
  for (const name of [...matrixNames(model), ...(model.kind === "mlp" ? [] : ["pair"])]) {
    const one = matrix(view, name, view.head, n - 1);
    yield one.title;
    if (one.note) yield one.note;
    for (const row of [0, one.rows - 1]) for (const column of [0, one.columns - 1]) yield one.say(row, column);
  }
  if (model.kind === "mlp") return;
  yield sayPair(view, 0, n - 1);
  for (const [word, versus] of [[4, null], [7, null], [4, 5], [6, 8]]) {
    const { title, said, columns, rows, sums, notes } = sharesTold(view, word, versus);
    yield* [title, said, ...columns, ...notes];
    for (const row of rows) yield* [row.title, row.without];
    for (const row of sums) yield* [row.title, row.check];
  }
}

const plain = (text) => text.replaceAll("\u00a0", "_");

test("no sentence has a known fault of grammar or figures", () => {
  const kinds = new Map();
  for (const view of views())
    for (const sentence of sentences(view)) {
      const kind = sentence.replace(/(?<!\d)[+−]?(?!1 )\d[\d.,]*/g, (digits) => (/[1-9]/.test(digits) ? "#" : digits)).replace(/“[^”]*”/g, "“x”");
      if (!kinds.has(kind)) kinds.set(kind, sentence);
    }
  const faulty = [...kinds.values()].filter((sentence) => FAULTS.some((fault) => fault.test(sentence)));
  if (process.env.WORDLM_SENTENCES) writeFileSync(process.env.WORDLM_SENTENCES, Array.from(kinds.values(), (sentence) => `${plain(sentence)}\n`).join(""));
  assert.deepEqual(faulty, []);
  assert.ok(kinds.size > 100);
});

test("the faults are found where they are", () => {
  const faulty = ["turns the 1 scores into", "head 1 and head 3 and head 4", "1, 2, 3, and 4", "share +0.000", "a −0.00 b", "2.0 × 10⁻⁴", "of undefined", "< 0.001", "the the"];
  for (const sentence of faulty) assert.ok(FAULTS.some((fault) => fault.test(sentence)), sentence);
});

test("shares add up as they are written: rows to log p, and words to heads", () => {
  for (const view of views()) {
    if (view.model.kind === "mlp") continue;
    for (const versus of [null, 5]) {
      const { rows, sums, pairs } = sharesTold(view, 4, versus);
      const thousandths = (numbers) => numbers.reduce((sum, number) => sum + Math.round(1000 * number), 0);
      const same = (parts, sum) => assert.ok(thousandths(parts) === thousandths([sum]), `${parts} are not ${sum}`);
      if (versus === null) {
        same(rows.map(({ share }) => share), sums[0].sum);
        same([sums[0].sum, sums[1].sum], sums[2].sum);
      } else same(rows.map(({ share }) => share), sums[0].sum);
      for (const [head, column] of pairs.entries())
        if (view.read.headsOn[head]) same(column, rows[head].share);
      assert.match(sums.at(-1).check, /^✓/);
    }
  }
});

test("an embedding adds up as written, whatever its parts", () => {
  for (const view of views())
    for (const name of view.model.kind === "mlp" ? [] : ["embedding", "contextual"])
      for (let d = 0; d < view.model.dModel; d++) {
        const [first, second, sum] = matrix(view, name).say(0, d).match(/[+−]?\d+\.\d{3}/g).map((number) => Math.round(1000 * Number(number.replace("−", "-"))));
        assert.equal(first + second, sum, matrix(view, name).say(0, d));
      }
});

test("heads that are equal as written are named together, and no word stands out of equal ones", () => {
  const alike = [...views()].filter(({ model, ids }) => model.heads === 4 && ids.length === 5 && model.arrays["W_Q.weight"].every((number) => number === 0));
  assert.deepEqual(alike.slice(0, 3).map((view) => summary(view).split(". ").at(-1)), [
    "Heads 1, 2, 3 and 4 have the largest weights, 0.200 each.",
    "Heads 2, 3 and 4 have the largest weights, 0.200 each.",
    "After ⁨“שלום”⁩ without any head no word stands out, 0.111 at most.",
  ]);
});

test("an unknown word is said to be unknown, and the start mark to stand there alone", () => {
  for (const view of views()) {
    const [[, cut]] = steps(view);
    assert.equal(/not in its vocabulary/.test(cut), view.ids.at(-1) === 3, cut);
    assert.doesNotMatch(cut, /empty/);
    assert.equal(/alone/.test(cut), view.ids.length === 1);
  }
});

test("a head for which a share and the change without it disagree is explained", () => {
  let parted = 0;
  for (const view of views()) {
    if (view.model.kind === "mlp") continue;
    const { rows, notes } = sharesTold(view, 4);
    const those = rows.filter(({ share, change }) => change !== null && share * change > 0);
    parted += those.length;
    for (const { title } of those) assert.match(notes.join(" "), new RegExp(`Without (heads [^.]*\\b${title.slice(5)}\\b|${title}) log p goes the other way`));
    if (those.length === 0) assert.equal(notes.length, 1);
  }
  assert.ok(parted > 10, `${parted}`);
});
