"""The visitor's own models: where to open them, their files."""

from typing import BinaryIO

import streamlit as st

from wordlm.numbers import counted, written
from wordlm.ui.drawing.escape import for_markdown
from wordlm.ui.frame import address
from wordlm.ui.frame.uploads import uploader
from wordlm.ui.limits import MODEL_MB, OWN_MODELS
from wordlm.ui.state.own_models import OwnModel, forget, keep_file, own_models
from wordlm.ui.state.resources import vocabulary

_FILE_SAID = "checkpoint_said"


def open_links(own: OwnModel, place: str) -> None:
    """Draw the buttons that show an own model on another page, and its file; `place` tells two rows of them apart."""
    key = own.key  # Streamlit keeps callbacks longer than a visitor may keep the model

    def choose() -> None:
        address.choose("model", key.choice)
        address.choose("b", key.variant.choice)
        address.choose("engine", "PyTorch")
        address.choose("writers", [key.choice])

    for title, page in (("Explore", "explore"), ("Compare", "compare"), ("Generate", "generate")):
        if st.button(f"Open in {title}", key=f"{place}_{own.name}_{page}", on_click=choose):
            st.switch_page(f"pages/{page}.py")
    st.download_button("Download .npz", own.npz, f"{own.name.replace(' ', '_')}.npz", key=f"{place}_{own.name}_npz")


def your_models() -> None:
    """Draw the visitor's models, and let one be brought along as a file."""

    def open_file(file: BinaryIO | None, refused: str) -> None:
        st.session_state[_FILE_SAID] = (False, refused)
        if file is None:
            return
        before = set(own_models())
        try:
            name = keep_file(file)
        except ValueError as error:
            st.session_state[_FILE_SAID] = (False, f"The file cannot be opened: {error}.")
        else:
            known = "; you had this model already" if name in before else ""
            st.session_state[_FILE_SAID] = (True, f"The file is open as {name}{known}.")

    st.caption(f"{OWN_MODELS()} They live in this session only; download what you want to keep.")
    for own in list(own_models().values()):
        with st.container(horizontal=True, vertical_alignment="center", key=f"own_{own.name.replace(' ', '_')}"):
            st.markdown(f"**{own.name}**: {describe(own)}")
            open_links(own, "list")
            st.button("Remove", key=f"remove_{own.name}", on_click=forget, args=[own.name])
    label = "Open a checkpoint (.npz) that was made here or by run_head_comparison"
    uploader(label, "npz", "checkpoint_file", MODEL_MB, open_file)
    opened, said = st.session_state.get(_FILE_SAID, (False, ""))
    if said and st.session_state["checkpoint_file"] is not None:
        (st.success if opened else st.error)(for_markdown(said))


def describe(own: OwnModel) -> str:
    """Return what an own model is, in Markdown."""
    loss, step = own.metadata.get("validation_loss"), own.metadata.get("selected_step")
    parts = [own.key.variant.title, f"seed {own.key.seed}"]
    if step is not None:
        parts.append(counted(step, "update"))
    if loss is not None:
        parts.append(f"validation loss {written(loss)}")
    if (vocab := own.weights.vocab).sha256 != vocabulary().sha256:
        parts.append(f"its own vocabulary of {len(vocab):,} words")
    return ", ".join(parts)
