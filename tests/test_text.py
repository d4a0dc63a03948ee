import hashlib
import json
import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordlm.prepare_data import cut_subset
from wordlm.text import (
    BOS,
    EOS,
    PAD,
    SPECIALS,
    UNK,
    Vocab,
    direction,
    encode_prompt,
    spaces_between,
    tokenize,
    typed_words,
)

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
        ("👩\u200d👩\u200d👧 ❤️!", ["👩\u200d👩\u200d👧", "❤", "!"]),
        ("a_b-c", ["a", "_", "b", "-", "c"]),
        ("<PAD>", ["<", "pad", ">"]),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_text_is_cut_into_words_numbers_and_single_characters(text, tokens):
    assert tokenize(text) == tokens


UNSEEN = re.compile(
    "SOFT HYPHEN|COMBINING GRAPHEME JOINER|ZERO WIDTH (SPACE|NO-BREAK SPACE)|WORD JOINER|FUNCTION APPLICATION"
    "|INVISIBLE (TIMES|SEPARATOR|PLUS)|MONGOLIAN (FREE VARIATION SELECTOR (ONE|TWO|THREE|FOUR)|VOWEL SEPARATOR)"
    "|VARIATION SELECTOR-[0-9]+|TAG .+|CANCEL TAG|COMBINING ENCLOSING KEYCAP|ZERO WIDTH (NON-)?JOINER"
)


def test_what_nobody_sees_inside_of_a_word_is_left_out_and_nothing_beside_it():
    unseen = {code for code in range(0xE01F0) if UNSEEN.fullmatch(unicodedata.name(chr(code), ""))}
    assert len(unseen) == 17 + 16 + 96 + 240
    unseen.add(0xFFFE)  # no character, so without a name
    for code in sorted(unseen | {code + 1 for code in unseen} | {code - 1 for code in unseen}):
        assert (tokenize(f"a{chr(code)}b") == ["ab"]) == (code in unseen), hex(code)


def test_every_letter_that_is_a_latin_one_in_another_shape_is_read_as_that_one():
    """By the names that Unicode gives them; what it decomposes into other marks or scripts stays as it is."""
    shapes = re.compile("LATIN SMALL LIGATURE .*|MATHEMATICAL .*|FULLWIDTH .*|DOUBLE-STRUCK .*")
    plain = 0
    for character in map(chr, [*range(0x130, 0x2200), *range(0xFB00, 0x1D800)]):
        form = unicodedata.normalize("NFKC", character)
        if shapes.fullmatch(unicodedata.name(character, "")) and form.isascii():
            assert tokenize(character) == tokenize(form), hex(ord(character))
            plain += 1
    assert plain > 800
    for character in "℀⅓ŉ𝛂｟\uff00ｱ":
        assert tokenize(f"a {character}") == ["a", character]


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


def test_the_special_ids_are_the_first_four_of_4000():
    assert [SPECIALS[i] for i in (PAD, BOS, EOS, UNK)] == ["<PAD>", "<BOS>", "<EOS>", "<UNK>"] == list(SPECIALS)
    many = ([f"word{i}" for i in range(5000)],)
    assert len(Vocab.from_stories(many)) == 4000


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
    for change in ({"itos": [*SPECIALS, "dog", "é"]}, {"sha256": "0" * 64}, {"sha256": "f" * 64}, {"sha256": None}):
        path.write_text(json.dumps(content | change), encoding="utf-8")
        with pytest.raises(ValueError, match=r"vocab\.json was changed"):
            Vocab.load(path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a"], r"starts with <PAD>, <BOS>, <EOS>, <UNK>, this one with \('a',\)$"),
        (["!", *"abcdefg"], r"starts with <PAD>, <BOS>, <EOS>, <UNK>, this one with \('!', 'a', 'b', 'c'\)$"),
        ([*SPECIALS, "a", "b", "b", "c"], "holds every word once, this one holds 'b' twice$"),
    ],
)
def test_words_that_are_no_vocabulary_are_refused_with_what_is_wrong(words, message):
    with pytest.raises(ValueError, match=message):
        Vocab(tuple(words))


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


def test_a_long_prompt_counts_from_the_start_of_the_text_and_reaches_back_as_far_as_its_readings_do(vocab):
    words = ["cat", "dog", "zyzzyva"] * 50
    prompt = encode_prompt(" ".join(words), vocab)
    assert (prompt.dropped, prompt.first_word, prompt.unknown) == (87, 86, 22)
    assert prompt.labels[0] == "87 · zyzzyva" == prompt.word_labels[0]
    assert prompt.reach == prompt.text_ids[-(64 + 63) :]
    assert encode_prompt(" ".join(words[:110]), vocab).reach == (BOS, *vocab.encode(words[:110]))
    whole, cut = (encode_prompt(" ".join(words[:count]), vocab) for count in (63, 64))
    assert (whole.first_word, cut.first_word) == (0, 0)
    assert whole.labels[:2] == ("0 · <BOS>", "1 · cat")
    assert whole.word_labels == whole.labels[1:] and len(whole.word_labels) == 63
    assert cut.word_labels == cut.labels and cut.labels[0] == "1 · cat"


def test_a_prompt_up_to_a_word_is_the_text_cut_after_it(vocab):
    text = "one two three four five six seven eight nine ten " * 12
    prompt = encode_prompt(text, vocab)
    for place in (0, 10, 63):
        reading, end = prompt.up_to(place), prompt.positions[place]
        expected = encode_prompt(" ".join(text.split()[:end]), vocab)
        assert (reading.ids, reading.typed, reading.positions) == (expected.ids, expected.typed, expected.positions)
        assert reading.labels[-1] == prompt.labels[place]


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


# Characters as people paste them: apostrophes, quotes, hyphens, what nobody sees, ligatures, other letters, emoji.
PASTED = "‘’´`′＇ʼ“”«»″‐‑−…\u00ad\u200b\u200c\u200d\u2060\ufeff\ufe0f\u20e3\u0301ﬁﬂĳＡｂ！𝐇𝐢❤👩שдaeit5 .\n"


@pytest.mark.parametrize(
    ("text", "typed", "tokens"),
    [
        ("don´t don′t don＇t donʼt don’t", "don´t don′t don＇t donʼt don’t", "don't " * 5),
        ("don`t it`s", "don`t it`s", "don't it's"),
        ("spark\u00adling sand\u2060castle", "spark\u00adling sand\u2060castle", "sparkling sandcastle"),
        ("ﬁsh and ﬂoor", "ﬁsh and ﬂoor", "fish and floor"),
        ("5\ufe0f cats, 5\ufe0f\u20e3 cats", "5\ufe0f cats , 5\ufe0f\u20e3 cats", "5 cats , 5 cats"),
        ("wait…", "wait …", "wait ."),
        ("wait ❤ 中", "wait ❤ 中", "wait ❤ 中"),
        ("some\ufffething cafe\ufffe\u0301 \ufffe", "some\ufffething cafe\ufffe\u0301", "something café"),
        ("so\u200cft café cafe\u00ad\u0301", "so\u200cft café cafe\u00ad\u0301", "soft café café"),
        ("\ufeffonce up\u200bon a\u200c time", "once up\u200bon a time", "once upon a time"),
        ("Ｈｅｌｌｏ！", "Ｈｅｌｌｏ ！", "hello !"),
        ("𝐇𝐞𝐥𝐥𝐨 𝑐𝑎𝑡", "𝐇𝐞𝐥𝐥𝐨 𝑐𝑎𝑡", "hello cat"),
        ("«Hello» ‹hat›", "« Hello » ‹ hat ›", "\" hello \" ' hat '"),
        ("pop‑up", "pop ‑ up", "pop - up"),
    ],
)
def test_characters_as_people_paste_them_stay_on_screen_and_are_read_as_the_plain_word(vocab, text, typed, tokens):
    prompt = encode_prompt(text, vocab)
    assert prompt.typed[1:] == tuple(typed.split(" "))
    assert prompt.tokens[1:] == tuple(token if token in vocab else "<UNK>" for token in tokens.split())
    assert typed_words(text, vocab)[0] == typed.split(" ")


def test_an_ellipsis_that_a_vocabulary_knows_is_read_as_itself():
    assert encode_prompt("a…", Vocab((*SPECIALS, "a", "."))).tokens[-1] == "."
    assert encode_prompt("a…", Vocab((*SPECIALS, "a", ".", "…"))).tokens[-1] == "…"


def test_a_character_after_a_joiner_is_not_lost():
    assert tokenize("\u200d\u200dx") == ["x"]


@given(st.text(PASTED) | st.text())
def test_pasted_characters_give_no_empty_token_and_cutting_again_changes_nothing(text):
    tokens = tokenize(text)
    assert all(tokens)
    assert not set("".join(tokens)) & set("\u00ad\u200b\u2060\ufeff\ufe0fﬁﬂ´′＇")
    assert tokenize(" ".join(tokens)) == tokens


@given(st.text(PASTED) | st.text())
def test_what_is_seen_of_a_text_is_its_typed_words_in_their_order(text):
    typed, ids = typed_words(text, Vocab((*SPECIALS, ".", "'", "it's")))
    spaces = spaces_between(text, typed)
    assert len(typed) == len(ids) == len(spaces)
    rest = "".join(gap + word for gap, word in zip(spaces, typed, strict=True))
    left_out = iter(
        unicodedata.normalize("NFC", text).translate(dict.fromkeys(map(ord, "\r\v\f\x85\u2028\u2029"), "\n"))
    )
    assert all(character in left_out for character in rest.replace("\r", ""))
    seen = [c for c in unicodedata.normalize("NFC", text) if unicodedata.category(c)[0] in "LNPS"]
    assert [c for c in "".join(typed) if unicodedata.category(c)[0] in "LNPS"] == seen


def test_the_token_stream_of_the_6000_stories_is_the_one_that_the_checkpoints_were_trained_on(real_stories):
    digest = hashlib.sha256()
    for story in cut_subset(real_stories):
        digest.update("\n".join(tokenize(story)).encode() + b"\n\n")
    assert digest.hexdigest() == "d2a92e635d863416e5d00577e5b6f79b10ad904f46c3dd4bd13c88eea4a33530"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("שלום cat", "rtl"), ("5, مرحبا", "rtl"), ("cat שלום", "ltr"), ("", "ltr"), ("5!", "ltr")],
)
def test_the_first_letter_gives_a_text_its_direction(text, expected):
    assert direction(text) == expected


def test_spaces_and_paragraphs_of_a_text_can_be_put_back():
    text = "A cat.\r\n\r\nA  dog!\n"
    typed = ["A", "cat", ".", "A", "dog", "!"]
    assert spaces_between(text, typed) == ["", " ", "", "\n\n", "  ", ""]
