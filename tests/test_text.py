import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordlm.text import BOS, PAD, SPECIALS, UNK, Vocab, encode_prompt, tokenize

ODD_PROMPT = "<s> </script> $x$ *a* :smile: &lt; _b_"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a little dog found a red hat", ["a", "little", "dog", "found", "a", "red", "hat"]),
        ("Don't RUN!", ["don't", "run", "!"]),
        ("“Don’t,” she said…", ['"', "don't", ",", '"', "she", "said", "…"]),
        ("the dogs' bowl 'tis", ["the", "dogs", "'", "bowl", "'", "tis"]),
        ("10,000 and 3.5 and 7.", ["10,000", "and", "3.5", "and", "7", "."]),
        ("cafe\u0301 CAFÉ", ["café", "café"]),
        ("नमस्ते שלום", ["नमस्ते", "שלום"]),
        ("a\x00b\u200b c\u202e", ["a", "b", "c"]),
        ("👩\u200d👩\u200d👧 ❤️!", ["👩\u200d👩\u200d👧", "❤️", "!"]),
        ("a_b-c", ["a", "_", "b", "-", "c"]),
        ("<PAD>", ["<", "pad", ">"]),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_text_is_cut_into_words_numbers_and_single_characters(text, tokens):
    assert tokenize(text) == tokens


@given(st.text())
def test_tokens_are_visible_and_lower_case_and_hold_no_space(text):
    for token in tokenize(text):
        assert token
        assert token == token.lower()
        assert not any(character.isspace() for character in token)


@given(st.text())
def test_joining_tokens_with_spaces_and_cutting_again_changes_nothing(text):
    tokens = tokenize(text)
    assert tokenize(" ".join(tokens)) == tokens


@given(st.text())
def test_no_text_ever_spells_a_special_id(text):
    vocab = Vocab((*SPECIALS, "a", "<", ">"))
    assert not set(vocab.encode(tokenize(text))) & {PAD, BOS, 2}
    assert not set(vocab.encode(tokenize("<BOS>" + text))) & {PAD, BOS, 2}


def test_naming_a_special_word_gives_unknown():
    assert Vocab((*SPECIALS, "a")).encode(["<PAD>", "<BOS>", "<EOS>", "<UNK>", "a"]) == [UNK, UNK, UNK, UNK, 4]


def test_vocabulary_keeps_the_most_frequent_tokens_and_breaks_ties_by_the_token():
    vocab = Vocab.from_stories([["b", "b", "a", "c"], ["d", "d", "d"]], size=7)
    assert vocab.itos == (*SPECIALS, "d", "b", "a")


def test_vocabulary_survives_a_round_trip_and_notices_a_changed_file(tmp_path):
    path = tmp_path / "vocab.json"
    vocab = Vocab((*SPECIALS, "cat", "é"))
    vocab.save(path)
    assert Vocab.load(path) == vocab
    content = json.loads(path.read_text(encoding="utf-8"))
    content["itos"][4] = "dog"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match=r"vocab\.json was changed"):
        Vocab.load(path)


@pytest.mark.parametrize("content", ["{", "[]", '{"itos": 3}', '{"itos": ["a"]}', '{"itos": [1]}'])
def test_a_file_that_is_no_vocabulary_is_refused(tmp_path, content):
    path = tmp_path / "vocab.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError):
        Vocab.load(path)


def test_the_example_prompt_is_bos_and_its_seven_words(vocab):
    prompt = encode_prompt("a little dog found a red hat", vocab)
    words = [vocab.itos.index(word) for word in ["a", "little", "dog", "found", "a", "red", "hat"]]
    assert prompt.input_ids.shape == (1, 64)
    assert prompt.input_ids[prompt.input_ids != PAD].tolist() == [BOS, *words] == list(prompt.ids)
    assert prompt.input_ids[0, :56].tolist() == [PAD] * 56
    assert (prompt.padding, prompt.unknown, prompt.dropped) == (56, 0, 0)


def test_an_empty_prompt_is_bos_alone(vocab):
    prompt = encode_prompt("", vocab)
    assert prompt.ids == (BOS,)
    assert prompt.padding == 63


def test_a_long_prompt_keeps_its_last_words_and_bos_goes_first(vocab):
    words = ["cat", "dog"] * 50
    assert encode_prompt(" ".join(words[:63]), vocab).dropped == 0
    just_over = encode_prompt(" ".join(words[:64]), vocab)
    assert just_over.dropped == 1
    assert BOS not in just_over.ids
    prompt = encode_prompt(" ".join(words), vocab)
    assert prompt.dropped == 37
    assert prompt.typed == tuple(words[-64:])
    assert prompt.positions == tuple(range(37, 101))
    assert prompt.padding == 0


def test_typed_words_stand_beside_the_model_s_tokens(vocab):
    prompt = encode_prompt("The Zyzzyva’s HAT", vocab)
    assert prompt.typed == ("<BOS>", "The", "Zyzzyva’s", "HAT")
    assert prompt.tokens == ("<BOS>", "the", "<UNK>", "hat")
    assert prompt.unknown == 1


def test_odd_characters_are_kept_as_typed(vocab):
    prompt = encode_prompt(ODD_PROMPT, vocab)
    assert "".join(prompt.typed[1:]) == ODD_PROMPT.replace(" ", "")


@given(st.text(), st.integers(1, 70))
def test_encoding_fills_the_context_from_the_right(text, context_len):
    vocab = Vocab((*SPECIALS, "a", "the"))
    prompt = encode_prompt(text, vocab, context_len)
    everything = [BOS, *vocab.encode(tokenize(text))]
    expected = ([PAD] * context_len + everything)[-context_len:]
    np.testing.assert_array_equal(prompt.input_ids[0], expected)
    assert prompt.dropped + len(prompt.ids) == len(everything)
