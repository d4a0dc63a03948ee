// Writes a story in the visitor's browser with ONNX Runtime Web. The decoding follows wordlm/generation.py line by
// line; only the source of random numbers is another one, so greedy stories are the same and sampled ones have the
// same distribution.

import { fetchBytes, keptBytes, serverAddress } from "../../browser/carrying/cache.js";

export default function ({ data, parentElement, setTriggerValue }) {
  const button = parentElement.querySelector("button");
  const note = parentElement.querySelector("p");
  const say = (text) => { note.textContent = text; };
  const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  // One for the whole page: what was loaded, and the run in progress. This function is called at every rerun.
  const shared = (/** @type {any} */ (window).attentionExplorer ??= { engines: {}, sessions: {}, run: null });

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
    begin(run).catch(fail).finally(() => {
      shared.run = null;
      showState();
    });
    showState();
  };

  // The visitor leaves the page: the run ends at its next word.
  return () => { if (shared.run && !button.isConnected) shared.run.stopped = true; };

  async function begin(run) {
    if (typeof WebAssembly === "undefined") throw new Error("no WebAssembly");
    const { ort, session } = await sessionOf(`${data.engine.way} ${data.model.digest}`);
    const story = await write(ort, session, run);
    say(`Done in your browser: ${story.ids.length} words.`);
    setTriggerValue("story", story);
  }

  function fail(error) {
    if (error.message === "no WebAssembly")
      say("This browser offers no WebAssembly, so it cannot run the model. The engines of the server still work.");
    else if (error.message === "no WebGPU")
      say("This browser offers no WebGPU here. Choose WebAssembly, which every browser of today runs.");
    else if (error.message === "not fetched")
      say("The engine could not be fetched: no network, or it is blocked. The engines of the server still work.");
    else say(`The browser could not run the model (${error.message}). The engines of the server still work.`);
  }

  async function engine() {
    const { way } = data.engine;
    if (way === "WebGPU" && !(await /** @type {any} */ (navigator).gpu?.requestAdapter())) throw new Error("no WebGPU");
    if (shared.engines[way]) return shared.engines[way];
    const total = data.engine.files.reduce((sum, file) => sum + file.bytes, 0);
    const received = data.engine.files.map(() => 0);
    const progress = (place) => (bytes) => {
      received[place] = bytes;
      say(`Fetching the engine: ${megabytes(received[0] + received[1])} of ${megabytes(total)}`);
    };
    const fetched = data.engine.files.map(({ url, bytes, integrity }, place) =>
      keptBytes({ name: url, bytes }, () => fetchBytes(url, bytes, progress(place), { integrity, mode: "cors", credentials: "omit" })));
    const [script, wasm] = await Promise.all(fetched).catch(() => { throw new Error("not fetched"); });
    const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const ort = await import(url);
    ort.env.wasm.wasmBinary = wasm;
    ort.env.wasm.numThreads = 1;
    return (shared.engines[way] = ort);
  }

  async function sessionOf(name) {
    if (shared.sessions[name]) return shared.sessions[name];
    // Both at once: when another model is chosen meanwhile, the server no longer has this one's address.
    const { url, digest, bytes } = data.model;
    const fetched = keptBytes({ name: `/model/${digest}`, bytes, digest }, () => fetchBytes(`${serverAddress()}${url}`, bytes, () => {}));
    const [model, ort] = await Promise.all([fetched, engine()]);
    say("Loading the model");
    const executionProviders = [data.engine.way === "WebGPU" ? "webgpu" : "wasm"];
    const session = await ort.InferenceSession.create(new Uint8Array(model), { executionProviders });
    return (shared.sessions[name] = { ort, session });
  }

  async function write(ort, session, run) {
    const { start, decoding, special, contextLen, words } = data;
    const random = mulberry32(decoding.seed);
    const way = data.engine.way;
    const story = { modelId: data.model.digest, way, start, decoding, ids: [], probabilities: [], alternatives: [], milliseconds: [] };
    story.stop = "LIMIT";
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
      story.alternatives.push(likeliest(own, data.alternatives).map((i) => [i, own[i]]));
      if (id === special.EOS) { story.stop = "END"; break; }
      story.ids.push(id);
      showWord(words[id], own[id]);
      await new Promise((resume) => setTimeout(resume)); // let the page breathe, and Stop be pressed
    }
    return story;
  }

  function showWord(word, probability) {
    const span = document.createElement("span");
    span.textContent = word;
    span.title = probability.toFixed(3);
    span.style.background = `color-mix(in srgb, var(--st-primary-color) ${Math.round(45 * probability)}%, transparent)`;
    note.append(span, " ");
  }
}

function contextTensor(ort, ids, special, length) {
  const slots = new BigInt64Array(length).fill(BigInt(special.PAD));
  const kept = ids.slice(-length);
  kept.forEach((id, i) => { slots[length - kept.length + i] = BigInt(id); });
  return new ort.Tensor("int64", slots, [1, length]);
}

function candidateProbabilities(logits, decoding, special) {
  const scores = Float64Array.from(logits);
  scores[special.PAD] = scores[special.BOS] = -Infinity;
  if (!decoding.allow_unknown) scores[special.UNK] = -Infinity;
  let largest = 0;
  for (let i = 1; i < scores.length; i++) if (scores[i] > scores[largest]) largest = i;
  if (decoding.temperature === 0) return new Float64Array(scores.length).fill(1, largest, largest + 1);
  const p = scores.map((score) => Math.exp((score - scores[largest]) / decoding.temperature));
  normalise(p);
  const order = [...p.keys()].sort((a, b) => p[b] - p[a] || a - b);
  let kept = decoding.top_k === 0 ? order.length : decoding.top_k;
  if (decoding.top_p < 1) {
    const within = order.slice(0, kept).reduce((sum, i) => sum + p[i], 0);
    let reached = 0, count = 0;
    while (count < order.length && reached / within < decoding.top_p - 1e-12) reached += p[order[count++]];
    kept = Math.min(kept, count);
  }
  for (const i of order.slice(kept)) p[i] = 0;
  return normalise(p);
}

// The model's own probabilities, before temperature and cuts.
function ownProbabilities(logits) {
  const scores = Float64Array.from(logits);
  const largest = scores.reduce((a, b) => Math.max(a, b));
  return normalise(scores.map((score) => Math.exp(score - largest)));
}

function likeliest(p, count) {
  return [...p.keys()].sort((a, b) => p[b] - p[a] || a - b).slice(0, count);
}

function normalise(p) {
  const total = p.reduce((sum, value) => sum + value, 0);
  for (let i = 0; i < p.length; i++) p[i] /= total;
  return p;
}

function draw(p, decoding, random) {
  if (decoding.temperature === 0) return p.indexOf(1);
  const point = random() * p.reduce((sum, value) => sum + value, 0);
  let below = 0;
  for (let i = 0; i < p.length; i++) if ((below += p[i]) > point) return i;
  return p.findLastIndex((value) => value > 0);
}

// A small generator with a seed (mulberry32, public domain, T. Ettinger): JavaScript has none of its own.
function mulberry32(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// For the tests, which hold these to the decoding in Python.
export { candidateProbabilities, draw, mulberry32 };
