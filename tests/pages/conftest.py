"""Fixtures of the page tests."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from tests.pages.screen import Screen
from wordlm.text import encode_prompt, left_pad


@pytest.fixture
def open_page() -> Callable[..., Screen]:
    def open_page(page: str = "explore", prompt: str | None = None, **params: str) -> Screen:
        return Screen(page, prompt, params)

    return open_page


@pytest.fixture(scope="session")
def rows_as_last(vocab, bundled):
    """Where each word of a text looks when it is the last one read, (H, n, n): one separate reading a word."""

    def rows_as_last(text: str, name: str) -> np.ndarray:
        ids, model = encode_prompt(text, vocab).ids, bundled(name)
        rows = np.zeros((model.heads, len(ids), len(ids)))
        for place in range(len(ids)):
            with torch.inference_mode():
                weights = model.forward_details(torch.from_numpy(left_pad(ids[: place + 1])))["weights"][0]
            rows[:, place, : place + 1] = weights[:, -1, -(place + 1) :]
        return rows

    return rows_as_last


@pytest.fixture(scope="session")
def details(vocab, bundled):
    """Every step of a bundled model for a text, without the batch dimension."""

    def details(text: str, name: str) -> dict[str, np.ndarray]:
        ids = torch.from_numpy(encode_prompt(text, vocab).input_ids)
        with torch.inference_mode():
            return {key: value[0].numpy() for key, value in bundled(name).forward_details(ids).items()}

    return details
