import numpy as np
import pytest
import torch

from wordlm.models import build_model
from wordlm.scoring import prefix_windows, score_words, word_losses
from wordlm.text import BOS, PAD, left_pad


@pytest.mark.parametrize("kind", ["mlp", "attention", "multihead"])
@pytest.mark.parametrize("length", [1, 5, 63, 64, 130])
def test_losses_and_ranks_equal_a_slow_loop_word_by_word(monkeypatch, kind, length):
    monkeypatch.setattr("wordlm.scoring.BATCH", 60)  # the longest text takes three
    model = build_model(kind, seed=2).eval()
    words = np.random.default_rng(0).integers(4, 4000, length).tolist()
    expected, ranks = [], []
    for place, word in enumerate(words):
        context = torch.from_numpy(left_pad([BOS, *words[:place]][-64:]))
        with torch.inference_mode():
            logits = model.forward_details(context)["logits"][0].double()
        expected.append((logits.logsumexp(-1) - logits[word]).item())
        ranks.append(1 + logits.argsort(descending=True).tolist().index(word))
    np.testing.assert_allclose(word_losses(model, words), expected, atol=1e-4)
    scores = score_words(model, words)
    np.testing.assert_allclose(scores.losses, expected, atol=1e-4)
    # The two forwards differ by rounding, which moves a word past its neighbours in the middle of 4,000.
    np.testing.assert_allclose(scores.ranks, ranks, atol=1)
    assert scores.cross_entropy == pytest.approx(sum(expected) / length, abs=1e-4)


def test_the_likeliest_word_and_all_that_are_as_likely_have_rank_1():
    model = build_model("mlp", seed=1)
    with torch.no_grad():
        model.vocab_head.weight.zero_()
        model.vocab_head.bias.zero_()[9] = 1
    assert score_words(model, [9, 8, 7]).ranks.tolist() == [1, 2, 2]


def test_words_before_the_first_that_is_asked_for_are_read_but_not_scored():
    model = build_model("attention", seed=2).eval()
    whole, part = score_words(model, range(10, 90)), score_words(model, range(10, 90), first=70)
    np.testing.assert_allclose(part.losses, whole.losses[70:], atol=1e-5)
    assert part.ranks.tolist() == whole.ranks[70:].tolist()
    assert word_losses(model, range(10, 90), first=70).tolist() == part.losses.tolist()


def test_an_empty_text_has_no_losses():
    assert len(word_losses(build_model("mlp", seed=1), [])) == 0


def test_the_first_word_follows_the_start_mark_alone():
    assert prefix_windows([7, 8])[0].tolist() == [PAD] * 63 + [BOS]
    assert prefix_windows([7, 8])[2].tolist() == [PAD] * 61 + [BOS, 7, 8]
