// Runs a component whose script is a file, kept by the browser. Sent with every drawing, as Streamlit sends a component's
// own script, it would be most of what is sent.

import { fetchBytes, keptBytes, serverAddress } from "./cache.js";

const scripts = new Map();

export default function (component) {
  const { script, picture } = component.data;
  let leave = null, left = false;
  if (!scripts.has(script.digest)) scripts.set(script.digest, load(script));
  scripts.get(script.digest).then(
    (module) => { if (!left) leave = module.default({ ...component, data: picture }); },
    () => {
      scripts.delete(script.digest); // asked for again with the next drawing
      const said = "The picture's script could not be fetched. Reload the page to try again.";
      if (!left) component.parentElement.querySelector("[data-picture]").textContent = said;
    },
  );
  return () => {
    left = true;
    leave?.();
  };
}

async function load({ url, digest, bytes }) {
  const file = { name: `/script/${digest}`, bytes, digest };
  const source = await keptBytes(file, () => fetchBytes(serverAddress() + url, bytes, () => {}));
  return import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
}
