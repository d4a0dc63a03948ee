// Which word is written next: follows wordlm/generation.py line by line. Only the source of random numbers is another one,
// so greedy stories are the same and sampled ones have the same distribution. Numbers in, numbers out; no page.

/** Return the probability of each word to be drawn, (V,), from logits (V,). */
export function candidateProbabilities(logits, decoding, special) {
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

/** Return the model's own probabilities, before temperature and cuts. */
export function ownProbabilities(logits) {
  const scores = Float64Array.from(logits);
  const largest = scores.reduce((a, b) => Math.max(a, b));
  return normalise(scores.map((score) => Math.exp(score - largest)));
}

/** Return the ids of the likeliest words. */
export function likeliest(p, count) {
  return [...p.keys()].sort((a, b) => p[b] - p[a] || a - b).slice(0, count);
}

function normalise(p) {
  const total = p.reduce((sum, value) => sum + value, 0);
  for (let i = 0; i < p.length; i++) p[i] /= total;
  return p;
}

/** Draw a word's id. */
export function draw(p, decoding, random) {
  if (decoding.temperature === 0) return p.indexOf(1);
  const point = random() * p.reduce((sum, value) => sum + value, 0);
  let below = 0;
  for (let i = 0; i < p.length; i++) if ((below += p[i]) > point) return i;
  return p.findLastIndex((value) => value > 0);
}

/** A small generator with a seed (mulberry32, public domain, T. Ettinger): JavaScript has none of its own. */
export function mulberry32(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
