// Writes a story in the visitor's browser with ONNX Runtime Web. The decoding follows wordlm/generation.py line by
// line; only the source of random numbers is another one, so greedy stories are the same and sampled ones have the
// same distribution.

const CACHE = "attention-explorer";

// The server is asked again for a model after so many milliseconds, in all so many times: a question is lost when the
// visitor changes something else in the same moment, since that begins the page anew.
const PATIENCE = 6000, ASKED_AT_MOST = 5;

export default function ({ data, parentElement, setTriggerValue }) {
  const button = parentElement.querySelector("button");
  const note = parentElement.querySelector("p");
  const say = (text) => { note.textContent = text; };
  const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  // One for the whole page: what was loaded, and the run in progress. This function is called at every rerun.
  const shared = (window.attentionExplorer ??= { engines: {}, sessions: {}, run: null, waiting: null });

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

  // Python sends the model after it was asked for it, then the run goes on.
  if (data.model && shared.waiting?.id === data.model.id) {
    const waiting = shared.waiting;
    shared.waiting = null;
    keepModel(data.model).then(waiting.resolve, waiting.reject);
  }

  // The visitor leaves the page: the run ends at its next word.
  return () => { if (shared.run && !button.isConnected) shared.run.stopped = true; };

  async function begin(run) {
    if (typeof WebAssembly === "undefined") throw new Error("no WebAssembly");
    const ort = await engine();
    const session = await sessionOf(ort);
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
    if (way === "WebGPU" && !(await navigator.gpu?.requestAdapter())) throw new Error("no WebGPU");
    if (shared.engines[way]) return shared.engines[way];
    let received = 0;
    const total = data.engine.files.reduce((sum, file) => sum + file.bytes, 0);
    const progress = (bytes) => {
      received += bytes;
      say(`Fetching the engine: ${megabytes(received)} of ${megabytes(total)}`);
    };
    const [script, wasm] = await Promise.all(data.engine.files.map((file) => fetchOnce(file, progress)));
    const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const ort = await import(url);
    ort.env.wasm.wasmBinary = wasm;
    ort.env.wasm.numThreads = 1;
    return (shared.engines[way] = ort);
  }

  async function fetchOnce(file, progress) {
    const cache = await openCache();
    const kept = await cache?.match(file.url);
    if (kept) {
      progress(file.bytes);
      return kept.arrayBuffer();
    }
    const parts = [];
    try {
      const answer = await fetch(file.url, { integrity: file.integrity, mode: "cors", credentials: "omit" });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      for (const reader = answer.body.getReader(); ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        parts.push(value);
        progress(value.length);
      }
    } catch {
      throw new Error("not fetched");
    }
    const bytes = await new Blob(parts).arrayBuffer();
    await cache?.put(file.url, new Response(bytes));
    return bytes;
  }

  async function openCache() {
    try {
      return await caches.open(CACHE);
    } catch {
      return null; // private windows and plain http have none; it is fetched again next time
    }
  }

  async function sessionOf(ort) {
    const id = data.modelId, name = `${data.engine.way} ${id}`;
    if (shared.sessions[name]) return shared.sessions[name];
    const cache = await openCache();
    const kept = await cache?.match(`/model/${id}`);
    say("Loading the model");
    const bytes = kept ? await kept.arrayBuffer() : await askForModel(id);
    const executionProviders = [data.engine.way === "WebGPU" ? "webgpu" : "wasm"];
    return (shared.sessions[name] = await ort.InferenceSession.create(new Uint8Array(bytes), { executionProviders }));
  }

  function askForModel(id) {
    return new Promise((resolve, reject) => {
      const waiting = (shared.waiting = { id, resolve, reject });
      const ask = (left) => {
        if (shared.waiting !== waiting) return; // it came
        if (left === 0) {
          shared.waiting = null;
          reject(new Error("the model did not come"));
          return;
        }
        setTriggerValue("wanted", id);
        setTimeout(ask, PATIENCE, left - 1);
      };
      ask(ASKED_AT_MOST);
    });
  }

  async function keepModel(model) {
    const bytes = Uint8Array.from(atob(model.base64), (c) => c.charCodeAt(0)).buffer;
    const cache = await openCache();
    await cache?.put(`/model/${model.id}`, new Response(bytes.slice(0)));
    return bytes;
  }

  async function write(ort, session, run) {
    const { start, decoding, special, contextLen, words } = data;
    const random = mulberry32(decoding.seed);
    const way = data.engine.way;
    const story = { modelId: data.modelId, way, start, decoding, ids: [], probabilities: [], alternatives: [], milliseconds: [] };
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
