"""Looking into a model: what it does with one prompt, as arrays over the prompt's own positions.

n is the number of kept positions (`<BOS>` and words, no PAD); H heads; K width of a head; D d_model; V words.
Row = query, the word that looks; column = key, the word that is looked at.

The models are trained on the last slot only. So a word's row is what the model does when that word is the last one
read: `rows_as_last` has all of them, and `inspect_ids` of the text up to a word every step of its reading. In one
reading of the whole prompt the earlier words stand in slots from which the model never learned to predict.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from wordlm.models import CausalAttentionLM, LanguageModel
from wordlm.text import EncodedPrompt, Vocab, left_pad


@dataclass(frozen=True)
class Checks:
    """Laws that must hold for what is on screen, each as the largest error found."""

    row_sum: float
    """Largest |sum of a row of weights - 1|, over all heads and real queries."""
    masked: float
    """Largest weight in a masked cell; the law is exactly 0."""
    forward: float
    """Largest |forward - forward_details| over the logits."""

    # float32 keeps about 7 digits; logits and sums of 64 terms stay within a few units of that.
    TOLERANCE = 1e-4


@dataclass(frozen=True)
class Inspection:
    """Every step of an attention model for one prompt, as float32 arrays."""

    heads: int
    shapes: dict[str, tuple[int, ...]]
    """Of the whole tensors as the model holds them, PAD slots included."""
    E: np.ndarray  # (n, D)
    Q: np.ndarray  # (H, n, K)
    K: np.ndarray  # (H, n, K)
    V: np.ndarray  # (H, n, K)
    scores: np.ndarray  # (H, n, n), -inf where masked
    weights: np.ndarray  # (H, n, n)
    messages: np.ndarray  # (n, H*K)
    contextual: np.ndarray  # (n, D)
    next_probabilities: np.ndarray  # (V,)
    checks: Checks


def inspect_ids(model: CausalAttentionLM, ids: Sequence[int]) -> Inspection:
    """Run `model` on the ids of a prompt and keep every step."""
    padded = torch.from_numpy(left_pad(ids))
    with torch.inference_mode():
        details = model.forward_details(padded)
        fast = model(padded)
    n, weights = len(ids), details["weights"][0]
    masked = weights[:, ~model.visible(padded)[0]]
    checks = Checks(
        row_sum=(weights[:, -n:].sum(-1) - 1).abs().max().item(),
        masked=masked.abs().max().item(),
        forward=(fast - details["logits"]).abs().max().item(),
    )
    return Inspection(
        heads=model.heads,
        shapes={name: tuple(details[name].shape) for name in SHAPE_MEANING},
        # Copies, since a slice would keep the padded whole in memory.
        E=details["E"][0, -n:].numpy().copy(),
        Q=details["Q"][0, :, -n:].numpy().copy(),
        K=details["K"][0, :, -n:].numpy().copy(),
        V=details["V"][0, :, -n:].numpy().copy(),
        scores=details["scores"][0, :, -n:, -n:].numpy().copy(),
        weights=weights[:, -n:, -n:].numpy().copy(),
        messages=details["messages"][0, -n:].numpy().copy(),
        contextual=details["contextual"][0, -n:].numpy().copy(),
        next_probabilities=details["logits"][0].softmax(-1).numpy(),
        checks=checks,
    )


@dataclass(frozen=True)
class Rows:
    """Where each kept position of a prompt looks when it is the last one read."""

    weights: np.ndarray
    """(H, n, n), 0 above the diagonal."""
    beyond: np.ndarray
    """(H, n): what a row gives to words before the kept ones, which its own reading still reaches."""

    def difference(self, query: int, reading: Inspection) -> float:
        """Return how far the row of `query` is from the last row of that word's own reading, at most."""
        return float(np.abs(self.weights[:, query, : query + 1] - reading.weights[:, -1, -(query + 1) :]).max())


def rows_of(model: CausalAttentionLM, prompt: EncodedPrompt) -> Rows:
    """Return the rows of a prompt's kept positions."""
    n = len(prompt.ids)
    rows = rows_as_last(model, prompt.reach, n)
    return Rows(rows[:, :, -n:], rows[:, :, :-n].sum(-1))


def rows_as_last(model: CausalAttentionLM, ids: Sequence[int], count: int) -> np.ndarray:
    """Return the weights of each of the last `count` of m `ids` when it is the last one read, (H, count, m).

    As from `count` readings, each of a text cut after that position to at most T slots, but from one product for all:
    e = word + slot and W_K is linear, so q . k = q . (W_K word) + q . (W_K slot). The queries all stand in the last
    slot, and the slot of a key is T - 1 minus its distance. The model may be on any device, and in training.
    """
    with torch.inference_mode():
        m, slots = len(ids), model.position_embedding.weight  # (T, D)
        words = model.token_embedding.weight[torch.tensor(ids, device=slots.device)]  # (m, D)
        # (H, count, K)
        queries = model.W_Q(words[m - count :] + slots[-1]).view(count, model.heads, -1).transpose(0, 1)
        keys, slot_keys = (  # (H, m, K), (H, T, K)
            model.for_each_head(model.W_K(e).view(len(e), model.kv_heads, -1).transpose(0, 1)) for e in (words, slots)
        )
        distance = torch.arange(m - count, m, device=slots.device)[:, None] - torch.arange(m, device=slots.device)
        slot = len(slots) - 1 - distance  # (count, m)
        visible = (distance >= 0) & (slot >= 0)
        by_slot = (queries @ slot_keys.mT).gather(2, slot.clamp(0, len(slots) - 1).expand(model.heads, -1, -1))
        scores = (queries @ keys.mT + by_slot) / math.sqrt(model.head_width)
        weights = scores.masked_fill(~visible, -math.inf).softmax(-1)
    return weights.float().cpu().numpy()


def next_logits(model: LanguageModel, ids: Sequence[int], **switches: torch.Tensor | None) -> torch.Tensor:
    """Return the logits of the word to come next, (V,). `switches` switch heads off, as in the model's forward."""
    with torch.inference_mode():
        return model(torch.from_numpy(left_pad(ids)), **switches)[0]


def next_probabilities(model: LanguageModel, ids: Sequence[int], **switches: torch.Tensor | None) -> np.ndarray:
    """Return the probability of every word to come next, (V,), as `next_logits`."""
    return next_logits(model, ids, **switches).softmax(-1).numpy()


def next_log_probabilities(model: LanguageModel, ids: Sequence[int], **switches: torch.Tensor | None) -> np.ndarray:
    """Return ln p of every word to come next, (V,) float64: finite also where p is too small for float32."""
    return next_logits(model, ids, **switches).double().log_softmax(-1).numpy()


def rank_of(word: int, scores: np.ndarray) -> int:
    """Return the rank of a word by its probability or its logarithm, (V,); 1 is the likeliest."""
    return int((scores > scores[word]).sum()) + 1


def next_words(probabilities: np.ndarray, vocab: Vocab, count: int = 10) -> pd.DataFrame:
    """Return the `count` likeliest words: `rank`, `word`, `id`, `probability`."""
    best = np.argsort(-probabilities, kind="stable")[:count]
    return pd.DataFrame(
        {
            "rank": np.arange(1, len(best) + 1),
            "word": vocab.decode(best.tolist()),
            "id": best,
            "probability": probabilities[best],
        }
    )


def token_table(prompt: EncodedPrompt) -> pd.DataFrame:
    """Return one row per kept position: its number, the typed word, the model's token and id, its slot."""
    return pd.DataFrame(
        {
            "position": prompt.positions,
            "typed": prompt.typed,
            "token": prompt.tokens,
            "id": prompt.ids,
            "slot": range(prompt.padding, prompt.context_len),
        }
    )


SHAPE_MEANING = {
    "E": "token plus position embedding of every slot",
    "Q": "queries, one set a head",
    "K": "keys, one set a head",
    "V": "values, one set a head",
    "weights": "who looks (row) at whom (column), after softmax",
    "messages": "the heads' weighted sums of values, side by side",
    "contextual": "E plus the messages through the output projection",
    "logits": "one score for each word of the vocabulary",
}


def shape_table(inspection: Inspection) -> pd.DataFrame:
    """Return `tensor`, `shape` and `meaning` for every step, as the model holds it: PAD slots included."""
    return pd.DataFrame(
        [(name, str(inspection.shapes[name]), meaning) for name, meaning in SHAPE_MEANING.items()],
        columns=["tensor", "shape", "meaning"],
    )


def weight_table(named: dict[str, Inspection], reading: EncodedPrompt) -> pd.DataFrame:
    """Return the weights of the last word of a reading, one row per head and one column per key, and each row's sum.

    `named` gives the models under each other, each with its inspection of `reading`.
    """
    rows = {
        f"{name}, head {head + 1}" if inspection.heads > 1 else name: inspection.weights[head, -1]
        for name, inspection in named.items()
        for head in range(inspection.heads)
    }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(reading.labels))
    table.insert(0, "sum", table.sum(axis=1))
    return table
