// Runs a component whose script is a file. Sent with every drawing, as Streamlit sends a component's own script, it would
// be most of what is sent.

import { serverAddress } from "./cache.js";

const fetched = new Map();

export default function (component) {
  const { script: { url }, picture } = component.data;
  let leave = null, left = false;
  if (!fetched.has(url)) fetched.set(url, import(serverAddress() + url));
  fetched.get(url).then(
    (script) => { if (!left) leave = script.default({ ...component, data: picture }); },
    () => {
      fetched.delete(url); // asked again with the next drawing
      const said = "The picture's script could not be fetched. Reload the page to try again.";
      if (!left) component.parentElement.querySelector("div").textContent = said;
    },
  );
  return () => {
    left = true;
    leave?.();
  };
}
