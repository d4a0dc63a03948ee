"""An exact cache of keys and values, for a model that writes on: one new word a call.

The model has learned 64 absolute slots and predicts from the last one, so with each new word every earlier word moves
one slot to the left. The cache is exact all the same. No layer norm stands before W_K and W_V, so that
W e = W word + W slot: the word part is kept and moves along, the slot part is one table for all texts. That holds also
when the earliest word falls out, since no word's part knows another word.

Kept for each word are G keys of width K and G values of width M, whatever the number of heads H that read them: that
is what sharing saves (Shazeer 2019; Ainslie et al. 2023).
"""

import math

import torch
from torch import Tensor

from wordlm.models import CausalAttentionLM


class KeyValueCache:
    """The word parts of the keys and values of one text, for the next call of an attention model."""

    def __init__(self, model: CausalAttentionLM) -> None:
        self._model = model
        with torch.inference_mode():
            self._slots = self._project(model.position_embedding.weight)
        self._ids: Tensor | None = None
        self._words: tuple[Tensor, ...] = ()

    @property
    def bytes_held(self) -> int:
        """The bytes of what is kept of the words, 0 before the first call. The slots' table is one for all texts."""
        return sum(part.nbytes for part in self._words)

    def logits(self, ids: Tensor) -> Tensor:
        """Return the logits (V,) of the word after the last slot of `ids` (T,), as the model's `forward`.

        Where the ids are those of the last call moved on by one word, only that word is projected; else all are.
        """
        with torch.inference_mode():
            self._take_in(ids)
            keys, values = (word + slot for word, slot in zip(self._words, self._slots, strict=True))  # (G, T, K or M)
            return self._read_out(ids, keys, values)

    def _take_in(self, ids: Tensor) -> None:
        moved_on = self._ids is not None and torch.equal(ids[:-1], self._ids[1:])
        new = self._project(self._model.token_embedding.weight[ids[-1:] if moved_on else ids])
        kept = [part[:, 1:] for part in self._words] if moved_on else [part[:, :0] for part in new]
        self._words = tuple(torch.cat(both, 1) for both in zip(kept, new, strict=True))
        self._ids = ids.clone()

    def _project(self, rows: Tensor) -> tuple[Tensor, ...]:
        """Return W_K and W_V of `rows` (n, D), each as (G, n, width)."""
        model = self._model
        return tuple(W(rows).view(len(rows), model.kv_heads, -1).transpose(0, 1) for W in (model.W_K, model.W_V))

    def _read_out(self, ids: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        model, is_pad = self._model, ids == self._model.pad_id
        e = model.token_embedding.weight[ids[-1]] + model.position_embedding.weight[-1]
        queries = model.W_Q(e).view(model.kv_heads, -1, model.head_width)  # (G, H / G, K)
        scores = queries @ keys.mT / math.sqrt(model.head_width)
        weights = scores.masked_fill(is_pad != is_pad[-1], -math.inf).softmax(-1)  # (G, H / G, T)
        return model.read_out(e, (weights @ values).flatten(0, 1))
