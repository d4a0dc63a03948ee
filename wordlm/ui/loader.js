// Runs a component whose script is a file. Sent with every drawing, as Streamlit sends a component's own script, it would
// be most of what is sent.

import { serverAddress } from "./cache.js";

const fetched = new Map();

export default function (component) {
  const { url } = component.data.script;
  let leave = null, left = false;
  if (!fetched.has(url)) fetched.set(url, import(serverAddress() + url));
  fetched.get(url).then(
    (script) => { if (!left) leave = script.default(component); },
    () => {
      fetched.delete(url); // asked again with the next drawing
      if (!left) sayNotFetched(component);
    },
  );
  return () => {
    left = true;
    leave?.();
  };
}

function sayNotFetched({ parentElement, setTriggerValue }) {
  const [said, button] = ["p", "button"].map((name) => document.createElement(name));
  said.className = "sentence";
  said.textContent = "The picture's script could not be fetched. Cells and lines, which the server draws, still work.";
  Object.assign(button, { type: "button", className: "act", textContent: "cells" });
  button.onclick = () => setTriggerValue("chosen", { form: "cells" });
  parentElement.querySelector("div").replaceChildren(said, button);
}
