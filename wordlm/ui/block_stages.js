// What the picture of a whole model shows: its matrices, each cell with what it was made from, and its eight steps, each
// a sentence with the numbers of this very reading. Numbers in, words out: nothing here knows a page.
//
// A view is { model, read, prompt, itos, head }: a model and a `reading` of forward.js, the prompt up to the word that
// looks (an EncodedPrompt with as many positions as the reading), the vocabulary, and the chosen head from 0.

import { nextWords } from "./forward.js";
import { number, shownWord, signedNumber } from "./drawing.js";

const STEP_OF = { embedding: 2, queries: 3, keys: 3, values: 3, scores: 4, weights: 5, messages: 6, beside: 6, update: 7, word: 7, contextual: 7, hidden: 8 };
const STEP_OF_MLP = { embedding: 2, hidden: 4 };
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
 */
export function matrix(view, name, head = view.head) {
  const { model, read, prompt } = view;
  const n = read.ids.length, D = model.dModel, last = n - 1;
  const word = (j) => shownWord(prompt.typed[j]), query = word(last);
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
    `${model.heads === 1 ? "the head" : `head ${head + 1}`}: ${shownWord(prompt.typed[n - 1])} looks at ${shownWord(prompt.typed[key])}, ` +
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
  return `${name}; most of it from ${shownWord(prompt.typed[most])}: ${number(read.weights[head * n + most])} × ${number(read.values[(head * n + most) * M + k])} = ${number(added(most))}`;
}

const heads = (model) => Array.from({ length: model.heads }, (_, h) => `head ${h + 1}`);
const open = (read) => read.hidden.reduce((count, unit) => count + (unit > 0), 0);

/** Return the position that a head of a reading weighs most. */
export function looksMostAt(read, head) {
  const n = read.ids.length;
  let most = 0;
  for (let j = 1; j < n; j++) if (read.weights[head * n + j] > read.weights[head * n + most]) most = j;
  return most;
}

/** Return the steps of a view, [title, sentence] each. */
export function steps(view) {
  const { model, read, prompt, itos, head } = view;
  const n = read.ids.length, last = n - 1, D = model.dModel;
  const query = shownWord(prompt.typed[last]);
  const [best] = nextWords(read.probabilities, 1);
  const decided = `${open(read)} of ${model.hidden} hidden units stay above 0. They score all ${model.vocabSize.toLocaleString("en")} words: ${shownWord(itos[best.id])} is likeliest, ${number(best.probability)}.`;
  const cut = `The model reads ${n} pieces, the start mark among them. ${query} stands last, in slot ${model.contextLen}; in the vocabulary it is number ${read.ids[last]}.`;
  if (model.kind === "mlp")
    return [
      ["Words and slots", cut],
      ["Embedding", `Each word becomes ${D} numbers. The first of ${query} is ${number(read.E[last * D])}.`],
      ["All slots side by side", `No head looks anywhere: ${model.contextLen} slots of ${D} numbers stand side by side, ${(model.contextLen * D).toLocaleString("en")} in all, free slots too.`],
      ["The next word", decided],
    ];
  const { headWidth: K, messageWidth: M } = model;
  const what = model.arrays["token_embedding.weight"][read.ids[last] * D];
  const where = model.arrays["position_embedding.weight"][(model.contextLen - 1) * D];
  const most = looksMostAt(read, head), key = shownWord(prompt.typed[most]);
  const score = read.scores[head * n + most], weight = read.weights[head * n + most];
  const whose = model.heads === 1 ? "The head" : `Head ${head + 1}`;
  const all = model.heads === 1 ? "The one message has" : `The ${model.heads} messages stand side by side: ${model.heads} × ${M} =`;
  const shared = model.kvHeads < model.heads ? ` Every ${model.heads / model.kvHeads} heads in a row share their keys and values.` : "";
  const off = read.headsOn[head] ? "" : " It is off, so zeros stand in.";
  return [
    ["Words and slots", cut],
    ["Embedding", `What a word is and where it stands are added up. Number 1 of ${query}: ${number(what)} ${signedNumber(where)} = ${number(read.E[last * D])}.`],
    ["Query, key, value", `${model.heads === 1 ? "The head makes" : "Each head makes"} a query of ${query}, and of every word a key and a value, ${K} numbers each.${shared}`],
    ["Scores", `${whose} multiplies its query with each key. For ${key} the ${K} products add up to ${number(score * Math.sqrt(K), 2)}; divided by √${K}: ${number(score, 2)}.`],
    ["Weights", `The softmax turns the ${n} scores into weights that sum to 1. ${whose} gives ${key} the most, ${number(weight)}.`],
    ["Messages", `${whose} adds up all values, each times its weight: its message.${off} ${all} ${read.messages.length} numbers.`],
    ["Update", `W_O mixes them into one update, added to ${query} itself. Number 1: ${number(read.E[last * D])} ${signedNumber(read.update[0])} = ${number(read.contextual[0])}.`],
    ["The next word", decided],
  ];
}
