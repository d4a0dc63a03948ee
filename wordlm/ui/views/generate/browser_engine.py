"""The third engine: the visitor's own browser, so that a class does not share one server's processor.

The page sends its settings to `browser_engine.js`; the story comes back when it is done.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from wordlm.bundled import EXPORTED, SEEDS, Bundled
from wordlm.files import sha256_file
from wordlm.generation import ALTERNATIVES, Decision, Decoding, Generation, StopReason
from wordlm.text import BOS, CONTEXT_LEN, EOS, PAD, UNK, Vocab
from wordlm.ui.browser.carrying.components import module, offered
from wordlm.ui.state.resources import reading
from wordlm.ui.views.generate.stories import Start, Stories, onnx_engine, story_name

ORT_VERSION = "1.30.0"

_CDN = f"https://cdn.jsdelivr.net/npm/onnxruntime-web@{ORT_VERSION}/dist"

# Digests and sizes are those of the npm package of this version; a file that differs is refused by the browser.
ORT_FILES: dict[str, list[dict[str, Any]]] = {
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


_KEY, _STORY = "browser_engine", "browser_wrote"


class BrowserEngine:
    """Stands for the visitor's browser in a report; the calls were made there."""

    device = "your browser"
    threads = 1

    def __init__(self, way: str) -> None:
        self.name = f"ONNX Runtime Web {ORT_VERSION}, {way}"

    def logits(self, context: np.ndarray) -> np.ndarray:
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
        js=module(Path(__file__).with_suffix(".js")),
    )


@st.cache_resource(show_spinner=False)
def _exported() -> dict[str, Bundled]:
    """Return the checkpoint behind each exported file, by the file's digest."""
    digests = {}
    for one in (Bundled(variant, SEEDS[0]) for variant in EXPORTED):
        onnx_engine(one)  # opened here too, which finds out whether it is this model's
        path = one.onnx_path
        with reading(path):
            digests[sha256_file(path)] = one
    return digests


def _keep_what_came() -> None:
    """Keep what the browser sent until the page has come to it: a change elsewhere may end this run before that."""
    if (came := st.session_state[_KEY].get("story")) is not None:
        st.session_state[_STORY] = came


def browser_engine(
    chosen: Bundled, way: str, start: Start, decoding: Decoding, vocab: Vocab
) -> tuple[Start, Stories] | None:
    """Draw the button that runs a model in the visitor's browser; return what came back, if anything did.

    With the story the browser sends the start and the settings that it used, which may have been changed here since.
    """
    digests = _exported()
    path = chosen.onnx_path
    digest = next(digest for digest, one in digests.items() if one == chosen)
    megabytes = sum(file["bytes"] for file in ORT_FILES[way]) / 1e6
    _component()(
        key=_KEY,
        data={
            "label": f"Run in my browser: fetches {megabytes:.1f} MB once, and the model, "
            f"{path.stat().st_size / 1e6:.1f} MB",
            "engine": {"way": way, "files": ORT_FILES[way]},
            "model": offered(path.read_bytes(), digest, "onnx model"),
            "start": asdict(start),
            "decoding": asdict(decoding),
            "special": {"PAD": PAD, "BOS": BOS, "EOS": EOS, "UNK": UNK},
            "contextLen": CONTEXT_LEN,
            "alternatives": ALTERNATIVES,
            "words": list(vocab.itos),
        },
        on_story_change=_keep_what_came,
    )
    story = st.session_state.pop(_STORY, None)
    if story is None:
        return None
    try:
        written_by = digests[story["modelId"]]
        made = received_story(story, vocab)
        began = Start(str(story["start"]["text"]), list(made.start_ids), start.vocab, start.continuation)
    except (LookupError, TypeError, ValueError, OverflowError):  # not what our script sends
        st.error("The browser sent something that is no story. Reload the page and try again.")
        return None
    return began, {story_name(written_by, "your browser"): (written_by, made)}


def received_story(story: dict, vocab: Vocab) -> Generation:
    """Rebuild a generation from what the browser sent, trusting nothing in it. Raises as `browser_engine` expects.

    What is no word is dropped together with its probability, its alternatives and its time.
    """
    decoding = Decoding(**{field.name: story["decoding"][field.name] for field in fields(Decoding)})
    told = zip(story["probabilities"], story["alternatives"], story["milliseconds"], strict=False)
    words = [_choice(i, row, vocab) for i, row in zip(story["ids"], told, strict=False) if _is_word(i, vocab)]
    choices = words[: decoding.max_new_tokens]
    if story["stop"] == StopReason.END.name:  # a decision too, the last one; its id is not sent, since it is no word
        choices += [_choice(EOS, row, vocab) for row in told][:1]
    way = story["way"] if story["way"] in ORT_FILES else "unknown"
    stop = StopReason[story["stop"]] if story["stop"] in StopReason.__members__ else StopReason.STOPPED
    start = [int(i) for i in story["start"]["ids"] if 0 <= int(i) < len(vocab)]
    return Generation(BrowserEngine(way), start, decoding, choices, stop)


def _is_word(id_: object, vocab: Vocab) -> bool:
    """Whether a model could have chosen this; never the padding, the start mark, or the end as a word."""
    return isinstance(id_, int) and 0 <= id_ < len(vocab) and id_ not in (PAD, BOS, EOS)


def _choice(id_: int, told: tuple, vocab: Vocab) -> Decision:
    probability, alternatives, milliseconds = told
    others = tuple((int(i), _share(p)) for i, p in alternatives[:ALTERNATIVES] if 0 <= int(i) < len(vocab))
    if not 0 <= float(milliseconds) < math.inf:
        raise ValueError(f"no time: {milliseconds}")
    return Decision(id_, _share(probability), others, float(milliseconds) / 1e3)


def _share(probability: Any) -> float:
    if not 0 <= float(probability) <= 1 + 1e-6:  # summed up in another order
        raise ValueError(f"no probability: {probability}")
    return float(probability)
