"""Files that a visitor brings along."""

import streamlit as st

from wordlm.ui.frame import address


def kept_upload(label: str, types: list[str], key: str) -> tuple[str, bytes] | None:
    """Let the visitor upload a file of at most 5 MB; return its name and content.

    Both are kept in the session, since Streamlit forgets an upload when the page is left.
    """
    kept = f"kept_{key}"

    def keep() -> None:
        file = st.session_state[key]
        st.session_state[kept] = None if file is None else (file.name, file.getvalue())

    st.file_uploader(label, type=types, max_upload_size=5, key=key, on_change=keep)
    upload = st.session_state.get(kept)
    if upload is not None:
        address.not_carried("the file that you chose")
    return upload
