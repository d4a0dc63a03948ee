// What the picture of a whole model shows: its matrices, each cell with what it was made from, and its eight steps, each
// a sentence with the numbers of this very reading. Numbers in, words out: nothing here knows a page.
//
// A view is { model, read, prompt, itos, head }: a model and a `reading` of forward.js, the prompt up to the word that
// looks (an EncodedPrompt with as many positions as the reading), the vocabulary, and the chosen head from 0.

import { PAD, nextWords } from "../model/forward.js";
import { number, signedNumber } from "./drawing.js";

const STEP_OF = { embedding: 2, queries: 3, keys: 3, values: 3, scores: 4, weights: 5, messages: 6, beside: 6, update: 7, word: 7, contextual: 7, hidden: 8 };
const STEP_OF_MLP = { embedding: 2, slots: 3, hidden: 4 };
const stepsOf = (model) => (model.kind === "mlp" ? STEP_OF_MLP : STEP_OF);

/** Return the matrices that a model has, in the order of the steps. */
export const matrixNames = (model) => Object.keys(stepsOf(model));

/** Return the step in which a matrix is made, from 1. */
export const stepOf = (model, name) => stepsOf(model)[name];

/**
 * Return a matrix of a view by name: { name, title, rows, columns, values, from, heads, rowNames, say }.
 *
 * values[from + row * columns + column] is a cell; `say(row, column)` is what it is and what it was made from. `heads`
 * tells whose hue it has: the number of a head, "each" where rows or parts of a row belong to one head each, or null.
 * `head` matters for what is of one head, `key` for the "pair" of the query with one key, which has a `note` too.
 */
export function matrix(view, name, head = view.head, key = 0) {
  const { model, read, prompt } = view;
  const n = read.ids.length, D = model.dModel, last = n - 1;
  const word = (j) => quoted(prompt.typed[j]), query = word(last);
  const slot = (j) => model.contextLen - n + j + 1;
  const headName = (h) => (model.heads === 1 ? "the head" : `head ${h + 1}`);
  const named = (title, rows, columns, values, from, heads, rowNames, say) => ({ name, title, rows, columns, values, from, heads, rowNames, say });
  const words = Array.from(prompt.typed);
  switch (name) {
    case "embedding": {
      const tokens = model.arrays["token_embedding.weight"], slots = model.arrays["position_embedding.weight"];
      return named("Embedding: what each word is, plus where it stands", n, D, read.E, 0, null, words, (j, d) => {
        const what = tokens[read.ids[j] * D + d];
        if (!slots) return `${word(j)}, number ${d + 1} of ${D}: ${number(what)}`;
        const where = slots[(slot(j) - 1) * D + d];
        return `${word(j)}, number ${d + 1} of ${D}: ${number(what)} (the word) ${signedNumber(where)} (slot ${slot(j)}) = ${number(read.E[j * D + d])}`;
      });
    }
    case "slots": {
      const free = model.contextLen - n, slots = new Float32Array(model.contextLen * D);
      const pad = model.arrays["token_embedding.weight"].subarray(PAD * D, (PAD + 1) * D);
      for (let i = 0; i < free; i++) slots.set(pad, i * D);
      slots.set(read.E, free * D);
      const names = Array.from({ length: model.contextLen }, (_, i) => (i < free ? "free" : word(i - free)));
      return named(`All ${model.contextLen} slots side by side`, model.contextLen, D, slots, 0, null, names, (i, d) =>
        `slot ${i + 1} (${names[i]}), number ${d + 1}: ${number(slots[i * D + d])}, which every hidden unit weighs`);
    }
    case "queries":
      return named(`Queries of ${query}: what each head looks for`, model.heads, model.headWidth, read.q, 0, "each", heads(model), (h, k) =>
        `${headName(h)}, query of ${query}, number ${k + 1}: ${number(read.q[h * model.headWidth + k])}, made by W_Q from the ${D} numbers of ${query}`);
    case "keys":
      return named(`Keys of ${headName(head)}: what each word offers to be found by`, n, model.headWidth, read.keys, head * n * model.headWidth, head, words, (j, k) => {
        const key = read.keys[(head * n + j) * model.headWidth + k], asked = read.q[head * model.headWidth + k];
        return `${headName(head)}, key of ${word(j)}, number ${k + 1}: ${number(key)}; times the query's ${number(asked)} it adds ${signedNumber(key * asked)} to the score`;
      });
    case "values":
      return named(`Values of ${headName(head)}: what each word hands on`, n, model.messageWidth, read.values, head * n * model.messageWidth, head, words, (j, k) => {
        const value = read.values[(head * n + j) * model.messageWidth + k], weight = read.weights[head * n + j];
        return `${headName(head)}, value of ${word(j)}, number ${k + 1}: ${number(value)}; times the weight ${number(weight)} it adds ${signedNumber(weight * value)} to the message`;
      });
    case "scores":
      return named(`Scores: query of ${query} times each key, divided by √${model.headWidth}`, model.heads, n, read.scores, 0, "each", heads(model), (h, j) => sayPair(view, h, j));
    case "weights":
      return named("Weights: the softmax of each row of scores", model.heads, n, read.weights, 0, "each", heads(model), (h, j) => sayPair(view, h, j));
    case "messages":
      return named("Messages: each head's values, weighted and added up", model.heads, model.messageWidth, read.messages, 0, "each", heads(model), (h, k) => sayMessage(view, h, k));
    case "beside":
      return named(`Side by side: ${model.heads} × ${model.messageWidth} = ${read.messages.length} numbers`, 1, read.messages.length, read.messages, 0, "each", [query], (_, k) =>
        sayMessage(view, Math.floor(k / model.messageWidth), k % model.messageWidth));
    case "update":
      return named("Update: the messages mixed by the output projection W_O", 1, D, read.update, 0, null, [query], (_, d) =>
        `update, number ${d + 1}: ${number(read.update[d])}, row ${d + 1} of W_O times the ${read.messages.length} numbers side by side`);
    case "word":
      return named(`${query} itself: its embedding goes on unchanged`, 1, D, read.E, last * D, null, [query], (_, d) =>
        `${query}, number ${d + 1}: ${number(read.E[last * D + d])}, as in its embedding`);
    case "contextual":
      return named(`What the model now knows at ${query}: the word plus the update`, 1, D, read.contextual, 0, null, [query], (_, d) =>
        `number ${d + 1}: ${number(read.E[last * D + d])} (${query}) ${signedNumber(read.update[d])} (update) = ${number(read.contextual[d])}`);
    case "pair": {
      const K = model.headWidth, j = Math.min(key, last), n0 = head * K, k0 = (head * n + j) * K;
      const three = Float32Array.from({ length: 3 * K }, (_, i) => {
        const [q, k] = [read.q[n0 + (i % K)], read.keys[k0 + (i % K)]];
        return [q, k, q * k][Math.floor(i / K)];
      });
      const score = read.scores[head * n + j];
      const one = named(`${headName(head)}: how much ${query} looks at ${word(j)}`, 3, K, three, 0, head, ["query", "key", "product"], (_, k) =>
        `number ${k + 1}: query ${number(read.q[n0 + k])} × key ${number(read.keys[k0 + k])} = ${number(three[2 * K + k])}`);
      one.note = `The ${K} products add up to ${number(score * Math.sqrt(K), 2)}; divided by √${K}: ${number(score, 2)}, the score. The softmax over all ${n} scores makes it ${number(read.weights[head * n + j])}.`;
      return one;
    }
    case "hidden":
      return named(`Hidden layer: ${open(read)} of ${model.hidden} units are open`, 1, model.hidden, read.hidden, 0, null, [query], (_, unit) => {
        const before = read.preactivations[unit];
        return before > 0 ? `unit ${unit + 1}: ${number(before)}` : `unit ${unit + 1}: 0, since its sum ${number(before)} is not above 0`;
      });
  }
  throw new RangeError(`${name} is no matrix of this picture`);
}

/** Say how one weight came about. */
export function sayPair({ model, read, prompt }, head, key) {
  const n = read.ids.length;
  return (
    `${model.heads === 1 ? "the head" : `head ${head + 1}`}: ${quoted(prompt.typed[n - 1])} looks at ${quoted(prompt.typed[key])}, ` +
    `score ${number(read.scores[head * n + key], 2)}, weight ${number(read.weights[head * n + key])}`
  );
}

function sayMessage({ model, read, prompt }, head, k) {
  const n = read.ids.length, M = model.messageWidth;
  const name = `head ${head + 1}, message, number ${k + 1}: ${number(read.messages[head * M + k])}`;
  if (!read.headsOn[head]) return `${name}, since the head is off`;
  const added = (j) => read.weights[head * n + j] * read.values[(head * n + j) * M + k];
  let most = 0;
  for (let j = 1; j < n; j++) if (Math.abs(added(j)) > Math.abs(added(most))) most = j;
  return `${name}; most of it from ${quoted(prompt.typed[most])}: ${number(read.weights[head * n + most])} × ${number(read.values[(head * n + most) * M + k])} = ${number(added(most))}`;
}

/** In a sentence every word of the text stands in quotes: "the" would be lost among ours. */
export function quoted(word) {
  if (word === "<BOS>") return "the start mark";
  // A word that runs from right to left would take the number after it along, so it is isolated from it.
  return RIGHT_TO_LEFT.test(word) ? `\u2068“${word}”\u2069` : `“${word}”`;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

const heads = (model) => Array.from({ length: model.heads }, (_, h) => `head ${h + 1}`);
const open = (read) => read.hidden.reduce((count, unit) => count + (unit > 0), 0);

/** Return the position that a head of a reading weighs most. */
export function looksMostAt(read, head) {
  const n = read.ids.length;
  let most = 0;
  for (let j = 1; j < n; j++) if (read.weights[head * n + j] > read.weights[head * n + most]) most = j;
  return most;
}

/** Say what the model expects, and which head looks most sharply. */
export function summary(view) {
  const { model, read, prompt, itos } = view;
  const [best] = nextWords(read.probabilities, 1);
  const expects = `After ${quoted(prompt.typed.at(-1))} the likeliest word ${withoutHeads(read)}is ${quoted(itos[best.id])}, ${number(best.probability)}.`;
  if (model.kind === "mlp" || !read.headsOn.includes(true)) return expects;
  const head = sharpestHead(view), most = looksMostAt(read, head);
  const whose = model.heads === 1 ? "The head looks most" : `Head ${head + 1} looks most sharply:`;
  return `${expects} ${whose} at ${quoted(prompt.typed[most])}, ${number(read.weights[head * read.ids.length + most])}.`;
}

/** Say which heads are off: "without heads 2 and 3 ", or nothing. */
export function withoutHeads({ headsOn }) {
  const off = (headsOn ?? []).flatMap((on, head) => (on ? [] : [String(head + 1)]));
  return off.length ? `without head${off.length > 1 ? "s" : ""} ${new Intl.ListFormat("en").format(off)} ` : "";
}

/** Return the head with the largest weight, of those that are on where any is. */
function sharpestHead({ model, read }) {
  const most = (head) => (read.headsOn[head] ? read.weights[head * read.ids.length + looksMostAt(read, head)] : 0);
  let sharpest = 0;
  for (let head = 1; head < model.heads; head++) if (most(head) > most(sharpest)) sharpest = head;
  return sharpest;
}

/** Return the head that the steps tell of: the chosen one where it is `alone` in sight, else the one that looks most sharply. */
export function toldHead(view, alone) {
  return view.model.kind === "mlp" || alone || view.model.heads > 4 ? view.head : sharpestHead(view);
}

/** Return the steps of a view, [title, sentence, name of one or two words] each, as one head takes them. */
export function steps(view, head = view.head) {
  const { model, read, prompt, itos } = view;
  const n = read.ids.length, last = n - 1, D = model.dModel;
  const query = quoted(prompt.typed[last]);
  const [best] = nextWords(read.probabilities, 1);
  const decided = `${open(read)} of ${model.hidden} hidden units stay above 0. They score all ${model.vocabSize.toLocaleString("en")} words: ${quoted(itos[best.id])} is likeliest, ${number(best.probability)}.`;
  const cut = n === 1
    ? `The text is empty: the model reads the start mark alone, in the last of its ${model.contextLen} slots.`
    : `The model reads ${n} pieces, which stand in the last of its ${model.contextLen} slots. ${query} is number ${read.ids[last]} of its vocabulary.`;
  if (model.kind === "mlp")
    return [
      ["Words and slots", cut, "words"],
      ["Embedding", `Each word becomes ${D} numbers. The first of ${query} is ${number(read.E[last * D])}.`, "embedding"],
      ["All slots side by side", `No head looks anywhere: ${model.contextLen} slots of ${D} numbers stand side by side, ${(model.contextLen * D).toLocaleString("en")} in all, free slots too.`, "slots"],
      ["The next word", decided, "next word"],
    ];
  const { headWidth: K, messageWidth: M } = model;
  const what = model.arrays["token_embedding.weight"][read.ids[last] * D];
  const where = model.arrays["position_embedding.weight"][(model.contextLen - 1) * D];
  const most = looksMostAt(read, head), key = quoted(prompt.typed[most]);
  const score = read.scores[head * n + most], weight = read.weights[head * n + most];
  const whose = model.heads === 1 ? "The head" : `Head ${head + 1}`;
  const all = model.heads === 1 ? "The one message has" : `The ${model.heads} messages stand side by side: ${model.heads} × ${M} =`;
  const shared = model.kvHeads < model.heads ? ` Every ${model.heads / model.kvHeads} heads in a row share their keys and values.` : "";
  const off = read.headsOn[head] ? "" : " It is off, so zeros stand in.";
  return [
    ["Words and slots", cut, "words"],
    ["Embedding", `What a word is and where it stands are added up. Number 1 of ${query}: ${number(what)} ${signedNumber(where)} = ${number(read.E[last * D])}.`, "embedding"],
    ["Query, key, value", `${model.heads === 1 ? "The head makes" : "Each head makes"} a query of ${query}, and of every word a key and a value, ${K} numbers each.${shared}`, "q k v"],
    ["Scores", `${whose} multiplies its query with each key. For ${key} the ${K} products add up to ${number(score * Math.sqrt(K), 2)}; divided by √${K}: ${number(score, 2)}.`, "scores"],
    ["Weights", `The softmax turns the ${n} scores into weights that sum to 1. ${whose} gives ${key} the most, ${number(weight)}.`, "weights"],
    ["Messages", `${whose} adds up all values, each times its weight: its message.${off} ${all} ${read.messages.length} numbers.`, "messages"],
    ["Update", `The output projection W_O mixes all messages into one update, added to ${query} itself. Number 1: ${number(read.E[last * D])} (${query}) ${signedNumber(read.update[0])} (update) = ${number(read.contextual[0])}.`, "update"],
    ["The next word", decided, "next word"],
  ];
}
