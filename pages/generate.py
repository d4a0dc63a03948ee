from wordlm.ui.frame.shell import inside_app

inside_app()

import streamlit as st

from wordlm.engines import CachedTorchEngine, warm_up
from wordlm.generation import Generation
from wordlm.numbers import written
from wordlm.ui.frame import address, controls, numbers_behind, widgets
from wordlm.ui.frame.glossary import explain
from wordlm.ui.state.resources import vocabulary, vocabulary_of
from wordlm.ui.views.generate import stories as view
from wordlm.ui.views.generate.browser_engine import browser_engine

choice = controls.shared_choice()

st.subheader("How does the story go on?")
explain(
    "The model chooses one word, reads on with that word at the end, and so on. The deeper a word's tint, the likelier "
    "the model found it."
)
with st.container(key="start_row", horizontal=True, vertical_alignment="bottom"):
    engine = view.choose_engine()
    own_words = engine in view.OF_ANY_MODEL
    start = view.choose_start(choice.text, vocabulary_of(choice.checkpoint) if own_words else vocabulary())
view.warn_of_unknown_start(start)
decoding = view.choose_decoding()
if engine == "your browser":
    with st.container(horizontal=True, vertical_alignment="bottom"):
        model = widgets.segments("browser_model", "Model: a number of heads, or the MLP (no attention)")
        way = widgets.segments(
            "way",
            "By",
            help="WebAssembly runs in every browser of today. WebGPU uses the graphics processor where there "
            "is one, and fetches more.",
        )
    made = browser_engine(view.exported(model), way, start, decoding, start.vocab)
    if made is not None:
        st.session_state["stories"] = made
        st.session_state.pop("before", None)
else:
    models = view.choose_models(choice.checkpoint, engine)
    if engine == CachedTorchEngine.name:
        view.explain_cache(choice.checkpoint)
    write, stop = st.columns([1, 5])
    if write.button("Write", type="primary", disabled=not models):
        runners = [view.engine_of(model, choice.seed, engine) for model in models]
        st.session_state["before"] = (
            f"Not in them: loading, {written(sum(loading for *_, loading in runners), 3)} s when first needed, and a "
            f"warm-up of {written(sum(warm_up(runner) for runner, *_ in runners), 3)} s."
        )
        st.session_state["stories"] = (
            start,
            {view.story_name(c, engine): (c, Generation(runner, start.ids, decoding)) for runner, c, _ in runners},
        )
        stop.button("Stop", key="stop")
        view.write_together(st.session_state["stories"][1], start)
        st.rerun()

if "stories" in st.session_state:
    began, stories = st.session_state["stories"]
    address.not_carried("stories that were written; with the same settings they can be written again")
    view.interrupt_all(stories)
    view.show_stories(stories, began)
    view.read_beside(began)

    st.subheader("What did it take?")
    explain(
        "A model call that ends the story adds no word. Times are those of the model calls alone. "
        + st.session_state.get("before", "Fetching, loading and a warm-up call in the browser are not in them.")
    )
    view.say_what_it_took(stories)
    numbers_behind.in_numbers("report", lambda: view.draw_report(stories))
    numbers_behind.in_numbers("decisions", lambda: view.draw_decisions(stories, began.vocab), "Every decision")
else:
    view.draw_example(choice.checkpoint, start)

explain(
    "A better loss on held-out stories does not make every continuation better: the loss is a mean over many words, a "
    "story is one path. How the models compare on average stands on the Benchmark page."
)
if "stories" in st.session_state:
    view.take_along(began, stories, choice.checkpoint.title)
