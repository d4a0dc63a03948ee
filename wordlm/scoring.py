"""How well a model expects a text that it is given: the surprisal of each word in its own context."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from wordlm.data import StoryStream, Windows
from wordlm.models import CausalAttentionLM, LanguageModel
from wordlm.text import CONTEXT_LEN

BATCH = 512


def prefix_windows(word_ids: Sequence[int]) -> Windows:
    """Return the contexts of a text's words, (n, 64): row i is BOS and the words before word i.

    Exactly as in training: the last 64 ids, the latest in the last slot. So the first word's context is BOS
    alone. A row `n` follows, the context of whatever comes after the text.
    """
    return Windows(StoryStream.of([list(word_ids)]), CONTEXT_LEN)


def word_log_probabilities(model: LanguageModel, word_ids: Sequence[int], **switches: Tensor | None) -> np.ndarray:
    """Return ln p over the vocabulary at each word's place, (n, V) float32, in nats."""
    contexts = prefix_windows(word_ids)
    with torch.inference_mode():
        parts = [
            model(contexts[start : min(start + BATCH, len(word_ids))], **switches).log_softmax(-1)
            for start in range(0, len(word_ids), BATCH)
        ]
    return torch.cat(parts).numpy() if parts else np.empty((0, 0), np.float32)


def word_losses(model: LanguageModel, word_ids: Sequence[int], **switches: Tensor | None) -> np.ndarray:
    """Return the surprisal -ln p of each word of a text in nats, (n,).

    `switches` switch heads off, as in `CausalAttentionLM.forward`; the MLP has none.
    """
    if len(word_ids) == 0:
        return np.empty(0, np.float32)
    log_probabilities = word_log_probabilities(model, word_ids, **switches)
    return -np.take_along_axis(log_probabilities, np.asarray(word_ids)[:, None], axis=1)[:, 0]


def head_weights_as_last(model: CausalAttentionLM, word_ids: Sequence[int]) -> np.ndarray:
    """Return each word's weights as when it was the last word read, (H, n + 1, n + 1), 0 above the diagonal.

    Row i is the last row of a separate run on BOS and the first i words, as in training. In one run over the
    whole text an earlier word stands in a slot from which the model never learned to predict. n is at most 63.
    """
    contexts = prefix_windows(word_ids)[:]
    n = len(contexts)
    with torch.inference_mode():
        rows = model.forward_details(contexts)["weights"][:, :, -1]  # (n, H, T)
    weights = np.zeros((model.heads, n, n), np.float32)
    for i in range(n):
        weights[:, i, : i + 1] = rows[i, :, -(i + 1) :].numpy()
    return weights
