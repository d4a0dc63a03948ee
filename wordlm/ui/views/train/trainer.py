"""The one trainer of this process."""

import streamlit as st
from streamlit.runtime import Runtime
from streamlit.web.server.starlette.starlette_app_utils import decode_xsrf_token_string
from streamlit.web.server.starlette.starlette_server_config import XSRF_COOKIE_NAME

from wordlm.jobs import Trainer
from wordlm.ui import limits


@st.cache_resource(show_spinner=False)
def trainer() -> Trainer:
    """Return the one trainer of this process."""
    # A run lives as long without its visitor as Streamlit keeps the session to which the visitor comes back.
    grace = float(st.get_option("server.disconnectedSessionTTL"))
    return Trainer(
        lambda owner: not Runtime.exists() or Runtime.instance().is_active_session(owner),
        grace,
        longest=limits.LINE.most,
        each=limits.LINE_EACH.most,
    )


def visitor() -> str:
    """Return what all tabs of the visitor's browser have in common, "" where it keeps no cookies.

    It is the token by which Streamlit knows its own uploads again; the cookie masks it anew for each answer.
    """
    cookie = st.context.cookies.get(XSRF_COOKIE_NAME)
    token = decode_xsrf_token_string(cookie)[0] if cookie else None
    return token.hex() if token else ""
