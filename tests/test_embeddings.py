"""Words near each other, the map, and what training added: from their definitions, and where the answer is known."""

import math

import numpy as np
import pytest
import torch

from wordlm.data import corpus_from_stories, make_all_windows
from wordlm.embeddings import (
    added_by_training,
    chance_of_nearest,
    cosines,
    length,
    mean_apart,
    nearest,
    of_like_frequency,
    similarity,
    vectors_of,
    word_map,
)
from wordlm.models import build_model
from wordlm.smoke import smoke_stories
from wordlm.text import EOS, SPECIALS, Vocab
from wordlm.training import TrainConfig, train_model

VOCAB = Vocab((*SPECIALS, *"abcdefghij"))


def test_nearness_is_the_cosine_and_a_vector_of_zeros_is_near_nothing():
    vectors = np.random.default_rng(0).normal(size=(14, 5))
    vectors[3] = 0
    near = cosines(vectors, 6)
    for other in set(range(14)) - {3}:
        product = sum(a * b for a, b in zip(vectors[6], vectors[other], strict=True))
        assert near[other] == pytest.approx(product / math.hypot(*vectors[6]) / math.hypot(*vectors[other]))
    assert near[3] == 0 and near[6] == pytest.approx(1)
    np.testing.assert_allclose(similarity(vectors)[6], near)


def test_the_nearest_words_are_listed_without_the_word_itself_and_the_special_ones():
    near = np.zeros(14)
    near[[0, 2, 4, 7, 9, 13]] = 0.95, 0.9, 1, 0.5, 0.8, 0.6
    table = nearest(near, 4, VOCAB, 3)
    assert table.to_dict("list") == {"word": ["f", "j", "d"], "id": [9, 13, 7], "cosine": [0.8, 0.6, 0.5]}


@pytest.mark.parametrize(
    ("word", "count", "expected"),
    [(8, 4, [6, 7, 9, 10]), (4, 3, [5, 6, 7]), (13, 2, [11, 12]), (8, 99, [4, 5, 6, 7, 9, 10, 11, 12, 13])],
)
def test_words_of_like_frequency_have_the_nearest_ranks(word, count, expected):
    assert of_like_frequency(word, 14, count).tolist() == expected


def test_chance_is_how_near_random_vectors_are_to_one_of_them():
    rng = np.random.default_rng(5)
    found = []
    for _ in range(60):
        vectors = rng.normal(size=(300, 16))
        found.append(np.sort(cosines(vectors, 4)[5:])[::-1][:3])  # the word and the special ones left out
    np.testing.assert_allclose(chance_of_nearest(300, 16, 3, draws=60), np.mean(found, axis=0), atol=0.02)


def test_the_map_is_the_projection_on_the_first_two_eigenvectors_of_the_covariance():
    rng = np.random.default_rng(2)
    vectors = rng.normal(size=(60, 6)) * [5, 3, 1, 1, 1, 1] + 7
    found = word_map(vectors)
    words = vectors[len(SPECIALS) :]
    values, axes = np.linalg.eigh(np.cov(words.T))
    expected = (words - words.mean(0)) @ axes[:, ::-1][:, :2]
    np.testing.assert_allclose(np.abs(found.places), np.abs(expected), atol=1e-9)
    assert found.shares == pytest.approx(tuple(values[::-1][:2] / values.sum()))
    assert found.ids.tolist() == list(range(4, 60))


def test_rarer_words_lie_to_the_right_and_the_correlation_is_that_of_the_ranks():
    for sign in (1, -1):
        vectors = np.random.default_rng(3).normal(size=(60, 4)) * 0.01
        vectors[:, 0] += sign * np.arange(60) ** 2  # ranks, not values, follow the id
        found = word_map(vectors)
        assert found.with_rank == pytest.approx(1)
        assert (np.diff(found.places[:, 0]) > 0).all()


def test_means_of_slots_leave_out_the_diagonal():
    assert mean_apart(np.array([[1, 0.2], [0.4, 1]])) == pytest.approx(0.3)
    assert math.isnan(mean_apart(np.ones((1, 1))))


@pytest.fixture(scope="module")
def corpus():
    """Smoke stories, with a vocabulary that also holds a word that no story has."""
    known = corpus_from_stories(smoke_stories(), "smoke").vocab.itos
    return corpus_from_stories(smoke_stories(), "smoke", Vocab((*known, "zebra")))


@pytest.fixture(scope="module", params=["mlp", "attention"])
def trained(request, corpus):
    model = build_model(request.param, len(corpus.vocab), seed=5)
    windows = make_all_windows(corpus)
    config = TrainConfig(steps=30, batch_size=64, weight_decay=0.5, eval_every=30, seed=5)
    train_model(model, *windows["train"], *windows["validation"], config, device="cpu")
    return model.eval()


def test_what_training_added_is_what_the_start_shrunk_by_weight_decay_leaves(trained, corpus):
    kind = "mlp" if vectors_of(trained).slots is None else "attention"
    start = vectors_of(build_model(kind, len(corpus.vocab), seed=5))
    now, added = vectors_of(trained), added_by_training(trained, 5)
    shrunk = (1 - 0.003 * 0.5) ** 30
    read = [corpus.vocab.encode([word])[0] for word in ("dog", "the", ".")]
    np.testing.assert_allclose(added.words[read], now.words[read] - shrunk * start.words[read], atol=1e-5)
    if kind == "attention":
        np.testing.assert_allclose(added.slots[63], now.slots[63] - shrunk * start.slots[63], atol=1e-5)
    assert 0 < length(added.words) < length(now.words)


def test_what_was_never_read_has_nothing_added(trained, corpus):
    added = added_by_training(trained, 5)
    assert not added.words[EOS].any()
    assert not added.words[corpus.vocab.encode(["zebra"])[0]].any()


@pytest.mark.parametrize("seed", [6, -1, 2**70])
def test_of_another_beginning_nothing_is_said(trained, seed):
    assert added_by_training(trained, seed) is None


@pytest.mark.parametrize("name", ["mlp_seed11", "attention_seed29", "multihead_h16_seed11"])
def test_the_bundled_models_began_with_the_values_of_their_seed(bundled, name):
    model = bundled(name)
    added = added_by_training(model, int(name.split("seed")[1]))
    assert length(added.words) < length(vectors_of(model).words) / 2, "most of a vector is its random start"


def test_nothing_is_kept_for_a_training_and_the_model_stays_as_it_was():
    model = build_model("attention", len(VOCAB), seed=1)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    vectors_of(model).words[:] = 0
    added_by_training(model, 1).words[:] = 9
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
