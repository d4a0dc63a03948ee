// wordlm/ui/browser/pictures/heads_weights.js against wordlm/ui/browser/pictures/squares.py: one colour for a weight on the screen and in a file.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SCALES, colour } from "../../wordlm/ui/browser/pictures/heads_weights.js";
import { readJson } from "./fixtures.js";

const { cases, scales } = readJson("colours.json");

test("a weight has the colour that Python gives it, under every scale", () => {
  for (const [weight, keys, hue, scale, largest, negative, expected] of cases) {
    const found = colour(weight, keys, hue, scale, largest, negative);
    const what = `${weight} of ${keys}, ${scale}: ${found}, Python has ${expected}`;
    if (expected === null || found === null) assert.equal(found, expected, what);
    else {
      const [r, g, b, share] = found.match(/[\d.]+/g).map(Number);
      assert.equal(`#${[r, g, b].map((value) => value.toString(16).padStart(2, "0")).join("")}`, expected[0].toLowerCase(), what);
      assert.ok(Math.abs(share - expected[1]) <= 0.00051, what); // written with three decimals
    }
  }
});

test("each scale has the name and the marks of Python's legend", () => {
  for (const [scale, [name, ticks]] of Object.entries(scales)) {
    assert.equal(SCALES[scale].name, name);
    assert.deepEqual(SCALES[scale].ticks, ticks, scale);
  }
});
