// What the picture of a whole model shows: its matrices, each cell with what it was made from, and its eight steps, each
// a sentence with the numbers of this very reading. Numbers in, words out: nothing here knows a page.
//
// A view is { model, read, prompt, itos, head }: a model and a `reading` of forward.js, the prompt up to the word that
// looks (an EncodedPrompt with as many positions as the reading), the vocabulary, and the chosen head from 0.

import { PAD, nextWords } from "../model/forward.js";
import { UNK } from "../model/tokenizer.js";
import { count, counted, listed, number, numbered, portion, rounded, signedNumber, signedRounded, summands } from "./numbers.js";

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
        return `${word(j)}, number ${d + 1} of ${D}: ${added([what, "the word"], [where, `slot ${slot(j)}`])}`;
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
        `${headName(h)}, query of ${query}, number ${k + 1}: ${number(read.q[h * model.headWidth + k])}, made by W_Q from the ${counted(D, "number")} of ${query}`);
    case "keys":
      return named(`Keys of ${headName(head)}: what each word offers to be found by`, n, model.headWidth, read.keys, head * n * model.headWidth, head, words, (j, k) => {
        const key = read.keys[(head * n + j) * model.headWidth + k], asked = read.q[head * model.headWidth + k];
        return `${headName(head)}, key of ${word(j)}, number ${k + 1}: ${number(key)}; times the query's ${number(asked)}, divided by √${model.headWidth}, it adds ${signedNumber((key * asked) / Math.sqrt(model.headWidth))} to the score`;
      });
    case "values":
      return named(`Values of ${headName(head)}: what each word hands on`, n, model.messageWidth, read.values, head * n * model.messageWidth, head, words, (j, k) => {
        const value = read.values[(head * n + j) * model.messageWidth + k], weight = read.weights[head * n + j];
        return `${headName(head)}, value of ${word(j)}, number ${k + 1}: ${number(value)}; times the weight ${weighed(weight)} it adds ${signedNumber(weight * value)} to the message`;
      });
    case "scores":
      return named(`Scores: query of ${query} times each key, divided by √${model.headWidth}`, model.heads, n, read.scores, 0, "each", heads(model), (h, j) => sayPair(view, h, j));
    case "weights":
      return named("Weights: the softmax of each row of scores", model.heads, n, read.weights, 0, "each", heads(model), (h, j) => sayPair(view, h, j));
    case "messages":
      return named("Messages: each head's values, weighted and added up", model.heads, model.messageWidth, read.messages, 0, "each", heads(model), (h, k) => sayMessage(view, h, k));
    case "beside":
      return named(`Side by side: ${model.heads} × ${model.messageWidth} = ${counted(read.messages.length, "number")}`, 1, read.messages.length, read.messages, 0, "each", [query], (_, k) =>
        sayMessage(view, Math.floor(k / model.messageWidth), k % model.messageWidth));
    case "update":
      return named("Update: the messages mixed by the output projection W_O", 1, D, read.update, 0, null, [query], (_, d) =>
        `update, number ${d + 1}: ${number(read.update[d])}, row ${d + 1} of W_O times the ${counted(read.messages.length, "number")} side by side`);
    case "word":
      return named(`${query} in slot ${model.contextLen}: its embedding goes on unchanged`, 1, D, read.E, last * D, null, [query], (_, d) =>
        `${query}, number ${d + 1}: ${number(read.E[last * D + d])}, as in its embedding`);
    case "contextual":
      return named(`What the model now knows at ${query}: the word plus the update`, 1, D, read.contextual, 0, null, [query], (_, d) =>
        `number ${d + 1}: ${added([read.E[last * D + d], `${query} in slot ${model.contextLen}`], [read.update[d], "update"])}`);
    case "pair": {
      const K = model.headWidth, j = Math.min(key, last), n0 = head * K, k0 = (head * n + j) * K;
      const three = Float32Array.from({ length: 3 * K }, (_, i) => {
        const [q, k] = [read.q[n0 + (i % K)], read.keys[k0 + (i % K)]];
        return [q, k, q * k][Math.floor(i / K)];
      });
      const score = read.scores[head * n + j];
      const one = named(`${headName(head)}: how much ${query} looks at ${word(j)}`, 3, K, three, 0, head, ["query", "key", "product"], (_, k) =>
        `number ${k + 1}: query ${number(read.q[n0 + k])} × key ${number(read.keys[k0 + k])} = ${number(three[2 * K + k])}`);
      one.note = `${K === 1 ? "The one product is" : `The ${K} products add up to`} ${number(score * Math.sqrt(K), 2)}; divided by √${K}: ${number(score, 2)}, the score. The softmax over ${n === 1 ? "this one score" : `all ${n} scores`} makes it ${weighed(read.weights[head * n + j])}.`;
      return one;
    }
    case "hidden":
      return named(`Hidden layer: ${openUnits(read)} of ${counted(model.hidden, "unit")} open`, 1, model.hidden, read.hidden, 0, null, [query], (_, unit) => {
        const before = read.preactivations[unit];
        return before > 0 ? `unit ${unit + 1}: ${number(before)}` : `unit ${unit + 1}: 0, since its sum ${number(before)} is not above 0`;
      });
  }
  throw new RangeError(`${name} is no matrix of this picture`);
}

/** A weight where it is told by itself: a small one by its digits, one that is nearly 1 by a limit. */
const weighed = (weight) => (weight > 0.5 ? portion(weight) : number(weight));

/** Say how one weight came about. */
export function sayPair({ model, read, prompt }, head, key) {
  const n = read.ids.length;
  return (
    `${model.heads === 1 ? "the head" : `head ${head + 1}`}: ${quoted(prompt.typed[n - 1])} looks at ${quoted(prompt.typed[key])}, ` +
    `score ${number(read.scores[head * n + key], 2)}, weight ${weighed(read.weights[head * n + key])}`
  );
}

function sayMessage({ model, read, prompt }, head, k) {
  const n = read.ids.length, M = model.messageWidth;
  const name = `${model.heads === 1 ? "the head" : `head ${head + 1}`}, message, number ${k + 1}: ${number(read.messages[head * M + k])}`;
  if (!read.headsOn[head]) return `${name}, since the head is off`;
  const part = (j) => read.weights[head * n + j] * read.values[(head * n + j) * M + k];
  let most = 0;
  for (let j = 1; j < n; j++) if (Math.abs(part(j)) > Math.abs(part(most))) most = j;
  if (part(most) === 0) return name;
  const largest = n === 1 ? "all of it" : "the largest part";
  return `${name}; ${largest} from ${quoted(prompt.typed[most])}: ${weighed(read.weights[head * n + most])} × ${number(read.values[(head * n + most) * M + k])} = ${number(part(most))}`;
}

/** In a sentence every word of the text stands in quotes: "the" would be lost among ours. */
export function quoted(word) {
  if (word === "<BOS>") return "the start mark";
  if (word.length > MOST_QUOTED) word = `${Array.from(word).slice(0, MOST_QUOTED - 1).join("")}…`;
  // A word that runs from right to left would take the number after it along, so it is isolated from it.
  return RIGHT_TO_LEFT.test(word) ? `\u2068“${word}”\u2069` : `“${word}”`;
}

const MOST_QUOTED = 24; // characters; a longer word would make the sentence jump, and the picture below it
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

const heads = (model) => Array.from({ length: model.heads }, (_, h) => `head ${h + 1}`);

/** Return how many hidden units are open in a reading. */
export const openUnits = (read) => read.hidden.reduce((all, unit) => all + (unit > 0), 0);

/** Write "0.123 (the word) −0.456 (slot 64) = −0.333" so that it adds up: the second takes what rounding leaves over. */
function added([first, what], [second, other]) {
  const [shown, sum] = [first, first + second].map((value) => summands([value]).sum);
  return `${rounded(shown)} (${what}) ${signedRounded(sum - shown)} (${other}) = ${rounded(sum)}`;
}

/** Return the position that a head of a reading weighs most; of equal ones the first. */
export function looksMostAt(read, head) {
  const n = read.ids.length;
  let most = 0;
  for (let j = 1; j < n; j++) if (read.weights[head * n + j] > read.weights[head * n + most]) most = j;
  return most;
}

/** Say at what a head looks most, "“red”, 0.512", or that it looks evenly where nothing stands out as written. */
function lookedAt({ read, prompt }, head) {
  const n = read.ids.length, most = looksMostAt(read, head);
  const shown = (j) => portion(read.weights[head * n + j]);
  const equal = Array.from({ length: n }, (_, j) => j).filter((j) => shown(j) === shown(most));
  const words = [...new Set(equal.map((j) => quoted(prompt.typed[j])))];
  if (words.length === 1 && equal.length > 1) return `${words[0]} in ${equal.length} places, ${shown(most)} each`;
  if (words.length > 2) return `${equal.length} words alike, ${shown(most)} each`;
  return `${words.join(" and ")}, ${shown(most)}${words.length > 1 ? " each" : ""}`;
}

/** Say what the model expects, and which head has the largest weight. */
export function summary(view) {
  const { model, read, prompt } = view;
  const expects = `After ${quoted(prompt.typed.at(-1))} ${likeliest(view, withoutHeads(read))}.`;
  if (model.kind === "mlp" || !read.headsOn.includes(true)) return expects;
  if (read.ids.length === 1) return `${expects} There is no word before it to look at.`;
  const head = sharpestHead(view);
  if (model.heads === 1) return `${expects} The head looks most at ${lookedAt(view, head)}.`;
  const largest = (one) => portion(read.weights[one * read.ids.length + looksMostAt(read, one)]);
  const alike = Array.from({ length: model.heads }, (_, one) => one).filter((one) => read.headsOn[one] && largest(one) === largest(head));
  if (alike.length > 1) return `${expects} ${capital(numbered("head", alike.map((one) => one + 1)))} have the largest weights, ${largest(head)} each.`;
  return `${expects} Head ${head + 1} has the largest weight, on ${lookedAt(view, head)}.`;
}

/** Say "the likeliest word is “the”, 0.512"; of words as likely as one another, as written, all. */
function likeliest({ read, itos }, without = "") {
  const best = nextWords(read.probabilities, 4);
  const shown = best.map(({ probability }) => portion(probability));
  const equal = shown[0].startsWith("<") ? 0 : shown.filter((one) => one === shown[0]).length;
  if (equal === 0 || equal > 3) return `${without}no word stands out, ${shown[0]} at most`;
  const words = best.slice(0, equal).map(({ id }) => quoted(itos[id]));
  if (equal === 1) return `the likeliest word ${without}is ${words[0]}, ${shown[0]}`;
  return `the likeliest words ${without}are ${listed(words)}, ${shown[0]} each`;
}

/** Say which heads are off: "without heads 2 and 3 ", or nothing. */
export function withoutHeads({ headsOn }) {
  const off = (headsOn ?? []).flatMap((on, head) => (on ? [] : [head + 1]));
  if (off.length === 0) return "";
  if (headsOn.length === 1) return "without the head ";
  return `without ${off.length === headsOn.length ? "any head" : numbered("head", off)} `;
}

/** Return the head with the largest weight, of those that are on where any is. */
function sharpestHead({ model, read }) {
  const most = (head) => (read.headsOn[head] ? read.weights[head * read.ids.length + looksMostAt(read, head)] : 0);
  let sharpest = 0;
  for (let head = 1; head < model.heads; head++) if (most(head) > most(sharpest)) sharpest = head;
  return sharpest;
}

/** Return the head that the steps tell of: the chosen one where it is `alone` in sight, else the one with the largest weight. */
export function toldHead(view, alone) {
  return view.model.kind === "mlp" || alone || view.model.heads > 4 ? view.head : sharpestHead(view);
}

/** Return the steps of a view, [title, sentence, name of one or two words] each, as one head takes them. */
export function steps(view, head = view.head) {
  const { model, read, prompt, itos } = view;
  const n = read.ids.length, last = n - 1, D = model.dModel, T = model.contextLen;
  const query = quoted(prompt.typed[last]);
  const units = openUnits(read);
  const decided = `${units} of ${counted(model.hidden, "hidden unit")} ${units === 1 ? "is" : "are"} above 0. They score all ${counted(model.vocabSize, "word")}: ${likeliest(view)}.`;
  const known = read.ids[last] === UNK ? `${query} is not in its vocabulary and is read as ${itos[UNK]}` : `${query} is number ${count(read.ids[last])} of its vocabulary`;
  const cut = `The model reads ${n === 1 ? `${query} alone, which stands in the last` : `${n} pieces, which stand in the last`} of its ${counted(T, "slot")}. ${capital(known)}.`;
  if (model.kind === "mlp")
    return [
      ["Words and slots", cut, "words"],
      ["Embedding", `Each word becomes ${counted(D, "number")}. The first of ${query} is ${number(read.E[last * D])}.`, "embedding"],
      ["All slots side by side", `No head looks anywhere: ${counted(T, "slot")} of ${counted(D, "number")} stand side by side, ${count(T * D)} in all, free slots too.`, "slots"],
      ["The next word", decided, "next word"],
    ];
  const { headWidth: K, messageWidth: M } = model;
  const what = model.arrays["token_embedding.weight"][read.ids[last] * D];
  const where = model.arrays["position_embedding.weight"][(T - 1) * D];
  const most = looksMostAt(read, head), key = quoted(prompt.typed[most]);
  const score = read.scores[head * n + most];
  const whose = model.heads === 1 ? "The head" : `Head ${head + 1}`;
  const all = model.heads === 1 ? "The one message has" : `The ${model.heads} messages stand side by side: ${model.heads} × ${M} =`;
  const products = K === 1 ? "the one product is" : `the ${K} products add up to`;
  const off = read.headsOn[head] ? "" : " It is off, so zeros stand in.";
  const turned = n === 1 ? `The softmax of the one score is a weight of 1: ${query} is all there is to look at.` : `The softmax turns the ${n} scores into weights that sum to 1. ${whose} gives most to ${lookedAt(view, head)}.`;
  return [
    ["Words and slots", cut, "words"],
    ["Embedding", `What a word is and where it stands are added up. Number 1 of ${query}: ${added([what, "the word"], [where, `slot ${T}`])}.`, "embedding"],
    ["Query, key, value", `${model.heads === 1 ? "The head makes" : "Each head makes"} a query of ${query}, and of every word a key and a value, ${counted(K, "number")} each.${sharedSets(model)}`, "q k v"],
    ["Scores", `${whose} multiplies its query with each key. For ${key} ${products} ${number(score * Math.sqrt(K), 2)}; divided by √${K}: ${number(score, 2)}.`, "scores"],
    ["Weights", turned, "weights"],
    ["Messages", `${whose} adds up all values, each times its weight: its message.${off} ${all} ${counted(read.messages.length, "number")}.`, "messages"],
    ["Update", `The output projection W_O makes of them one update, added to ${query} in slot ${T}. Number 1: ${added([read.E[last * D], query], [read.update[0], "update"])}.`, "update"],
    ["The next word", decided, "next word"],
  ];
}

/** Say which heads share their keys and values. */
function sharedSets({ heads, kvHeads }) {
  if (kvHeads === heads) return "";
  if (kvHeads === 1) return heads === 2 ? " Both heads share one set of keys and values." : ` All ${heads} heads share one set of keys and values.`;
  const size = heads / kvHeads;
  const set = (place) => (size === 2 ? `${2 * place + 1} and ${2 * place + 2}` : `${size * place + 1} to ${size * (place + 1)}`);
  return ` Heads ${set(0)} share one set of keys and values, heads ${set(1)} ${kvHeads === 2 ? "another" : "the next, and so on"}.`;
}

/** Return a sentence with a capital. */
export const capital = (sentence) => sentence[0].toUpperCase() + sentence.slice(1);
