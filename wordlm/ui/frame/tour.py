"""A guided tour of the app, which can be left and taken up again. It stands above the page that it speaks of."""

from dataclasses import dataclass

import streamlit as st

from wordlm.ui.frame.glossary import linked

_STOP, _ON = "tour_stop", "tour_on"


@dataclass(frozen=True)
class TourStop:
    """One stop: the page's file name, its title, and what to look at there."""

    page: str
    title: str
    text: str


STOPS = (
    TourStop(
        "explore",
        "Explore",
        "Type a prompt: each word becomes a token, and the picture follows every key. Press *Play*: it goes through "
        "the model, one step after the other. Each lane is one head; the MLP has none.",
    ),
    TourStop(
        "explore",
        "Explore",
        "See it as *cells*: the outlined row says where your word looks when it is the last one read. *One weight* "
        "below is the model's arithmetic, done by hand.",
    ),
    TourStop(
        "compare",
        "Compare heads",
        "The same prompt, read by two models. On average, one head looks like a blend of what four keep apart.",
    ),
    TourStop(
        "switch_off", "Switch heads off", "Weights show where a head looks. Switch it off to see whether that matters."
    ),
    TourStop(
        "heads_and_words",
        "Heads and words",
        "What does a head do over many texts? State a hypothesis and have it answered. *Words* maps the embeddings.",
    ),
    TourStop("perplexity", "Perplexity", "Paste a text. The deeper the tint of a word, the larger its surprisal."),
    TourStop("generate", "Generate", "Let a model go on with your prompt, and see each word's probability."),
    TourStop("benchmark", "Benchmark", "More heads at the same number of parameters: does it help, and is it luck?"),
    TourStop("train", "Train", "Train a small model yourself, and watch how its heads form from random numbers."),
    TourStop("learn", "Learn", "The course takes it from the beginning. Its quiz has new numbers each round."),
)


def tour_button() -> None:
    """Draw the button that starts the tour or takes it up where it was left."""
    if st.session_state.get(_ON):
        return
    started = st.session_state.get(_STOP, 0) > 0
    if st.button("Resume the tour" if started else "Tour", key="tour_start", type="tertiary", icon=":material/tour:"):
        st.session_state[_ON] = True
        _go_to(st.session_state.get(_STOP, 0))


def draw_tour(page: str) -> None:
    """Draw the current stop, if the visitor is on the tour; `page` is the page that is shown."""
    if not st.session_state.get(_ON):
        return
    place = st.session_state.get(_STOP, 0)
    stop, here = STOPS[place], STOPS[place].page == page
    with st.container(border=True, key="tour"):
        said = linked(stop.text) if here else f"The tour waits on the page *{stop.title}*."
        st.markdown(f"**Tour, stop {place + 1} of {len(STOPS)}.** {said}")
        with st.container(horizontal=True):
            if not here and st.button(f"Go to {stop.title}", key="tour_go"):
                _go_to(place)
            if place and st.button("Back", key="tour_back"):
                _go_to(place - 1)
            if place + 1 < len(STOPS):
                after = STOPS[place + 1]
                label = "Next" if after.page == stop.page else f"Next: {after.title}"
                if st.button(label, key="tour_next", type="primary"):
                    _go_to(place + 1)
            if st.button("Leave the tour" if place + 1 < len(STOPS) else "End the tour", key="tour_leave"):
                st.session_state[_ON] = False
                if place + 1 == len(STOPS):
                    st.session_state[_STOP] = 0
                st.rerun()


def _go_to(place: int) -> None:
    st.session_state[_STOP] = place
    st.switch_page(f"pages/{STOPS[place].page}.py")
