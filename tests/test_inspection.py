"""Looking into a model: every step of a reading, its checks, and rows as they are when each word is the last one."""

import numpy as np
import pytest
import torch

from wordlm.arithmetic import explain_weight
from wordlm.inspection import (
    Checks,
    inspect_ids,
    next_log_probabilities,
    next_probabilities,
    next_words,
    rank_of,
    rows_as_last,
    rows_of,
    weight_table,
)
from wordlm.models import build_model
from wordlm.text import BOS, CONTEXT_LEN, SPECIALS, Vocab, encode_prompt, left_pad

# float32 sums of 64 terms in another order.
ROUNDING = 2e-6


def separate_reading(model, ids) -> torch.Tensor:
    """The last row (H, 64) of a reading of its own."""
    with torch.inference_mode():
        return model.forward_details(torch.from_numpy(left_pad(ids)))["weights"][0, :, -1]


SHARING = build_model("multihead", seed=4, heads=8, kv_heads=2).eval()


@pytest.mark.parametrize("name", ["attention_seed11", "multihead_seed11", "multihead_h16_seed11", "8 heads, 2 kv"])
def test_all_rows_at_once_equal_64_separate_readings(bundled, name):
    model = SHARING if name == "8 heads, 2 kv" else bundled(name)
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


IDS = [BOS, 9, 8, 7, 9]  # in slots 59 to 63


@pytest.mark.parametrize("head", range(8))
def test_a_weight_made_by_hand_is_the_models_where_heads_share_keys(head):
    steps = explain_weight(SHARING, inspect_ids(SHARING, IDS), head=head, key=2, word=17, spelled="w")
    assert 0 < steps.largest_difference < 1e-5


def test_an_inspection_holds_every_step_of_the_words_and_of_no_padding(bundled):
    model = bundled("multihead_seed11")
    with torch.inference_mode():
        whole = {name: step[0].numpy() for name, step in model.forward_details(torch.from_numpy(left_pad(IDS))).items()}
    seen = inspect_ids(model, IDS)
    for name in ("E", "messages", "contextual"):
        np.testing.assert_array_equal(getattr(seen, name), whole[name][59:], name)
    for name in ("Q", "K", "V"):
        np.testing.assert_array_equal(getattr(seen, name), whole[name][:, 59:], name)
    for name in ("scores", "weights"):
        np.testing.assert_array_equal(getattr(seen, name), whole[name][:, 59:, 59:], name)
    powers = np.exp(whole["logits"].astype(float))
    np.testing.assert_allclose(seen.next_probabilities, powers / powers.sum(), rtol=1e-5)
    np.testing.assert_allclose(next_probabilities(model, IDS), powers / powers.sum(), rtol=1e-5)


def broken(details: dict, kind: str, error: float) -> None:
    match kind:
        case "row_sum":
            details["weights"][0, 2, 60, 59] += error  # of a word, on a key that it may look at
        case "masked":
            details["weights"][0, 2, 3, 5] += error  # of padding, on a later slot
        case "forward":
            details["logits"][0, 17] += error


@pytest.mark.parametrize("error", [0.25, -0.25])
@pytest.mark.parametrize("law", ["row_sum", "masked", "forward"])
def test_each_check_is_the_largest_error_of_its_own_law(monkeypatch, law, error):
    model = build_model("multihead", seed=3)
    whole, plain = inspect_ids(model, IDS).checks, model.forward_details
    assert whole.masked == 0
    assert max(whole.row_sum, whole.forward) < 1e-5 < Checks.TOLERANCE < 1e-3

    def tampered(ids):
        details = plain(ids)
        broken(details, law, error)
        return details

    monkeypatch.setattr(model, "forward_details", tampered)
    found = inspect_ids(model, IDS).checks
    for name in ("row_sum", "masked", "forward"):
        expected = abs(error) if name == law else getattr(whole, name)
        assert getattr(found, name) == pytest.approx(expected, abs=1e-5), name


def test_a_chance_too_small_for_a_float_still_has_its_logarithm():
    model = build_model("attention", seed=3)
    with torch.no_grad():
        model.vocab_head.weight.mul_(5000)
    probabilities, logs = next_probabilities(model, IDS), next_log_probabilities(model, IDS)
    assert (probabilities == 0).any() and np.isfinite(logs).all()
    assert np.exp(logs).sum() == pytest.approx(1)
    large = probabilities > 1e-30
    np.testing.assert_allclose(np.exp(logs[large]), probabilities[large], rtol=1e-3)


def test_the_rank_of_a_word_is_one_more_than_the_words_that_are_likelier():
    assert [rank_of(word, np.array([0.1, 0.4, 0.4, 0.05, 0.05])) for word in range(5)] == [3, 1, 1, 4, 4]


def test_the_ten_likeliest_words_are_listed_in_order_and_of_equal_ones_the_first():
    vocab = Vocab((*SPECIALS, *"abcdefgh"))
    probabilities = np.array([0, 0, 0.01, 0.02, 0.2, 0.05, 0.2, 0.04, 0.3, 0.06, 0.07, 0.05])
    table = next_words(probabilities, vocab)
    assert table["word"].tolist() == ["e", "a", "c", "g", "f", "b", "h", "d", "<UNK>", "<EOS>"]
    assert table["rank"].tolist() == list(range(1, 11))
    assert vocab.decode(table["id"]) == table["word"].tolist()
    assert table["probability"].tolist() == probabilities[table["id"]].tolist()


def test_the_weight_table_has_a_row_a_head_and_the_sum_before_the_keys(bundled, vocab):
    prompt = encode_prompt("a little dog", vocab)
    one, two = (inspect_ids(bundled(name), prompt.ids) for name in ("attention_seed11", "multihead_h2_seed11"))
    table = weight_table({"one": one, "two": two}, prompt)
    assert list(table.columns) == ["sum", "0 · <BOS>", "1 · a", "2 · little", "3 · dog"]
    assert list(table.index) == ["one", "two, head 1", "two, head 2"]
    np.testing.assert_array_equal(table.iloc[:, 1:], np.concatenate([one.weights[:, 3], two.weights[:, 3]]))
    np.testing.assert_allclose(table["sum"], 1, atol=1e-6)
