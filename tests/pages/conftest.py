"""Fixtures of the page tests."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from tests.pages.screen import Screen
from wordlm.text import encode_prompt


@pytest.fixture
def open_page() -> Callable[..., Screen]:
    def open_page(page: str = "explore", prompt: str | None = None, **params: str) -> Screen:
        return Screen(page, prompt, params)

    return open_page


@pytest.fixture(scope="session")
def details(vocab, bundled):
    """Every step of a bundled model for a text, without the batch dimension."""

    def details(text: str, name: str) -> dict[str, np.ndarray]:
        ids = torch.from_numpy(encode_prompt(text, vocab).input_ids)
        with torch.inference_mode():
            return {key: value[0].numpy() for key, value in bundled(name).forward_details(ids).items()}

    return details
