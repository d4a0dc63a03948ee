"""What a head does over many texts: where its weights fall, each word read as the last one.

The same is asked of attention heads by Vig and Belinkov 2019, *Analyzing the structure of attention in a Transformer
language model* (distance, entropy), and Clark et al. 2019, *What does BERT look at?* (the marks, the word before).
Beside each measure stands what even weights over the visible keys would give, for the very same words.

Q is the number of words read; T the slots. Weights stand by distance, not by slot: column d is the key d words back.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import torch

from wordlm.ablation import ratio_interval
from wordlm.data import StoryStream, Windows
from wordlm.inspection import rows_as_last
from wordlm.models import CausalAttentionLM
from wordlm.schemas import checked, checked_each
from wordlm.smoke import NAME, PLACE, THING
from wordlm.text import BOS, CONTEXT_LEN, PAD, SPECIALS, UNK, Vocab, tokenize

TARGETS = {
    "the start mark": "The weight on `<BOS>`, over the words that still see it",
    "the previous word": "The weight on the word just before",
    "itself": "The weight on the word itself",
    "the same word earlier": "The weight on all earlier places of the same word, over the words that have one in sight",
    "the word after the same word earlier": "The weight on what followed earlier places of the same word: the "
    "induction measure of Olsson et al. 2022",
    "punctuation": "The weight on marks such as full stops and commas, over the words that see one",
}
"""What a head may look at, each with its definition."""
ENTROPY, POSITION = "entropy", "position"
MEASURES = TARGETS | {
    ENTROPY: "How spread out a row is, in nats; the logarithm of the number of keys for even weights",
    POSITION: "The share of the variance about even weights that distance and number of keys alone predict, from the "
    "other texts' mean weights; the rest depends on which words stand there",
}
EVEN = 1e-9
"""A mean squared distance from even weights below this is rounding: then there is nothing to explain."""
SPREAD = (0.1, 0.9)
"""The spread of a weight over the words: between these quantiles."""
CHUNK = 512


@dataclass(frozen=True)
class Readings:
    """Every word of some texts, read as the last one; in the order of the texts."""

    ids: np.ndarray
    """(Q, T): the id of the key so many words back, `PAD` where there is none."""
    text: np.ndarray
    """(Q,): which text each word stands in."""

    @classmethod
    def of(cls, windows: Windows) -> "Readings":
        """Return those of all texts of `windows`, without the start marks' own, whose only weight is always 1."""
        ids = windows[:].numpy()[:, ::-1].astype(np.int16)
        text = windows.story_of(torch.arange(len(windows))).numpy()
        return cls(ids[ids[:, 0] != BOS], text[ids[:, 0] != BOS])

    @classmethod
    def of_texts(cls, texts: Sequence[Sequence[int]]) -> "Readings":
        """Return those of texts given as word ids."""
        return cls.of(Windows(StoryStream.of([list(text) for text in texts]), CONTEXT_LEN))

    @property
    def keys(self) -> np.ndarray:
        """(Q,): how many keys each word sees."""
        return (self.ids != PAD).sum(1)


def weights_by_distance(model: CausalAttentionLM, readings: Readings) -> np.ndarray:
    """Return each head's weights, (H, Q, T) float32; 0 where there is no key."""
    slots = readings.ids.shape[1]
    parts = []
    for text in np.unique(readings.text):
        ids = [BOS, *readings.ids[readings.text == text, 0].tolist()]
        for start in range(1, len(ids), CHUNK):  # a long text whole would make a matrix of all its words
            end, first = min(start + CHUNK, len(ids)), max(0, start - slots + 1)
            rows = rows_as_last(model, ids[first:end], end - start)  # (H, count, end - first)
            key = np.arange(start, end)[:, None] - np.arange(slots) - first
            there = np.take_along_axis(rows, np.maximum(key, 0)[None], axis=2)
            parts.append(np.where(key >= 0, there, np.float32(0)))
    return np.concatenate(parts, axis=1) if parts else np.zeros((model.heads, 0, slots), np.float32)


def targets(readings: Readings, vocab: Vocab) -> dict[str, np.ndarray]:
    """Return for each of `TARGETS` which keys are meant, (Q, T) bool. Unknown words are not the same word."""
    ids, distance = readings.ids, np.arange(readings.ids.shape[1])
    known = (ids[:, :1] != UNK) & (distance > 0)
    same = (ids == ids[:, :1]) & known
    # The key at distance d follows the one at d + 1; a repeated word is not what followed itself.
    after = np.zeros_like(same)
    after[:, 1:-1] = same[:, 2:]
    marks = np.array([not any(c.isalnum() for c in word) for word in vocab.itos])
    marks[: len(SPECIALS)] = False
    found = (ids == BOS, distance == 1, distance == 0, same, after, marks[ids])
    return {name: np.broadcast_to(mask, ids.shape) for name, mask in zip(TARGETS, found, strict=True)}


@dataclass(frozen=True)
class Measure:
    """One measure of all heads of a model over the same words."""

    words: int
    """Over how many words."""
    value: np.ndarray
    """(H,): the mean; NaN where there is nothing to measure."""
    low: np.ndarray
    high: np.ndarray
    """(H,): its 95 % interval, texts drawn with replacement; NaN for a single text."""
    even: float
    """What even weights give; NaN where the measure has no such value."""
    most: np.ndarray | None = None
    """(H,): the share of words whose largest weight falls on the target."""


@dataclass(frozen=True)
class Profile:
    """What the heads of a model do over some texts."""

    texts: int
    words: int
    measures: dict[str, Measure]
    """Each of `MEASURES`."""
    by_distance: np.ndarray
    """(H, D): the mean weight of the key so many words back, over the words that have one there."""
    low: np.ndarray
    high: np.ndarray
    """(H, D): the quantiles `SPREAD` of that weight over the words."""
    even: np.ndarray
    """(D,): the mean that even weights give."""

    @property
    def heads(self) -> int:
        """How many heads the model has."""
        return len(self.by_distance)

    @property
    def sharpness(self) -> np.ndarray:
        """(H,): how far a row is from even on average, in nats: the Kullback-Leibler divergence, ln n − entropy."""
        entropy = self.measures[ENTROPY]
        return entropy.even - entropy.value

    def unusual(self, head: int, count: int = 3) -> list[str]:
        """Return the `TARGETS` whose share is furthest from even, the furthest first.

        In nats: the Kullback-Leibler divergence of (share, rest) from what even weights give.
        """
        far = {name: divergence(self.measures[name].value[head], self.measures[name].even) for name in TARGETS}
        found = [name for name in far if not math.isnan(far[name])]
        return sorted(found, key=lambda name: -far[name])[:count]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON of numbers with five digits."""
        return _plain(vars(self) | {"measures": {name: vars(measure) for name, measure in self.measures.items()}})

    @classmethod
    def from_json(cls, stored: Any) -> "Profile":
        """Return what `as_json` made of a profile. Raises `ValueError` that names the field."""
        whole = checked(stored, dict[str, Any])
        given = checked_each(checked(whole.get("measures"), dict[str, Any], "measures"), dict[str, Any], "measures")
        if missing := [name for name in MEASURES if name not in given]:
            raise ValueError(f"measures.{missing[0]} is missing")
        said = {
            name: {field: math.nan if value is None else value for field, value in given[name].items()}
            for name in MEASURES
        }
        return checked(whole | {"measures": checked_each(said, Measure, "measures")}, cls)


class _Profiled(msgspec.Struct):
    sha256: str
    profiles: dict[str, Any]


class _Profiles(msgspec.Struct):
    checkpoints: dict[str, Any]


def check_profiles(value: Any) -> dict[str, Any]:
    """Return `value` if it has the form of `profiles.json`; else a `ValueError` names the field.

    The profiles themselves are checked one at a time, by `Profile.from_json`.
    """
    checked_each(checked(value, _Profiles).checkpoints, _Profiled, "checkpoints")
    return value


def profile_of(model: CausalAttentionLM, readings: Readings, vocab: Vocab) -> Profile:
    """Return what the heads of a model do when each of `readings` is read."""
    return profile(weights_by_distance(model, readings), readings, vocab)


def profile(weights: np.ndarray, readings: Readings, vocab: Vocab) -> Profile:
    """Return the profile of `weights` (H, Q, T). Raises `ValueError` when no word is read."""
    if not len(readings.text):
        raise ValueError("the texts hold no word to read")
    keys = readings.keys

    def measured(over: np.ndarray, under: np.ndarray, where: np.ndarray, even: float, **more: Any) -> Measure:
        """`over` (H, Q) and `under` (H, Q) or (Q,), summed over the words `where` and divided."""
        over, under = over[:, where], np.broadcast_to(under, over.shape)[:, where]
        value, ends = np.full(len(over), np.nan), np.full((2, len(over)), np.nan)
        texts, text = np.unique(readings.text[where], return_inverse=True)  # only those that have such a word are drawn
        for head, (a, b) in enumerate(zip(over, under, strict=True)):
            if b.sum() > EVEN * len(b):
                value[head] = a.sum() / b.sum()
                ends[:, head] = ratio_interval(a, b, text) if len(texts) > 1 else np.nan
        return Measure(len(text), value, ends[0], ends[1], even, **more)

    everywhere, ones, largest = np.ones(len(keys), bool), np.ones(len(keys)), weights.argmax(2)
    measures = {}
    for name, target in targets(readings, vocab).items():
        where, even = target.any(1), target.sum(1) / keys
        share = np.einsum("hqt,qt->hq", weights, target, dtype=np.float64, casting="unsafe")
        hits = np.stack([target[np.arange(len(keys)), key] for key in largest])
        most = hits[:, where].mean(1) if where.any() else np.full(len(weights), np.nan)
        measures[name] = measured(share, ones, where, float(even[where].mean()) if where.any() else math.nan, most=most)
    measures[ENTROPY] = measured(np.stack([_entropy(w) for w in weights]), ones, everywhere, float(np.log(keys).mean()))
    left, whole = np.stack([_left_by_position(w, readings) for w in weights]).transpose(1, 0, 2)
    measures[POSITION] = measured(whole - left, whole, everywhere, math.nan)

    reach = int(keys.max())
    seen = [keys > distance for distance in range(reach)]
    at = [weights[:, there, distance] for distance, there in enumerate(seen)]  # each (H, words that have such a key)
    low, high = (np.stack([np.quantile(part, q, axis=1) for part in at], axis=1) for q in SPREAD)
    mean = np.stack([part.mean(1, dtype=np.float64) for part in at], axis=1)
    even = np.array([(1 / keys[there]).mean() for there in seen])
    return Profile(len(np.unique(readings.text)), len(keys), measures, mean, low, high, even)


def _entropy(weights: np.ndarray) -> np.ndarray:
    """Return the entropy of each row (Q, T) in nats."""
    weights = weights.astype(float)
    return -(weights * np.log(weights, out=np.zeros_like(weights), where=weights > 0)).sum(1)


def _left_by_position(weights: np.ndarray, readings: Readings) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's squared distance from what position alone predicts, and from even weights, (Q,) each.

    The prediction for a key is the mean weight at its distance over the words of the other texts that see as many
    keys. Where no other text has such a word nothing is predicted, and both are 0.
    """
    weights, keys = weights.astype(float), readings.keys
    even = np.where(np.arange(weights.shape[1]) < keys[:, None], 1 / keys[:, None], 0)
    whole = ((weights - even) ** 2).sum(1)
    # Words of a text stand together, and within it those with as many keys.
    new = (np.diff(readings.text, prepend=-1) != 0) | (np.diff(keys, prepend=-1) != 0)
    group, starts = np.cumsum(new) - 1, np.flatnonzero(new)
    own, number = np.add.reduceat(weights, starts), np.diff([*starts, len(keys)])
    total, count = np.zeros((weights.shape[1] + 1, weights.shape[1])), np.zeros(weights.shape[1] + 1)
    np.add.at(total, keys[starts], own)
    np.add.at(count, keys[starts], number)
    others = (count[keys[starts]] - number)[:, None]
    predicted = np.divide(total[keys[starts]] - own, others, out=np.zeros_like(own), where=others > 0)
    known = (others > 0)[group, 0]
    return ((weights - predicted[group]) ** 2).sum(1) * known, whole * known


def divergence(share: float, even: float) -> float:
    """Return the Kullback-Leibler divergence of (share, 1 - share) from (even, 1 - even) in nats; NaN without both."""
    parts = ((share, even), (1 - share, 1 - even))
    return math.nan if math.isnan(share) else sum(p * math.log(p / q) for p, q in parts if p > 0)


def verdict(share: float, low: float, high: float, even: float) -> str:
    """Return whether a head looks at something: "mostly", "more", "less" or "no" more than even weights would.

    `low` and `high` bound its share; without an interval they are the share itself.
    """
    if low > even and share > 0.5:
        return "mostly"
    return "more" if low > even else "less" if high < even else "no"


# Texts in which only one thing repeats


def repeated_words(rng: np.random.Generator, length: int, vocab_size: int) -> list[int]:
    """Return the ids of `length` random common words, twice over; their embeddings were trained well.

    Olsson et al. 2022, *In-context learning and induction heads*, section 2.
    """
    return rng.integers(len(SPECIALS), min(500, vocab_size), length).tolist() * 2


NAMES_SENTENCES = (
    "{a} and {b} went to the {place} .",
    "{a} had a {thing} .",
    "{a} gave the {thing} to {b} .",
    "{b} saw {a} .",
    "the {thing} was for {b} .",
)


def repeated_names(rng: np.random.Generator, vocab: Vocab) -> list[int]:
    """Return the ids of a short text in which two names come again, its sentences in any order.

    After Wang et al. 2023, *Interpretability in the wild*, whose texts end in "gave a drink to".
    """
    a, b = rng.choice(NAME, 2, replace=False)
    words = {"a": a, "b": b, "place": rng.choice(PLACE), "thing": rng.choice(THING)}
    text = " ".join(rng.permutation(NAMES_SENTENCES)).format(**words)
    return vocab.encode(tokenize(text))


STORIES, WORDS, NAMES = "test stories", "repeated words", "repeated names"
CONTROLLED_TEXTS = 200


def controlled(vocab: Vocab, seed: int = 0) -> dict[str, Readings]:
    """Return the readings of both sorts of controlled texts, the same for the same `seed`.

    Each text of random words has another length, so that no distance tells where the same word stands.
    """
    rng = np.random.default_rng(seed)
    lengths = rng.integers(8, CONTEXT_LEN // 2, CONTROLLED_TEXTS)
    words = [repeated_words(rng, length, len(vocab)) for length in lengths]
    names = [repeated_names(rng, vocab) for _ in range(CONTROLLED_TEXTS)]
    return {WORDS: Readings.of_texts(words), NAMES: Readings.of_texts(names)}


# As JSON


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, np.ndarray):
        return [_plain(inner) for inner in value]
    if isinstance(value, int):
        return value
    return None if math.isnan(value) else float(f"{value:.5g}")
