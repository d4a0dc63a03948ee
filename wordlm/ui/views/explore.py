"""What the Explore page draws around the heads' picture: its sentence, and what each tab answers."""

import html
from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from wordlm.ablation import next_word_effect
from wordlm.arithmetic import WeightSteps
from wordlm.inspection import Inspection, Rows, next_words, shape_table, token_table, weight_table
from wordlm.numbers import count, counted, written
from wordlm.row_measures import head_measures
from wordlm.starts import Example
from wordlm.text import EncodedPrompt, Vocab
from wordlm.ui.browser.carrying.messages import Chosen
from wordlm.ui.browser.pictures.block import block_picture, material_of
from wordlm.ui.browser.pictures.heads import Look, heads_picture, panes_of, without_heads
from wordlm.ui.browser.pictures.squares import squares_svg
from wordlm.ui.drawing import charts, sentences, tables
from wordlm.ui.drawing.charts import head_hue
from wordlm.ui.drawing.escape import for_html, for_markdown, label_html, word_html
from wordlm.ui.frame import address, controls, export, widgets
from wordlm.ui.frame.glossary import explain
from wordlm.ui.state.resources import Checkpoint, attention_of, inspection_of, rows_drawn_of

ONE_READING = (
    "The picture now shows the matrices that one reading of the whole prompt makes, as the course prints them. "
    "Training supervised the last word alone. So an earlier word's row is not what the model does: its query was never "
    "trained. Only the last row is the same in both views. All else on this page is of the chosen word's own reading."
)
NAMED = 8
"""Next words beside the picture."""
_INVITED = "invited"
MOST_NAMED = 16
"""Up to so many bars have room for their words below them."""


def invite(examples: tuple[Example, ...]) -> None:
    """Say to a new visitor what this is, and offer prompts worth pressing, until one was used.

    Its place stays free until the page is left, so that nothing below it moves.
    """
    if address.arrived():
        st.session_state[_INVITED] = address.is_default("prompt")
    if not st.session_state[_INVITED]:
        return
    if not address.is_default("prompt"):
        st.html('<div class="invited"></div>')
        return
    with st.container(key="invitation", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("See what each attention head of a small language model looks at. Type, or try:", width="content")
        for example in examples:
            st.button(
                example.title,
                on_click=address.choose,
                args=["prompt", example.text],
                type="tertiary",
                help=example.text,
            )


def likeliest(probabilities: np.ndarray, expected: np.ndarray, vocab: Vocab) -> pd.DataFrame:
    """Return the likeliest next words; where heads are off, and so something else is `expected`, with both."""
    if expected is probabilities:
        return next_words(probabilities, vocab)
    return next_word_effect(probabilities, expected, vocab, NAMED)


def draw_squares(
    prompt: EncodedPrompt,
    rows: Rows,
    seen: Inspection,
    whole: Inspection | None,
    off: tuple[int, ...],
    look: Look,
    words: pd.DataFrame,
    on_said: Callable[[Chosen], None],
) -> None:
    """Draw where each head looks as cells or lines: the `rows`, or of one reading of the prompt, `whole`.

    `seen` is the reading of the word that looks, `words` are the next ones.
    """
    first = seen.weights.shape[-1] - look.query - 1  # of the reading's words, those that the picture no longer shows
    heads_picture(
        prompt,
        rows.weights if whole is None else whole.weights,
        panes_of(len(seen.weights), off),
        look,
        on_said,
        words=words.head(NAMED),
        scores=seen.scores[:, -1, first:] if whole is None else whole.scores[:, look.query, : look.query + 1],
        beyond=rows.beyond[:, look.query],
        switches=True,
    )


def squares_alone(
    chosen: Checkpoint, prompt: EncodedPrompt, look: Look, off: tuple[int, ...], one_reading: bool
) -> str:
    """Return the squares as an SVG file."""
    rows = inspection_of(chosen, prompt.ids).weights if one_reading else rows_drawn_of(chosen, prompt).weights
    way = "one reading of the whole prompt" if one_reading else "each word read as the last"
    title = f"Where each head of {chosen.name} looks, {way}"
    return squares_svg(title, prompt, rows, panes_of(len(rows), off), look)


def draw_whole_model(
    choice: controls.Choice,
    look: Look,
    on_said: Callable[[Chosen], None],
    off: tuple[int, ...],
    probabilities: np.ndarray,
    weights: np.ndarray | None,
) -> None:
    """Draw the chosen model, and the one beside it, if any; `probabilities` and `weights` as in `block_picture`."""
    beside, others = controls.held_beside(choice)
    block_picture(
        [material_of(one) for one in (choice.checkpoint, *beside)],
        choice.text,
        choice.prompt,
        look,
        on_said,
        off=off,
        weights=weights,
        probabilities=probabilities,
        others=others,
        beside=beside[0].choice if beside else "",
        forms=weights is not None,
        welcome=address.is_default("prompt") and not look.large,
    )


def say_odd_words(prompt: EncodedPrompt) -> None:
    """Say what of a prompt was not read as typed; nothing where there is nothing to say."""
    if prompt.unknown or prompt.dropped or len(prompt.ids) == 1:
        sentences.say_what_was_read(prompt)


def say_what_is_seen(seen: Inspection, reading: EncodedPrompt, words: pd.DataFrame, off: tuple[int, ...]) -> None:
    """Say in one sentence what the picture shows: the likeliest word, and the largest weight of heads that are on."""
    likeliest = "after" if "after" in words else "before" if "before" in words else "probability"
    best = int(words[likeliest].idxmax())
    said = (
        f"After <b>{label_html(reading.typed[-1])}</b> the likeliest word {without_heads(off) + ' ' if off else ''}is "
        f"{word_html(words['word'][best])}, {written(words[likeliest][best], 3, limit=True)}."
    )
    rows = seen.weights[:, -1]
    if on := [head for head in range(len(rows)) if head not in off]:
        head = max(on, key=lambda head: rows[head].max())
        key = int(rows[head].argmax())
        said += (
            f' <i style="background:{head_hue(head)}"></i>Head {head + 1} has the largest weight, on '
            f"<b>{label_html(reading.labels[key])}</b>, {written(rows[head, key], 3, limit=True)}."
        )
    st.html(f'<p class="seen">{said}</p>')


def say_without_heads(reading: EncodedPrompt, words: pd.DataFrame) -> None:
    """Say in one sentence what a model without heads expects, and how it reads."""
    word, probability = words["word"][0], words["probability"][0]
    st.html(
        f'<p class="seen">After <b>{label_html(reading.typed[-1])}</b> the likeliest word is {word_html(word)}, '
        f"{written(probability, 3, limit=True)}. The MLP has no attention: it reads all 64 slots at once. Choose "
        "a number of heads to see where they look.</p>"
    )


def difference_drawn(rows: Rows, reading: Inspection, whole: Inspection | None, query: int) -> float:
    """Return how far the picture is from the words' own readings, where they must agree.

    In the row of the query; where `whole`, one reading of the prompt, is drawn instead, in the last row alone.
    """
    if whole is None:
        return rows.difference(query, reading)
    return rows.difference(len(whole.E) - 1, whole)


# One weight as a chain of pictures


def _all_scores(scores: int) -> str:
    return "the one score" if scores == 1 else f"all {count(scores)} scores"


def weight_chain(e: WeightSteps, seen: Inspection, reading: EncodedPrompt) -> str:
    """Return the calculation of one weight as HTML: each vector cell by cell, each step with its number."""
    hue, width = head_hue(e.head), len(e.q)
    score, product = float(e.q @ e.k) / width**0.5, float(e.q @ e.k)
    most = int(np.abs(e.q * e.k).argmax())
    under = ", which stand below the words" if len(reading.ids) <= MOST_NAMED else ""
    query, key = label_html(reading.labels[-1]), label_html(reading.labels[e.key])
    steps = [
        (f"The query of {query}: what it looks for", _cells(e.q, "q", hue)),
        (f"The key of {key}: what it offers to be found by", _cells(e.k, "k", hue)),
        (
            f"Multiplied, number by number; the furthest from 0 is number {most + 1}: "
            f"{written(e.q[most], 2)} × {written(e.k[most], 2)} = {written(e.q[most] * e.k[most], 2)}",
            _cells(e.q * e.k, "q × k", hue),
        ),
        (
            f"Added up: {written(product, 2)}; divided by √{width}: <b>{written(score, 2)}</b>, the score",
            "",
        ),
        (
            f"The softmax of {_all_scores(len(reading.ids))}{under}: <b>{written(e.weight, 3, limit=True)}</b> falls "
            f"on {key}",
            _bars(seen.weights[e.head, -1], seen.scores[e.head, -1], e.key, hue, reading),
        ),
        ("The values, weighted and added up: what this head hands on", _cells(e.message, "message", hue)),
    ]
    right = "✓ Made by hand, each step agrees with the model." if e.largest_difference < 1e-4 else "✗ A step differs."
    parts = "".join(f"<li><p>{said}</p>{picture}</li>" for said, picture in steps)
    signs = f'<i style="background:{hue}"></i>above 0 <i style="background:#808080"></i>below 0'
    signs = f'<p class="signs">{signs}; the deeper, the further</p>'
    return f'{signs}<ol class="chain">{parts}</ol><p class="checks">{right}</p>'


def _cells(values: np.ndarray, name: str, hue: str) -> str:
    reach = float(np.abs(values).max()) or 1.0
    cells = []
    for place, value in enumerate(values, 1):
        share = round(100 * abs(float(value)) / reach)
        tint = hue if value > 0 else "#808080"
        cells.append(
            f'<i title="{name} {place}: {written(value)}" style="background:color-mix(in srgb, {tint} {share}%, '
            f'transparent)"></i>'
        )
    return (
        f'<div class="vector" role="img" aria-label="{name}: {counted(len(values), "number")}">{"".join(cells)}</div>'
    )


def _bars(row: np.ndarray, scores: np.ndarray, key: int, hue: str, reading: EncodedPrompt) -> str:
    bars = []
    for place, weight in enumerate(row):
        chosen = ' class="chosen"' if place == key else ""
        said = html.escape(f"{reading.labels[place]}: {written(weight, 3)}")
        bars.append(
            f'<i{chosen} title="{said}" style="background:{hue}; height:{100 * float(weight) / row.max():.1f}%"></i>'
        )
    width = f"max-width:{2.3 * len(row):.1f}rem"
    named = zip(reading.typed, scores, strict=True) if len(row) <= MOST_NAMED else ()
    words = "".join(f"<span>{for_html(word)}<br>{written(score, 2)}</span>" for word, score in named)
    return (
        f'<div class="row" style="{width}" role="img" aria-label="The weights of the row">{"".join(bars)}</div>'
        f'<div class="row names" style="{width}" aria-hidden="true">{words}</div>'
    )


# What the tabs answer


def numbers(weights: pd.DataFrame, measures: pd.DataFrame | None, help: dict[str, str], name: str) -> None:
    """Draw the weights of the query, and how each head spreads them."""
    explain("The weights of the chosen word, model under model. Each row sums to 1.")
    tables.number_table(weights, index=True, alt="Weights of the chosen query, one row a head")
    if measures is not None:
        explain(f"How each head of {name} spreads them.")
        tables.number_table(measures, alt="How each head spreads its weights", help=help)
        sentences.see_for_yourself()


def weight_in_numbers(steps: pd.DataFrame, terms: pd.DataFrame, softmax: pd.DataFrame) -> None:
    """Draw the tables of one weight."""
    tables.text_table(steps, alt="The calculation of the weight, step by step")
    left, right = st.columns(2)
    with left:
        tables.number_table(terms, alt="The dot product term by term")
    with right:
        tables.number_table(softmax, alt="The softmax over the row")


def word_in_words(word: str, effect: pd.DataFrame) -> None:
    """Say how likely one word is, and which head matters most for it."""
    factors = effect["times as likely"][1:]
    most = int(np.log(factors).abs().idxmax())  # half as likely is as large an effect as twice as likely
    st.html(
        f"<p><b>{for_html(word)}</b> has probability {written(effect['probability'][0])}, rank {effect['rank'][0]:,} "
        f"of the vocabulary. Head {most} matters most for it: without that head its probability is "
        f"{written(factors[most], 2)} times as large.</p>"
    )


def word_alone(word: str, probability: float, rank: int) -> None:
    """Say how likely one word is to a model without heads."""
    st.write(f"**{for_markdown(word)}**: probability {written(probability)}, rank {count(rank)}.")


# To take away


def collected(
    chosen: Checkpoint,
    compared: list[Checkpoint],
    prompt: EncodedPrompt,
    reading: EncodedPrompt,
    words: pd.DataFrame,
) -> export.Collected:
    """Return the tables and figures of the view; those of the weights are of the models `compared`."""
    tables, figures = {"Tokens": token_table(prompt), "Next words": words}, {}
    seen = {one: inspection_of(one, reading.ids) for one in compared}
    if seen:
        tables["Weights of the chosen query"] = weight_table({one.name: s for one, s in seen.items()}, reading)
    if chosen in seen:
        tables["How each head spreads its weights"] = head_measures(attention_of(chosen), seen[chosen])
        tables["Shapes"] = shape_table(seen[chosen])
    likeliest = words.rename(columns={"after": "probability"}) if "after" in words else words
    labels = [f"{rank} · {word}" for rank, word in enumerate(likeliest["word"], 1)]
    figures["The likeliest next words"] = charts.horizontal_bars(
        labels, likeliest["probability"].to_numpy(), "probability", decimals=3
    )
    return tables, figures


# On a projector


def note_of_the_teacher() -> None:
    """Draw the teacher's own line above the picture, and the way back; the frame and the controls are put away."""
    with st.container(key="projection", horizontal=True, vertical_alignment="center"):
        st.html(f'<style>{_PROJECTED}</style><p class="note"><bdi>{html.escape(address.held("note"))}</bdi></p>')
        st.button(
            "Leave the projection",
            on_click=address.choose,
            args=["present", False],
            type="tertiary",
            icon=":material/close:",
        )


def present_button() -> None:
    """Draw the button that shows the picture alone and large, and what a teacher may write above it."""
    with st.popover("Project it", type="tertiary", icon=":material/present_to_all:"):
        widgets.field("note", "A line of yours above the picture")
        st.button("Show it large, alone", on_click=address.choose, args=["present", True], type="primary")


_PROJECTED = """
[data-testid="stHeader"], .st-key-shared, .checks { display: none !important; }
.block-container { padding: 1rem 1.5rem !important; }
.note { font-size: 2rem; font-weight: 600; margin: 0; }
.seen { font-size: 1.4rem; }
.st-key-projection button p { font-size: 1.25rem; }
"""
