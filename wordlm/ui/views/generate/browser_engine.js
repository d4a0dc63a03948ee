// Writes a story in the visitor's browser with ONNX Runtime Web. Follows wordlm/ui/views/generate/browser_engine.py.

import { fetchBytes, keptBytes, serverAddress } from "../../browser/carrying/cache.js";
import { counted, portion, rounded } from "../../browser/pictures/numbers.js";
import { candidateProbabilities, draw, likeliest, mulberry32, ownProbabilities } from "./decoding.js";

// One for the whole page: what was loaded, and the run in progress. The component is called at every rerun.
const shared = (/** @type {any} */ (window).attentionExplorer ??= { engines: {}, sessions: {}, run: null });

const WHY = {
  "no WebAssembly": "This browser offers no WebAssembly, so it cannot run the model. The engines of the server still work.",
  "no WebGPU": "This browser offers no WebGPU here. Choose WebAssembly, which every browser of today runs.",
  "not fetched": "The engine could not be fetched: no network, or it is blocked. The engines of the server still work.",
};

export default function ({ data, parentElement, setTriggerValue }) {
  const button = parentElement.querySelector("button"), note = parentElement.querySelector("p");
  const say = (text) => { note.textContent = text; };

  // What a press does and what the button says come from one place, also when a run ends that began before a change.
  shared.label = data.label;
  const showState = () => { button.textContent = shared.run ? "Stop" : shared.label; };
  showState();

  button.onclick = () => {
    if (shared.run) {
      shared.run.stopped = true;
      return;
    }
    const run = (shared.run = { stopped: false });
    begin(run)
      .catch(({ message }) => say(WHY[message] ?? `The browser could not run the model (${message}). The engines of the server still work.`))
      .finally(() => {
        shared.run = null;
        showState();
      });
    showState();
  };

  async function begin(run) {
    if (typeof WebAssembly === "undefined") throw new Error("no WebAssembly");
    const { ort, session } = await sessionOf(data, say);
    const story = await write(ort, session, data, run, note);
    say(`Done in your browser: ${counted(story.ids.length, "word")}.`);
    setTriggerValue("story", story);
  }

  // The visitor leaves the page: the run ends at its next word.
  return () => { if (shared.run && !button.isConnected) shared.run.stopped = true; };
}

async function engineOf({ way, files }, say) {
  if (way === "WebGPU" && !(await /** @type {any} */ (navigator).gpu?.requestAdapter())) throw new Error("no WebGPU");
  if (shared.engines[way]) return shared.engines[way];
  const megabytes = (bytes) => `${rounded(bytes / 1e6, 1)} MB`, sum = (counts) => counts.reduce((total, count) => total + count, 0);
  const total = sum(files.map(({ bytes }) => bytes)), received = files.map(() => 0);
  const progress = (place) => (bytes) => {
    received[place] = bytes;
    say(`Fetching the engine: ${megabytes(sum(received))} of ${megabytes(total)}`);
  };
  const fetched = files.map(({ url, bytes, integrity }, place) =>
    keptBytes({ name: url, bytes, digest: integrity }, () => fetchBytes(url, bytes, progress(place), { integrity, mode: "cors", credentials: "omit" })));
  const [script, wasm] = await Promise.all(fetched).catch(() => { throw new Error("not fetched"); });
  const ort = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  ort.env.wasm.wasmBinary = wasm;
  ort.env.wasm.numThreads = 1;
  return (shared.engines[way] = ort);
}

async function sessionOf({ engine, model }, say) {
  const { url, digest, bytes } = model, name = `${engine.way} ${digest}`;
  if (shared.sessions[name]) return shared.sessions[name];
  // Both at once: when another model is chosen meanwhile, the server no longer has this one's address.
  const fetched = keptBytes({ name: `/model/${digest}`, bytes, digest }, () => fetchBytes(`${serverAddress()}${url}`, bytes, () => {}));
  const [content, ort] = await Promise.all([fetched, engineOf(engine, say)]);
  say("Loading the model");
  const executionProviders = [engine.way === "WebGPU" ? "webgpu" : "wasm"];
  const session = await ort.InferenceSession.create(new Uint8Array(content), { executionProviders });
  return (shared.sessions[name] = { ort, session });
}

/** Write a story word by word into `note`, until it ends or `run` is stopped; returns what the server is told. */
async function write(ort, session, { start, decoding, special, contextLen, words, alternatives, engine, model }, run, note) {
  const random = mulberry32(decoding.seed);
  const story = { modelId: model.digest, way: engine.way, start, decoding, ids: [], probabilities: [], alternatives: [], milliseconds: [], stop: "LIMIT" };
  await session.run({ ids: contextTensor(ort, [special.BOS], special, contextLen) }); // warm-up, not timed
  note.replaceChildren();
  while (story.ids.length < decoding.max_new_tokens) {
    if (run.stopped) { story.stop = "STOPPED"; break; }
    const feeds = { ids: contextTensor(ort, [...start.ids, ...story.ids], special, contextLen) };
    const begun = performance.now();
    const { logits } = await session.run(feeds);
    story.milliseconds.push(performance.now() - begun);
    const id = draw(candidateProbabilities(logits.data, decoding, special), decoding, random);
    const own = ownProbabilities(logits.data);
    story.probabilities.push(own[id]);
    story.alternatives.push(likeliest(own, alternatives).map((i) => [i, own[i]]));
    if (id === special.EOS) { story.stop = "END"; break; }
    story.ids.push(id);
    showWord(note, words[id], own[id]);
    await new Promise((resume) => setTimeout(resume)); // let the page breathe, and Stop be pressed
  }
  return story;
}

function showWord(note, word, probability) {
  const span = document.createElement("span");
  span.textContent = word;
  span.title = portion(probability);
  span.style.background = `color-mix(in srgb, var(--st-primary-color) ${Math.round(45 * probability)}%, transparent)`;
  note.append(span, " ");
}

function contextTensor(ort, ids, special, length) {
  const slots = new BigInt64Array(length).fill(BigInt(special.PAD));
  const kept = ids.slice(-length);
  kept.forEach((id, i) => { slots[length - kept.length + i] = BigInt(id); });
  return new ort.Tensor("int64", slots, [1, length]);
}
