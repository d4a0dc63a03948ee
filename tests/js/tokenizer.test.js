// wordlm/ui/browser/model/tokenizer.js against wordlm/text.py, over whatever texts Python wrote down.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { Tokenizer } from "../../wordlm/ui/browser/model/tokenizer.js";
import { readJson } from "./fixtures.js";

const { tables, vocabularies, cases, prompts, digests } = readJson("tokenizer.json");
const tokenizers = vocabularies.map((itos) => new Tokenizer(tables, itos));

/** Return the words of a text as typed, their tokens and their ids, as Python wrote them down. */
function found(tokenizer, text) {
  const { textTyped, textIds } = tokenizer.encodePrompt(text);
  return { typed: textTyped.slice(1), ids: textIds.slice(1), tokens: tokenizer.cut(text).map(([, token]) => token) };
}

test("texts are cut into the words, tokens and ids of Python", { skip: cases === undefined }, () => {
  for (const { text, vocabulary, ...expected } of cases)
    assert.deepEqual(found(tokenizers[vocabulary], text), expected, JSON.stringify(text));
});

test("a prompt is kept, counted and labelled as in Python", { skip: prompts === undefined }, () => {
  for (const { text, vocabulary, contextLen, place, upTo, ...expected } of prompts) {
    const prompt = tokenizers[vocabulary].encodePrompt(text, contextLen);
    const fields = (one, names) => Object.fromEntries(Object.keys(names).map((name) => [name, one[name]]));
    assert.deepEqual(fields(prompt, expected), expected, JSON.stringify(text));
    assert.deepEqual(fields(prompt.upTo(place), upTo), upTo, `${JSON.stringify(text)} up to ${place}`);
  }
});

test("long texts are cut into the words, tokens and ids of Python", { skip: digests === undefined }, () => {
  for (const { text, name, sha256 } of digests) {
    const { typed, ids, tokens } = found(tokenizers[0], text);
    const digest = createHash("sha256").update([...typed, ...ids, ...tokens].join("\0")).digest("hex");
    assert.equal(digest, sha256, name);
  }
});
