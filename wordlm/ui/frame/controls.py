"""The controls that several pages share, and what they are set to. `parameters` declares what each may be set to."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from wordlm.models import parameter_count
from wordlm.numbers import count
from wordlm.text import UNK, EncodedPrompt, Vocab, encode_prompt, tokenize, typed_words
from wordlm.ui.browser.carrying.messages import Chosen, Place
from wordlm.ui.browser.pictures.heads import Look
from wordlm.ui.drawing.escape import for_markdown
from wordlm.ui.frame import address, widgets
from wordlm.ui.frame.glossary import explain, open_glossary
from wordlm.ui.frame.parameters import LARGEST, LAST, SETS
from wordlm.ui.frame.tour import tour_button
from wordlm.ui.state.resources import (
    MODELS,
    Checkpoint,
    as_many_heads,
    checkpoint,
    encode,
    models_beside,
    offered_models,
    one_for_each_heads,
    vocabulary,
    vocabulary_of,
)
from wordlm.variants import Variant


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
            *([] if self.checkpoint.heads is None else [self.checkpoint.choice]),
        ]
        return [checkpoint(model, self.seed) for model in dict.fromkeys(models)]


def draw_shared_controls(uses: Collection[str]) -> DeltaGenerator:
    """Draw the row above every page, with those of prompt, model and seed that it `uses`; return the link's place.

    On a phone all but the prompt is folded into one sheet, by `style.css`.
    """
    with st.container(key="shared", horizontal=True, vertical_alignment="bottom", gap="small"):
        draw_prompt(uses)
        folded = "Heads, seed and more" if "model" in uses else "Glossary, tour, link"
        with st.container(key="fold"):
            st.html(f'<details class="fold"><summary>{folded}</summary></details>')
        draw_model(uses)
        if st.button("Glossary", key="glossary", type="tertiary", icon=":material/menu_book:"):
            open_glossary()
        tour_button()
        return st.container(width="content")


def draw_prompt(uses: Collection[str]) -> None:
    """Draw the prompt where it is used."""
    if "prompt" in uses:
        widgets.field(
            "prompt",
            "Prompt",
            live="60ms",
            help="The model reads the last 64 positions: the start mark and your words. It knows 4,000 words.",
        )


def draw_model(uses: Collection[str]) -> None:
    """Draw those of model and seed that are used."""
    if "model" in uses:
        choose_model(
            "model",
            "Heads",
            offered_models(),
            help=f"How many attention heads share the model's width. With keys and values for each head all have "
            f"the same {count(parameter_count('attention'))} parameters. The MLP has no attention. What you train "
            "on the Train page joins them here.",
        )
    if "seed" in uses:
        widgets.segments(
            "seed", "Seed", help="The random start of the training. Seeds 29 and 47 are bundled for 1 and 4 heads."
        )


def choose_model(name: str, label: str, offered: Sequence[str], **more: Any) -> str:
    """Let the visitor choose a model by its heads and, where these may share keys and values, by how many sets of them.

    Both are one parameter. In one row there would be a dozen buttons.
    """
    kept, sets = address.chosen(name), f"{name}{SETS}"
    now = st.session_state.get(name, kept)
    if now != kept and now in as_many_heads(kept):  # the sets came with a browser that was there before the session
        st.session_state[name] = now = kept
    shown = one_for_each_heads(offered, now)
    model = widgets.segments(name, label, shown, format_func=lambda one: as_many_heads(one)[0], **more)
    if len(alike := as_many_heads(model)) > 1:
        fewest = Variant.parse(alike[-1])
        parameters = parameter_count(fewest.kind, heads=fewest.heads or 1, kv_heads=fewest.kv_heads)
        if not address.is_beginning():
            st.session_state[sets] = model
        of_alike = st.segmented_control(
            "Keys, values",
            alike,
            default=model if address.is_beginning() else None,
            key=sets,
            required=True,
            format_func=lambda one: str(Variant.parse(one).kv_heads),
            on_change=lambda: address.choose(name, st.session_state[sets]),
            help="How many sets of keys and values the heads share. One for each head is multi-head attention, one for "
            "all is multi-query attention, and what lies between is grouped-query attention. Fewer sets are fewer "
            f"parameters: {count(parameters)} with {fewest.kv_heads}.",
        )
        model = address.keep(name, of_alike)
    return model


def shared_choice() -> Choice:
    """Return what the shared controls say, also where a page draws only some of them."""
    text, seed = address.read_text("prompt"), address.chosen("seed")
    chosen = checkpoint(address.settle("model", offered_models()), seed)
    if chosen.is_own:
        address.not_carried(f"the model {chosen.title}, which is your own")
    return Choice(text, encode(text, chosen), chosen, seed)


def nothing_to_see_without_heads(choice: Choice) -> bool:
    """Say so, and return True, where a view needs heads and the MLP is chosen."""
    if choice.checkpoint.heads is None:
        st.info("The MLP has no heads, so there is none to see here. Choose a number of heads above.")
    return choice.checkpoint.heads is None


def say_other_seed(choice: Choice) -> None:
    """Say so where the chosen seed is not bundled for the chosen model."""
    if choice.checkpoint.is_own:
        explain(
            f"{choice.checkpoint.title} is your own, from seed {choice.checkpoint.seed}; the control changes nothing."
        )
    elif choice.checkpoint.seed != choice.seed:
        st.caption(
            f"{choice.checkpoint.title} is bundled with seed {choice.checkpoint.seed} only, "
            f"so that one is shown instead of {choice.seed}."
        )


def turn_to_chapter(number: int) -> None:
    """Choose a chapter, as its own control does. Call it from a callback."""
    address.choose("chapter", str(number))


def held_query(prompt: EncodedPrompt) -> int:
    """Return the index of the word that looks among the kept positions: the chosen one, or the last."""
    return _held_position("query", prompt, LAST, len(prompt.ids) - 1)


def held_key(reading: EncodedPrompt, row: np.ndarray) -> int:
    """Return the index of the word looked at: the chosen one, or that with the largest weight in `row`."""
    return _held_position("key", reading, LARGEST, int(row.argmax()))


def _held_position(name: str, prompt: EncodedPrompt, moving: str, place: int) -> int:
    """Return the index of a chosen position; `place` is that of the `moving` one, which no text loses.

    A position is kept while the text is too short for it, and its label follows the word that stands there.
    """
    memory = f"{name}_position"
    chosen, position = address.chosen(name), st.session_state.get(memory)
    if chosen in prompt.labels:
        position = st.session_state[memory] = prompt.positions[prompt.labels.index(chosen)]
    if position in prompt.positions:
        place = prompt.positions.index(position)
        address.choose(name, prompt.labels[place])
    elif position is not None:
        address.choose(name, moving)
    address.held(name, [moving, *prompt.labels])
    return place


def held_head(heads: int) -> int:
    """Return the chosen head, counted from 0."""
    return int(address.held("head", numbered(heads))) - 1


def held_off(heads: int) -> tuple[int, ...]:
    """Return the heads that are switched off in the picture, from 0."""
    return tuple(sorted(int(head) - 1 for head in address.held("without", numbered(heads))))


def held_beside(choice: Choice) -> tuple[list[Checkpoint], list[Checkpoint]]:
    """Return the model beside the chosen one in the picture of the whole model, and all that may stand there."""
    others = {name: checkpoint(name, choice.seed) for name in models_beside(choice.checkpoint)}
    others.pop(choice.checkpoint.choice)
    name = address.held("beside", ["", *others])
    return [others[name]] if name else [], list(others.values())


def held_look(prompt: EncodedPrompt, query: int, row: np.ndarray) -> Look:
    """Return how two models' picture is looked at; `row` (n,) is that of the query in the first of them."""
    reading = prompt.up_to(query)
    key = held_key(reading, np.concatenate([np.zeros(len(reading.ids) - query - 1), row[: query + 1]]))
    return look_at(reading, query, key)


def look_at(reading: EncodedPrompt, query: int, key: int, head: int = 0, *, large: bool = False) -> Look:
    """Return how a picture is looked at; `key` counts among the positions of the query's own `reading`."""
    first = len(reading.ids) - query - 1  # those that the picture no longer shows
    form, scale, column = (address.held(name) for name in ("form", "scale", "first"))
    return Look(query, head, max(0, key - first), form, scale, column, large)


def choose_two_heads(a: Checkpoint, b: Checkpoint) -> tuple[int, int]:
    """Let the visitor choose the head of A and the head of B that are set beside each other, from 0."""
    with st.container(key="two_heads", horizontal=True, vertical_alignment="bottom", width="content"):
        chosen = [
            int(widgets.segments(name, label, numbered(one.heads or 1))) - 1 if (one.heads or 1) > 1 else 0
            for name, label, one in (("head", "A: head", a), ("b_head", "B: head", b))
        ]
    return chosen[0], chosen[1]


def choose_in_picture(said: Chosen, *, but: Collection[str] = ()) -> None:
    """Choose what a picture says is chosen in it, `but` for what is no choice of its page. Call it from a callback."""
    came: dict[str, Any] = {name: value for name, value in said.items() if name not in but}
    for name, moving in (("query", LAST), ("key", LARGEST)):
        if name in came:
            place: Place | None = came[name]
            st.session_state[f"{name}_position"] = None if place is None else place["position"]
            address.choose(name, moving if place is None else place["label"])
    if "head" in came:
        address.choose("head", str(came["head"] + 1))
    if "off" in came:
        address.choose("without", [str(head + 1) for head in sorted(came["off"])])
    if (text := came.get("prompt")) is not None:
        # The picture goes on from what is read of a prompt, maybe the end of a longer one; nothing typed is lost.
        whole, read = address.chosen("prompt"), address.read_text("prompt").rstrip()
        address.choose("prompt", whole.rstrip() + text.removeprefix(read) if text.startswith(read) else text)
    for name in ("form", "scale", "first", "beside", "word"):
        if came.get(name) is not None:
            address.choose(name, came[name])
    if came.get("word") is not None:
        address.choose("tab", "Next words")
    if came.get("made"):
        address.choose("tab", "One weight")


def numbered(count: int) -> list[str]:
    """Return the choices "1" to `count`."""
    return [str(number) for number in range(1, count + 1)]


def choose_one_reading() -> bool:
    """Let the visitor see the matrices of one reading of the whole prompt instead of each word read as the last."""
    return widgets.toggle("one_reading", "One reading of the whole prompt", help="As the course prints its matrices.")


def choose_other_model(beside: Checkpoint) -> Checkpoint:
    """Let the visitor choose model B beside the shared one, A: any that reads the same ids."""
    offered = models_beside(beside)
    with st.container(key="other_model", horizontal=True, vertical_alignment="bottom", width="content"):
        model = choose_model("b", "B: heads", offered, default=_unlike(beside, offered))
        seed = widgets.segments("b_seed", "B: seed")
    chosen = checkpoint(model, seed)
    if chosen.is_own:
        address.not_carried(f"the model {chosen.title}, which is your own")
    if not set(offered) & set(MODELS):
        explain(
            f"{beside.title} reads words by a vocabulary of its own, so only models with that one stand beside it."
            + (" It is the only one, so it stands beside itself." if len(offered) == 1 else "")
        )
    elif chosen.seed != seed and not chosen.is_own:
        st.caption(f"{chosen.title} is bundled with seed {chosen.seed} only.")
    return chosen


def _unlike(beside: Checkpoint, offered: Sequence[str]) -> str:
    """Return the first model to set beside another: one head, else any other one, else itself."""
    others = [model for model in ("1", "4", *offered) if model in offered and model != beside.choice]
    return others[0] if others else offered[0]


def choose_word(vocab: Vocab, likeliest: int) -> int:
    """Let the visitor name a vocabulary word; return its id, the likeliest next word unless named.

    An unknown word is said to be one, and the likeliest stays.
    """
    typed = widgets.field(
        "word",
        "Why not this word?",
        placeholder=vocab.itos[likeliest],
        live=True,
        help="Any of the 4,000 words of the vocabulary; empty means the likeliest next word.",
    )
    tokens = tokenize(typed)
    if not tokens:
        return likeliest
    (id_,) = vocab.encode(tokens[:1])
    if len(tokens) > 1:
        st.warning(f"One word is looked up, the first: {for_markdown(tokens[0])}.")
    if id_ == UNK:
        st.warning(f"{for_markdown(tokens[0])} is not among the 4,000 words, so the model can never say it.")
        return likeliest
    return id_
