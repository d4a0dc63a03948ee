from wordlm.ui.shell import inside_app

inside_app()

import streamlit as st

from wordlm.engines import warm_up
from wordlm.generation import Generation
from wordlm.numbers import written
from wordlm.ui import address, blocks, controls
from wordlm.ui import generate as view
from wordlm.ui.browser_engine import browser_engine
from wordlm.ui.glossary import explain
from wordlm.ui.resources import vocabulary, vocabulary_of

choice = controls.shared_choice()

st.subheader("How does the story go on?")
explain(
    "The model chooses one word, reads everything again with that word at the end, and so on. It keeps no cache: "
    "each new word moves all others one slot to the left, where they get another position embedding."
)
engine = address.segments("engine", "Engine")
start = view.choose_start(choice.text, vocabulary_of(choice.checkpoint) if engine == "PyTorch" else vocabulary())
view.warn_of_unknown_start(start)
decoding = view.choose_decoding()
explain(
    "`<PAD>` and `<BOS>` are never chosen, `<UNK>` only if allowed; what remains after temperature, top k and top p is "
    "renormalised for the draw. The probabilities shown are the model's own, before all of that."
)
if engine == "your browser":
    model = address.segments("browser_model", "Model")
    way = address.segments(
        "way",
        "Run with",
        help="WebAssembly runs in every browser of today. WebGPU uses the graphics processor where there "
        "is one, and fetches more.",
    )
    made = browser_engine(view.exported(model), way, start, decoding, start.vocab)
    if made is not None:
        st.session_state["stories"] = made
        st.session_state.pop("before", None)
else:
    models = view.choose_models(choice.checkpoint, engine)
    write, stop = st.columns([1, 5])
    if write.button("Write", type="primary", disabled=not models):
        runners = [view.engine_of(model, choice.seed, engine) for model in models]
        st.session_state["before"] = (
            f"Not in them: loading, {written(sum(loading for *_, loading in runners), 3)} s when first needed, and a "
            f"warm-up "
            f"of {written(sum(warm_up(runner) for runner, *_ in runners), 3)} s."
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
    blocks.text_table(view.report_table(stories), alt="Words, calls, times and settings of each story")
    for name, (_, story) in stories.items():
        st.caption(f"Every decision of {name}.")
        decisions = view.choice_table(story, began.vocab)
        blocks.number_table(decisions, alt=f"Every decision of {name}")
    with st.container(horizontal=True):
        st.download_button("Download as text", view.export_text(began, stories), "story.txt", key="as_text")
        st.download_button("Download as JSON", view.export_json(began, stories), "story.json", key="as_json")

explain(
    "A better loss on held-out stories does not make every continuation better: the loss is a mean over many words, a "
    "story is one path. How the models compare on average stands on the Benchmark page."
)
