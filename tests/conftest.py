"""What several tests share: the bundled vocabulary, a small corpus, and the real stories where they are."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

# Tests that run side by side leave each other a core. Before torch is imported, and for the processes that they start.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

from wordlm.checkpoints import open_checkpoint
from wordlm.data import SOURCE_FILE, corpus_from_stories, make_all_windows
from wordlm.files import ARTIFACTS
from wordlm.models import LanguageModel
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
def bundled() -> Callable[[str], LanguageModel]:
    """Open a bundled checkpoint by the stem of its file."""
    return lambda name: open_checkpoint(ARTIFACTS / "heads" / f"{name}.npz")[1]


@pytest.fixture(scope="session")
def real_stories() -> Path:
    """The source file, or a beginning of it that holds the subset: where WORDLM_STORIES says."""
    path = os.environ.get("WORDLM_STORIES")
    if path is None:
        pytest.skip(f"the real stories are not here: set WORDLM_STORIES to a copy of {SOURCE_FILE}")
    assert Path(path).is_file(), f"WORDLM_STORIES names {path}, which is no file"
    return Path(path)
