"""What several tests share: the bundled vocabulary, a small corpus, and the real stories where they are."""

import os
from pathlib import Path

import pytest

from wordlm.data import corpus_from_stories, make_all_windows
from wordlm.files import ARTIFACTS, REPOSITORY
from wordlm.smoke import smoke_stories
from wordlm.text import Vocab

REAL_STORIES = Path(
    os.environ.get("WORDLM_STORIES", REPOSITORY.parent / "shared/data/TinyStoriesV2-GPT4-valid.head-5MiB.txt")
)


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
    if not REAL_STORIES.is_file():
        pytest.skip(f"the real stories are not here: set WORDLM_STORIES to a copy of {REAL_STORIES.name}")
    return REAL_STORIES
