import errno
import pickle
import random
from pathlib import Path

import pytest
import torch
from torch.overrides import TorchFunctionMode

from wordlm.data import (
    SPLITS,
    DataError,
    build_corpus,
    check_subset,
    corpus_from_stories,
    make_all_windows,
    split_stories,
    stories_in,
)
from wordlm.files import ARTIFACTS, read_json
from wordlm.prepare_data import cut_subset, describe_corpus, prepare
from wordlm.smoke import smoke_stories
from wordlm.text import BOS, EOS, PAD, Vocab, encode_prompt, tokenize


def slow_windows(stories: list[list[int]], context_len: int):
    """One window after the other, straight from the definition."""
    for story in stories:
        tokens = [BOS, *story, EOS]
        for place in range(1, len(tokens)):
            yield ([PAD] * context_len + tokens[:place])[-context_len:], tokens[place]


def encoded_stories(corpus, name):
    split = split_stories([tokenize(story) for story in smoke_stories()])
    return [corpus.vocab.encode(story) for story in split[name]]


@pytest.mark.parametrize("context_len", [1, 5, 64])
@pytest.mark.parametrize("name", list(SPLITS))
def test_windows_equal_a_slow_loop_over_the_stories(smoke_corpus, name, context_len):
    contexts, targets = make_all_windows(smoke_corpus, context_len)[name]
    expected = list(slow_windows(encoded_stories(smoke_corpus, name), context_len))
    assert contexts[:].tolist() == [context for context, _ in expected]
    assert targets.tolist() == [target for _, target in expected]


def test_windows_behave_like_an_integer_array(smoke_windows):
    contexts, targets = smoke_windows["test"]
    assert contexts.shape == (len(contexts), 64) == (len(targets), 64)
    rows = torch.tensor([5, 0, len(contexts) - 1, 5])
    assert torch.equal(contexts[rows], contexts[:][rows])
    assert torch.equal(contexts[3], contexts[:][3])
    assert torch.equal(contexts[-1], contexts[:][-1])
    assert torch.equal(contexts[10:30:7], contexts[:][10:30:7])
    assert contexts[rows].dtype == torch.int64
    with pytest.raises(IndexError):
        contexts[len(contexts)]
    moved = contexts.to(torch.device("cpu"))
    assert moved.shape == contexts.shape
    assert torch.equal(moved[rows], contexts[rows])


def test_a_window_is_what_a_prompt_of_the_same_words_becomes(smoke_corpus, smoke_windows):
    contexts, targets = smoke_windows["train"]
    story = split_stories([tokenize(story) for story in smoke_stories()])["train"][0]
    for place in (0, 1, len(story)):
        prompt = encode_prompt(" ".join(story[:place]), smoke_corpus.vocab)
        assert contexts[place].tolist() == prompt.input_ids[0].tolist()
    assert targets[len(story)] == EOS


def test_each_row_knows_its_story(smoke_corpus, smoke_windows):
    contexts, _ = smoke_windows["test"]
    lengths = [len(story) + 1 for story in encoded_stories(smoke_corpus, "test")]
    expected = [story for story, length in enumerate(lengths) for _ in range(length)]
    assert contexts.story_of(torch.arange(len(contexts))).tolist() == expected


def test_splits_are_disjoint_complete_and_of_the_stated_sizes():
    stories = [tokenize(story) for story in smoke_stories()]
    split = split_stories(stories)
    assert {name: len(part) for name, part in split.items()} == {"train": 320, "validation": 40, "test": 40}
    together = [tuple(story) for part in split.values() for story in part]
    assert sorted(together) == sorted(map(tuple, stories))
    sets = [set(map(tuple, part)) for part in split.values()]
    assert sets[0].isdisjoint(sets[1]) and sets[0].isdisjoint(sets[2]) and sets[1].isdisjoint(sets[2])
    assert split == split_stories(stories)


def test_equal_stories_never_stand_in_two_splits():
    rng = random.Random(0)
    stories = [[rng.choice("abcdefgh"), rng.choice("abcdefgh")] for _ in range(200)]  # 64 distinct at most
    split = split_stories(stories)
    sets = [set(map(tuple, part)) for part in split.values()]
    assert sets[0].isdisjoint(sets[1]) and sets[0].isdisjoint(sets[2]) and sets[1].isdisjoint(sets[2])
    assert sum(map(len, split.values())) == 200


def test_the_vocabulary_comes_from_the_training_split_alone():
    stories = [f"cat {i}x" for i in range(100)]
    corpus = corpus_from_stories(stories, "smoke")
    split = split_stories([tokenize(story) for story in stories])
    assert set(corpus.vocab.itos[4:]) == {token for story in split["train"] for token in story}
    held_out = {token for name in ("validation", "test") for story in split[name] for token in story}
    assert held_out - set(corpus.vocab.itos)


def test_smoke_stories_are_distinct_and_the_same_every_time():
    assert smoke_stories() == smoke_stories()
    assert len(set(smoke_stories())) == 400
    assert smoke_stories(seed=8) != smoke_stories()


def test_prepared_smoke_stories_build_the_same_corpus(tmp_path, smoke_corpus):
    prepare("smoke", tmp_path)
    corpus = build_corpus(tmp_path, "smoke")
    assert corpus.digest == smoke_corpus.digest
    assert corpus.vocab == smoke_corpus.vocab


def test_missing_stories_name_the_command_that_brings_them(tmp_path):
    with pytest.raises(DataError, match=r"python -m wordlm.prepare_data --profile smoke"):
        build_corpus(tmp_path, "smoke")


@pytest.mark.parametrize("story", ["once upon a time", "d"], ids=["a larger digest", "a smaller digest"])
def test_other_stories_than_the_pinned_ones_are_refused(tmp_path, story):
    path = tmp_path / "dgx" / "stories.txt"
    path.parent.mkdir()
    path.write_text(story, encoding="utf-8")
    digests = r"their SHA-256 is [0-9a-f]{12}…, expected [0-9a-f]{12}…"
    with pytest.raises(DataError, match=f"these 1 stories are not the pinned subset: {digests}"):
        build_corpus(tmp_path, "dgx")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: path.write_bytes(b"Once upon\xff\xfe a time"), "byte 9 is no UTF-8"),
        (lambda path: path.write_bytes("é".encode()[:1]), "byte 0 is no UTF-8"),
    ],
)
def test_damaged_stories_are_told_from_missing_ones(tmp_path, damage, reason):
    path = tmp_path / "dgx" / "stories.txt"
    path.parent.mkdir()
    damage(path)
    with pytest.raises(DataError, match=rf"^dgx/stories.txt is damaged \({reason}\): python -m wordlm.prepare_data "):
        build_corpus(tmp_path, "dgx")


def test_stories_that_cannot_be_read_are_told_from_missing_ones(tmp_path, monkeypatch):
    path = tmp_path / "dgx" / "stories.txt"
    path.parent.mkdir()
    path.touch()

    def refuse(self):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(DataError, match=r"dgx/stories.txt is damaged \(Permission denied\)"):
        build_corpus(tmp_path, "dgx")


def test_the_real_subset_gives_the_published_vocabulary_and_counts(real_stories):
    stories = cut_subset(real_stories)
    check_subset(stories)
    with pytest.raises(DataError, match="these 5,999 stories are not the pinned subset"):
        check_subset(stories[1:])
    corpus = corpus_from_stories(stories, "dgx")
    assert corpus.vocab == Vocab.load(ARTIFACTS / "vocab.json")
    assert describe_corpus(corpus, stories) == read_json(ARTIFACTS / "corpus.json")


class Largest(TorchFunctionMode):
    """Notes the size of the largest tensor that is made."""

    numel = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor):
            self.numel = max(self.numel, made.numel())
        return made


def test_windows_hold_less_than_a_fortieth_of_materialised_rows_and_never_make_them(smoke_corpus):
    with Largest() as largest:
        contexts, targets = make_all_windows(smoke_corpus)["train"]
        batch = contexts[torch.arange(0, len(contexts), len(contexts) // 100)]
    assert batch.numel() < largest.numel < 2 * len(targets)
    # Whatever the windows hold after use, in tensors or not.
    assert len(pickle.dumps((contexts, targets))) * 40 < len(contexts) * 64 * 8


@pytest.mark.parametrize("count", [3, 4, 5, 6, 7, 9, 10, 15, 100])
def test_of_a_few_stories_each_split_has_one_and_most_are_for_training(count):
    stories = [[f"word{i}"] for i in range(count)]
    split = split_stories(stories, seed=5)
    random.Random(5).shuffle(stories)
    assert [story for name in ("train", "validation", "test") for story in split[name]] == stories
    sizes = {name: len(part) for name, part in split.items()}
    assert sum(sizes.values()) == count
    assert sizes["validation"] == sizes["test"] == max(1, round(count / 10))
    assert sizes["train"] >= sizes["validation"]


def test_three_different_stories_are_enough_whatever_else_is_repeated():
    for seed in range(20):
        split = split_stories([["a"], ["a"], ["a"], ["b"], ["b"], ["c"]], seed)
        assert all(split.values())
        assert sum(map(len, split.values())) == 6


def test_stories_that_are_all_equal_are_left_together_and_refused():
    assert {name: len(part) for name, part in split_stories([["a"]] * 20).items()} == {
        "train": 20,
        "validation": 0,
        "test": 0,
    }
    with pytest.raises(DataError, match="no story is left for validation"):
        corpus_from_stories(["a"] * 20, "text")


@pytest.mark.parametrize(
    "text",
    [
        "one cat\n\ntwo cats\n \t\nthree cats\n",
        "one cat\r\n\r\n\r\ntwo cats\r\n\r\nthree cats",
        "one cat<|endoftext|>\ntwo cats\n<|endoftext|>three cats<|endoftext|> \n",
        "\ufeffone cat\n\ntwo cats\n\n\u200b\n\nthree cats",
    ],
    ids=["blank lines", "lines of Windows", "separators", "what nobody sees"],
)
def test_a_text_is_cut_into_stories_and_what_holds_no_word_is_none(text):
    assert stories_in(text.encode()) == ["one cat", "two cats", "three cats"]


def test_more_than_the_fewest_stories_are_read_too():
    assert stories_in(b"a\n\nb\n\nc\n\nd") == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" \n\n ", "the text holds no story, at least 3 are needed"),
        ("one cat", "the text holds one story, at least 3 are needed"),
        ("one cat\n\ntwo cats", "the text holds 2 stories, at least 3 are needed"),
        (b"one cat\xe4", r"the text is not UTF-8 \(byte 7\)"),
    ],
)
def test_a_text_of_too_few_stories_is_refused_with_their_number(text, message):
    with pytest.raises(DataError, match=message):
        stories_in(text if isinstance(text, bytes) else text.encode())
