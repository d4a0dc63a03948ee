"""Files that a visitor brings along."""

from collections.abc import Callable

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import DeletedFile, UploadedFile

from wordlm.ui.frame import address
from wordlm.ui.limits import MB, Limit


def uploader(
    label: str, types: str | list[str], key: str, limit: Limit, on_file: Callable[[UploadedFile | None, str], None]
) -> None:
    """Draw where a file can be brought along.

    `on_file` is called with it, or with None and the sentence that refuses it, if it was not merely put away. It must
    take what it needs: Streamlit would keep the bytes as long as the session, refused ones too, so they are dropped.
    """

    def came() -> None:
        file = st.session_state[key]
        if file is None:
            on_file(None, "")
        elif not isinstance(file, DeletedFile):  # as Streamlit names one at the next rerun after it was dropped
            # The browser asks for the size first, but need not be believed.
            large = file.size > limit.most * MB
            on_file(None if large else file, limit(file.size) if large else "")
            file.truncate(0)  # Streamlit copies it once more, so it must stay open
            context = get_script_run_ctx()
            if context is not None:
                # The manager that Streamlit runs with has it; the protocol that it is typed as does not name it.
                context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)  # type: ignore[attr-defined]

    st.file_uploader(label, type=types, max_upload_size=limit.most, key=key, on_change=came)


def kept_upload(label: str, types: list[str], key: str, limit: Limit) -> tuple[str, bytes] | None:
    """Let the visitor upload a file; return its name and content.

    Both are kept in the session, since Streamlit forgets an upload when the page is left.
    """
    kept, refused = f"kept_{key}", f"refused_{key}"

    def keep(file: UploadedFile | None, said: str) -> None:
        st.session_state[kept] = None if file is None else (file.name, file.getvalue())
        st.session_state[refused] = said

    uploader(label, types, key, limit, keep)
    if said := st.session_state.get(refused):
        st.error(said)
    upload = st.session_state.get(kept)
    if upload is not None:
        address.not_carried("the file that you chose")
    return upload
