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


ALL = ("prompt", "model", "seed")
PAGES = {
    "explore": ("Explore", ALL),
    "compare": ("Compare heads", ALL),
    "switch_off": ("Switch heads off", ALL),
    "heads_and_words": ("Heads and words", ALL),
    "perplexity": ("Perplexity", ("model", "seed")),
    "generate": ("Generate", ALL),
    "train": ("Train", ("prompt",)),
    "benchmark": ("Benchmark", ()),
    "learn": ("Learn", ()),
}
"""Each page, which is `pages/NAME.py`: its title, and which of the shared controls it reads.

On Learn each chapter says for itself what it reads.
"""


def run_app() -> None:
    """Draw the frame and run the page that the visitor is on."""
    # The first page has the bare address; people write its name all the same.
    files = {name: REPOSITORY / "pages" / f"{name}.py" for name in PAGES}
    listed = [
        st.Page(files[name], title=title, url_path=name if place else "home", default=place == 0)
        for place, (name, (title, _)) in enumerate(PAGES.items())
    ]
    first, (title, _) = next(iter(PAGES.items()))
    hidden = st.Page(files[first], title=title, url_path=first, visibility="hidden")
    page = st.navigation([*listed, hidden], position="top")
    name = page.url_path or first
    st.set_page_config(f"{page.title} · Attention explorer", layout="wide", initial_sidebar_state="collapsed")
    # What `st.html` draws is fetched after the page: the page would stand elsewhere until then, and a press be lost.
    st.markdown(f"<style>{_style(_STYLE.stat().st_mtime_ns)}</style>", unsafe_allow_html=True)
    waiting = st.empty()
    if "torch" not in sys.modules:  # the first visitor of a server sees the frame while that is being loaded
        waiting.html(_WAITING)
    from wordlm.ui import limits
    from wordlm.ui.browser.carrying.components import choose_unheard, has_unheard
    from wordlm.ui.drawing.escape import as_sentence, for_markdown
    from wordlm.ui.frame import address
    from wordlm.ui.frame.controls import draw_shared_controls
    from wordlm.ui.frame.tour import draw_tour
    from wordlm.ui.state.own_models import OwnModelGone, keep_finished_training
    from wordlm.ui.state.resources import ArtifactError

    waiting.empty()
    if limits.wrong:
        st.error(f"The app cannot start. {for_markdown('; '.join(limits.wrong))}.")
        return
    address.read_link(name)
    choose_unheard()
    keep_finished_training()
    place_of_link = draw_shared_controls(PAGES[name][1])
    draw_tour(name)
    st.session_state[_INSIDE] = True
    try:
        page.run()
    except PageEnds:
        pass
    except (ArtifactError, OwnModelGone) as error:
        st.error(f"This page cannot be shown. {as_sentence(error)}")
    else:
        _settle(name)
    finally:
        st.session_state[_INSIDE] = False
    with place_of_link:
        address.end_page()
    if has_unheard():
        st.rerun()


@st.cache_resource(max_entries=1, show_spinner=False)
def _style(changed: int) -> str:
    return _STYLE.read_text(encoding="utf-8")


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
