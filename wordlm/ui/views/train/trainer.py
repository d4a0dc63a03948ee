"""The one trainer of this process."""

import streamlit as st
from streamlit.runtime import Runtime

from wordlm.jobs import Trainer


@st.cache_resource(show_spinner=False)
def trainer() -> Trainer:
    """Return the one trainer of this process."""
    # A run lives as long without its visitor as Streamlit keeps the session to which the visitor comes back.
    grace = float(st.get_option("server.disconnectedSessionTTL"))
    return Trainer(lambda owner: not Runtime.exists() or Runtime.instance().is_active_session(owner), grace)
