"""The controls that every page shares, and what they are set to.

Each choice lives in a widget whose key is also its name in the URL, so a pasted link restores the view.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import streamlit as st

from wordlm.ablation import Fill
from wordlm.text import UNK, EncodedPrompt, Vocab, encode_prompt, tokenize, typed_words
from wordlm.training import Precision
from wordlm.ui.charts import FirstToken, Scale
from wordlm.ui.escape import for_markdown, shortened
from wordlm.ui.glossary import explain, open_glossary
from wordlm.ui.job import MOST_STEPS, MOST_VALIDATIONS
from wordlm.ui.resources import (
    MODELS,
    SEEDS,
    Checkpoint,
    checkpoint,
    encode,
    models_beside,
    offered_models,
    vocabulary,
    vocabulary_of,
)
from wordlm.ui.tour import tour_button

PROMPT, MODEL, SEED = "prompt", "model", "seed"
QUERY, KEY, HEAD, PICTURE, SCALE, FIRST, WORD = "query", "key", "head", "picture", "scale", "first", "word"
ROWS, SHADING, OTHER_MODEL, OTHER_SEED, OFF, FILL = "rows", "shading", "b", "b_seed", "off", "fill"
LAST, LARGEST = "the last word", "the one looked at most"
Shading = Literal["keys of the query", "queries of the token"]
DEFAULT_PROMPT = "a little dog found a red hat"
DEFAULT_MODEL = "4"
Picture = Literal["all heads", "one head"]
RowsShown = Literal["each word as the last", "one reading"]
ENGINES = ("ONNX Runtime", "PyTorch", "your browser")
WAYS = ("WebAssembly", "WebGPU")
STORIES = ("smoke stories", "6,000 stories", "a text of mine")
PARTS = ("course", "quiz", "glossary")
VOCABULARIES = ("the bundled one", "its own")


@dataclass(frozen=True)
class Choice:
    """What the visitor chose: a prompt as encoded, and a checkpoint."""

    text: str
    prompt: EncodedPrompt
    checkpoint: Checkpoint
    seed: int
    """The seed asked for; `checkpoint.seed` is another one where that is not bundled."""

    @property
    def word_ids(self) -> tuple[int, ...]:
        """The ids of all words of the text, also of those that the context has no room for."""
        return tuple(typed_words(self.text, vocabulary_of(self.checkpoint))[1])

    @property
    def bundled_prompt(self) -> EncodedPrompt:
        """The text as the bundled models read it."""
        return encode_prompt(self.text, vocabulary())

    @property
    def compared(self) -> list[Checkpoint]:
        """One head and four heads, and the chosen attention model where it is another.

        A model with a vocabulary of its own stands alone, since it reads other ids.
        """
        beside = models_beside(self.checkpoint)
        models = [
            *(["1", "4"] if "1" in beside else []),
            *([] if self.checkpoint.heads is None else [self.checkpoint.model]),
        ]
        return [checkpoint(model, self.seed) for model in dict.fromkeys(models)]


# What a link may say for the controls that always offer the same.
_OFFERED = {
    MODEL: MODELS,
    SEED: tuple(map(str, SEEDS)),
    OTHER_MODEL: MODELS,
    OTHER_SEED: tuple(map(str, SEEDS)),
    SCALE: get_args(Scale),
    FIRST: get_args(FirstToken),
    PICTURE: get_args(Picture),
    SHADING: get_args(Shading),
    ROWS: get_args(RowsShown),
    FILL: get_args(Fill),
    "engine": ENGINES,
    "way": WAYS,
    "trained": MODELS,
    "learn_from": STORIES,
    "words": VOCABULARIES,
    "precision": get_args(Precision),
    "part": PARTS,
}
_CHOICES = {*_OFFERED, HEAD, "chapter", "browser_model"}
RANGES = {
    "limit": (5, 200),
    "temperature": (0.0, 2.0),
    "top_k": (0, 4000),
    "top_p": (0.05, 1.0),
    "draw_seed": (0, 10**6),
    "story": (1, 10**6),
    "steps": (1, MOST_STEPS),
    "batch": (8, 2048),
    "rate": (0.00001, 1.0),
    "decay": (0.0, 1.0),
    "train_seed": (0, 10**6),
    "validations": (1, MOST_VALIDATIONS),
}
"""What the settings of a generation and of a training span, by their names in the URL."""

_LINK_READ, _LINK_WORDS, _LEFT_OUT = "link_read", "link_words", "link_left_out"


def say_what_a_link_got_wrong() -> None:
    """Say, on a visitor's first run, which parameters of the link are not offered. Call it before the controls."""
    st.session_state[_LINK_WORDS] = st.container()
    if not st.session_state.get(_LINK_READ):
        _leave_out_what_breaks_a_control()
        for name, asked in st.session_state.get(_LEFT_OUT, {}).items():
            _say_left_out(name, asked)
    for name, offered in _OFFERED.items():
        _check_link(name, offered)


def link_is_read() -> None:
    """Remember that the link was read, so that its mistakes are told once."""
    st.session_state[_LINK_READ] = True


def _leave_out_what_breaks_a_control() -> None:
    """Take out of the link what Streamlit stumbles over, infinity and empty choices, and run anew.

    Streamlit seeds its controls from the link as it was when the run began.
    """
    unfit = {
        name: text
        for name, text in st.query_params.items()
        if (name in RANGES and not _lies_within(text, *RANGES[name])) or (name in _CHOICES and not text)
    }
    if unfit:
        for name in unfit:
            del st.query_params[name]
        st.session_state[_LEFT_OUT] = unfit
        st.rerun()


def _lies_within(text: str, low: float, high: float) -> bool:
    try:
        number = float(text)
    except ValueError:
        return False
    return low <= number <= high and (isinstance(low, float) or number.is_integer())


def _check_link(name: str, offered: Sequence[str]) -> None:
    if not st.session_state.get(_LINK_READ):
        for asked in st.query_params.get_all(name):
            if asked not in offered:
                _say_left_out(name, asked)


def _say_left_out(name: str, asked: str) -> None:
    st.session_state[_LINK_WORDS].warning(
        f"The link asks for {name} = {for_markdown(shortened(asked)) or 'nothing'}, "
        "which is not offered; it is left out."
    )


def draw_shared_controls() -> None:
    """Draw prompt, model and seed in one row (under each other on a phone)."""
    _forget_unless_offered(MODEL, offered_models())
    with st.container(key="shared", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            "Prompt",
            DEFAULT_PROMPT,
            key=PROMPT,
            bind="query-params",
            live="100ms",
            help="The model reads the last 64 positions: the start mark and your words. It knows 4,000 words.",
        )
        st.segmented_control(
            "Model: MLP, or attention with this many heads",
            offered_models(),
            default=DEFAULT_MODEL,
            required=True,
            key=MODEL,
            bind="query-params",
            help="All attention models have the same 1,321,120 parameters; only the number of heads differs. "
            "What you train on the Train page joins them here.",
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
        if st.button("Glossary", key="glossary", type="tertiary", icon=":material/menu_book:"):
            open_glossary()
        tour_button()


def shared_choice() -> Choice:
    """Return what the shared controls say."""
    state = st.session_state
    text, chosen = state[PROMPT] or "", checkpoint(state[MODEL], state[SEED])
    return Choice(text, encode(text, chosen), chosen, state[SEED])


def nothing_to_see_without_heads(choice: Choice) -> bool:
    """Say so, and return True, where a view needs heads and the MLP is chosen."""
    if choice.checkpoint.heads is None:
        st.info("The MLP has no heads, so there is none to see here. Choose a number of heads above.")
    return choice.checkpoint.heads is None


def say_other_seed(choice: Choice) -> None:
    """Say so where the chosen seed is not bundled for the chosen model."""
    if choice.checkpoint.digest:
        explain(
            f"{choice.checkpoint.title} is your own, from seed {choice.checkpoint.seed}; the control changes nothing."
        )
    elif choice.checkpoint.seed != choice.seed:
        st.caption(
            f"{choice.checkpoint.title} is bundled with seed {choice.checkpoint.seed} only, "
            f"so that one is shown instead of {choice.seed}."
        )


def choose_part() -> str:
    """Let the visitor choose what of the Learn page to see."""
    return st.segmented_control("Part", PARTS, default=PARTS[0], required=True, key="part", bind="query-params")


def choose_chapter(count: int) -> int:
    """Let the visitor choose a chapter of the course; return its number, from 1."""
    options = [str(number) for number in range(1, count + 1)]
    _check_link("chapter", options)
    return int(st.segmented_control("Chapter", options, default="1", required=True, key="chapter", bind="query-params"))


def turn_to_chapter(number: int) -> None:
    """Choose a chapter, as its own control does. Call it from a callback."""
    st.session_state["chapter"] = str(number)


def choose_query(prompt: EncodedPrompt) -> int:
    """Let the visitor choose the word that looks; return its index among the kept positions.

    The choice is kept as a position in the text, or as "the last word", which follows the typing.
    """
    return _choose_position("Query: the word that looks", QUERY, prompt, LAST, len(prompt.ids) - 1)


def choose_key(reading: EncodedPrompt, row: np.ndarray) -> int:
    """Let the visitor choose the word looked at, the one with the largest weight in `row` unless chosen."""
    return _choose_position("Key: the word looked at", KEY, reading, LARGEST, int(row.argmax()))


def _choose_position(label: str, name: str, prompt: EncodedPrompt, moving: str, place: int) -> int:
    """Let the visitor choose a fixed position, or the `moving` one, which stands at index `place` now.

    The browser shows a choice as it was worded when it was made, and again only when the choice itself changes. So
    the choice is the label, and where the word at a chosen position changed, its label is chosen anew.
    """
    options = [moving, *prompt.labels]
    _check_link(name, options)
    chosen, position = st.session_state.get(name), st.session_state.get(f"{name}_position")
    if chosen not in options:
        if position in prompt.positions:
            st.session_state[name] = prompt.labels[prompt.positions.index(position)]
        else:
            st.session_state.pop(name, None)
    chosen = st.selectbox(label, options, key=name, bind="query-params")
    place = place if chosen == moving else prompt.labels.index(chosen)
    st.session_state[f"{name}_position"] = None if chosen == moving else prompt.positions[place]
    return place


def choose_head(heads: int) -> int:
    """Let the visitor choose one head; return it counted from 0."""
    options = [str(head + 1) for head in range(heads)]
    _check_link(HEAD, options)
    _forget_unless_offered(HEAD, options)
    chosen = st.segmented_control("Head", options, default="1", required=True, key=HEAD, bind="query-params")
    return int(chosen) - 1


def choose_picture(heads: int, head: int) -> list[int]:
    """Let the visitor see all heads or the chosen one large; return the heads to draw. A phone starts with one."""
    on_phone = "Mobi" in st.context.headers.get("User-Agent", "")
    chosen = st.segmented_control(
        "Picture",
        get_args(Picture),
        default="one head" if on_phone else "all heads",
        required=True,
        key=PICTURE,
        bind="query-params",
    )
    return list(range(heads)) if chosen == "all heads" else [head]


def choose_rows() -> RowsShown:
    """Let the visitor see each word read as the last one, or one reading of the whole prompt."""
    return st.segmented_control(
        "Rows",
        get_args(RowsShown),
        default="each word as the last",
        required=True,
        key=ROWS,
        bind="query-params",
        help="Each word as the last: a row is what the model does when that word is the last one read. One reading: "
        "the matrices of a single reading of the whole prompt, as the course prints them.",
    )


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


def choose_first_token() -> FirstToken:
    """Let the visitor leave the first token out of the picture; it often draws some of the weight."""
    return st.selectbox(
        "First token",
        get_args(FirstToken),
        key=FIRST,
        bind="query-params",
        help="The start mark stands before every text. Left out, the others keep their weights; "
        "scaled up, what remains of each row is divided by its sum.",
    )


def choose_shading() -> Shading:
    """Let the visitor choose what the shaded text shows for the chosen head."""
    return st.segmented_control(
        "Shade the text by the chosen head",
        get_args(Shading),
        default="keys of the query",
        required=True,
        key=SHADING,
        bind="query-params",
        help="Keys: how much the chosen word looks at each. Queries: how much each later word looks at it, read last.",
    )


def choose_other_model(beside: Checkpoint) -> Checkpoint:
    """Let the visitor choose model B beside the shared one, A: any that reads the same ids."""
    offered = models_beside(beside)
    default = "1" if "1" in offered else offered[0]
    _forget_unless_offered(OTHER_MODEL, offered)
    with st.container(key="other_model", horizontal=True, vertical_alignment="bottom"):
        model = st.segmented_control(
            "B: MLP, or attention with this many heads",
            offered,
            default=default,
            required=True,
            key=OTHER_MODEL,
            bind="query-params",
        )
        seed = st.segmented_control(
            "Seed of B", SEEDS, default=SEEDS[0], required=True, key=OTHER_SEED, bind="query-params"
        )
    chosen = checkpoint(model, seed)
    if not set(offered) & set(MODELS):
        explain(f"{beside.title} reads words by a vocabulary of its own, so only models with that one stand beside it.")
    elif chosen.seed != seed and not chosen.digest:
        st.caption(f"{chosen.title} is bundled with seed {chosen.seed} only.")
    return chosen


def choose_heads_off(heads: int) -> tuple[int, ...]:
    """Let the visitor switch heads off; return them from 0."""
    options = [str(head + 1) for head in range(heads)]
    _check_link(OFF, options)
    if not set(st.session_state.get(OFF) or []) <= set(options):
        st.session_state.pop(OFF, None)
    chosen = st.pills("Switch off", options, selection_mode="multi", default=["1"], key=OFF, bind="query-params")
    return tuple(sorted(int(head) - 1 for head in chosen))


def choose_fill(fills: Sequence[Fill]) -> Fill:
    """Let the visitor choose what a switched-off head gives."""
    _forget_unless_offered(FILL, fills)
    chosen = st.segmented_control(
        "What it gives instead",
        fills,
        default="zero",
        required=True,
        key=FILL,
        bind="query-params",
        help="Zero: nothing at all. Mean: the head's average message over all validation targets, "
        "which takes away what it says about this text and disturbs the rest less.",
    )
    return chosen or fills[0]


def choose_word(vocab: Vocab, likeliest: int) -> int:
    """Let the visitor name a vocabulary word; return its id, the likeliest next word unless named.

    An unknown word is said to be one, and the likeliest stays.
    """
    typed = st.text_input(
        "Why not this word?",
        placeholder=vocab.itos[likeliest],
        key=WORD,
        bind="query-params",
        live=True,
        help="Any of the 4,000 words of the vocabulary; empty means the likeliest next word.",
    )
    tokens = tokenize(typed or "")
    if not tokens:
        return likeliest
    (id_,) = vocab.encode(tokens[:1])
    if len(tokens) > 1:
        st.warning(f"One word is looked up, the first: {for_markdown(tokens[0])}.")
    if id_ == UNK:
        st.warning(f"{for_markdown(tokens[0])} is not among the 4,000 words, so the model can never say it.")
        return likeliest
    return id_


def pick_query(prompt: EncodedPrompt, place: int) -> None:
    """Choose the query at index `place`, as a press on a token does. Call it from a callback."""
    last = place == len(prompt.ids) - 1
    st.session_state[QUERY] = LAST if last else prompt.labels[place]


def pick_cell(prompt: EncodedPrompt, head: int, query: int, key: int) -> None:
    """Choose a head, a query and a key at once, as a click on a cell does. Call it from a callback."""
    pick_query(prompt, query)
    st.session_state[HEAD] = str(head + 1)
    st.session_state[KEY] = prompt.labels[key]


def _forget_unless_offered(key: str, options: Sequence[str]) -> None:
    """Drop a choice that another prompt or model no longer offers, before its widget is drawn."""
    if st.session_state.get(key) not in options:
        st.session_state.pop(key, None)
