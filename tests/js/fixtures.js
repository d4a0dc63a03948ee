// What Python left for the tests in this folder: the folder WORDLM_FIXTURES, written by tests/node.py.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const folder = process.env.WORDLM_FIXTURES;
if (folder === undefined) throw new Error("run by pytest: see package.json");

export function readJson(name) {
  return JSON.parse(readFileSync(join(folder, name), "utf8"));
}

/** Return a file's bytes in a buffer of their own. */
export function readBuffer(name) {
  return new Uint8Array(readFileSync(join(folder, name))).buffer;
}

/** Return a function from what Python noted down for an array, [offset, ...shape], to the float64 numbers themselves. */
export function readNumbers(name) {
  const numbers = new Float64Array(readBuffer(name));
  return ([offset, ...shape]) => numbers.subarray(offset, offset + shape.reduce((product, extent) => product * extent, 1));
}

/** Numbers are the same within `tolerance`, relative where they are large. */
export function assertClose(actual, expected, tolerance, what) {
  assert.equal(actual.length, expected.length, `${what}: as many numbers`);
  for (let i = 0; i < actual.length; i++) {
    const difference = Math.abs(actual[i] - expected[i]);
    if (!(difference <= tolerance * Math.max(1, Math.abs(expected[i]))))
      assert.fail(`${what}[${i}] is ${actual[i]}, Python has ${expected[i]}`);
  }
}
