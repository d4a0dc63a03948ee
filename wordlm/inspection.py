"""Looking into a model: what it does with one prompt, as arrays over the prompt's own positions.

n is the number of kept positions (`<BOS>` and words, no PAD); H heads; K width of a head; D d_model; V words.
Row = query, the word that looks; column = key, the word that is looked at.
"""

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


def attention_weights(model: CausalAttentionLM, ids: Sequence[int]) -> np.ndarray:
    """Return only the weights (H, n, n) for the ids of a prompt, of a model on any device, also in training."""
    padded = torch.from_numpy(left_pad(ids)).to(model.token_embedding.weight.device)
    with torch.inference_mode():
        weights = model.forward_details(padded)["weights"][0]
    return weights[:, -len(ids) :, -len(ids) :].float().cpu().numpy().copy()


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


def weight_table(named: dict[str, Inspection], prompt: EncodedPrompt, query: int) -> pd.DataFrame:
    """Return the weights of one query, one row per head and one column per key, and each row's sum.

    `named` gives the models under each other; `query` counts kept positions from 0. Keys after the query are
    left out: they are masked.
    """
    rows = {
        f"{name}, head {head + 1}" if inspection.heads > 1 else name: inspection.weights[head, query, : query + 1]
        for name, inspection in named.items()
        for head in range(inspection.heads)
    }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(prompt.labels[: query + 1]))
    table.insert(0, "sum", table.sum(axis=1))
    return table


def head_measures(model: CausalAttentionLM, seen: Inspection, query: int) -> pd.DataFrame:
    """Return one row per head on how it spreads the weights of one query.

    `entropy` in nats, from 0 (one key) to ln of the number of keys (all alike); `effective tokens` its
    exponential; the shares of the first token, of the previous one (0 where there is none) and of the query
    itself; `mean distance` in words; `message norm` the length of what the head adds through its part of W_O.
    """
    weights = seen.weights[:, query, : query + 1].astype(float)
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    entropy = -(weights * logs).sum(1)
    messages = seen.messages[query].reshape(seen.heads, -1)
    output = model.W_O.weight.detach().numpy().reshape(-1, seen.heads, messages.shape[1])  # (D, H, M)
    added = np.einsum("dhm,hm->hd", output, messages)
    return pd.DataFrame(
        {
            "head": np.arange(1, seen.heads + 1),
            "entropy": entropy,
            "effective tokens": np.exp(entropy),
            "first token": weights[:, 0],
            "previous": weights[:, query - 1] if query else np.zeros(seen.heads),
            "itself": weights[:, query],
            "mean distance": weights @ np.arange(query, -1, -1),
            "message norm": np.linalg.norm(added, axis=1),
        }
    )
