"""Looking into a model: rows as they are when each word is the last one read."""

import numpy as np
import pytest
import torch

from wordlm.inspection import inspect_ids, rows_as_last, rows_of
from wordlm.models import build_model
from wordlm.text import BOS, CONTEXT_LEN, encode_prompt, left_pad

# float32 sums of 64 terms in another order.
ROUNDING = 2e-6


def separate_reading(model, ids) -> torch.Tensor:
    """The last row (H, 64) of a reading of its own."""
    with torch.inference_mode():
        return model.forward_details(torch.from_numpy(left_pad(ids)))["weights"][0, :, -1]


@pytest.mark.parametrize("name", ["attention_seed11", "multihead_seed11", "multihead_h16_seed11"])
def test_all_rows_at_once_equal_64_separate_readings(bundled, name):
    model = bundled(name)
    ids = [BOS, *np.random.default_rng(0).integers(4, 4000, CONTEXT_LEN - 1).tolist()]
    rows = rows_as_last(model, ids, CONTEXT_LEN)
    for place in range(CONTEXT_LEN):
        expected = separate_reading(model, ids[: place + 1])[:, -(place + 1) :]
        np.testing.assert_allclose(rows[:, place, : place + 1], expected, atol=ROUNDING)
        assert (rows[:, place, place + 1 :] == 0).all()


def test_in_a_text_longer_than_the_context_a_row_reads_its_own_last_64_positions(bundled):
    model = bundled("multihead_seed11")
    ids = [BOS, *np.random.default_rng(1).integers(4, 4000, 150).tolist()]
    rows = rows_as_last(model, ids, 70)
    for row, end in enumerate(range(len(ids) - 70, len(ids))):
        expected = separate_reading(model, ids[end - CONTEXT_LEN + 1 : end + 1])
        np.testing.assert_allclose(rows[:, row, end - CONTEXT_LEN + 1 : end + 1], expected, atol=ROUNDING)
        assert (rows[:, row, : end - CONTEXT_LEN + 1] == 0).all()


@pytest.mark.parametrize("words", [1, 20, 63, 64, 80, 200])
def test_the_rows_of_a_prompt_and_what_lies_beyond_it_sum_to_1(bundled, vocab, words):
    prompt = encode_prompt("the cat sat on a red mat and slept . " * 20, vocab)
    prompt = prompt.up_to(len(prompt.ids) - 1) if words > 150 else encode_prompt(" ".join(["the cat"] * words), vocab)
    rows = rows_of(bundled("multihead_seed11"), prompt)
    np.testing.assert_allclose(rows.weights.sum(-1) + rows.beyond, 1, atol=1e-6)
    assert (rows.beyond > 0).any() == (prompt.dropped > 0)
    np.testing.assert_allclose(rows.beyond[:, -1], 0, atol=1e-6)


def test_each_row_is_the_last_row_of_the_words_own_reading(bundled, vocab):
    model, prompt = bundled("multihead_seed11"), encode_prompt("the cat sat on a red mat and slept . " * 10, vocab)
    rows = rows_of(model, prompt)
    assert max(rows.difference(q, inspect_ids(model, prompt.up_to(q).ids)) for q in range(64)) < ROUNDING


def test_a_fresh_model_in_training_gives_rows_too():
    model = build_model("multihead", seed=2)
    assert rows_as_last(model, [BOS, 9, 8, 7], 4).shape == (4, 4, 4)


def test_a_prompt_up_to_a_word_is_the_text_cut_after_it(vocab):
    text = "one two three four five six seven eight nine ten " * 12
    prompt = encode_prompt(text, vocab)
    for place in (0, 10, 63):
        reading, end = prompt.up_to(place), prompt.positions[place]
        expected = encode_prompt(" ".join(text.split()[:end]), vocab)
        assert (reading.ids, reading.typed, reading.positions) == (expected.ids, expected.typed, expected.positions)
        assert reading.labels[-1] == prompt.labels[place]
