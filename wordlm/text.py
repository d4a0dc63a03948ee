"""From typed text to the ids that a model reads, and back.

One `tokenize` cuts stories and prompts alike. A token is a word (inner apostrophes kept: *don't*), a
number, or one other visible character. Case, spaces, invisible characters, ligatures and the shape of quotes
are lost, and decoding cannot bring them back; `encode_prompt` keeps the typed form beside each token.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from wordlm.files import read_json, sha256_text, write_json

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ("<PAD>", "<BOS>", "<EOS>", "<UNK>")
VOCAB_SIZE = 4000
CONTEXT_LEN = 64

# What people type or paste in place of a plain mark, one character for one. The grave accent is no apostrophe here:
# one of the 6,000 stories writes "it`s", and the models were trained on its three tokens; see `_read`.
_STRAIGHT = dict.fromkeys(map(ord, "‘’‚‛ʼʹʻʽˊ´′‵＇՚ꞌ᾽᾿❛❜‹›"), "'")
_STRAIGHT |= dict.fromkeys(map(ord, "“”„‟«»″‶ˮ〝〞〟❝❞＂"), '"')
_STRAIGHT |= dict.fromkeys(map(ord, "‐‑‒−﹣"), "-") | {ord("―"): "—"}

# Nobody sees these: soft hyphens, joiners and spaces without width, variation selectors, emoji tags. The last two are
# the frame of a key around a digit, and what a PDF's hyphen at the end of a line is when copied: no character at all.
_UNSEEN = [0xAD, 0x34F, *range(0x180B, 0x1810), 0x200B, *range(0x2060, 0x2065), 0xFEFF, *range(0xFE00, 0xFE10)]
_UNSEEN += [*range(0xE0020, 0xE0080), *range(0xE0100, 0xE01F0), 0x20E3, 0xFFFE]


def _plain_letters() -> dict[int, str]:
    """Return what ligatures, letters of full width and letters for formulas are in plain letters."""
    plain = {}
    for code in [*range(0x130, 0x200), *range(0x2100, 0x2150), *range(0xFB00, 0xFB07), *range(0x1D400, 0x1D800)]:
        form = unicodedata.normalize("NFKC", chr(code))
        if form != chr(code) and form.isascii() and form.isalnum():
            plain[code] = form
    return plain | {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}


PLAIN = _plain_letters() | _STRAIGHT | dict.fromkeys(_UNSEEN, "")
# Only these change the length of a text; without one, a span of the plain text is the same span of the typed one.
_LONGER_OR_SHORTER = re.compile(f"[{''.join(chr(code) for code, form in PLAIN.items() if len(form) != 1)}]")
# They change how the character before them looks, so they stay with it.
_LOOKS = re.compile("[\u20e3\ufe00-\ufe0f\U000e0020-\U000e007f\U000e0100-\U000e01ef]*")

_CATEGORIES = [(chr(c), unicodedata.category(chr(c))) for c in (*range(0x1F000), *range(0xE0000, 0xE0080))]
# Accents and vowel signs that Unicode keeps apart from their letter; `\w` does not cover them.
MARKS = "".join(c for c, category in _CATEGORIES if category.startswith("M"))
# Control and format characters and lone surrogates cannot be seen, so no token starts with one.
CONTROLS = "".join(c for c, category in _CATEGORIES if category in ("Cc", "Cf")) + "\ud800-\udfff"
_LETTERS = rf"(?:[^\W\d_][{MARKS}]*)+"


def _tokens(apostrophes: str) -> re.Pattern[str]:
    return re.compile(
        rf"{_LETTERS}(?:[{apostrophes}\u200c\u200d]{_LETTERS})*"  # a word
        rf"|\d+(?:[.,]\d+)*[{MARKS}]*"  # a number
        rf"|[^\s{CONTROLS}][{MARKS}]*(?:\u200d[^\s\w{CONTROLS}][{MARKS}]*)*"  # one visible character or joined ones
    )


_TOKEN = _tokens("'")
_TOKEN_OF_A_PROMPT = _tokens("'`")
# Letters of the Latin script are written with no joiner; other scripts and emoji need theirs.
_JOINER_IN_LATIN = re.compile("(?<=[a-z\u00c0-\u024f])[\u200c\u200d]")


def _cut(text: str, pattern: re.Pattern[str] = _TOKEN) -> list[tuple[str, str]]:
    """Cut `text` into (typed form, token) pairs. The typed forms are pieces of the text in NFC, in their order."""
    if text.isascii():  # nothing to make plain
        return [(match.group(), match.group().lower()) for match in pattern.finditer(text)]
    text = unicodedata.normalize("NFC", text)
    plain = text.translate(PLAIN)
    # For each plain character the place of the typed one.
    places: Sequence[int] = range(len(text))
    if _LONGER_OR_SHORTER.search(text):
        places = [place for place, typed in enumerate(text) for _ in PLAIN.get(ord(typed), typed)]
    pairs = []
    for match in pattern.finditer(plain):
        last = places[match.end() - 1] + 1
        looks = _LOOKS.match(text, last)
        typed = text[places[match.start()] : looks.end() if looks else last]
        token = match.group().lower()
        if not token.isascii():
            token = _JOINER_IN_LATIN.sub("", unicodedata.normalize("NFC", token))
        pairs.append((typed, token))
    return pairs


def _read(text: str, vocab: "Vocab") -> list[tuple[str, str]]:
    """Cut a prompt as `_cut` does; what `vocab` lacks is read as its plain form where it knows that.

    Two forms stand in the stories and so are tokens of their own: an ellipsis, read as a full stop here, and a grave
    accent between letters, read as an apostrophe.
    """
    pairs = []
    for typed, token in _cut(text, _TOKEN_OF_A_PROMPT):
        plain = "." if token == "…" else token.replace("`", "'")
        if plain == token or token in vocab:
            pairs.append((typed, token))
        elif plain in vocab:
            pairs.append((typed, plain))
        else:
            pairs += _cut(typed)
    return pairs


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
        if len(self.itos) == len(SPECIALS):
            raise ValueError("a vocabulary holds at least one word beside the special ones, this one holds none")
        if len(set(self.itos)) != len(self.itos):
            twice = Counter(self.itos).most_common(1)[0][0]
            raise ValueError(f"a vocabulary holds every word once, this one holds {twice!r} twice")
        "".join(self.itos).encode()  # half a character, which JSON can spell, is no text: a ValueError

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

    def __contains__(self, token: str) -> bool:
        return token in self._ids

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
    def direction(self) -> Literal["ltr", "rtl"]:
        """The direction of its kept words, see `direction`; `<BOS>` has none."""
        return direction(" ".join(word for word, place in zip(self.typed, self.positions, strict=True) if place))

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
    pairs = _read(text, vocab)
    ids = (BOS, *vocab.encode(token for _, token in pairs))
    typed = (SPECIALS[BOS], *(surface for surface, _ in pairs))
    return EncodedPrompt(ids, typed, tuple(vocab.decode(ids)), context_len)


def typed_words(text: str, vocab: Vocab) -> tuple[list[str], list[int]]:
    """Return the words of a text as typed and their ids, all of them and without a start mark."""
    pairs = _read(text, vocab)
    return [surface for surface, _ in pairs], vocab.encode(token for _, token in pairs)


def spaces_between(text: str, typed: Sequence[str]) -> list[str]:
    """Return the spaces and line breaks of `text` before each of its `typed_words`."""
    text, end, spaces = unicodedata.normalize("NFC", text), 0, []
    for word in typed:
        start = text.index(word, end)
        gap = text[end:start].replace("\r\n", "\n")
        spaces.append("".join("\n" if c in "\r\v\f\x85\u2028\u2029" else c for c in gap if c.isspace()))
        end = start + len(word)
    return spaces


def direction(text: str) -> Literal["ltr", "rtl"]:
    """Return the direction of a text: that of its first letter, as Unicode's bidirectional algorithm has it."""
    kinds = (unicodedata.bidirectional(character) for character in text)
    return "rtl" if next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L" else "ltr"


def left_pad(ids: Sequence[int], context_len: int = CONTEXT_LEN) -> np.ndarray:
    """Return the model's input for at most `context_len` ids: (1, context_len) int64, PAD on the left."""
    padded = np.full((1, context_len), PAD, dtype=np.int64)
    padded[0, context_len - len(ids) :] = ids
    return padded
