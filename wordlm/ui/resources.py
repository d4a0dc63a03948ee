"""What is loaded or computed once for all visitors. Everything here is shared and must not be changed.

Caches are keyed by plain values: a checkpoint's name and the ids of a prompt.
"""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from wordlm.checkpoints import load_model_npz
from wordlm.files import ARTIFACTS
from wordlm.inspection import Inspection, inspect_ids, next_probabilities
from wordlm.models import DEFAULT_HEADS, LanguageModel, build_model
from wordlm.text import EncodedPrompt, Vocab, encode_prompt

MLP = "MLP"
MODELS = (MLP, "1", "2", "4", "8", "16")
"""What the model control offers: the MLP, or a number of heads."""
SEEDS = (11, 29, 47)
_SEEDS_OF = {"1": SEEDS, "4": SEEDS}  # the others are bundled with the first seed only


@dataclass(frozen=True)
class Checkpoint:
    """One bundled model. `model` is an entry of `MODELS`."""

    model: str
    seed: int

    @property
    def heads(self) -> int | None:
        """The number of heads; None for the MLP, which has none."""
        return None if self.model == MLP else int(self.model)

    @property
    def title(self) -> str:
        """The model in words: "4 heads"."""
        return model_title(self.model)

    @property
    def name(self) -> str:
        """The model and its seed in words: "4 heads, seed 11"."""
        return f"{self.title}, seed {self.seed}"

    @property
    def file(self) -> str:
        """The checkpoint's file name in `artifacts/heads`."""
        kind = {None: "mlp", 1: "attention", DEFAULT_HEADS: "multihead"}.get(self.heads, f"multihead_h{self.heads}")
        return f"{kind}_seed{self.seed}.npz"


def model_title(model: str) -> str:
    """Return "MLP", "1 head" or "4 heads"."""
    return {MLP: MLP, "1": "1 head"}.get(model, f"{model} heads")


def checkpoint(model: str, seed: int) -> Checkpoint:
    """Return the bundled checkpoint of `model` at `seed`, or at the first seed where that one is not bundled."""
    available = _SEEDS_OF.get(model, SEEDS[:1])
    return Checkpoint(model, seed if seed in available else available[0])


@st.cache_resource(show_spinner=False)
def vocabulary() -> Vocab:
    """Return the bundled vocabulary."""
    return Vocab.load(ARTIFACTS / "vocab.json")


@st.cache_resource(show_spinner="Loading the model …")
def model_of(chosen: Checkpoint) -> LanguageModel:
    """Return the trained model of a bundled checkpoint."""
    heads = chosen.heads
    kind = "mlp" if heads is None else "attention" if heads == 1 else "multihead"
    model = build_model(kind, len(vocabulary()), heads=heads if kind == "multihead" else None)
    _, model = load_model_npz(ARTIFACTS / "heads" / chosen.file, model, vocab_sha256=vocabulary().sha256)
    return model.requires_grad_(False).eval()


def encode(text: str) -> EncodedPrompt:
    """Encode a prompt with the bundled vocabulary."""
    return encode_prompt(text, vocabulary())


@st.cache_resource(max_entries=64, show_spinner=False)
def inspection_of(chosen: Checkpoint, ids: tuple[int, ...]) -> Inspection:
    """Return every step of an attention model for the ids of a prompt; at most 0.7 MB an entry."""
    return inspect_ids(model_of(chosen), ids)


def probabilities_of(chosen: Checkpoint, ids: tuple[int, ...]) -> np.ndarray:
    """Return the probability of each word to come next, (V,)."""
    if chosen.heads is None:
        return next_probabilities(model_of(chosen), ids)
    return inspection_of(chosen, ids).next_probabilities
