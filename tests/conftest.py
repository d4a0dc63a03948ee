"""What several tests share: the bundled vocabulary, a small corpus, and the real stories where they are."""

import os
from pathlib import Path

import pytest

from wordlm.data import SOURCE_FILE, corpus_from_stories, make_all_windows
from wordlm.files import ARTIFACTS
from wordlm.smoke import smoke_stories
from wordlm.text import Vocab


@pytest.fixture(scope="session")
def vocab() -> Vocab:
    return Vocab.load(ARTIFACTS / "vocab.json")


@pytest.fixture(scope="session")
def smoke_corpus():
    return corpus_from_stories(smoke_stories(), "smoke")


@pytest.fixture(scope="session")
def smoke_windows(smoke_corpus):
    return make_all_windows(smoke_corpus)


@pytest.fixture(scope="session")
def real_stories() -> Path:
    """The source file, or a beginning of it that holds the subset: where WORDLM_STORIES says."""
    path = os.environ.get("WORDLM_STORIES")
    if path is None:
        pytest.skip(f"the real stories are not here: set WORDLM_STORIES to a copy of {SOURCE_FILE}")
    assert Path(path).is_file(), f"WORDLM_STORIES names {path}, which is no file"
    return Path(path)
