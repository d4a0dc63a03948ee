"""From typed text to the ids that a model reads, and back.

One `tokenize` cuts stories and prompts alike. A token is a word (inner apostrophes kept: *don't*), a
number, or one other visible character. Case, spaces, invisible characters and the shape of quotes are
lost, and decoding cannot bring them back; `encode_prompt` keeps the typed form beside each token.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from wordlm.files import read_json, sha256_text, write_json

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ("<PAD>", "<BOS>", "<EOS>", "<UNK>")
VOCAB_SIZE = 4000
CONTEXT_LEN = 64

# One character for one, so that a span of the straightened text is a span of the typed one.
_STRAIGHT = str.maketrans({"‘": "'", "’": "'", "‛": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "‟": '"'})

# Accents and vowel signs that Unicode keeps apart from their letter; `\w` does not cover them.
_MARKS = "".join(chr(c) for c in range(0x300, 0x1F000) if unicodedata.category(chr(c)).startswith("M"))
_LETTERS = rf"(?:[^\W\d_][{_MARKS}]*)+"
_TOKEN = re.compile(
    rf"{_LETTERS}(?:['\u200c\u200d]{_LETTERS})*"  # a word
    r"|\d+(?:[.,]\d+)*"  # a number
    rf"|\S[{_MARKS}]*(?:\u200d\S[{_MARKS}]*)*"  # one visible character, with what is joined to it
)


def _cut(text: str) -> list[tuple[str, str]]:
    """Cut `text` into (typed form, token) pairs."""
    text = unicodedata.normalize("NFC", text)
    straight = text.translate(_STRAIGHT)
    # Control and format characters and lone surrogates cannot be seen, so they are no tokens.
    return [
        (text[match.start() : match.end()], match.group().lower())
        for match in _TOKEN.finditer(straight)
        if unicodedata.category(match.group()[0]) not in ("Cc", "Cf", "Cs")
    ]


def tokenize(text: str) -> list[str]:
    """Cut `text` into lower-case tokens. `"Don't run!"` gives `["don't", "run", "!"]`."""
    return [token for _, token in _cut(text)]


@dataclass(frozen=True)
class Vocab:
    """The words a model knows; a word's id is its place in `itos`. Ids 0 to 3 are `SPECIALS`."""

    itos: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.itos[: len(SPECIALS)] != SPECIALS:
            raise ValueError(f"a vocabulary starts with {', '.join(SPECIALS)}, this one with {self.itos[:4]}")
        if len(set(self.itos)) != len(self.itos):
            twice = Counter(self.itos).most_common(1)[0][0]
            raise ValueError(f"a vocabulary holds every word once, this one holds {twice!r} twice")

    def __len__(self) -> int:
        return len(self.itos)

    @classmethod
    def from_stories(cls, stories: Iterable[Sequence[str]], size: int = VOCAB_SIZE) -> "Vocab":
        """Keep the `size - 4` most frequent tokens of `stories`; ties are broken by the token itself."""
        counts = Counter(token for story in stories for token in story)
        ranked = sorted(counts, key=lambda token: (-counts[token], token))
        return cls(SPECIALS + tuple(ranked[: size - len(SPECIALS)]))

    @classmethod
    def load(cls, path: str | Path) -> "Vocab":
        """Read `{"itos": [...], "sha256": ...}`; a `ValueError` names the file and what is wrong with it."""
        content = read_json(path)
        words = content.get("itos") if isinstance(content, dict) else None
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError(f'{path} holds no vocabulary: a list of words named "itos" is expected')
        vocab = cls(tuple(words))
        if content.get("sha256") != vocab.sha256:
            raise ValueError(f"{path} was changed: its words do not match the SHA-256 that it states")
        return vocab

    def save(self, path: str | Path) -> None:
        """Write the words and their digest."""
        write_json(path, {"itos": list(self.itos), "sha256": self.sha256})

    @cached_property
    def sha256(self) -> str:
        """The digest of the words in order, as compact JSON."""
        return sha256_text(json.dumps(list(self.itos), ensure_ascii=False, separators=(",", ":")))

    @cached_property
    def _ids(self) -> dict[str, int]:
        # Without the specials: a story or prompt can never spell one.
        return {word: i for i, word in enumerate(self.itos) if i >= len(SPECIALS)}

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Return each token's id; an unknown one gives `UNK`."""
        return [self._ids.get(token, UNK) for token in tokens]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return each id's word."""
        return [self.itos[i] for i in ids]


@dataclass(frozen=True)
class EncodedPrompt:
    """What the model reads of a typed text, and what was done to it on the way.

    The fields hold the whole text, start mark first; the properties what is kept of it, the last `context_len`
    positions, one entry each, the earliest first.
    """

    text_ids: tuple[int, ...]
    text_typed: tuple[str, ...]
    text_tokens: tuple[str, ...]
    context_len: int

    @property
    def dropped(self) -> int:
        """How many of the earliest positions did not fit; the start mark is the first to go."""
        return max(0, len(self.text_ids) - self.context_len)

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """What the model reads."""
        return self.text_ids[self.dropped :]

    @cached_property
    def typed(self) -> tuple[str, ...]:
        """Each word as the visitor wrote it."""
        return self.text_typed[self.dropped :]

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """What the model sees in its place."""
        return self.text_tokens[self.dropped :]

    @cached_property
    def positions(self) -> tuple[int, ...]:
        """Each one's place in the whole text: 0 is `<BOS>`, 1 the first typed word.

        So a position keeps its number also when earlier ones were dropped.
        """
        return tuple(range(self.dropped, len(self.text_ids)))

    @property
    def reach(self) -> tuple[int, ...]:
        """All ids that any kept position reads as the last one: up to `context_len` - 1 more than `ids`."""
        return self.text_ids[max(0, self.dropped - self.context_len + 1) :]

    def up_to(self, place: int) -> "EncodedPrompt":
        """Return the text as read up to the kept position at index `place`: what that word sees as the last one."""
        end = self.dropped + place + 1
        return EncodedPrompt(self.text_ids[:end], self.text_typed[:end], self.text_tokens[:end], self.context_len)

    @property
    def input_ids(self) -> np.ndarray:
        """The model's input, (1, context_len) int64: PAD on the left, then `ids`."""
        return left_pad(self.ids, self.context_len)

    @property
    def padding(self) -> int:
        """How many slots on the left are PAD."""
        return self.context_len - len(self.ids)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One label per position, all different: "3 · cat"."""
        return tuple(f"{place} · {word}" for place, word in zip(self.positions, self.typed, strict=True))

    @property
    def word_labels(self) -> tuple[str, ...]:
        """The labels of the kept words, without that of the start mark."""
        return self.labels[1:] if self.positions[0] == 0 else self.labels

    @property
    def first_word(self) -> int:
        """How many words of the whole text stand before the first kept one."""
        return max(0, self.positions[0] - 1)

    @property
    def unknown(self) -> int:
        """How many kept words the vocabulary lacks."""
        return self.ids.count(UNK)


def encode_prompt(text: str, vocab: Vocab, context_len: int = CONTEXT_LEN) -> EncodedPrompt:
    """Encode `text` as the model was trained: `<BOS>`, the words, cut on the left to `context_len`.

    The last `context_len` of these are kept, so `<BOS>` is the first to go; free slots on the left are PAD.
    An empty text is `<BOS>` alone.
    """
    pairs = _cut(text)
    ids = (BOS, *vocab.encode(token for _, token in pairs))
    typed = (SPECIALS[BOS], *(surface for surface, _ in pairs))
    return EncodedPrompt(ids, typed, tuple(vocab.decode(ids)), context_len)


def typed_words(text: str, vocab: Vocab) -> tuple[list[str], list[int]]:
    """Return the words of a text as typed and their ids, all of them and without a start mark."""
    pairs = _cut(text)
    return [surface for surface, _ in pairs], vocab.encode(token for _, token in pairs)


def left_pad(ids: Sequence[int], context_len: int = CONTEXT_LEN) -> np.ndarray:
    """Return the model's input for at most `context_len` ids: (1, context_len) int64, PAD on the left."""
    padded = np.full((1, context_len), PAD, dtype=np.int64)
    padded[0, context_len - len(ids) :] = ids
    return padded
