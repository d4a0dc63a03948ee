// Times readings for tests/benchmarks/browser_forward.py and prints the milliseconds of each as JSON.

import { readModel, reading, rowsOf, shares } from "../../wordlm/ui/browser/model/forward.js";
import { Tokenizer } from "../../wordlm/ui/browser/model/tokenizer.js";
import { readBuffer, readJson } from "./fixtures.js";

const { layout, tables, itos, text, rounds } = readJson("bench.json");
const model = readModel(readBuffer("weights.bin"), layout);
const tokenizer = new Tokenizer(tables, itos);
const hasHeads = layout.kind !== "mlp";

function milliseconds(action) {
  const times = [];
  for (let i = 0; i < rounds; i++) {
    const start = performance.now();
    action();
    times.push(performance.now() - start);
  }
  return times.slice(Math.floor(rounds / 5)); // the first ones are spent compiling
}

const { ids, reach } = tokenizer.encodePrompt(text);
const read = reading(model, ids);
const times = {
  "cut the text": milliseconds(() => tokenizer.encodePrompt(text)),
  "one reading": milliseconds(() => reading(model, ids)),
};
if (hasHeads) {
  times["rows of all words"] = milliseconds(() => rowsOf(model, reach, ids.length));
  times["shares of one word"] = milliseconds(() => shares(model, read, 4));
}
console.log(JSON.stringify(times));
