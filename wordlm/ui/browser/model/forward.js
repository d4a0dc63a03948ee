// One reading of a prompt in the browser: follows wordlm/models.py (`forward_details`) and wordlm/inspection.py
// (`rows_as_last`). tests/test_browser_forward.py holds them together. Numbers in, numbers out: nothing here knows a page.
//
// The query is always the last word of the ids, as in `forward`: the only one from which the models learned to predict.
// Arrays are flat, the last index running fastest. n kept positions (at most T, no PAD among them), D d_model, H heads,
// G key-value heads, K width of a head's query and key, M of its value and message, F hidden units, V words.
//
// Sums run in double and are rounded to float32 where PyTorch keeps float32. What a reading returns is its own, so that
// two can be held side by side; only what nobody sees is written over by the next one.

export const PAD = 0;

/**
 * Return the model that a `buffer` of all its parameters holds: views, no copies.
 *
 * `layout` and the bytes are those of wordlm/ui/browser/model/layout.py: arrays[name] = [offset in floats, ...shape]. The
 * floats are little-endian, as every browser's are.
 */
export function readModel(buffer, layout) {
  const { kind, heads, kvHeads, vocabSize, contextLen, dModel, hidden } = layout;
  const arrays = {};
  let floats = 0;
  for (const [name, [offset, ...shape]] of Object.entries(layout.arrays)) {
    const size = shape.reduce((product, extent) => product * extent, 1);
    arrays[name] = new Float32Array(buffer, 4 * offset, size);
    floats = Math.max(floats, offset + size);
  }
  if (4 * floats !== buffer.byteLength) throw new RangeError(`${buffer.byteLength} bytes came, not ${4 * floats}`);
  const model = { kind, heads, kvHeads, vocabSize, contextLen, dModel, hidden, arrays };
  if (kind === "mlp") return { ...model, scratch: { slots: new Float32Array(contextLen * dModel) } };
  const [d_k, d_v] = ["W_Q.weight", "W_O.weight"].map((name) => arrays[name].length / dModel);
  const keyWidth = arrays["W_K.weight"].length / dModel;
  const slotKeys = new Float32Array(contextLen * keyWidth);
  for (let slot = 0; slot < contextLen; slot++)
    project(arrays["W_K.weight"], arrays["position_embedding.weight"], slot * dModel, dModel, slotKeys, slot * keyWidth, keyWidth);
  return {
    ...model,
    headWidth: d_k / heads, // K
    messageWidth: d_v / heads, // M
    slotKeys, // (T, G*K)
    scratch: { word: new Float32Array(Math.max(d_k, d_v)), query: new Float32Array(d_k), embedding: new Float32Array(dModel) },
  };
}

/**
 * Return every step of reading the last T of `ids`.
 *
 * Of an attention model:
 *   ids             (n)        those that were kept
 *   E               (n, D)     token plus position embedding
 *   q               (H, K)     the last word's query
 *   keys            (H, n, K)  what heads share stands at each
 *   values          (H, n, M)
 *   scores          (H, n)     q . key / sqrt(K)
 *   weights         (H, n)     softmax of a row of scores
 *   perHead         (H, M)     each head's weighted sum of values
 *   messages        (H, M)     the same, but what stands in for it where a head is off
 *   update          (D)        W_O(messages)
 *   contextual      (D)        the last word's E plus the update
 *   preactivations  (F)        of the hidden layer; a gate is open where this is above 0
 *   hidden          (F)        after the ReLU
 *   logits          (V)
 *   probabilities   (V)        float64, since many are too small for float32
 *   headsOn         (H)        true where a head is on
 *
 * Of the MLP: ids, E (token embeddings alone), preactivations, hidden, logits, probabilities.
 *
 * `headsOn` (H) and `offMessages` (H, M; zeros where null) switch heads off, as `switch_heads` does.
 */
export function reading(model, ids, { headsOn = null, offMessages = null } = {}) {
  const kept = ids.slice(-model.contextLen);
  checkIds(model, kept);
  if (model.kind === "mlp") return mlpReading(model, kept);
  checkSwitches(model, headsOn, offMessages);

  const steps = attend(model, kept);
  const on = Array.from({ length: model.heads }, (_, head) => (headsOn === null ? true : Boolean(headsOn[head])));
  const messages = switchHeads(model, steps.perHead, on, offMessages);
  const { dModel } = model;
  const update = new Float32Array(dModel);
  project(model.arrays["W_O.weight"], messages, 0, messages.length, update, 0, dModel);
  const last = (kept.length - 1) * dModel;
  const contextual = update.map((number, d) => steps.E[last + d] + number);
  return { ids: kept, ...steps, headsOn: on, messages, update, contextual, ...predict(model, contextual) };
}

/**
 * Return the weights of each of the last `count` of m `ids` when it is the last one read, (H, count, m).
 *
 * As `rows_as_last`: e = word + slot and W_K is linear, so a key is the word's part plus the slot's; the queries all
 * stand in the last slot, and the slot of a key is T - 1 minus its distance.
 */
export function rowsAsLast(model, ids, count) {
  checkIds(model, ids);
  const { heads, kvHeads, headWidth: K, contextLen: T, slotKeys, arrays } = model;
  const m = ids.length, width = kvHeads * K;
  const wordKeys = new Float32Array(m * width);
  for (let j = 0; j < m; j++) projectWord(model, "W_K.weight", ids[j], wordKeys, j * width, width);
  const rows = new Float32Array(heads * count * m);
  const scores = new Float64Array(T);
  const { query, embedding } = model.scratch;
  for (let i = 0; i < count; i++) {
    const place = m - count + i;
    const first = Math.max(0, place - T + 1); // the earliest key that this reading still reaches
    embed(model, ids[place], T - 1, embedding, 0);
    project(arrays["W_Q.weight"], embedding, 0, embedding.length, query, 0, heads * K);
    for (let head = 0; head < heads; head++) {
      const shared = keyValueHead(model, head) * K;
      for (let j = first; j <= place; j++) {
        const word = j * width + shared, slot = (T - 1 - place + j) * width + shared;
        let sum = 0;
        for (let k = 0; k < K; k++) sum += query[head * K + k] * (wordKeys[word + k] + slotKeys[slot + k]);
        scores[j - first] = sum / Math.sqrt(K);
      }
      softmax(scores, 0, place - first + 1, rows, (head * count + i) * m + first);
    }
  }
  return rows;
}

/**
 * Return the rows of a prompt's n kept positions: `weights` (H, n, n), and `beyond` (H, n), what each row gives to words
 * before the kept ones. `ids` is the prompt's `reach`. As `rows_of`.
 */
export function rowsOf(model, ids, n) {
  const rows = rowsAsLast(model, ids, n);
  const m = ids.length, before = m - n;
  const weights = new Float32Array(model.heads * n * n), beyond = new Float32Array(model.heads * n);
  for (let row = 0; row < beyond.length; row++) {
    weights.set(rows.subarray(row * m + before, (row + 1) * m), row * n);
    beyond[row] = rows.subarray(row * m, row * m + before).reduce((sum, weight) => sum + weight, 0);
  }
  return { weights, beyond };
}

/**
 * Return what each part of an attention model's reading does to one word rather than to the others, as an exact sum for
 * the gates that are open now.
 *
 *   pairs           (H, n)  of each head and key: its weight times its value
 *   replaced        (H)     of what stands in for a head that is off; 0 for one that is on
 *   own             of the last word's own embedding
 *   biases          of the hidden layer's open units and the vocabulary layer's
 *   total           all of these together
 *   constant        the same for every word: the mean log p, which is minus the entropy of the prediction
 *   logProbability  of the word in nats, computed from the logits alone: total + constant, but for rounding
 *
 * With its gates held, the hidden layer is linear: logit = bias + u . (E + sum over heads of W_O message). A softmax
 * ignores what is added to the logits of all words alike, so from each part of a logit its mean over the words is taken
 * off, weighted by the probabilities p of this reading.
 */
export function shares(model, read, wordId) {
  if (model.kind === "mlp") throw new TypeError("the MLP has no heads whose shares could be told apart");
  const { heads, messageWidth: M, dModel: D, arrays } = model;
  const n = read.ids.length;
  const { u, biases } = openPath(model, read, wordId);
  const through = transposed(arrays["W_O.weight"], u, heads * M); // (H, M): the share of one unit of a message
  let own = 0;
  for (let d = 0; d < D; d++) own += u[d] * read.E[(n - 1) * D + d];
  const pairs = new Float64Array(heads * n), replaced = new Float64Array(heads);
  let total = own + biases;
  for (let head = 0; head < heads; head++) {
    if (!read.headsOn[head]) {
      for (let k = head * M; k < (head + 1) * M; k++) replaced[head] += through[k] * read.messages[k];
      total += replaced[head];
      continue;
    }
    for (let key = 0; key < n; key++) {
      const pair = head * n + key;
      let sum = 0;
      for (let k = 0; k < M; k++) sum += through[head * M + k] * read.values[pair * M + k];
      pairs[pair] = read.weights[pair] * sum;
      total += pairs[pair];
    }
  }
  const logNorm = logSumExp(read.logits);
  return { pairs, replaced, own, biases, total, constant: meanOverWords(read, read.logits) - logNorm, logProbability: read.logits[wordId] - logNorm };
}

/** Return what each share puts the first of two words ahead of the second by: the difference of their `shares`. */
export function shareDifference(first, second) {
  return {
    pairs: first.pairs.map((share, pair) => share - second.pairs[pair]),
    replaced: first.replaced.map((share, head) => share - second.replaced[head]),
    own: first.own - second.own,
    biases: first.biases - second.biases,
    total: first.total - second.total,
    constant: 0, // of both the same
    logProbability: first.logProbability - second.logProbability,
  };
}

/**
 * Return what switching a head off does to a reading, beyond what its shares say:
 *
 *   after   the reading without it
 *   held    the log p of every word (V) were the gates held as they are
 *   opened  how many hidden units open that are shut now
 *   closed  how many shut that are open now
 */
export function withoutHead(model, /** @type {any} */ read, head) {
  const { dModel: D, hidden: F, vocabSize: V, arrays } = model;
  const after = /** @type {any} */ (reading(model, read.ids, { headsOn: read.headsOn.map((on, h) => on && h !== head) }));
  const lost = new Float32Array(D), hidden = new Float32Array(F), held = new Float64Array(V);
  for (let d = 0; d < D; d++) lost[d] = after.update[d] - read.update[d];
  project(arrays["hidden_layer.weight"], lost, 0, D, hidden, 0, F);
  let opened = 0, closed = 0;
  for (let unit = 0; unit < F; unit++) {
    const open = read.preactivations[unit] > 0, later = after.preactivations[unit] > 0;
    if (!open && later) opened++;
    if (open && !later) closed++;
    hidden[unit] = open ? read.hidden[unit] + hidden[unit] : 0;
  }
  project(arrays["vocab_head.weight"], hidden, 0, F, held, 0, V, arrays["vocab_head.bias"]);
  const logNorm = logSumExp(held);
  return { after, held: held.map((logit) => logit - logNorm), opened, closed };
}

/** Return the log p of a word in nats, also where p is too small for a float. */
export function logProbability(read, wordId) {
  return read.logits[wordId] - logSumExp(read.logits);
}

/** Return the `count` likeliest words, `{rank, id, probability}`; of equal ones the lower id first. As `next_words`. */
export function nextWords(probabilities, count = 10) {
  const best = []; // ids, the likeliest first
  for (let id = 0; id < probabilities.length; id++) {
    const p = probabilities[id];
    if (best.length === count && p <= probabilities[best[count - 1]]) continue;
    let place = best.length;
    while (place > 0 && probabilities[best[place - 1]] < p) place--;
    best.splice(place, 0, id);
    if (best.length > count) best.pop();
  }
  return best.map((id, place) => ({ rank: place + 1, id, probability: probabilities[id] }));
}

function checkIds(model, ids) {
  if (ids.length === 0) throw new RangeError("a reading needs one id at least, the start mark");
  for (const id of ids)
    if (!Number.isInteger(id) || id <= PAD || id >= model.vocabSize) throw new RangeError(`${id} is no word's id`);
}

function checkSwitches(model, headsOn, offMessages) {
  const size = model.heads * model.messageWidth;
  if (headsOn !== null && headsOn.length !== model.heads)
    throw new RangeError(`headsOn must have one entry per head: ${model.heads}, got ${headsOn.length}`);
  if (offMessages !== null && offMessages.length !== size)
    throw new RangeError(`offMessages must have ${size} numbers, got ${offMessages.length}`);
}

function mlpReading(model, ids) {
  const { dModel: D, contextLen: T } = model;
  const { slots } = model.scratch;
  const table = model.arrays["token_embedding.weight"];
  for (let slot = 0; slot < T; slot++) {
    const id = ids[ids.length - T + slot] ?? PAD; // an MLP reads the embeddings of the free slots too
    slots.set(table.subarray(id * D, (id + 1) * D), slot * D);
  }
  return { ids, E: slots.slice((T - ids.length) * D), ...predict(model, slots) };
}

function attend(model, ids) {
  const { heads: H, kvHeads: G, headWidth: K, messageWidth: M, dModel: D, contextLen: T, arrays, scratch } = model;
  const n = ids.length;
  const E = new Float32Array(n * D), q = new Float32Array(H * K);
  const keys = new Float32Array(H * n * K), values = new Float32Array(H * n * M);
  for (let i = 0; i < n; i++) {
    embed(model, ids[i], T - n + i, E, i * D);
    project(arrays["W_K.weight"], E, i * D, D, scratch.word, 0, G * K);
    spreadOverHeads(model, scratch.word, keys, i, n, K);
    project(arrays["W_V.weight"], E, i * D, D, scratch.word, 0, G * M);
    spreadOverHeads(model, scratch.word, values, i, n, M);
  }
  project(arrays["W_Q.weight"], E, (n - 1) * D, D, q, 0, H * K);

  const scores = new Float32Array(H * n), weights = new Float32Array(H * n), perHead = new Float32Array(H * M);
  const message = new Float64Array(M);
  for (let head = 0; head < H; head++) {
    for (let pair = head * n; pair < (head + 1) * n; pair++) {
      let sum = 0;
      for (let k = 0; k < K; k++) sum += q[head * K + k] * keys[pair * K + k];
      scores[pair] = sum / Math.sqrt(K);
    }
    softmax(scores, head * n, n, weights, head * n);
    message.fill(0);
    for (let pair = head * n; pair < (head + 1) * n; pair++)
      for (let k = 0; k < M; k++) message[k] += weights[pair] * values[pair * M + k];
    perHead.set(message, head * M);
  }
  return { E, q, keys, values, scores, weights, perHead };
}

function switchHeads(model, perHead, on, offMessages) {
  const M = model.messageWidth;
  return perHead.map((number, k) => (on[Math.floor(k / M)] ? number : (offMessages?.[k] ?? 0)));
}

function predict(model, contextual) {
  const { hidden: F, vocabSize: V, arrays } = model;
  const preactivations = new Float32Array(F), logits = new Float32Array(V);
  project(arrays["hidden_layer.weight"], contextual, 0, contextual.length, preactivations, 0, F, arrays["hidden_layer.bias"]);
  const hidden = preactivations.map((number) => Math.max(0, number));
  project(arrays["vocab_head.weight"], hidden, 0, F, logits, 0, V, arrays["vocab_head.bias"]);
  const probabilities = new Float64Array(V);
  softmax(logits, 0, V, probabilities, 0);
  return { preactivations, hidden, logits, probabilities };
}

/**
 * Return u (D), what a unit of each coordinate of the contextual embedding adds to a word's logit, and the biases' part;
 * of both, what they add to the words on average is taken off.
 */
function openPath(model, read, wordId) {
  const { hidden: F, dModel: D, arrays } = model;
  const hiddenWeights = arrays["hidden_layer.weight"], wordWeights = arrays["vocab_head.weight"];
  const mean = transposed(wordWeights, read.probabilities, F); // of the vocabulary layer's rows
  const u = new Float64Array(D);
  let biases = arrays["vocab_head.bias"][wordId] - meanOverWords(read, arrays["vocab_head.bias"]);
  for (let unit = 0; unit < F; unit++) {
    if (!(read.preactivations[unit] > 0)) continue;
    const factor = wordWeights[wordId * F + unit] - mean[unit];
    biases += factor * arrays["hidden_layer.bias"][unit];
    for (let d = 0; d < D; d++) u[d] += factor * hiddenWeights[unit * D + d];
  }
  return { u, biases };
}

/** Return the mean over the words of one number each, weighted by their probabilities. */
function meanOverWords({ probabilities }, numbers) {
  let mean = 0;
  for (let id = 0; id < probabilities.length; id++) mean += probabilities[id] * numbers[id];
  return mean;
}

function logSumExp(logits) {
  let largest = -Infinity, sum = 0;
  for (const logit of logits) largest = Math.max(largest, logit);
  for (const logit of logits) sum += Math.exp(logit - largest);
  return largest + Math.log(sum);
}

/** Return W^T x for W (x.length, width). */
function transposed(W, x, width) {
  const out = new Float64Array(width);
  for (let row = 0; row < x.length; row++)
    for (let column = 0; column < width; column++) out[column] += x[row] * W[row * width + column];
  return out;
}

/** Write token plus position embedding of a word in a slot to `out` from `at`. */
function embed(model, id, slot, out, at) {
  const D = model.dModel;
  const tokens = model.arrays["token_embedding.weight"], positions = model.arrays["position_embedding.weight"];
  for (let d = 0; d < D; d++) out[at + d] = tokens[id * D + d] + positions[slot * D + d];
}

function projectWord(model, name, id, out, at, width) {
  project(model.arrays[name], model.arrays["token_embedding.weight"], id * model.dModel, model.dModel, out, at, width);
}

/** Return the key-value head that a head reads: its own, unless H / G heads in a row share one. */
function keyValueHead({ heads, kvHeads }, head) {
  return Math.floor((head * kvHeads) / heads);
}

/** Put one position's (G*width) numbers where they belong in (H, n, width). */
function spreadOverHeads(model, whole, out, position, n, width) {
  for (let head = 0; head < model.heads; head++) {
    const shared = keyValueHead(model, head) * width;
    for (let k = 0; k < width; k++) out[(head * n + position) * width + k] = whole[shared + k];
  }
}

/** Write W x (+ bias) for W (rows, columns) and the x that starts at `from` of `source` to `out` from `at`. */
function project(W, source, from, columns, out, at, rows, bias = null) {
  let w = 0;
  for (let row = 0; row < rows; row++) {
    // Four sums, since one alone would make each addition wait for the last.
    let a = bias === null ? 0 : bias[row], b = 0, c = 0, d = 0;
    let column = 0;
    for (; column + 3 < columns; column += 4, w += 4) {
      a += W[w] * source[from + column];
      b += W[w + 1] * source[from + column + 1];
      c += W[w + 2] * source[from + column + 2];
      d += W[w + 3] * source[from + column + 3];
    }
    for (; column < columns; column++, w++) a += W[w] * source[from + column];
    out[at + row] = a + b + (c + d);
  }
}

/** Write the softmax of `count` numbers of `source` to `out`, in double. */
function softmax(source, from, count, out, at) {
  let largest = -Infinity, sum = 0;
  for (let i = 0; i < count; i++) largest = Math.max(largest, source[from + i]);
  for (let i = 0; i < count; i++) sum += Math.exp(source[from + i] - largest);
  for (let i = 0; i < count; i++) out[at + i] = Math.exp(source[from + i] - largest) / sum;
}
