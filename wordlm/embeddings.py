"""What the embeddings hold: which words are near each other, a map of all words, and how alike the slots are.

Nearness is the cosine of two vectors: 1 in the same direction, 0 at a right angle. In 64 dimensions some of 4,000
random directions come quite near too, so `chance_of_nearest` stands beside it. The map is a principal component
analysis (Pearson 1901) by singular values. A word's id is its rank by frequency, since a vocabulary is sorted by it.

Embeddings begin as random numbers, and most of that is still in them after training. Since a seed gives the same
numbers again, what training added can be looked at by itself.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from wordlm.models import LanguageModel, build_variant, variant_of
from wordlm.text import EOS, SPECIALS, Vocab

LIKE_FREQUENCY = 100
"""So many words are taken for those of most like frequency."""


@dataclass(frozen=True)
class Vectors:
    """The embeddings of a model, or a part of them."""

    words: np.ndarray  # (V, D)
    slots: np.ndarray | None  # (T, D); None for an MLP, which has none


def vectors_of(model: LanguageModel) -> Vectors:
    """Return the embeddings as the model reads them."""
    slots = getattr(model, "position_embedding", None)
    return Vectors(_array(model.token_embedding.weight), None if slots is None else _array(slots.weight))


def added_by_training(model: LanguageModel, seed: int) -> Vectors | None:
    """Return what training added to the embeddings that `seed` began with; None where it began with others.

    No model ever reads `<EOS>`, so its vector only shrank, by the weight decay; and the start of all others with it.
    What was never read in training has a vector of zeros.
    """
    if not 0 <= seed < 2**63:  # a stranger's file may state anything
        return None
    now = vectors_of(model)
    start = vectors_of(build_variant(variant_of(model), len(now.words), seed))
    if cosines(np.stack([start.words[EOS], now.words[EOS]]), 0)[1] < 0.9999:
        return None
    shrunk = np.linalg.norm(now.words[EOS]) / np.linalg.norm(start.words[EOS])

    def added(now: np.ndarray, start: np.ndarray) -> np.ndarray:
        change = now - shrunk * start
        read = np.linalg.norm(change, axis=1) > 1e-3 * np.linalg.norm(now, axis=1)  # the rest is rounding
        return np.where(read[:, None], change, 0)

    slots = None if now.slots is None or start.slots is None else added(now.slots, start.slots)
    return Vectors(added(now.words, start.words), slots)


def _array(parameter: torch.Tensor) -> np.ndarray:
    return parameter.detach().cpu().numpy().astype(float)


def length(vectors: np.ndarray) -> float:
    """Return the root mean square length of the word `vectors` (V, D), the special ones left out."""
    return float(np.sqrt((vectors[len(SPECIALS) :] ** 2).sum(1).mean()))


def cosines(vectors: np.ndarray, one: int) -> np.ndarray:
    """Return the cosine of each of `vectors` (N, D) with number `one` of them, (N,); 0 with a vector of zeros."""
    unit = _unit(vectors)
    return unit @ unit[one]


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors, dtype=float), where=lengths > 0)


def nearest(near: np.ndarray, word: int, vocab: Vocab, count: int = 10) -> pd.DataFrame:
    """Return the `count` words nearest to a `word`: `word`, `id`, `cosine`. Special words are left out.

    `near` (V,) are the cosines with it.
    """
    order = np.argsort(-near, kind="stable")
    best = order[(order >= len(SPECIALS)) & (order != word)][:count]
    return pd.DataFrame({"word": vocab.decode(best.tolist()), "id": best, "cosine": near[best]})


def of_like_frequency(word: int, vocab_size: int, count: int = LIKE_FREQUENCY) -> np.ndarray:
    """Return the ids of the `count` words whose ranks by frequency are nearest to that of `word`, without itself."""
    others = np.setdiff1d(np.arange(len(SPECIALS), vocab_size), word)
    return np.sort(others[np.argsort(np.abs(others - word), kind="stable")[:count]])


def chance_of_nearest(vocab_size: int, width: int, count: int = 10, draws: int = 20, seed: int = 0) -> np.ndarray:
    """Return how near the nearest of random directions are, (count,): the mean cosine of the first, the second, ...

    As many directions as a word has other words, each drawn evenly; as embeddings are before training.
    """
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        directions = rng.normal(size=(vocab_size - len(SPECIALS) - 1, width))
        found.append(np.sort(directions[:, 0] / np.linalg.norm(directions, axis=1))[::-1][:count])
    return np.mean(found, axis=0)


@dataclass(frozen=True)
class WordMap:
    """The words on the two axes along which their embeddings vary most."""

    ids: np.ndarray
    """(N,): every word but the special ones."""
    places: np.ndarray
    """(N, 2): the sign of the first axis is the one with which `with_rank` is not negative."""
    shares: tuple[float, float]
    """The share of the variance that each axis holds."""
    with_rank: float
    """The rank correlation (Spearman) of the first axis with the rank by frequency."""


def word_map(vectors: np.ndarray) -> WordMap:
    """Return the map of the words with `vectors` (V, D)."""
    ids = np.arange(len(SPECIALS), len(vectors))
    left, sizes, _ = np.linalg.svd(vectors[ids] - vectors[ids].mean(0), full_matrices=False)
    places = left[:, :2] * sizes[:2]
    with_rank = float(np.corrcoef(places[:, 0].argsort().argsort(), ids)[0, 1])
    if with_rank < 0:  # the sign of an axis is free
        places[:, 0] *= -1
    shares = sizes[:2] ** 2 / (sizes**2).sum()
    return WordMap(ids, places, (float(shares[0]), float(shares[1])), abs(with_rank))


def similarity(vectors: np.ndarray) -> np.ndarray:
    """Return the cosine of every two of `vectors` (N, D), (N, N); 0 with a vector of zeros."""
    return _unit(vectors) @ _unit(vectors).T


def mean_apart(alike: np.ndarray) -> float:
    """Return the mean of `alike` (N, N) over every two that differ; NaN for one alone."""
    apart = alike[~np.eye(len(alike), dtype=bool)]
    return float(apart.mean()) if len(apart) else float("nan")
