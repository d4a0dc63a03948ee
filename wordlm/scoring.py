"""How well a model expects a text that it is given: the surprisal of each word in its own context."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from wordlm.data import StoryStream, Windows
from wordlm.loss import perplexity
from wordlm.models import LanguageModel
from wordlm.text import CONTEXT_LEN, UNK, Vocab

BATCH = 512


def prefix_windows(word_ids: Sequence[int]) -> Windows:
    """Return the contexts of a text's words, (n, 64): row i is BOS and the words before word i.

    Exactly as in training: the last 64 ids, the latest in the last slot. So the first word's context is BOS
    alone. A row `n` follows, the context of whatever comes after the text.
    """
    return Windows(StoryStream.of([list(word_ids)]), CONTEXT_LEN)


@dataclass(frozen=True)
class WordScores:
    """How each word of a text was expected; arrays of length n."""

    losses: np.ndarray
    """-ln p of the word in nats, its surprisal."""
    ranks: np.ndarray
    """1 where the word was the likeliest."""

    @property
    def cross_entropy(self) -> float:
        """The sum of the losses over their number, nats per word."""
        return float(self.losses.astype(float).mean())


def score_words(
    model: LanguageModel, word_ids: Sequence[int], *, first: int = 0, **switches: Tensor | None
) -> WordScores:
    """Score each word of a text of any length in its own context of up to 64 positions.

    `first` leaves out the words before it, though they are read. An unknown word scores the `<UNK>` target.
    `switches` switch heads off, as in `CausalAttentionLM.forward`.
    """
    contexts, n = prefix_windows(word_ids), len(word_ids)
    targets = torch.tensor(word_ids, dtype=torch.int64)
    losses, ranks = torch.empty(n), torch.empty(n, dtype=torch.int64)
    with torch.inference_mode():
        for start in range(first, n, BATCH):
            batch = slice(start, min(start + BATCH, n))
            logits = model(contexts[batch], **switches)
            losses[batch] = torch.nn.functional.cross_entropy(logits, targets[batch], reduction="none")
            ranks[batch] = (logits > logits.gather(1, targets[batch, None])).sum(1) + 1
    return WordScores(losses[first:].numpy(), ranks[first:].numpy())


def word_losses(
    model: LanguageModel, word_ids: Sequence[int], *, first: int = 0, **switches: Tensor | None
) -> np.ndarray:
    """Return the surprisal -ln p of each word of a text in nats, (n,), as `score_words`."""
    return score_words(model, word_ids, first=first, **switches).losses


def word_score_table(typed: list[str], ids: list[int], scores: WordScores, vocab: Vocab) -> pd.DataFrame:
    """Return one row per word: `word` with its place, `token`, `probability`, `rank`, `loss, nats`, `unknown`."""
    return pd.DataFrame(
        {
            "word": [f"{place} · {word}" for place, word in enumerate(typed, 1)],
            "token": vocab.decode(ids),
            "probability": np.exp(-scores.losses),
            "rank": scores.ranks,
            "loss, nats": scores.losses,
            "unknown": np.array(ids) == UNK,
        }
    )


def model_table(scores: dict[str, WordScores]) -> pd.DataFrame:
    """Return cross-entropy and perplexity of the text for each model."""
    return pd.DataFrame(
        [
            (name, s.cross_entropy, s.cross_entropy / math.log(2), perplexity(s.cross_entropy))
            for name, s in scores.items()
        ],
        columns=["model", "cross-entropy, nats", "cross-entropy, bits", "perplexity"],
    )


def disagreement_table(typed: list[str], scores: dict[str, WordScores], count: int = 15) -> pd.DataFrame:
    """Return the words on whose surprisal the models differ most: each model's loss in nats, and the spread."""
    losses = np.stack([s.losses for s in scores.values()])  # (models, n)
    spread = losses.max(0) - losses.min(0)
    top = np.argsort(-spread, kind="stable")[:count]
    table = pd.DataFrame({"word": [f"{i + 1} · {typed[i]}" for i in top]})
    for name, row in zip(scores, losses[:, top], strict=True):
        table[name] = row
    table["spread"] = spread[top]
    return table


def unit_table(total_nats: float, typed: list[str]) -> pd.DataFrame:
    """Return one total loss shared out over other units: `shared out over`, `number`, `perplexity`."""
    letters = sum(map(len, typed))
    return pd.DataFrame(
        [
            ("words and marks of this app's tokenizer", len(typed), perplexity(total_nats / len(typed))),
            ("characters of these", letters, perplexity(total_nats / letters)),
        ],
        columns=["shared out over", "number", "perplexity"],
    )
