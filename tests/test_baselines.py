import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from wordlm.baselines import KneserNey, score_baselines, stories_of, story_losses
from wordlm.text import BOS, EOS

A, B, C = 4, 5, 6
STORIES = [[BOS, A, B, A, B, EOS], [BOS, A, C, EOS], [BOS, B, A, EOS], [BOS, C, C, A, B, EOS]]
V = 8


def test_a_bigram_probability_equals_the_formula_worked_by_hand():
    """Chen and Goodman 1999, equation 14, with the counts of STORIES written out."""
    bigrams = Counter(pair for story in STORIES for pair in pairwise(story))
    assert bigrams[A, B] == 3
    ones, twos = (sum(count == n for count in bigrams.values()) for n in (1, 2))
    d2 = ones / (ones + 2 * twos)
    followers = Counter(word for _, word in bigrams)  # how many different words each follows
    ones, twos = (sum(count == n for count in followers.values()) for n in (1, 2))
    d1 = ones / (ones + 2 * twos) if ones and twos else 0.5
    total1 = sum(followers.values())
    p_b = (max(followers[B] - d1, 0) + d1 * len(followers) / V) / total1
    after_a = {pair: count for pair, count in bigrams.items() if pair[0] == A}
    expected = (3 - d2 + d2 * len(after_a) * p_b) / sum(after_a.values())
    assert KneserNey(STORIES, 2, V).probability([A], B) == pytest.approx(expected)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_probabilities_sum_to_one_after_seen_and_unseen_contexts(order):
    model = KneserNey(STORIES, order, V)
    for context in ([], [BOS], [BOS, BOS], [A, B], [C, C], [EOS, EOS], [7, 7]):
        if len(context) >= order - 1:
            total = sum(model.probability(context, word) for word in range(V))
            assert total == pytest.approx(1)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_no_word_has_probability_zero(order):
    model = KneserNey(STORIES, order, V)
    assert min(model.probability([A, B], word) for word in range(V)) > 0


def test_a_word_that_follows_many_others_is_likelier_after_an_unseen_context():
    """The point of Kneser and Ney: C C C C occurs often but follows few words."""
    stories = [[BOS, C, C, C, C, EOS], [BOS, A, B, EOS], [BOS, B, EOS], [BOS, 7, B, EOS]]
    model = KneserNey(stories, 2, V)
    assert model.probability([3], B) > model.probability([3], C)


def test_every_word_and_the_end_of_a_story_is_one_target():
    losses = story_losses(KneserNey(STORIES, 3, V), STORIES)
    assert len(losses) == sum(len(story) - 1 for story in STORIES)
    first = -math.log(KneserNey(STORIES, 3, V).probability([BOS, BOS], A))
    assert losses[0] == pytest.approx(first)


def test_baselines_are_scored_on_the_same_test_targets(smoke_corpus, smoke_windows):
    scores = score_baselines(smoke_corpus)
    assert list(scores) == ["uniform", "unigram", "bigram", "trigram"]
    losses = [entry["test_loss"] for entry in scores.values()]
    assert losses[0] == pytest.approx(math.log(len(smoke_corpus.vocab)))
    assert losses == sorted(losses, reverse=True)
    targets = np.concatenate([story[1:] for story in stories_of(smoke_corpus.splits["test"])])
    np.testing.assert_array_equal(targets, smoke_windows["test"][1].numpy())
    assert scores["bigram"]["test_perplexity"] == pytest.approx(math.exp(losses[2]))
