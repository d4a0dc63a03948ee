"""Letting a model write on: one call of the model for each new word.

The model has learned 64 absolute slots and predicts from the last one, so with each new word every earlier word moves
one slot to the left and gets another position embedding. An engine is given the whole context for every word; what it
need not compute again, it may keep (`wordlm.key_value_cache`).
"""

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
import pandas as pd

from wordlm.numbers import count, written
from wordlm.text import BOS, CONTEXT_LEN, EOS, PAD, UNK, Vocab, left_pad

ALTERNATIVES = 5


@dataclass(frozen=True)
class Decoding:
    """How the next word is chosen from the model's probabilities."""

    max_new_tokens: int = 60
    temperature: float = 0.0
    """0 takes the likeliest word (greedy); above it divides the logits, so a small one sharpens."""
    top_k: int = 0
    """Keep only the k likeliest words; 0 keeps all."""
    top_p: float = 1.0
    """Keep the fewest likeliest words whose probabilities reach p (Holtzman et al. 2020); 1 keeps all."""
    seed: int = 0
    allow_unknown: bool = False
    """Whether `<UNK>` may be chosen. `<PAD>` and `<BOS>` never are."""

    def __post_init__(self) -> None:
        if not 1 <= self.max_new_tokens <= 1000:
            raise ValueError(f"max_new_tokens must lie from 1 to 1,000, got {self.max_new_tokens}")
        if not 0 <= self.temperature <= 10:
            raise ValueError(f"temperature must lie from 0 to 10, got {self.temperature}")
        if self.top_k < 0:
            raise ValueError(f"top_k must be 0 (all words) or more, got {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must lie above 0 and be at most 1, got {self.top_p}")


class StopReason(StrEnum):
    """Why a generation ended."""

    END = "the model ended the story"
    LIMIT = "the limit of new words was reached"
    STOPPED = "it was stopped"


@dataclass(frozen=True)
class Decision:
    """One decision of a generation."""

    id: int
    probability: float
    """The model's own, of this word among all, before temperature, cuts and renormalisation."""
    alternatives: tuple[tuple[int, float], ...]
    """The likeliest words with the model's own probabilities, the likeliest first."""
    seconds: float
    """The model call alone."""


class Engine(Protocol):
    """Anything that turns a context into logits."""

    name: str
    device: str

    @property
    def threads(self) -> int:
        """The threads of one operation."""

    def logits(self, context: np.ndarray) -> np.ndarray:
        """Return the logits (V,) of the word after `context` (1, 64) int64."""
        ...


def candidate_probabilities(logits: np.ndarray, decoding: Decoding) -> np.ndarray:
    """Return the probability of choosing each word, (V,) float64, summing to 1.

    The order: forbidden words are removed, temperature, softmax, top-k, top-p; what is left is renormalised.
    Of equal probabilities at the edge of top-k or top-p, those with the smaller ids are kept.
    """
    scores = logits.astype(np.float64)
    scores[[PAD, BOS]] = -math.inf
    if not decoding.allow_unknown:
        scores[UNK] = -math.inf
    if decoding.temperature == 0:
        chosen = np.zeros(len(scores))
        chosen[scores.argmax()] = 1.0
        return chosen
    powers = np.exp((scores - scores.max()) / decoding.temperature)
    probabilities = powers / powers.sum()
    order = np.argsort(-probabilities, kind="stable")
    kept = len(order) if decoding.top_k == 0 else decoding.top_k
    if decoding.top_p < 1:
        reached = np.cumsum(probabilities[order]) / probabilities[order[:kept]].sum()
        kept = min(kept, int(np.searchsorted(reached, decoding.top_p - 1e-12)) + 1)
    probabilities[order[kept:]] = 0
    return probabilities / probabilities.sum()


@dataclass
class Generation:
    """One story in the making. `advance` makes one model call; several can take turns."""

    engine: Engine
    start_ids: Sequence[int]
    """The ids before the first new word, BOS included."""
    decoding: Decoding
    decisions: list[Decision] = field(default_factory=list)
    stop: StopReason | None = None

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.decoding.seed)

    def advance(self) -> Decision | None:
        """Make one call and return the decision; None when the story has ended. The end itself is a decision."""
        if self.stop is not None:
            return None
        context = left_pad([*self.start_ids, *self.new_ids][-CONTEXT_LEN:])
        start = time.perf_counter()
        logits = self.engine.logits(context)
        seconds = time.perf_counter() - start
        id_ = self._draw(candidate_probabilities(logits, self.decoding))
        powers = np.exp(logits.astype(np.float64) - logits.max())
        probabilities = powers / powers.sum()
        likeliest = np.argsort(-probabilities, kind="stable")[:ALTERNATIVES]
        alternatives = tuple((int(i), float(probabilities[i])) for i in likeliest)
        decision = Decision(id_, float(probabilities[id_]), alternatives, seconds)
        self.decisions.append(decision)
        if id_ == EOS:
            self.stop = StopReason.END
        elif len(self.new_ids) >= self.decoding.max_new_tokens:
            self.stop = StopReason.LIMIT
        return decision

    def _draw(self, probabilities: np.ndarray) -> int:
        if self.decoding.temperature == 0:
            return int(probabilities.argmax())
        below = np.cumsum(probabilities)
        return int(np.searchsorted(below, self._random.random() * below[-1], side="right"))

    def interrupt(self) -> None:
        """End the story where it is, unless it has ended."""
        self.stop = self.stop or StopReason.STOPPED

    @property
    def new_ids(self) -> list[int]:
        """The new words; the decision to end adds none."""
        return [choice.id for choice in self.decisions if choice.id != EOS]

    def report(self) -> dict[str, Any]:
        """Return what happened: tokens, calls, reason, seconds, milliseconds per call, engine and settings.

        Loading and warm-up are not part of it. Seconds are those of the model calls alone.
        """
        milliseconds = sorted(1e3 * choice.seconds for choice in self.decisions)
        return {
            "new tokens": len(self.new_ids),
            "model calls": len(self.decisions),
            "stop": str(self.stop) if self.stop else None,
            "seconds": sum(milliseconds) / 1e3,
            "ms per call, median": statistics.median(milliseconds) if milliseconds else None,
            "ms per call, p95": milliseconds[math.ceil(0.95 * len(milliseconds)) - 1] if milliseconds else None,
            "engine": self.engine.name,
            "device": self.engine.device,
            "threads": self.engine.threads,
            **asdict(self.decoding),
        }


def generate(engine: Engine, start_ids: Sequence[int], decoding: Decoding) -> Generation:
    """Write a whole story."""
    story = Generation(engine, start_ids, decoding)
    while story.advance() is not None:
        pass
    return story


_NO_SPACE_BEFORE = set(".,!?;:'…)")


def join_words(words: Sequence[str]) -> str:
    """Join tokens for reading: no space before a full stop or comma, and none inside a pair of quotes."""
    text, inside_quotes = "", False
    for word in words:
        closing = word == '"' and inside_quotes
        glued = not text or text.endswith("(") or word in _NO_SPACE_BEFORE or closing or text.endswith("\x00")
        text = text.removesuffix("\x00") + ("" if glued else " ") + word
        if word == '"':
            inside_quotes = not inside_quotes
            text += "\x00" if inside_quotes else ""
    return text.removesuffix("\x00")


def story_text(generation: Generation, vocab: Vocab) -> str:
    """Return the new words for reading."""
    return join_words(vocab.decode(generation.new_ids))


def decision_table(story: Generation, vocab: Vocab) -> pd.DataFrame:
    """Return each decision of a story: `call`, `word`, `probability`, `alternatives`, `ms`."""

    def listed(decision: Decision) -> str:
        return "  ".join(f"{vocab.itos[i]} {written(p, 3, limit=True)}" for i, p in decision.alternatives)

    return pd.DataFrame(
        [
            (call, vocab.itos[d.id], d.probability, listed(d), 1e3 * d.seconds)
            for call, d in enumerate(story.decisions, 1)
        ],
        columns=["call", "word", "probability", "alternatives", "ms"],
    )


def report_table(stories: dict[str, Generation]) -> pd.DataFrame:
    """Return the reports of stories by their names, one column a story."""
    reports = {name: {key: _shown(value) for key, value in story.report().items()} for name, story in stories.items()}
    return pd.DataFrame(reports).rename_axis("report").reset_index()


def _shown(value: object) -> str:
    if isinstance(value, float):
        return written(value, 3)
    return count(value) if type(value) is int else str(value)
