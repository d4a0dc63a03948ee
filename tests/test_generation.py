import math
from collections import Counter

import numpy as np
import pytest

from wordlm.engines import TorchEngine
from wordlm.generation import (
    Decision,
    Decoding,
    Generation,
    StopReason,
    candidate_probabilities,
    generate,
    join_words,
    story_text,
)
from wordlm.models import build_model
from wordlm.text import BOS, EOS, PAD, UNK, encode_prompt, tokenize


class Scripted:
    """An engine that wants certain words one after the other, then the end."""

    name, device, threads = "scripted", "none", 0

    def __init__(self, wanted, size=20):
        self.wanted, self.size, self.contexts = list(wanted), size, []

    def logits(self, context):
        self.contexts.append(context.copy())
        logits = np.zeros(self.size, np.float32)
        place = len(self.contexts) - 1
        logits[self.wanted[place] if place < len(self.wanted) else EOS] = 9
        return logits


class Fixed:
    """An engine with the same logits every time."""

    name, device, threads = "fixed", "none", 0

    def __init__(self, probabilities):
        self.values = np.log(np.maximum(probabilities, 1e-30)).astype(np.float32)

    def logits(self, context):
        return self.values


def test_a_story_ends_when_the_model_ends_it_and_that_call_adds_no_word():
    story = generate(Scripted([7, 8, 9]), [BOS, 5], Decoding(50))
    assert story.new_ids == [7, 8, 9]
    assert story.stop is StopReason.END
    report = story.report()
    assert (report["new tokens"], report["model calls"], report["stop"]) == (3, 4, str(StopReason.END))
    assert story.advance() is None


def test_a_story_ends_at_the_limit_after_as_many_calls_as_words():
    story = generate(Scripted([7] * 99), [BOS], Decoding(5))
    assert (story.new_ids, story.stop) == ([7] * 5, StopReason.LIMIT)
    assert story.report()["model calls"] == 5


def test_a_story_that_is_stopped_says_so_and_makes_no_further_call():
    engine = Scripted([7] * 99)
    story = Generation(engine, [BOS], Decoding(50))
    story.advance()
    story.interrupt()
    assert story.advance() is None
    assert (story.stop, len(engine.contexts)) == (StopReason.STOPPED, 1)
    ended = generate(Scripted([7]), [BOS], Decoding(50))
    ended.interrupt()
    assert ended.stop is StopReason.END


def test_each_call_reads_the_last_64_ids_with_the_newest_in_the_last_slot():
    engine = Scripted([7] * 80)
    generate(engine, [BOS, 5, 6], Decoding(70))
    everything = [BOS, 5, 6, *([7] * 70)]
    for call, context in enumerate(engine.contexts):
        read = everything[: 3 + call][-64:]
        assert context.shape == (1, 64)
        assert context[0].tolist() == [PAD] * (64 - len(read)) + read


def test_a_start_longer_than_the_context_keeps_its_end():
    engine = Scripted([7])
    generate(engine, [BOS, *range(4, 104)], Decoding(1))
    assert engine.contexts[0][0].tolist() == list(range(40, 104))


def test_greedy_takes_the_likeliest_allowed_word_and_ties_go_to_the_smaller_id():
    logits = np.zeros(10, np.float32)
    logits[[PAD, BOS, UNK]] = 99
    logits[[6, 8]] = 5
    assert candidate_probabilities(logits, Decoding()).tolist() == [0] * 6 + [1, 0, 0, 0]
    assert candidate_probabilities(logits, Decoding(allow_unknown=True)).argmax() == UNK


@pytest.mark.parametrize("unknown", [False, True])
def test_forbidden_words_are_removed_and_the_rest_renormalised(unknown):
    p = np.array([0.2, 0.1, 0.1, 0.2, 0.3, 0.1])  # PAD BOS EOS UNK and two words
    shown = candidate_probabilities(np.log(p), Decoding(temperature=1, allow_unknown=unknown))
    kept = np.array([0, 0, 0.1, 0.2 * unknown, 0.3, 0.1])
    np.testing.assert_allclose(shown, kept / kept.sum())


P = np.array([0, 0, 0.05, 0, 0.4, 0.3, 0.15, 0.1])


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({"top_k": 1}, [4]),
        ({"top_k": 3}, [4, 5, 6]),
        ({"top_k": 99}, [4, 5, 6, 7, 2]),
        ({"top_p": 0.4}, [4]),
        ({"top_p": 0.41}, [4, 5]),
        ({"top_p": 0.7}, [4, 5]),
        ({"top_p": 0.95}, [4, 5, 6, 7]),
        ({"top_p": 1.0}, [4, 5, 6, 7, 2]),
        ({"top_k": 2, "top_p": 0.5}, [4]),
        ({"top_k": 2, "top_p": 0.6}, [4, 5]),
    ],
)
def test_top_k_and_top_p_keep_the_likeliest_of_a_known_distribution(settings, kept):
    with np.errstate(divide="ignore"):
        logits = np.log(P)
    shown = candidate_probabilities(logits, Decoding(temperature=1, **settings))
    expected = np.zeros(8)
    expected[kept] = P[kept] / P[kept].sum()
    np.testing.assert_allclose(shown, expected, atol=1e-12)


def test_temperature_sharpens_below_one_and_flattens_above():
    with np.errstate(divide="ignore"):
        logits = np.log(P)
    for temperature in (0.25, 1, 2):
        powered = P ** (1 / temperature)
        shown = candidate_probabilities(logits, Decoding(temperature=temperature))
        np.testing.assert_allclose(shown, powered / powered.sum(), atol=1e-12)


def test_a_tiny_temperature_is_greedy_and_overflows_nowhere():
    logits = np.array([0, 0, 1, 0, 500, -500, 499, 3], np.float32)
    with np.errstate(over="raise", invalid="raise"):
        shown = candidate_probabilities(logits, Decoding(temperature=0.01))
    assert shown.argmax() == 4 and shown[4] == pytest.approx(1)


def test_the_same_seed_writes_the_same_story_and_another_seed_another():
    engine = TorchEngine(build_model("attention", seed=1).eval())
    stories = [generate(engine, [BOS], Decoding(20, temperature=1, seed=s)).new_ids for s in (3, 3, 4)]
    assert stories[0] == stories[1] != stories[2]


def test_greedy_is_the_same_every_time_whatever_the_seed():
    engine = TorchEngine(build_model("attention", seed=1).eval())
    assert generate(engine, [BOS], Decoding(20)).new_ids == generate(engine, [BOS], Decoding(20, seed=9)).new_ids


def test_drawn_words_follow_the_distribution():
    """A chi-square test: 4 degrees of freedom, 18.5 is passed by chance once in a thousand seeds; this one is fixed."""
    n = 4000
    story = Generation(Fixed(P), [BOS], Decoding(1000, temperature=1, seed=1))
    drawn: Counter = Counter()
    while sum(drawn.values()) < n:
        story.stop = None  # the end may be drawn as often as it comes, and the limit does not matter here
        drawn[story.advance().id] += 1
    chi_square = sum((drawn[i] - n * P[i]) ** 2 / (n * P[i]) for i in np.flatnonzero(P))
    assert chi_square < 18.5
    assert set(drawn) <= set(np.flatnonzero(P))


def test_the_probability_shown_is_that_of_the_choice_and_alternatives_are_in_order():
    choice = Generation(Fixed(P), [BOS], Decoding(5)).advance()
    assert (choice.id, choice.probability) == (4, pytest.approx(0.4))
    choice = Generation(Fixed(P), [BOS], Decoding(5, temperature=1, seed=2)).advance()
    assert choice.probability == pytest.approx(P[choice.id])
    assert [i for i, _ in choice.alternatives] == [4, 5, 6, 7, 2]


def test_a_report_counts_the_seconds_of_the_calls_alone():
    story = Generation(Scripted([]), [BOS], Decoding(9))
    story.decisions = [Decision(7, 1.0, (), s) for s in (0.001, 0.002, 0.003, 0.010)]
    report = story.report()
    assert report["seconds"] == pytest.approx(0.016)
    assert report["ms per call, median"] == pytest.approx(2.5)
    assert report["ms per call, p95"] == pytest.approx(10)


@pytest.mark.parametrize(
    "setting",
    [
        {"max_new_tokens": 0},
        {"max_new_tokens": 1001},
        {"temperature": -0.1},
        {"temperature": math.nan},
        {"top_k": -1},
        {"top_p": 0},
        {"top_p": 1.1},
    ],
)
def test_impossible_settings_are_refused_by_name(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        Decoding(**setting)


def test_words_are_joined_for_reading():
    words = tokenize('tom said , " i am happy ! " and ran .')
    assert join_words(words) == 'tom said, "i am happy!" and ran.'
    assert join_words([]) == ""


def test_a_story_put_into_the_prompt_is_read_as_the_same_ids(vocab):
    ids = [vocab.itos.index(w) for w in ("a", "dog", "don't", ",", '"', "!")]
    assert list(encode_prompt(" ".join(vocab.decode(ids)), vocab).ids) == [BOS, *ids]


def test_a_story_goes_on_from_a_vocabulary_word(vocab):
    engine = Scripted([vocab.itos.index("ran")], size=len(vocab))
    story = generate(engine, [BOS, vocab.itos.index("dog")], Decoding(3))
    assert story_text(story, vocab) == "ran"
