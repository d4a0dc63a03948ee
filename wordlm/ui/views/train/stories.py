"""What to learn from: bundled stories, the download, a text of one's own."""

import streamlit as st

from wordlm.data import FEWEST_STORIES, SEPARATOR, Corpus, DataError
from wordlm.numbers import counted
from wordlm.prepare_data import prepare
from wordlm.ui import limits
from wordlm.ui.drawing.escape import as_sentence, for_markdown
from wordlm.ui.frame import address, parameters, widgets
from wordlm.ui.frame.glossary import explain
from wordlm.ui.frame.uploads import kept_upload
from wordlm.ui.state.resources import DATA_DIR, data_is_present, smoke_corpus, story_corpus, text_corpus

SMOKE, SUBSET, TEXT = parameters.options_of("learn_from")
_PASTED = "text_pasted"
LITTLE_TEXT = 20_000
"""So few targets a small model learns by heart within minutes."""
_ABOUT = {
    SMOKE: "400 very short stories from a small grammar: at hand at once, and soon learned by heart.",
    SUBSET: "The stories that the bundled models were trained on.",
    TEXT: "Your stories stay in this session and are not stored.",
}


def choose_stories() -> Corpus | None:
    """Let the visitor choose what to learn from; None, with the reason on the page, while there is nothing yet."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = widgets.segments("learn_from", "Stories", default=SUBSET if data_is_present() else SMOKE)
        own_words = source != SUBSET and "its own" == widgets.segments(
            "words",
            "Vocabulary",
            help="With the bundled one the new model can stand beside the bundled models. With its own, "
            "the 4,000 most frequent words of these stories, it stands alone.",
        )
    explain(_ABOUT[source])
    try:
        match source:
            case "smoke stories":
                return smoke_corpus(own_words)
            case "6,000 stories":
                if data_is_present():
                    return story_corpus()
                _download()
                return None
            case _:
                return _own_text(own_words)
    except DataError as error:
        st.error(as_sentence(error))
        return None


class _DownloadBar:
    """Pooch's progress bar, drawn on the page."""

    def __init__(self) -> None:
        self.total, self._done = 0, 0
        self._bar = st.progress(0.0, "Downloading the stories …")

    def update(self, size: int) -> None:
        self._done += size
        share = min(1.0, self._done / self.total) if self.total else 0.0
        self._bar.progress(share, f"Downloading the stories: {self._done / 1e6:.1f} of {self.total / 1e6:.1f} MB")

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        self._bar.empty()


def _download() -> None:
    st.info(
        "The stories are not on this machine. The download is 22.5 MB, from a pinned revision, checked by its digest."
    )
    if st.button("Download the stories"):
        try:
            prepare("dgx", DATA_DIR, progressbar=_DownloadBar())
        except DataError as error:
            # What follows the colon is about the command line, and where the machine keeps things is its own business.
            reason = str(error).partition(": ")[0].replace(str(DATA_DIR), "work/data")
            raise DataError(f"{reason}; try again later, or train on the smoke stories meanwhile") from error
        st.rerun()


def _own_text(own_vocabulary: bool) -> Corpus | None:
    explain(
        f"At least {FEWEST_STORIES} stories or paragraphs, with a blank line or {for_markdown(SEPARATOR)} between. "
        "A tenth is kept for validation and as much for test, at least one each."
    )
    box, file = st.columns(2)
    with box:
        pasted = st.text_area("Paste a text here", height=140, key=_PASTED, persist_state="session")
    with file:
        upload = kept_upload("Or upload one as a UTF-8 file", ["txt", "md"], "text_file", limits.TEXT_MB)
    name, content = upload or ("", b"")
    if pasted.strip():
        address.not_carried("the text that you pasted")
        unused = f" Empty the box to use {for_markdown(name)}." if upload else ""
        name, content = "The pasted text", pasted.encode()
        if len(content) > limits.TRAINING_TEXT.most:
            raise DataError(limits.TRAINING_TEXT(len(content)))
    elif upload:
        unused = ""
    else:
        return None
    corpus = text_corpus(content, own_vocabulary)
    counts = ", ".join(f"{len(stream.starts) - 1:,} for {split}" for split, stream in corpus.splits.items())
    st.caption(f"{for_markdown(name)}: stories: {counts}.{unused}")
    _say_if_little(corpus)
    return corpus


def _say_if_little(corpus: Corpus) -> None:
    targets = {split: len(stream.ids) - len(stream.starts) + 1 for split, stream in corpus.splits.items()}
    if targets["train"] < LITTLE_TEXT:
        explain(
            f"That is little: {counted(targets['train'], 'target')} to learn from and {targets['validation']:,} to "
            "validate on. A model soon knows it by heart, and the losses of two runs differ by chance."
        )
