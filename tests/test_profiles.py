"""What a head does over many texts: by a slow loop over separate readings, and for heads whose answer is known."""

import json
import math

import numpy as np
import pytest
import torch

from wordlm.checkpoints import save_model_npz
from wordlm.models import CausalAttentionLM, build_model
from wordlm.profile_heads import main, profile_all
from wordlm.profiles import (
    ENTROPY,
    MEASURES,
    NAMES,
    PLACES,
    POSITION,
    STORIES,
    TARGETS,
    WORDS,
    Measure,
    Profile,
    Readings,
    controlled,
    divergence,
    profile,
    profile_of,
    repeated_names,
    verdict,
    weights_by_distance,
)
from wordlm.text import BOS, SPECIALS, UNK, Vocab, left_pad

VOCAB = Vocab((*SPECIALS, ".", ",", *(f"w{number}" for number in range(30))))
STOP, COMMA = 4, 5
TEXTS = [[6, 7, STOP, 6, 7, 8], [UNK, 9, UNK, COMMA], [10], [6, 6, 6]]
T = 64


def small_model(heads: int = 2) -> CausalAttentionLM:
    return build_model("multihead", len(VOCAB), seed=3, heads=heads).eval()


def set_by_hand(*, same: float = 0.0, previous: float = 0.0) -> CausalAttentionLM:
    """One head of known purpose: a word's own coordinate, and one coordinate each for the last two slots."""
    model = CausalAttentionLM(len(VOCAB), T, 64, 64, 64, 8).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.token_embedding.weight[:, : len(VOCAB)] = torch.eye(len(VOCAB))
        model.position_embedding.weight[62, 62] = model.position_embedding.weight[63, 63] = 1
        words = range(len(SPECIALS), len(VOCAB))
        model.W_Q.weight[words, words] = model.W_K.weight[words, words] = same**0.5
        # The query of the last slot asks for the slot before it, and not for its own.
        model.W_Q.weight[63, 63], model.W_K.weight[63, 63] = 8000, -1
        model.W_Q.weight[62, 63], model.W_K.weight[62, 62] = previous, 1
    return model


def readings_one_by_one(model, texts):
    """(text, the weights of each head, the ids) of every word, each from a reading of its own."""
    for number, text in enumerate(texts):
        for place in range(1, len(text) + 1):
            ids = [BOS, *text][: place + 1][-T:]
            with torch.inference_mode():
                weights = model.forward_details(torch.from_numpy(left_pad(ids)))["weights"][0, :, -1]
            yield number, weights[:, -len(ids) :].numpy().astype(float), ids


def keys_of(name: str, ids: list[int]) -> list[int]:
    """The places that a target means, from its definition."""
    last, word = len(ids) - 1, ids[-1]
    earlier = [place for place in range(last) if ids[place] == word and word != UNK]
    return {
        "the start mark": [place for place in range(last + 1) if ids[place] == BOS],
        "the previous word": [last - 1],
        "itself": [last],
        "the same word earlier": earlier,
        "the word after the same word earlier": [place + 1 for place in earlier if place + 1 < last],
        "punctuation": [place for place in range(last + 1) if ids[place] in (STOP, COMMA)],
    }[name]


LONG = np.random.default_rng(1).integers(3, len(VOCAB), 700).tolist()


@pytest.mark.parametrize("texts", [TEXTS, [LONG, *TEXTS]], ids=["short", "longer than the context and the chunk"])
def test_every_measure_equals_a_slow_loop_over_separate_readings(texts):
    model = small_model()
    found = profile_of(model, Readings.of_texts(texts), VOCAB)
    read = list(readings_one_by_one(model, texts))
    assert (found.texts, found.words) == (len(texts), len(read))
    for name in TARGETS:
        there = [(rows[:, keys_of(name, ids)], ids) for _, rows, ids in read if keys_of(name, ids)]
        measure = found.measures[name]
        assert measure.words == len(there)
        np.testing.assert_allclose(measure.value, np.mean([part.sum(1) for part, _ in there], axis=0), atol=1e-6)
        assert measure.even == pytest.approx(np.mean([part.shape[1] / len(ids) for part, ids in there]))
    for name in TARGETS:
        most = [
            [int(row.argmax()) in keys_of(name, ids) for row in rows] for _, rows, ids in read if keys_of(name, ids)
        ]
        np.testing.assert_allclose(found.measures[name].most, np.mean(most, axis=0))
    entropies = [[-sum(p * math.log(p) for p in row) for row in rows] for _, rows, _ in read]
    np.testing.assert_allclose(found.measures[ENTROPY].value, np.mean(entropies, axis=0), atol=1e-5)
    assert found.measures[ENTROPY].even == pytest.approx(np.mean([math.log(len(ids)) for _, _, ids in read]))


def test_the_weight_by_distance_is_over_the_words_that_have_a_key_there():
    model = small_model()
    found = profile_of(model, Readings.of_texts(TEXTS), VOCAB)
    read = list(readings_one_by_one(model, TEXTS))
    assert found.by_distance.shape == (2, 7)
    for distance in range(7):
        there = np.array([rows[:, -1 - distance] for _, rows, ids in read if len(ids) > distance])
        np.testing.assert_allclose(found.by_distance[:, distance], there.mean(0), atol=1e-6)
        low, high = (np.quantile(there, q, axis=0) for q in (0.1, 0.9))
        np.testing.assert_allclose(found.low[:, distance], low, atol=1e-6)
        np.testing.assert_allclose(found.high[:, distance], high, atol=1e-6)
        even = np.mean([1 / len(ids) for _, _, ids in read if len(ids) > distance])
        assert found.even[distance] == pytest.approx(even)


def test_what_position_explains_equals_a_slow_loop_that_leaves_out_the_word_s_own_text():
    model = small_model(1)
    with torch.no_grad():
        model.W_Q.weight *= 5  # a fresh head is nearly even
    texts = [LONG[:70], LONG[70:145], LONG[200:205], LONG[300:301]]
    found = profile_of(model, Readings.of_texts(texts), VOCAB)
    read = [(text, rows[0, ::-1]) for text, rows, _ in readings_one_by_one(model, texts)]
    left = whole = 0.0
    for text, row in read:
        others = [other for number, other in read if number != text and len(other) == len(row)]
        if others:
            left += ((row - np.mean(others, axis=0)) ** 2).sum()
            whole += ((row - 1 / len(row)) ** 2).sum()
    assert found.measures[POSITION].value[0] == pytest.approx(1 - left / whole, abs=1e-5)


def test_a_uniform_head_gets_the_baselines_and_leaves_nothing_to_explain():
    model = small_model()
    with torch.no_grad():
        model.W_Q.weight.zero_()
    found = profile_of(model, Readings.of_texts(TEXTS), VOCAB)
    for name in (*TARGETS, ENTROPY):
        measure = found.measures[name]
        np.testing.assert_allclose(measure.value, measure.even, atol=1e-6)
        assert (measure.low <= measure.value).all() and (measure.value <= measure.high).all()
    np.testing.assert_allclose(found.by_distance, [found.even] * 2, atol=1e-6)
    np.testing.assert_allclose(found.sharpness, 0, atol=1e-6)
    assert np.isnan(found.measures[POSITION].value).all()


def test_a_head_set_to_look_at_the_previous_word_does_so_by_position_alone():
    found = profile_of(set_by_hand(previous=8000), Readings.of_texts(TEXTS), VOCAB)
    assert found.measures["the previous word"].value[0] == pytest.approx(1)
    assert found.measures["the previous word"].most[0] == 1
    assert found.measures["itself"].value[0] == pytest.approx(0)
    assert found.measures[POSITION].value[0] == pytest.approx(1)
    assert found.measures[ENTROPY].value[0] == pytest.approx(0, abs=1e-6)
    assert found.by_distance[0].tolist() == pytest.approx([0, 1, 0, 0, 0, 0, 0])
    assert found.unusual(0, 1) == ["the previous word"]


def test_a_head_set_to_match_equal_words_finds_them_and_no_distance_tells_where():
    readings = controlled(VOCAB)[WORDS]
    found = profile_of(set_by_hand(same=8000), readings, VOCAB)
    assert found.measures["the same word earlier"].value[0] == pytest.approx(1)
    assert found.unusual(0, 1) == ["the same word earlier"]
    after = found.measures["the word after the same word earlier"]
    assert after.value[0] < after.even + 0.02, "matching equal words is no induction"
    assert found.measures[POSITION].value[0] < 0.1


def test_the_interval_covers_the_texts_and_a_single_text_has_none():
    model = small_model()
    many = profile_of(model, Readings.of_texts([LONG[i : i + 9] for i in range(0, 270, 9)]), VOCAB)
    previous = many.measures["the previous word"]
    assert (previous.low < previous.value).all() and (previous.value < previous.high).all()
    one = profile_of(model, Readings.of_texts([TEXTS[0]]), VOCAB)
    assert np.isnan(one.measures["the previous word"].low).all()
    assert not np.isnan(one.measures["the previous word"].value).any()


def test_what_a_text_does_not_hold_is_not_a_number_and_no_word_is_refused():
    one = profile_of(small_model(), Readings.of_texts([[10]]), VOCAB)
    for name in ("the same word earlier", "punctuation"):
        assert one.measures[name].words == 0
        assert np.isnan(one.measures[name].value).all()
    assert not set(one.unusual(0, 9)) & {"the same word earlier", "punctuation"}
    with pytest.raises(ValueError, match="no word to read"):
        profile_of(small_model(), Readings.of_texts([[]]), VOCAB)


def test_a_profile_comes_back_from_its_json_with_five_digits():
    found = profile_of(small_model(), Readings.of_texts([[10], [11]]), VOCAB)
    again = Profile.from_json(json.loads(json.dumps(found.as_json(), allow_nan=False)))
    assert (again.texts, again.words) == (2, 2)
    np.testing.assert_allclose(again.by_distance, found.by_distance, rtol=1e-4)
    for name in MEASURES:
        for part in ("words", "value", "low", "high", "even"):
            before, after = getattr(found.measures[name], part), getattr(again.measures[name], part)
            np.testing.assert_allclose(after, before, rtol=1e-4)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"measures": {}}, "measures.the start mark is missing"),
        ({"measures": [1]}, "measures: expected object, got array"),
        ({"texts": "two"}, "texts: expected int, got str"),
        ({"even": None}, "even: expected array, got NoneType"),
        ({"low": [[1, 2], [3]]}, "low: expected numbers, in rows of one length"),
        ({"itself": {"value": "x"}}, "measures.itself.value: expected array, got str"),
        ({"itself": {"words": 1.5}}, "measures.itself.words: expected int, got float"),
    ],
)
def test_a_stored_profile_that_is_none_is_refused_by_its_field(wrong, said):
    stored = profile_of(small_model(), Readings.of_texts([[10], [11]]), VOCAB).as_json()
    stored["measures"]["itself"] |= wrong.pop("itself", {})
    with pytest.raises(ValueError) as error:
        Profile.from_json(stored | wrong)
    assert str(error.value) == said


def test_the_most_unusual_share_is_the_furthest_in_nats_not_the_smallest():
    readings = Readings.of_texts(TEXTS)
    weights = weights_by_distance(small_model(1), readings)
    weights[:] = 0
    weights[0, :, 1] = 1
    assert profile(weights, readings, VOCAB).unusual(0, 1) == ["the previous word"]
    assert divergence(0.5, 0.03) == pytest.approx(0.5 * math.log(0.5 / 0.03) + 0.5 * math.log(0.5 / 0.97))
    assert divergence(0.0, 0.03) == pytest.approx(-math.log(0.97))
    assert math.isnan(divergence(math.nan, 0.1))


def measure_of(low: float, high: float, even: float, beyond: tuple[float, float] | None) -> Measure:
    ends = {} if beyond is None else {"beyond_low": np.array([beyond[0]]), "beyond_high": np.array([beyond[1]])}
    return Measure(100, np.array([(low + high) / 2]), np.array([low]), np.array([high]), even, **ends)


@pytest.mark.parametrize(
    ("low", "high", "even", "beyond", "said"),
    [
        (0.68, 0.72, 0.03, None, "mostly"),
        (0.38, 0.42, 0.03, None, "more"),
        (0.02, 0.04, 0.03, None, "no"),
        (0.005, 0.02, 0.03, None, "less"),
        (0.68, 0.72, 0.03, (0.1, 0.2), "mostly"),
        (0.032, 0.034, 0.03, (0.001, 0.002), "more"),
        (0.032, 0.034, 0.03, (-0.001, 0.002), "position"),
        (0.032, 0.034, 0.03, (-0.004, -0.002), "position"),  # more than even, less than its place would give
        (0.01, 0.02, 0.03, (-0.004, 0.001), "position"),
        (0.01, 0.02, 0.03, (-0.004, -0.001), "less"),
        (0.02, 0.04, 0.03, (0.001, 0.002), "no"),
        (math.nan, math.nan, 0.03, None, "no"),
    ],
)
def test_a_verdict_needs_to_be_beyond_even_weights_and_beyond_what_position_predicts(low, high, even, beyond, said):
    assert verdict(measure_of(low, high, even, beyond), 0) == said


def test_what_position_predicts_for_a_target_equals_a_slow_loop_that_leaves_out_the_word_s_own_text():
    model = small_model(1)
    with torch.no_grad():
        model.W_Q.weight *= 5
    texts = [LONG[:70], LONG[70:145], LONG[200:205], LONG[300:301]]
    found = profile_of(model, Readings.of_texts(texts), VOCAB)
    read = [(text, rows[0, ::-1], ids) for text, rows, ids in readings_one_by_one(model, texts)]
    expected, shares = [], []
    for text, row, ids in read:
        same = np.array([word == ids[-1] != UNK and back > 0 for back, word in enumerate(ids[::-1])])
        if same.any():
            others = [other for number, other, _ in read if number != text and len(other) == len(row)]
            predicted = np.mean(others, axis=0) if others else np.full(len(row), 1 / len(row))
            expected.append(predicted[same].sum())
            shares.append(row[same].sum())
    measure = found.measures["the same word earlier"]
    assert measure.by_position[0] == pytest.approx(np.mean(expected), abs=1e-5)
    difference = np.mean(shares) - np.mean(expected)
    assert measure.beyond_low[0] <= difference + 1e-5 and difference - 1e-5 <= measure.beyond_high[0]
    assert all(found.measures[name].by_position is None for name in (*PLACES, ENTROPY, POSITION))
    one = profile_of(model, Readings.of_texts(texts[:1]), VOCAB)
    assert one.measures["the same word earlier"].by_position is None


def test_a_head_that_looks_by_distance_alone_is_not_said_to_look_at_a_word():
    """Its weight on the same word earlier lies above even wherever that word is near; its place explains it."""
    texts = [[8, 8, 9, 9, 10, 10, 11, 11], [12, 12, 13, 13, 14, 14, 15, 15], [16, 16, 17, 17, 18, 18, 19, 19]]
    readings = Readings.of_texts(texts)
    weights = np.zeros((1, *readings.ids.shape), np.float32)
    weights[0, :, 1] = 0.9
    weights[0, :, 0] = 0.1
    measure = profile(weights, readings, VOCAB).measures["the same word earlier"]
    assert measure.low[0] > measure.even
    assert verdict(measure, 0) == "position"


def test_controlled_texts_are_the_same_for_the_same_seed_and_repeat_what_they_say(vocab):
    first, again, other = (controlled(vocab, seed) for seed in (0, 0, 1))
    for name in (WORDS, NAMES):
        np.testing.assert_array_equal(first[name].ids, again[name].ids)
        assert not np.array_equal(first[name].ids, other[name].ids)
        assert UNK not in first[name].ids[:, 0]
    words = first[WORDS]
    lengths = set()
    for text in range(5):
        ids = words.ids[words.text == text, 0].tolist()
        lengths.add(len(ids))
        assert ids[: len(ids) // 2] == ids[len(ids) // 2 :]
    assert len(lengths) > 1, "no distance tells where the same word stands"
    said = vocab.decode(repeated_names(np.random.default_rng(2), vocab))
    assert max(said.count(name) for name in ("tom", "lily", "ben", "mia", "max", "sue")) >= 3


@pytest.fixture
def folder(tmp_path, smoke_corpus, monkeypatch):
    """A folder of untrained checkpoints, one of them without heads; few controlled texts, for the time they take."""
    monkeypatch.setattr("wordlm.profiles.CONTROLLED_TEXTS", 10)
    for heads in (None, 1, 2):
        kind = {None: "mlp", 1: "attention"}.get(heads, "multihead")
        stated = {"kind": kind, "heads": heads, "seed": 1, "vocab_sha256": smoke_corpus.vocab.sha256}
        model = build_model(kind, len(smoke_corpus.vocab), 1, heads if kind == "multihead" else None)
        save_model_npz(tmp_path / "heads" / f"own_{heads}.npz", model, stated)
    return tmp_path


def test_every_checkpoint_with_heads_is_profiled_over_every_sort_of_text(folder, smoke_corpus):
    result = profile_all(folder / "heads", smoke_corpus)
    assert list(result["checkpoints"]) == ["own_1", "own_2"]
    assert result["data_sha256"] == smoke_corpus.digest
    for heads, entry in zip((1, 2), result["checkpoints"].values(), strict=True):
        assert list(entry["profiles"]) == [STORIES, WORDS, NAMES]
        assert all(Profile.from_json(stored).heads == heads for stored in entry["profiles"].values())
    text = json.dumps(result)
    assert not [word for word in smoke_corpus.vocab.itos[5:] if len(word) > 5 and word in text], "no text of a story"


def test_the_whole_path_from_smoke_stories_to_the_file(folder, monkeypatch, capsys):
    from wordlm.prepare_data import prepare

    prepare("smoke", folder / "data")
    output = folder / "profiles.json"
    options = ["--profile", "smoke", "--data-dir", folder / "data", "--heads-dir", folder / "heads", "--output", output]
    monkeypatch.setattr("sys.argv", ["profile_heads", *map(str, options)])
    main()
    assert len(json.loads(output.read_text(encoding="utf-8"))["checkpoints"]) == 2
    assert "head  2" in capsys.readouterr().out
