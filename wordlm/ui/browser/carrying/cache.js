// What is fetched once and then kept by the browser, under a name that says what it holds.

const CACHE = "attention-explorer kept";
const BEFORE = "attention-explorer"; // what earlier versions kept, without a digest to check it by
const MOST_KEPT = 24; // files: the bundled models, their vocabulary, and the scripts of the last few versions

/**
 * Return bytes kept under `name`, or fetch them with `get`, and keep them unless `keep` is false. A damaged copy is fetched
 * anew, and bytes that come damaged are refused. `digest` is their SHA-256, or as a page's `integrity` is written.
 */
export async function keptBytes({ name, bytes, digest = null, keep = true }, get) {
  const cache = keep ? await openCache() : null;
  const kept = await cache?.match(name).then((answer) => answer?.arrayBuffer(), () => null);
  if (kept && (await isWhole(kept, bytes, digest))) return kept;
  const came = await get();
  if (!(await isWhole(came, bytes, digest))) throw new Error("what came is damaged");
  try {
    await cache?.delete(name); // so that it is the newest
    await cache?.put(name, new Response(came.slice(0), { headers: { bytes } }));
    for (const old of (await cache?.keys() ?? []).slice(0, -MOST_KEPT)) await cache.delete(old);
  } catch {
    // no room left; it is fetched again next time
  }
  return came;
}

async function isWhole(content, bytes, digest) {
  if (content.byteLength !== bytes) return false;
  if (digest === null || !globalThis.crypto?.subtle) return true; // plain http has none, and keeps nothing either
  const [method, wanted] = digest.includes("-") ? digest.split("-") : ["sha256", digest];
  const found = new Uint8Array(await crypto.subtle.digest(method.replace("sha", "SHA-"), content));
  return wanted === Array.from(found, (byte) => byte.toString(16).padStart(2, "0")).join("") || wanted === btoa(String.fromCharCode(...found));
}

/** Return how many bytes this browser keeps. */
export async function keptSize() {
  const cache = await openCache();
  let total = 0;
  for (const request of (await cache?.keys()) ?? []) total += Number((await cache.match(request))?.headers.get("bytes"));
  return total;
}

/** Drop all that this browser keeps. */
export async function forgetKept() {
  try {
    await caches.delete(CACHE);
  } catch {
    // it keeps nothing
  }
}

/** Fetch the bytes of `url`, telling `progress` how many have come. Throws where they do not come whole. */
export async function fetchBytes(url, size, progress, options = {}) {
  const answer = await fetch(url, options).catch((error) => {
    throw error.name === "AbortError" ? error : new Error("the server could not be reached");
  });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  const bytes = new Uint8Array(size);
  let received = 0;
  for (const reader = answer.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    if (received + value.length > size) throw new Error("more came than was announced");
    bytes.set(value, received);
    received += value.length;
    progress(received);
  }
  if (received !== size) throw new Error("the connection ended too early");
  return bytes.buffer;
}

/** Where the server's files lie: the address of the page's own script, without what Streamlit adds to it. */
export function serverAddress() {
  const script = /** @type {HTMLScriptElement | null} */ (document.querySelector('script[src*="/static/"]'));
  return script ? script.src.split("/static/")[0] : location.origin;
}

async function openCache() {
  try {
    await caches.delete(BEFORE);
    return await caches.open(CACHE);
  } catch {
    return null; // private windows and plain http have none
  }
}
