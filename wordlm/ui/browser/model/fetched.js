// The models that this page has fetched, each with its tokenizer, and those on their way. Follows wordlm/ui/browser/
// pictures/block.py, which says where the browser finds what it needs.

import { fetchBytes, keptBytes, serverAddress } from "../carrying/cache.js";
import { readModel } from "./forward.js";
import { Tokenizer } from "./tokenizer.js";

// Shared by all pictures of the page, and kept when one is left and opened again.
const fetchedModels = new Map();
const fetching = new Map();
const MOST_FETCHED = 24; // the steps of a training and the visitor's own models would fill the page's memory

/** Return what names a model to the browser: the same weights may be split among other numbers of heads. */
export const nameOfModel = ({ weights, layout }) => `${weights.digest}, ${layout.heads} heads, ${layout.kvHeads} kv`;

/** Return models that are here already, { model, tokenizer, itos, vocabulary } each, or null where one is not. */
export function fetchedOf(offered) {
  const found = offered.map((one) => fetchedModels.get(nameOfModel(one)));
  return found.every(Boolean) ? found : null;
}

/**
 * Fetch the `offered` models that are not here, telling `progress` of a model's bytes; what was on its way and is not
 * among them is given up.
 */
export async function fetchModels(offered, progress) {
  const wanted = new Set(offered.map(nameOfModel));
  for (const [name, { stop }] of fetching) if (!wanted.has(name)) stop.abort();
  await Promise.all(offered.map((one) => fetchModel(one, progress)));
}

function fetchModel(one, progress) {
  const name = nameOfModel(one);
  if (fetchedModels.has(name)) return null;
  if (!fetching.has(name) || fetching.get(name).stop.signal.aborted) {
    const stop = new AbortController();
    const made = readFiles(one, progress, stop.signal).then((found) => {
      fetchedModels.set(name, found);
      for (const old of [...fetchedModels.keys()].slice(0, -MOST_FETCHED)) fetchedModels.delete(old);
    });
    const ended = () => { if (fetching.get(name)?.stop === stop) fetching.delete(name); };
    made.then(ended, ended);
    fetching.set(name, { made, stop });
  }
  return fetching.get(name).made;
}

async function readFiles({ title, weights, layout, vocabulary }, progress, signal) {
  const file = (kind, { digest, url, bytes, keep }, tell) =>
    keptBytes({ name: `/${kind}/${digest}`, bytes, digest, keep }, () => fetchBytes(serverAddress() + url, bytes, tell, { signal }));
  const [parameters, words] = await Promise.all([
    file("weights", weights, (received) => progress(title, received, weights.bytes)),
    file("vocabulary", vocabulary, () => {}),
  ]);
  const { tables, itos } = JSON.parse(new TextDecoder().decode(words));
  return { model: readModel(parameters, layout), tokenizer: new Tokenizer(tables, itos), itos, vocabulary: vocabulary.digest };
}
