"""What the Generate page draws: settings, stories in the making, their reports, the engine in the browser."""

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from wordlm.bundled import SEEDS, Bundled
from wordlm.course import cache_bytes_of
from wordlm.data import DataError, StoryStream
from wordlm.engines import CachedTorchEngine, OnnxEngine, TorchEngine
from wordlm.generation import (
    Decision,
    Decoding,
    Engine,
    Generation,
    decision_table,
    generate,
    join_words,
    report_table,
    story_text,
)
from wordlm.numbers import counted, percent, written
from wordlm.starts import opening_of
from wordlm.text import BOS, CONTEXT_LEN, EOS, SPECIALS, UNK, Vocab, typed_words
from wordlm.ui import limits
from wordlm.ui.drawing.charts import ACCENT
from wordlm.ui.drawing.escape import as_sentence, for_html, for_markdown
from wordlm.ui.drawing.tables import number_table, text_table
from wordlm.ui.frame import parameters, widgets
from wordlm.ui.frame.export import file_stem, take_away
from wordlm.ui.frame.glossary import explain
from wordlm.ui.frame.shell import PageEnds
from wordlm.ui.state.resources import (
    Checkpoint,
    as_many_heads,
    checkpoint,
    data_is_present,
    load_seconds_of,
    model_of,
    models_beside,
    one_for_each_heads,
    reading,
    story_corpus,
    vocabulary_of,
    weights_digest,
)
from wordlm.variants import Variant

UNKNOWN_MARK = "▢"
"""Stands for an unknown word in a text that goes on to Explore: one token there, and unknown too."""


@dataclass(frozen=True)
class Start:
    """The beginning of a story."""

    text: str
    ids: list[int]
    """What the model reads, the start mark included."""
    vocab: Vocab
    """What the ids mean."""
    continuation: list[str] | None = None
    """For a real story, the words that follow there."""


OF_ANY_MODEL = {engine.name: engine for engine in (TorchEngine, CachedTorchEngine)}
"""The engines that run every model as it is, own ones too, by their names; the others run bundled exports."""


def choose_engine() -> str:
    """Let the visitor choose what runs the model."""
    return widgets.segments(
        "engine",
        "Run with",
        help="ONNX Runtime and PyTorch run on the machine of this app, and differ in speed alone. With a cache the "
        "keys and values of the words so far are kept for the next one; the story is the same. Your browser fetches an "
        "engine and the model, and then needs this app no more.",
    )


def choose_start(prompt: str, vocab: Vocab) -> Start:
    """Let the visitor choose a beginning: the prompt, an authored one, or the opening of a real story."""
    kinds = parameters.options_of("start")
    kind = widgets.dropdown("start", "Start", kinds if data_is_present() else kinds[:-2])
    if kind not in ("a training story", "a held-out story"):
        text = prompt if kind == "the prompt above" else kind
        return Start(text, [BOS, *typed_words(text, vocab)[1]], vocab)
    try:
        corpus = story_corpus()
    except DataError as error:
        st.error(as_sentence(error))
        raise PageEnds from error
    stream: StoryStream = corpus.splits["train" if kind == "a training story" else "test"]
    number, length = st.columns(2)
    story = widgets.number("story", "Story", high=len(stream.starts) - 1, place=number)
    words = int(widgets.slider("opening", "Words of its opening", place=length))
    opening = opening_of(stream, corpus.vocab, int(story) - 1, words)
    text = " ".join(UNKNOWN_MARK if word == SPECIALS[UNK] else word for word in opening.words)
    return Start(text, [BOS, *typed_words(text, vocab)[1]], vocab, opening.continuation)


def choose_decoding() -> Decoding:
    """Let the visitor choose how words are chosen."""
    with st.container(key="decoding", horizontal=True, vertical_alignment="bottom"):
        limit = int(widgets.slider("limit", "New words, at most"))
        temperature = widgets.slider(
            "temperature",
            "Temperature",
            help="0 always takes the likeliest word (greedy). 1 draws from the model's own probabilities.",
        )
        top_k = widgets.number("top_k", "Top k (0: all)")
        top_p = widgets.slider("top_p", "Top p")
        seed = widgets.number("draw_seed", "Seed of the draws")
        unknown = widgets.toggle("unknown", "Allow <UNK\\>")
    explain(
        "The start mark and padding are never chosen, `<UNK>` only if allowed. What top k and top p leave is scaled up "
        "to 1 for the draw; the probabilities shown are the model's own, before all of that."
    )
    return Decoding(limit, temperature, int(top_k), top_p, int(seed), unknown)


def choose_models(default: Checkpoint, engine: str) -> list[str]:
    """Let the visitor choose the models that write side by side; they read the same ids."""
    beside = one_for_each_heads(models_beside(default), default.choice)
    offered = beside if engine in OF_ANY_MODEL else list(parameters.options_of("browser_model"))
    first = default.choice if default.choice in offered else "4"
    chosen = widgets.pills(
        "writers",
        "Models that write, side by side: a number of heads, or the MLP (no attention)",
        offered,
        default=[first],
        format_func=lambda model: model if model == as_many_heads(model)[0] else Variant.parse(model).title,
    )
    if engine not in OF_ANY_MODEL:
        other = (
            ""
            if default.choice in offered
            else f" So {default.title} cannot write with it; 4 heads stand in its place."
        )
        st.caption(
            f"ONNX files are bundled for the MLP, 1 head and 4 heads at seed 11.{other} PyTorch runs every model."
        )
    return chosen


def explain_cache(chosen: Checkpoint) -> None:
    """Say what the engine with a cache keeps, and why the story is the same."""
    if chosen.heads is None:
        explain(f"The {chosen.title} has no keys and values to keep, so it is run as it is.")
        return
    explain(
        "Each new word moves all others one slot. A key is a word's part plus a slot's part, and so is a value. The "
        f"words' parts are kept, {cache_bytes_of(chosen.variant)} bytes of each word for {chosen.title}; the slots' "
        "parts are one table. So the story is the same as without a cache."
    )


@st.cache_resource(show_spinner="Loading the engine …")
def onnx_engine(chosen: Bundled) -> OnnxEngine:
    """Return the ONNX Runtime session of an exported model, shared by all visitors."""
    path = chosen.onnx_path
    with reading(path):
        path.stat()
        engine = OnnxEngine(path, chosen.variant)
        if engine.made_from != weights_digest(chosen):
            raise ValueError(f"it does not belong to the {chosen.file} that is here")
    return engine


def exported(model: str) -> Bundled:
    """Return the bundled model behind an export."""
    return Bundled.nearest(model, SEEDS[0])


def engine_of(model: str, seed: int, engine: str) -> tuple[Engine, Checkpoint, float]:
    """Return the engine that runs a model, the checkpoint behind it, and the seconds that loading it took."""
    if engine in OF_ANY_MODEL:
        chosen = checkpoint(model, seed)
        return OF_ANY_MODEL[engine](model_of(chosen)), chosen, load_seconds_of(chosen)
    assert engine == OnnxEngine.name, engine
    chosen = exported(model)
    session = onnx_engine(chosen)
    return session, chosen, session.load_seconds


def warn_of_unknown_start(start: Start) -> None:
    """Say how many words of the start the vocabulary lacks."""
    words = start.ids[1:]
    unknown = words.count(UNK)
    if unknown:
        share = percent(unknown / len(words), 0)
        st.caption(
            f"{unknown} of {len(words)} words of the start ({share}) are unknown to the vocabulary; the model "
            "reads each as `<UNK>`."
        )


def story_html(start: Start, decisions: Sequence[Decision], chosen: Checkpoint) -> str:
    """Return start and story as HTML; a new word is tinted by its probability and links to Explore at that moment.

    The story runs in the direction of its start, since single words would keep the order of the page.
    An own model's words link to nothing: a new tab is a new session, which does not have it.
    """
    words, read, vocab = [], [start.text], start.vocab
    for choice in decisions:
        if choice.id == EOS:
            break
        read.append(UNKNOWN_MARK if choice.id == UNK else vocab.itos[choice.id])
        view = urlencode({"prompt": as_linked(" ".join(read)), "model": chosen.choice, "seed": chosen.seed})
        tint = f"background: color-mix(in srgb, {ACCENT} {round(45 * choice.probability)}%, transparent)"
        link = "" if chosen.is_own else f' href="./?{html.escape(view)}" target="_blank"'
        chance = html.escape(written(choice.probability, 3, limit=True))
        words.append(f'<a{link} style="{tint}" title="{chance}">{html.escape(vocab.itos[choice.id])}</a>')
    return f'<div class="story" dir="auto"><em>{html.escape(start.text)}</em> {" ".join(words)}</div>'


def as_linked(text: str) -> str:
    """Return what a link says of a text: its last 64 words where all of it is too long; the model reads no more."""
    if len(text) <= limits.ADDRESS_TEXT.most:
        return text
    return " ".join(text[-limits.ADDRESS_TEXT.most :].split()[-CONTEXT_LEN:])


Stories = dict[str, tuple[Checkpoint, Generation]]
"""What was written side by side, by heading."""


def write_together(stories: Stories, start: Start) -> None:
    """Let all stories take turns, one call each, and show every word as it comes.

    A press on Stop, or on anything else, ends this run of the page at the next drawing, within one call a story.
    """
    places = {}
    for name, column in zip(stories, st.columns(len(stories)), strict=True):
        column.markdown(f"**{name}**")
        places[name] = column.empty()
    while any(story.stop is None for _, story in stories.values()):
        for name, (chosen, story) in stories.items():
            if story.advance() is not None:
                places[name].html(story_html(start, story.decisions, chosen))


def show_stories(stories: Stories, start: Start) -> None:
    """Draw finished stories side by side, with why each stopped."""
    for (name, (chosen, story)), column in zip(stories.items(), st.columns(len(stories)), strict=True):
        with column:
            st.markdown(f"**{name}**")
            st.html(story_html(start, story.decisions, chosen))
            opens = "" if chosen.is_own else " A click on a word opens Explore at that moment, in a new tab."
            st.caption(f"Stopped because {story.stop}.{opens}")


def tables_of(stories: Stories, vocab: Vocab) -> dict[str, pd.DataFrame]:
    """Return the report of all stories and every decision of each, by title."""
    written_down = {name: story for name, (_, story) in stories.items()}
    decisions = {f"Every decision of {name}": decision_table(story, vocab) for name, story in written_down.items()}
    return {"What it took": report_table(written_down)} | decisions


def say_what_it_took(stories: Stories) -> None:
    """Say how many words and calls each story has, and how fast they came."""
    for name, (_, story) in stories.items():
        report = story.report()
        pace = report["ms per call, median"]
        said = f", {written(pace, 1)} ms a call" if pace is not None else ""
        calls = f"{counted(report['model calls'], 'model call')}{said}"
        st.html(f"<p>{for_html(name)}: {counted(report['new tokens'], 'new word')} in {calls}.</p>")


def draw_report(stories: Stories) -> None:
    """Draw calls, times and settings of each story as a table."""
    text_table(
        report_table({name: story for name, (_, story) in stories.items()}),
        alt="Words, calls, times and settings of each story",
    )


def draw_decisions(stories: Stories, vocab: Vocab) -> None:
    """Draw every decision of each story as a table."""
    for name, (_, story) in stories.items():
        st.caption(for_markdown(f"Every decision of {name}."))
        number_table(decision_table(story, vocab), alt=f"Every decision of {name}")


EXAMPLE_WORDS = 20


def draw_example(chosen: Checkpoint, start: Start) -> None:
    """Show how a story would go on, before one is written: the likeliest words, made by the chosen model at once."""
    if start.vocab.sha256 != vocabulary_of(chosen).sha256:  # a model of the visitor's own, with an exported engine
        chosen = exported("4")
    decisions = _example(chosen, tuple(start.ids))
    st.caption(
        f"An example, written here at once: the likeliest {EXAMPLE_WORDS} words of {for_markdown(chosen.name)} after "
        "your start. Press the button above for a story of your own."
    )
    st.html(f'<div class="example">{story_html(start, decisions, chosen)}</div>')


@st.cache_resource(max_entries=64, show_spinner=False)
def _example(chosen: Checkpoint, ids: tuple[int, ...]) -> list[Decision]:
    # Not the story: that holds its model, and a visitor's own would outlive its session here.
    return generate(TorchEngine(model_of(chosen)), ids, Decoding(EXAMPLE_WORDS)).decisions


def take_along(began: Start, stories: Stories, title: str) -> None:
    """Draw the buttons that take the stories along."""
    own = list({chosen: None for chosen, _ in stories.values()})
    file = file_stem("story", title, began.text)

    def texts() -> None:
        st.download_button("Text", lambda: export_text(began, stories), f"{file}.txt", key="as_text", on_click="ignore")
        st.download_button(
            "JSON", lambda: export_json(began, stories), f"{file}.json", key="as_json", on_click="ignore"
        )

    take_away(file, "Stories", began.text, own, lambda: (tables_of(stories, began.vocab), {}), texts)


def export_json(start: Start, stories: Stories) -> str:
    """Return the runs as JSON: start, words, probabilities, report."""
    return json.dumps(
        {
            "start": start.text,
            "stories": {
                name: {
                    "text": story_text(story, start.vocab),
                    "words": start.vocab.decode(story.new_ids),
                    "probabilities": [choice.probability for choice in story.decisions],
                    "report": story.report(),
                }
                for name, (_, story) in stories.items()
            },
        },
        ensure_ascii=False,
        indent=1,
    )


def export_text(start: Start, stories: Stories) -> str:
    """Return the stories for reading."""
    return (
        "\n\n".join(f"{name}\n{start.text} {story_text(story, start.vocab)}" for name, (_, story) in stories.items())
        + "\n"
    )


def interrupt_all(stories: Stories) -> None:
    """End every story where it is."""
    for _, story in stories.values():
        story.interrupt()


def story_name(chosen: Checkpoint, engine: str) -> str:
    """Return the heading of a story."""
    return f"{chosen.name} · {engine}"


def read_beside(start: Start) -> None:
    """Show how the real story goes on."""
    if start.continuation is not None:
        st.html(f"<p><b>The real story goes on:</b> {for_html(join_words(start.continuation))}</p>")
