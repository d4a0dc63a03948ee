// What is fetched once and then kept by the browser, under a name that says what it holds.

const CACHE = "attention-explorer";

/** Return the bytes kept under `name`, or fetch them with `get` and keep them. */
export async function keptBytes(name, get) {
  const cache = await openCache();
  const kept = await cache?.match(name);
  if (kept) return kept.arrayBuffer();
  const bytes = await get();
  try {
    await cache?.put(name, new Response(bytes.slice(0)));
  } catch {
    // no room left; it is fetched again next time
  }
  return bytes;
}

/** Fetch the bytes of `url`, telling `progress` how many have come. Throws where they do not come whole. */
export async function fetchBytes(url, size, progress, options = {}) {
  const answer = await fetch(url, options).catch(() => { throw new Error("the server could not be reached"); });
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
  const script = document.querySelector('script[src*="/static/"]');
  return script ? script.src.split("/static/")[0] : location.origin;
}

async function openCache() {
  try {
    return await caches.open(CACHE);
  } catch {
    return null; // private windows and plain http have none
  }
}
