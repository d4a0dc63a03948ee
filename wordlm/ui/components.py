"""Three small pieces of JavaScript: tokens that can be pressed, cells that can be clicked, a link to copy.

They receive words as data and write them with `textContent`, so nothing that a visitor types is ever markup.
"""

import time
from collections.abc import Callable

import streamlit as st

from wordlm.text import SPECIALS, UNK, EncodedPrompt, direction

_TOKENS_JS = """
export default function ({ data, parentElement, setTriggerValue }) {
  const row = parentElement.querySelector(".tokens");
  row.dir = data.direction;
  const focused = [...row.children].indexOf(parentElement.activeElement ?? document.activeElement);
  row.replaceChildren(...data.tokens.map((token, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = `token ${token.sort}`;
    button.setAttribute("aria-pressed", i === data.chosen);
    button.title = token.hover;
    if (token.shade !== null)
      button.style.background = `color-mix(in srgb, ${data.hue} ${Math.round(token.shade * 45)}%, transparent)`;
    const word = document.createElement("b"), note = document.createElement("small");
    word.dir = "auto";
    note.dir = "ltr";
    word.textContent = token.typed;
    note.textContent = token.note;
    button.append(word, note);
    button.onclick = () => setTriggerValue("picked", i);
    return button;
  }));
  if (focused >= 0) row.children[focused]?.focus();
}
"""

_TOKENS_CSS = """
.tokens { display: flex; flex-wrap: wrap; gap: 0.25rem; font-variant-numeric: tabular-nums; }
.token {
  display: inline-flex; flex-direction: column; align-items: center; max-width: 16rem; padding: 0.1rem 0.45rem;
  font: inherit; color: var(--st-text-color); background: none; cursor: pointer; border-radius: 0.4rem;
  border: 1px solid color-mix(in srgb, var(--st-text-color) 22%, transparent);
}
.token:hover { border-color: var(--st-primary-color); }
.token:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
.token[aria-pressed="true"] { border-color: #e4572e; box-shadow: inset 0 0 0 1px #e4572e; }
b { font-weight: 500; max-width: 100%; overflow: hidden; text-overflow: ellipsis; white-space: pre; }
small { font-size: 0.72rem; opacity: 0.8; }
.unknown { border-style: dashed; }
.unknown b { text-decoration: underline wavy; text-underline-offset: 0.2em; }
.special b { font-style: italic; }
"""

# Plotly's heatmaps report no click to Streamlit, but their own element does. The handler is looked up at each
# click, since the chart's element outlives a rerun and the data behind it does not.
_CELLS_JS = """
export default function ({ data, setTriggerValue }) {
  const attach = () => {
    const chart = document.querySelector(`[class*="st-key-${data.container}"] .js-plotly-plot`);
    if (!chart?.on) return;
    const fresh = !chart.pickCell;
    chart.pickCell = ({ points: [point] }) => {
      const [query, key] = point.pointNumber;
      setTriggerValue("picked", { head: data.heads[point.curveNumber], query, key });
    };
    if (fresh) chart.on("plotly_click", (event) => chart.pickCell(event));
  };
  attach();
  const observer = new MutationObserver(attach);
  observer.observe(document.body, { childList: true, subtree: true });
  return () => observer.disconnect();
}
"""

# As Streamlit does it itself: replaced rather than pushed, so that Back leaves the page, and told to the page around
# the app where there is one. Whatever else stands in the address stays.
_ADDRESS_JS = """
export default function ({ data }) {
  const params = new URLSearchParams(window.location.search);
  for (const name of data.names) params.delete(name);
  for (const [name, value] of new URLSearchParams(data.query)) params.append(name, value);
  const search = params.size ? `?${params}` : "";
  if (search === window.location.search) return;
  window.history.replaceState(window.history.state, "", window.location.pathname + search);
  window.parent.postMessage({ stCommVersion: 1, type: "SET_QUERY_PARAM", queryParams: search }, "*");
}
"""

_LINK_JS = """
export default function ({ data, parentElement }) {
  const [button, said] = [parentElement.querySelector("button"), parentElement.querySelector("p")];
  said.textContent = "";
  button.onclick = async () => {
    let done = "Link copied.";
    try {
      await navigator.clipboard.writeText(window.location.href);
    } catch {
      done = "Copy the link from the address bar.";
    }
    said.textContent = [done, ...data.missing.map((what) => `It cannot carry ${what}.`)].join(" ");
  };
}
"""

_LINK_HTML = '<button type="button">Copy link</button><p role="status"></p>'

_LINK_CSS = """
button {
  font: inherit; color: var(--st-text-color); background: none; cursor: pointer; border-radius: 0.4rem;
  padding: 0.3rem 0.75rem; border: 1px solid color-mix(in srgb, var(--st-text-color) 22%, transparent);
}
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
p { margin: 0.2rem 0 0; font-size: 0.8rem; color: var(--st-text-color); max-width: 22rem; }
p:empty { display: none; }
"""


@st.cache_resource(show_spinner=False)
def _registered() -> dict[str, Callable]:
    """Register once a process; registering again on each run would warn."""
    component = st.components.v2.component
    return {
        "tokens": component("tokens", html='<div class="tokens"></div>', css=_TOKENS_CSS, js=_TOKENS_JS),
        "cells": component("cells", js=_CELLS_JS),
        "address": component("address", js=_ADDRESS_JS),
        "link": component(
            "link", html='<button type="button">Copy link</button><p role="status"></p>', css=_LINK_CSS, js=_LINK_JS
        ),
    }


def token_row(
    prompt: EncodedPrompt,
    notes: list[str],
    *,
    key: str,
    chosen: int | None,
    on_pick: Callable[[int], None],
    shades: list[float | None] | None = None,
    hue: str = "",
) -> None:
    """Draw the kept tokens as typed, each with a note below; pressing one calls `on_pick` with its index.

    The row runs in the direction of the text.
    `shades` (n,) from 0 to 1 tint the tokens with `hue`; None leaves one as it is.
    """
    tokens = [
        {
            "typed": prompt.typed[i],
            "note": notes[i],
            "sort": "unknown" if prompt.ids[i] == UNK else "special" if prompt.positions[i] == 0 else "",
            "shade": None if shades is None else shades[i],
            "hover": f"{prompt.labels[i]}: the model reads {prompt.tokens[i]}",
        }
        for i in range(len(prompt.ids))
    ]

    def picked() -> None:
        if (place := st.session_state[key].picked) is not None:
            on_pick(int(place))

    words = " ".join(word for word, place in zip(prompt.typed, prompt.positions, strict=True) if place)
    _registered()["tokens"](
        key=key,
        data={"tokens": tokens, "chosen": chosen, "hue": hue, "direction": direction(words)},
        on_picked_change=picked,
    )


def id_notes(prompt: EncodedPrompt) -> list[str]:
    """Return each token's id as the note below it; an unknown word says so."""
    return [f"{SPECIALS[UNK]} {id_}" if id_ == UNK else str(id_) for id_ in prompt.ids]


def heatmap_clicks(container: str, heads: list[int], on_pick: Callable[[int, int, int], None]) -> None:
    """Call `on_pick(head, query, key)` when a cell of the heatmaps in the keyed `container` is clicked."""

    def picked() -> None:
        if (cell := st.session_state["cells"].picked) is not None:
            on_pick(int(cell["head"]), int(cell["query"]), int(cell["key"]))

    _registered()["cells"](key="cells", data={"container": container, "heads": heads}, on_picked_change=picked)


def write_address(query: str, names: list[str]) -> None:
    """Make `query` the address; `names` are the parameters of which only those in `query` shall stand there."""
    # The time makes each run's data new: another page may have changed the address since the same data were sent.
    _registered()["address"](key="address", data={"query": query, "names": names, "at": time.time()})


def copy_link(missing: list[str]) -> None:
    """Draw a button that copies the address of this view and says what of it is `missing` there."""
    _registered()["link"](key="copy_link", data={"missing": missing}, width="content")
