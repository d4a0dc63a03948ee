import numpy as np
import pytest
import torch

from wordlm.models import build_model
from wordlm.scoring import prefix_windows, word_losses
from wordlm.text import BOS, PAD, left_pad


@pytest.mark.parametrize("kind", ["mlp", "attention", "multihead"])
@pytest.mark.parametrize("length", [1, 5, 63, 64, 130])
def test_losses_equal_a_slow_loop_word_by_word(kind, length):
    model = build_model(kind, seed=2).eval()
    words = np.random.default_rng(0).integers(4, 4000, length).tolist()
    expected = []
    for place, word in enumerate(words):
        context = torch.from_numpy(left_pad([BOS, *words[:place]][-64:]))
        with torch.inference_mode():
            logits = model.forward_details(context)["logits"][0].double()
        expected.append((logits.logsumexp(-1) - logits[word]).item())
    np.testing.assert_allclose(word_losses(model, words), expected, atol=1e-4)


def test_an_empty_text_has_no_losses():
    assert len(word_losses(build_model("mlp", seed=1), [])) == 0


def test_the_first_word_follows_the_start_mark_alone():
    assert prefix_windows([7, 8])[0].tolist() == [PAD] * 63 + [BOS]
    assert prefix_windows([7, 8])[2].tolist() == [PAD] * 61 + [BOS, 7, 8]
