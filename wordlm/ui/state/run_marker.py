"""Finding a training again in a new session: after a reload, or after the server was started anew.

The browser's tab keeps the job's token, see `run_marker.js`. A token whose job is gone is told once.
"""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from wordlm.ui.state.own_models import done_with, job_of_visitor

_KEY = "run_marker"
_SCRIPT = Path(__file__).with_suffix(".js")


@st.cache_resource(show_spinner=False)
def _registered() -> Callable:
    """Register once a process; registering again on each run would warn."""
    return st.components.v2.component("run_marker", js=_SCRIPT.read_text(encoding="utf-8"))


def mark_run(on_found: Callable[[str], None]) -> None:
    """Let the browser keep the token of the visitor's training; where this session has none, tell what it had kept."""
    job = job_of_visitor()

    def found() -> None:
        token = st.session_state[_KEY].found
        if token is not None and job_of_visitor() is None and str(token) != done_with():
            on_found(str(token))

    data = {"token": "" if job is None else job.token, "done": done_with()}
    _registered()(key=_KEY, data=data, on_found_change=found)
