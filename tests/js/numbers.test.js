// wordlm/ui/browser/pictures/numbers.js against the table that wordlm/numbers.py follows too.

import assert from "node:assert/strict";
import { test } from "node:test";
import { count, counted, listed, number, numbered, percent, portion, rounded, signedNumber, signedPortion, signedRounded, summands } from "../../wordlm/ui/browser/pictures/numbers.js";
import { readJson } from "./fixtures.js";

const FUNCTIONS = { written: number, signed: signedNumber, limited: portion, "signed limited": signedPortion, percent, count, counted, listed, numbered, rounded, "signed rounded": signedRounded };

for (const [name, cases] of Object.entries(readJson("number_cases.json")))
  test(`${name}: as the table says`, () => {
    for (const [args, expected] of cases)
      if (name === "summands") {
        const { parts, sum } = summands(...args);
        assert.deepEqual([parts, sum], expected);
      } else assert.equal(FUNCTIONS[name](...args).replaceAll("\u00a0", " "), expected, JSON.stringify(args));
  });

test("what no JSON can hold is written too", () => {
  assert.deepEqual([Infinity, -Infinity, NaN, -0].map((value) => number(value)), ["infinite", "minus infinity", "not a number", "0"]);
});

test("a number is never broken over two lines", () => {
  for (const text of [number(1e-9), portion(1e-9), portion(0.9999), percent(0.5), percent(1e-6)]) assert.ok(!text.includes(" "), text);
});
