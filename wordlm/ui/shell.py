"""The frame around every page: its settings, the menu, the shared controls.

Streamlit runs a page without `app.py` when a fresh server's first visit goes to the page's own link. So what
`app.py` does stands here, and every page begins with `inside_app()`.
"""

import gc
import sys
from pathlib import Path

import streamlit as st

from wordlm.files import REPOSITORY, give_back_memory

_INSIDE = "inside_app"
_STYLE = Path(__file__).with_name("style.css")
_WAITING = """
<div class="waiting" role="status" aria-label="The page is being prepared"><i></i><i></i><i></i><i></i></div>
"""


class PageEnds(Exception):
    """Raised by a page that has no more to show. After `st.stop` the frame could draw nothing either."""


def run_app() -> None:
    """Draw the frame and run the page that the visitor is on."""
    pages = REPOSITORY / "pages"
    page = st.navigation(
        [
            st.Page(pages / "explore.py", title="Explore", url_path="home", default=True),
            # The default page has the bare address; people write its name all the same.
            st.Page(pages / "explore.py", title="Explore", url_path="explore", visibility="hidden"),
            st.Page(pages / "compare.py", title="Compare heads", url_path="compare"),
            st.Page(pages / "switch_off.py", title="Switch heads off", url_path="switch_off"),
            st.Page(pages / "perplexity.py", title="Perplexity", url_path="perplexity"),
            st.Page(pages / "generate.py", title="Generate", url_path="generate"),
            st.Page(pages / "train.py", title="Train", url_path="train"),
            st.Page(pages / "benchmark.py", title="Benchmark", url_path="benchmark"),
            st.Page(pages / "learn.py", title="Learn", url_path="learn"),
        ],
        position="top",
    )
    st.set_page_config(f"{page.title} · Attention explorer", layout="wide", initial_sidebar_state="collapsed")
    st.html(_STYLE)
    waiting = st.empty()
    if "torch" not in sys.modules:  # the first visitor of a server sees the frame while that is being loaded
        waiting.html(_WAITING)
    from wordlm.ui import address
    from wordlm.ui.controls import draw_shared_controls
    from wordlm.ui.escape import as_sentence
    from wordlm.ui.own_models import keep_finished_training
    from wordlm.ui.resources import ArtifactError
    from wordlm.ui.tour import draw_tour

    waiting.empty()
    address.read_link(page.url_path)
    keep_finished_training()
    place_of_link = draw_shared_controls()
    draw_tour(page.url_path or "explore")
    st.session_state[_INSIDE] = True
    try:
        page.run()
    except PageEnds:
        pass
    except ArtifactError as error:
        st.error(f"This page cannot be shown. {as_sentence(error)}")
    else:
        _settle(page.url_path)
    finally:
        st.session_state[_INSIDE] = False
    with place_of_link:
        address.end_page()


@st.cache_resource(show_spinner=False)
def _settle(page: str) -> None:
    """Once a page: take what its first visit loaded out of all later garbage collections.

    A full collection looks at every object; with those of torch and Plotly it took 200 ms, longer than a page.
    """
    gc.collect()
    gc.freeze()
    give_back_memory()


def inside_app() -> None:
    """Run the whole app, then stop, if this page was started without its frame."""
    if not st.session_state.get(_INSIDE):
        run_app()
        st.stop()
