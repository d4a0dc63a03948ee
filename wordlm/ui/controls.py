"""The controls that every page shares, and what they are set to.

Each choice lives in a widget whose key is also its name in the URL, so a pasted link restores the view.
"""

from dataclasses import dataclass
from typing import get_args

import streamlit as st

from wordlm.text import EncodedPrompt
from wordlm.ui.charts import Scale
from wordlm.ui.resources import MODELS, SEEDS, Checkpoint, checkpoint, encode, model_title

PROMPT, MODEL, SEED = "prompt", "model", "seed"
QUERY, HEAD, SCALE = "query", "head", "scale"
LAST = "last"
DEFAULT_PROMPT = "a little dog found a red hat"
DEFAULT_MODEL = "4"


@dataclass(frozen=True)
class Choice:
    """What the visitor chose: a prompt as encoded, and a checkpoint."""

    prompt: EncodedPrompt
    checkpoint: Checkpoint
    seed: int
    """The seed asked for; `checkpoint.seed` is another one where that is not bundled."""

    @property
    def compared(self) -> list[Checkpoint]:
        """One head and four heads, and the chosen attention model where it is another."""
        models = dict.fromkeys(["1", "4", *([] if self.checkpoint.heads is None else [self.checkpoint.model])])
        return [checkpoint(model, self.seed) for model in models]


def draw_shared_controls() -> None:
    """Draw prompt, model and seed in one row (under each other on a phone)."""
    with st.container(key="shared", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            "Prompt",
            DEFAULT_PROMPT,
            key=PROMPT,
            bind="query-params",
            live=True,
            help="The model reads the last 64 positions: the start mark and your words. It knows 4,000 words.",
        )
        st.segmented_control(
            "Model: MLP, or attention with this many heads",
            MODELS,
            default=DEFAULT_MODEL,
            required=True,
            key=MODEL,
            bind="query-params",
            help="All attention models have the same 1,321,120 parameters; only the number of heads differs.",
        )
        st.segmented_control(
            "Seed",
            SEEDS,
            default=SEEDS[0],
            required=True,
            key=SEED,
            bind="query-params",
            help="The random start of the training. Seeds 29 and 47 are bundled for 1 and 4 heads.",
        )


def shared_choice() -> Choice:
    """Return what the shared controls say."""
    state = st.session_state
    seed = state[SEED] or SEEDS[0]
    chosen = checkpoint(state[MODEL] or DEFAULT_MODEL, seed)
    return Choice(encode(state[PROMPT] or ""), chosen, seed)


def say_other_seed(choice: Choice) -> None:
    """Say so where the chosen seed is not bundled for the chosen model."""
    if choice.checkpoint.seed != choice.seed:
        st.caption(
            f"{model_title(choice.checkpoint.model)} is bundled with seed {choice.checkpoint.seed} only, "
            f"so that one is shown instead of {choice.seed}."
        )


def choose_query(prompt: EncodedPrompt) -> int:
    """Let the visitor choose the word that looks; return its index among the kept positions.

    The choice is kept as a position in the text, or as "the last word", which follows the typing.
    """
    options = [LAST, *map(str, prompt.positions)]
    _forget_unless_offered(QUERY, options)
    chosen = st.selectbox(
        "Query: the word that looks",
        options,
        format_func=lambda option: f"last word: {prompt.labels[-1]}" if option == LAST else _label(prompt, option),
        key=QUERY,
        bind="query-params",
    )
    return len(prompt.ids) - 1 if chosen == LAST else prompt.positions.index(int(chosen))


def choose_heads(heads: int) -> list[int]:
    """Let the visitor see all heads or one large; return the heads to draw, from 0. A phone starts with one."""
    if heads == 1:
        return [0]
    on_phone = "Mobi" in st.context.headers.get("User-Agent", "")
    options = ["all", *(str(head + 1) for head in range(heads))]
    _forget_unless_offered(HEAD, options)
    chosen = st.segmented_control(
        "Heads in the picture",
        options,
        default="1" if on_phone else "all",
        required=True,
        key=HEAD,
        bind="query-params",
    )
    return list(range(heads)) if chosen == "all" else [int(chosen) - 1]


def choose_scale() -> Scale:
    """Let the visitor choose what the colours span; all heads of a view share it."""
    return st.segmented_control(
        "Colours",
        get_args(Scale),
        default="absolute",
        required=True,
        key=SCALE,
        bind="query-params",
        help="Absolute: 0 to 1. Per view: 0 to the largest weight shown. Logarithmic: 0.0001 to 1.",
    )


def _label(prompt: EncodedPrompt, position: str) -> str:
    return prompt.labels[prompt.positions.index(int(position))]


def _forget_unless_offered(key: str, options: list[str]) -> None:
    """Drop a choice that another prompt or model no longer offers, before its widget is drawn."""
    if st.session_state.get(key) not in options:
        st.session_state.pop(key, None)
