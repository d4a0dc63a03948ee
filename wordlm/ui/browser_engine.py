"""The third engine: the visitor's own browser, so that a class does not share one server's processor.

The page sends its settings to `browser_engine.js`; the story comes back when it is done.
"""

import base64
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path

import streamlit as st

from wordlm.files import ARTIFACTS, sha256_file
from wordlm.generation import ALTERNATIVES, Choice, Decoding, Generation, Stop
from wordlm.text import BOS, CONTEXT_LEN, EOS, PAD, UNK, Vocab
from wordlm.ui.generate import EXPORTED, Start, Stories, exported, onnx_name, story_name
from wordlm.ui.resources import Checkpoint, reading

ORT_VERSION = "1.30.0"

_CDN = f"https://cdn.jsdelivr.net/npm/onnxruntime-web@{ORT_VERSION}/dist"

# Digests and sizes are those of the npm package of this version; a file that differs is refused by the browser.
ORT_FILES = {
    "WebAssembly": [
        {
            "url": f"{_CDN}/ort.wasm.bundle.min.mjs",
            "integrity": "sha384-PLWz+nHEVHpjwBsO0YVdvQj6n5814Iv8E3b8FG0Rp/uIAtjFMCKOpP66iPzedrIG",
            "bytes": 73_054,
        },
        {
            "url": f"{_CDN}/ort-wasm-simd-threaded.wasm",
            "integrity": "sha384-vjBJ1z7qrhkTyYsNqKeF6c7N+nOJSU94czEo+tvZcu8G75JparGq9kB+kTnEUNVM",
            "bytes": 14_239_897,
        },
    ],
    "WebGPU": [
        {
            "url": f"{_CDN}/ort.webgpu.bundle.min.mjs",
            "integrity": "sha384-1ntMeyj+z5diX6vBR5h+zlJBPc4iNvhCxE6nlammh8daBYcLBZkzrwDkuJjhwI+f",
            "bytes": 117_732,
        },
        {
            "url": f"{_CDN}/ort-wasm-simd-threaded.asyncify.wasm",
            "integrity": "sha384-EPVDLTxuO663dkZO/pcKJF6vOyyfq/5z9FY1oksN0UWFX2ABH4wDDZQHeNoUleWR",
            "bytes": 26_781_914,
        },
    ],
}
"""What the browser fetches for each way to run: its script, then the engine itself."""


class BrowserEngine:
    """Stands for the visitor's browser in a report; the calls were made there."""

    device = "your browser"
    threads = 1

    def __init__(self, way: str) -> None:
        self.name = f"ONNX Runtime Web {ORT_VERSION}, {way}"

    def logits(self, context):
        raise NotImplementedError("the browser has made its calls already")


@st.cache_resource(show_spinner=False)
def _component() -> Callable:
    return st.components.v2.component(
        "browser_engine",
        html='<button type="button"></button><p aria-live="polite"></p>',
        css=(
            "button { font: inherit; color: white; background: var(--st-primary-color); border: none; cursor: pointer;"
            " border-radius: 0.4rem; padding: 0.4rem 0.9rem; }"
            " p { margin: 0.5rem 0 0; color: var(--st-text-color); }"
        ),
        js=Path(__file__).with_name("browser_engine.js").read_text(encoding="utf-8"),
    )


@st.cache_resource(show_spinner=False)
def _exported() -> dict[str, Checkpoint]:
    """Return the checkpoint behind each exported file, by the file's digest."""
    chosen = [exported(model) for model in EXPORTED]
    digests = {}
    for one in chosen:
        path = ARTIFACTS / "onnx" / onnx_name(one)
        with reading(path):
            digests[sha256_file(path)] = one
    return digests


def browser_engine(
    chosen: Checkpoint, way: str, start: Start, decoding: Decoding, vocab: Vocab
) -> tuple[Start, Stories] | None:
    """Draw the button that runs a model in the visitor's browser; return what came back, if anything did.

    The browser asks for the weights of a model by digest, once; they are sent with the next drawing. With the story
    it sends the start and the settings that it used, which may have been changed here since.
    """
    digests = _exported()
    path = ARTIFACTS / "onnx" / onnx_name(chosen)
    state = st.session_state.get("browser_engine")
    wanted = digests.get(state.wanted) if state is not None else None
    megabytes = sum(file["bytes"] for file in ORT_FILES[way]) / 1e6
    result = _component()(
        key="browser_engine",
        data={
            "label": f"Run in my browser: fetches {megabytes:.1f} MB once, and the model, "
            f"{path.stat().st_size / 1e6:.1f} MB",
            "engine": {"way": way, "files": ORT_FILES[way]},
            "modelId": next(digest for digest, one in digests.items() if one == chosen),
            "model": _weights(state.wanted, wanted) if wanted else None,
            "start": asdict(start),
            "decoding": asdict(decoding),
            "special": {"PAD": PAD, "BOS": BOS, "EOS": EOS, "UNK": UNK},
            "contextLen": CONTEXT_LEN,
            "alternatives": ALTERNATIVES,
            "words": list(vocab.itos),
        },
        on_wanted_change=lambda: None,
        on_story_change=lambda: None,
    )
    story = result.story
    if story is None or story.get("modelId") not in digests:
        return None
    written_by = digests[story["modelId"]]
    try:
        made = received_story(story, vocab)
        began = Start(str(story["start"]["text"]), list(made.start_ids), start.vocab, start.continuation)
    except (KeyError, TypeError, ValueError):  # not what our script sends
        st.error("The browser sent something that is no story. Reload the page and try again.")
        return None
    return began, {story_name(written_by, "your browser"): (written_by, made)}


def _weights(digest: str, chosen: Checkpoint) -> dict[str, str]:
    content = (ARTIFACTS / "onnx" / onnx_name(chosen)).read_bytes()
    return {"id": digest, "base64": base64.b64encode(content).decode()}


def _known(ids: list, vocab: Vocab) -> list[int]:
    return [int(i) for i in ids if 0 <= int(i) < len(vocab)]


def received_story(story: dict, vocab: Vocab) -> Generation:
    """Rebuild a generation from what the browser sent, trusting nothing in it."""
    decoding = Decoding(**{field.name: story["decoding"][field.name] for field in fields(Decoding)})
    made = _known(story["ids"], vocab)[: decoding.max_new_tokens]
    if story["stop"] == Stop.END.name:
        made.append(EOS)
    choices = [
        Choice(i, float(p), tuple((int(a), float(q)) for a, q in others if 0 <= int(a) < len(vocab)), float(ms) / 1e3)
        for i, p, others, ms in zip(
            made, story["probabilities"], story["alternatives"], story["milliseconds"], strict=False
        )
    ]
    way = story["way"] if story["way"] in ORT_FILES else "unknown"
    stop = Stop[story["stop"]] if story["stop"] in Stop.__members__ else Stop.STOPPED
    return Generation(BrowserEngine(way), _known(story["start"]["ids"], vocab), decoding, choices, stop)
