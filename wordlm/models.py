"""Three models that predict the next word from the last 64: an MLP, one attention head, several heads.

The attention models hold the same matrices, whatever the number of heads: the 64 coordinates of the
queries, keys and values belong to one head, or are split among H of them. So the number of parameters does
not change, and neither do the initial values of a seed. Where heads share keys and values, W_K and W_V have
fewer rows, and head h reads key-value head h // (H / G); all else starts from the same values.

Left out on purpose, so that the whole block can be read here: layer norm, dropout, biases in the
projections, more than one block. The masks and the arithmetic are spelled out instead of calling
`torch.nn.MultiheadAttention`; a test holds the two to each other.

Shapes
    B  texts in a batch           H  heads
    T  slots (context_len, 64)    G  key-value heads (kv_heads); H unless heads share
    D  d_model (64)               K  width of a head's query and key (d_k / H)
    V  words in the vocabulary    M  width of a head's value and message (d_v / H)

Sources: Bengio et al. 2003, *A neural probabilistic language model* (the MLP); Vaswani et al. 2017,
*Attention is all you need*, sections 3.2.1 and 3.2.2 (scaled dot-product and multi-head attention); Shazeer
2019, *Fast transformer decoding: one write-head is all you need* (all heads share keys and values); Ainslie et
al. 2023, *GQA: training generalized multi-query transformer models* (groups of heads do).
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from wordlm.text import CONTEXT_LEN, PAD, VOCAB_SIZE
from wordlm.variants import DEFAULT_HEADS, MLP, Kind, Variant

D_MODEL = 64
HIDDEN = 256


class MLPLM(nn.Module):
    """The embeddings of all slots side by side, one hidden ReLU layer, one score per word."""

    def __init__(self, vocab_size: int, context_len: int, d_model: int, hidden: int) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.hidden_layer = nn.Linear(context_len * d_model, hidden)
        self.vocab_head = nn.Linear(hidden, vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits (B, V) of the word after the last slot of `ids` (B, T)."""
        return self.forward_details(ids)["logits"]

    def forward_details(self, ids: Tensor) -> dict[str, Tensor]:
        """Return `E` (B, T, D) and `logits` (B, V). There are no heads to look into."""
        E = look_up(self.token_embedding, ids)
        hidden = torch.relu(self.hidden_layer(E.flatten(1)))
        return {"E": E, "logits": self.vocab_head(hidden)}


class CausalAttentionLM(nn.Module):
    """One attention block: embed, attend, add the message, one hidden ReLU layer, one score per word."""

    def __init__(
        self, vocab_size: int, context_len: int, d_model: int, d_k: int, d_v: int, hidden: int, pad_id: int = PAD
    ) -> None:
        super().__init__()
        self.heads = self.kv_heads = 1
        self.pad_id = pad_id
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(context_len, d_model)
        self.W_Q = nn.Linear(d_model, d_k, bias=False)
        self.W_K = nn.Linear(d_model, d_k, bias=False)
        self.W_V = nn.Linear(d_model, d_v, bias=False)
        self.W_O = nn.Linear(d_v, d_model, bias=False)
        self.hidden_layer = nn.Linear(d_model, hidden)
        self.vocab_head = nn.Linear(hidden, vocab_size)

    @property
    def head_width(self) -> int:
        """The width of one head's query and key; the scores are divided by its square root."""
        return head_width(self.W_Q.out_features, self.heads)

    def for_each_head(self, shared: Tensor, dim: int = 0) -> Tensor:
        """Give each head what its key-value head has: along `dim`, G entries become H, each H / G times in a row."""
        return shared.repeat_interleave(self.heads // self.kv_heads, dim) if self.kv_heads < self.heads else shared

    def matrix_of_each_head(self, W: nn.Linear) -> Tensor:
        """Return the rows of W_K (H, K, D) or W_V (H, M, D) that each head uses; shared ones stand at each."""
        return self.for_each_head(W.weight.view(self.kv_heads, -1, W.in_features))

    def embed(self, ids: Tensor) -> Tensor:
        """Return E (B, T, D): each slot's token embedding plus the learned embedding of the slot."""
        return look_up(self.token_embedding, ids) + self.position_embedding.weight

    def predict(self, contextual: Tensor) -> Tensor:
        """Turn contextual embeddings (..., D) into the logits (..., V) of the word that follows."""
        return self.vocab_head(torch.relu(self.hidden_layer(contextual)))

    def forward(self, ids: Tensor, *, heads_on: Tensor | None = None, off_message: Tensor | None = None) -> Tensor:
        """Return the logits (B, V) of the word after the last slot of `ids` (B, T).

        Training needs no other query, and with one query a head need not build the keys and values of all
        slots: q . (W_K e) = (W_K^T q) . e, and the weighted sum of the values is W_V applied to the weighted
        sum of the embeddings. Nor is e = token + position added up for every slot, since both products may be
        taken of each part alone. This is exact, values and gradients; `forward_details` is the plain form.

        `heads_on` and `off_message` switch heads off, as in `switch_heads`.
        """
        return self.read_out(*self.last_slot(ids), heads_on=heads_on, off_message=off_message)

    def last_slot(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Return the last slot's embedding (B, D) and the message of each head to it (B, H, M)."""
        B, H = ids.shape[0], self.heads  # not len(ids), which an export to ONNX would freeze
        is_pad = ids == self.pad_id
        words, slots = look_up(self.token_embedding, ids), self.position_embedding.weight  # (B, T, D), (T, D)
        # Looked up again, since the gradient of words[:, -1] would be a whole (B, T, D) of zeros but for one slot.
        e_last = look_up(self.token_embedding, ids[:, -1]) + slots[-1]  # (B, D)
        W_K, W_V = self.matrix_of_each_head(self.W_K), self.matrix_of_each_head(self.W_V)  # (H, K, D), (H, M, D)

        query = self.W_Q(e_last).view(B, H, -1).transpose(0, 1)  # (H, B, K)
        query_in_E = (query @ W_K).transpose(0, 1)  # (B, H, D)
        words = words.to(query_in_E.dtype)  # under autocast, once for both products and their gradients
        scores = (query_in_E @ words.transpose(1, 2) + query_in_E @ slots.T) / math.sqrt(self.head_width)  # (B, H, T)
        visible = is_pad == is_pad[:, -1:]  # (B, T): the last slot sees every slot of its own sort
        weights = scores.masked_fill(~visible[:, None], -math.inf).softmax(dim=-1)

        mixed = (weights @ words + weights @ slots).transpose(0, 1)  # (H, B, D)
        return e_last, (mixed @ W_V.transpose(1, 2)).transpose(0, 1)

    def read_out(
        self, e: Tensor, per_head: Tensor, *, heads_on: Tensor | None = None, off_message: Tensor | None = None
    ) -> Tensor:
        """Add the heads' messages (..., H, M) to the embeddings (..., D) and return the logits (..., V)."""
        messages = switch_heads(per_head, heads_on, off_message).flatten(-2)
        return self.predict(e + self.W_O(messages))

    def forward_details(
        self, ids: Tensor, *, heads_on: Tensor | None = None, off_message: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return every step for every slot of `ids` (B, T), as the textbook writes it.

        E           (B, T, D)     token plus position embedding
        Q, K, V     (B, H, T, K)  queries, keys, values (values have width M); what heads share stands at each
        scores      (B, H, T, T)  Q K^T / sqrt(K); row = query, column = key; -inf where masked
        weights     (B, H, T, T)  softmax of a row of scores; exactly 0 where masked
        messages    (B, T, H*M)   the heads' weighted sums of values side by side, before W_O
        contextual  (B, T, D)     E + W_O(messages)
        logits_all  (B, T, V)     scores of the word after each slot
        logits      (B, V)        those after the last slot, which `forward` returns

        A PAD slot is a query too; its row sees PAD slots only, and stands for nothing.
        """
        B, T = ids.shape
        E = self.embed(ids)
        # (B, T, H*K) -> (B, T, H, K) -> (B, H, T, K); keys and values from (B, G, T, K)
        Q = self.W_Q(E).view(B, T, self.heads, -1).transpose(1, 2)
        K, V = (
            self.for_each_head(W(E).view(B, T, self.kv_heads, -1).transpose(1, 2), dim=1) for W in (self.W_K, self.W_V)
        )
        scores = Q @ K.transpose(-2, -1) / math.sqrt(self.head_width)
        scores = scores.masked_fill(~self.visible(ids)[:, None], -math.inf)
        weights = scores.softmax(dim=-1)
        per_head = (weights @ V).transpose(1, 2)  # (B, T, H, M)
        messages = switch_heads(per_head, heads_on, off_message).flatten(2)
        contextual = E + self.W_O(messages)
        logits_all = self.predict(contextual)
        return {
            "E": E,
            "Q": Q,
            "K": K,
            "V": V,
            "scores": scores,
            "weights": weights,
            "messages": messages,
            "contextual": contextual,
            "logits_all": logits_all,
            "logits": logits_all[:, -1],
        }

    def visible(self, ids: Tensor) -> Tensor:
        """Return which keys each query may look at, (B, query T, key T), True where it may.

        Never a later slot. A word never looks at PAD, and PAD only at PAD, so that its softmax has something
        to sum to 1 and stays finite.
        """
        T = ids.shape[1]
        not_later = torch.ones(T, T, dtype=torch.bool, device=ids.device).tril()
        is_pad = ids == self.pad_id
        return not_later & (is_pad[:, :, None] == is_pad[:, None, :])


class MultiHeadAttentionLM(CausalAttentionLM):
    """The same block with the coordinates of Q, K and V split among `heads` heads of width d_model / heads.

    With fewer `kv_heads` than heads, groups of heads share their keys and values. `kv_heads` must divide `heads`.
    """

    def __init__(
        self,
        vocab_size: int,
        context_len: int,
        d_model: int = D_MODEL,
        hidden: int = HIDDEN,
        heads: int = DEFAULT_HEADS,
        pad_id: int = PAD,
        kv_heads: int | None = None,
    ) -> None:
        rows = shared_width(d_model, heads, kv_heads)  # refuses what cannot be shared out, before anything is built
        super().__init__(vocab_size, context_len, d_model, d_model, d_model, hidden, pad_id)
        self.heads, self.kv_heads = heads, heads if kv_heads is None else kv_heads
        for W in (self.W_K, self.W_V):  # drawn whole and cut, so that what is drawn after them stays the same
            W.weight, W.out_features = nn.Parameter(W.weight.detach()[:rows].clone()), rows


LanguageModel = MLPLM | CausalAttentionLM


def head_width(d_model: int, heads: int) -> int:
    """Return the width of each of `heads` heads. Raises `ValueError` when the coordinates cannot be shared out."""
    if heads < 1 or d_model % heads:
        raise ValueError(f"heads must be at least 1 and divide d_model={d_model}, got heads={heads}")
    return d_model // heads


def shared_width(d_model: int, heads: int, kv_heads: int | None = None) -> int:
    """Return the width of the keys of all key-value heads side by side, d_model where nothing is shared.

    Raises `ValueError` when the coordinates cannot be shared out among the heads, or the heads among `kv_heads`.
    """
    width, kv_heads = head_width(d_model, heads), heads if kv_heads is None else kv_heads
    if kv_heads < 1 or heads % kv_heads:
        raise ValueError(f"kv_heads must be at least 1 and divide heads={heads}, got kv_heads={kv_heads}")
    return kv_heads * width


def variant_of(model: nn.Module) -> Variant:
    """Return what `model` is."""
    match model:
        case MLPLM():
            return MLP
        case MultiHeadAttentionLM():
            return Variant("multihead", model.heads, model.kv_heads)
        case CausalAttentionLM():
            return Variant("attention", model.heads)
    raise ValueError(f"a {type(model).__name__} is none of this project's models")


def look_up(table: nn.Embedding, ids: Tensor) -> Tensor:
    """Return the rows of `table` for `ids`, (..., D). As `table(ids)`, whose gradient is summed more slowly."""
    return table.weight.index_select(0, ids.flatten()).view(*ids.shape, -1)


def switch_heads(per_head: Tensor, heads_on: Tensor | None, off_message: Tensor | None) -> Tensor:
    """Replace the messages of switched-off heads; `per_head` is (..., H, M).

    `heads_on` is (H,) bool, None for all on. A head that is off gives zeros, or its row of `off_message`
    (H, M), which holds mean messages. The model itself is never changed.
    """
    if heads_on is None:
        return per_head
    if heads_on.shape != per_head.shape[-2:-1]:
        raise ValueError(f"heads_on must have one entry per head: {per_head.shape[-2]}, got {tuple(heads_on.shape)}")
    off = per_head.new_zeros(()) if off_message is None else off_message
    return torch.where(heads_on[:, None], per_head, off)


class _DrawingFrom(TorchFunctionMode):
    """Within it, and in this thread alone, the initial values that `torch.nn` draws come from `generator`.

    Layers hand none on to `torch.nn.init` and so draw from that of the whole process, which other threads use and seed.
    """

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self._generator = generator

    def __torch_function__(
        self, function: Callable, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        own = {"generator": self._generator} if kwargs and "generator" in kwargs else {}
        return function(*args, **(kwargs or {}) | own)


def build_model(
    kind: Kind,
    vocab_size: int = VOCAB_SIZE,
    seed: int | None = None,
    heads: int | None = None,
    kv_heads: int | None = None,
) -> LanguageModel:
    """Build a model of the project's sizes with fresh values, the same for the same `seed`.

    `heads` and `kv_heads` are for kind "multihead" (4, and as many as heads, unless given). The random state of the
    process is neither read nor changed. Raises `ValueError` for an unknown kind, or heads that the kind cannot have.
    """
    if (heads, kv_heads) != (None, None) and kind != "multihead":
        raise ValueError(f'heads can be chosen for kind "multihead" only, not for {kind!r}')
    generator = torch.Generator()
    generator.seed() if seed is None else generator.manual_seed(seed)
    with _DrawingFrom(generator):
        match kind:
            case "mlp":
                return MLPLM(vocab_size, CONTEXT_LEN, D_MODEL, HIDDEN)
            case "attention":
                return CausalAttentionLM(vocab_size, CONTEXT_LEN, D_MODEL, D_MODEL, D_MODEL, HIDDEN)
            case "multihead":
                heads = DEFAULT_HEADS if heads is None else heads
                return MultiHeadAttentionLM(vocab_size, CONTEXT_LEN, D_MODEL, HIDDEN, heads, kv_heads=kv_heads)
    raise ValueError(f"kind must be mlp, attention or multihead, got {kind!r}")


def build_variant(variant: Variant, vocab_size: int = VOCAB_SIZE, seed: int | None = None) -> LanguageModel:
    """Build the model of a variant, as `build_model`."""
    heads = (variant.heads, variant.kv_heads) if variant.kind == "multihead" else ()
    return build_model(variant.kind, vocab_size, seed, *heads)


def parameter_count(
    kind: Kind, vocab_size: int = VOCAB_SIZE, heads: int = DEFAULT_HEADS, kv_heads: int | None = None
) -> int:
    """Return the number of trained numbers in what `build_model` builds, without building it.

    The heads matter only where they share keys and values.
    """
    layers = D_MODEL * vocab_size  # the token embedding
    match kind:
        case "mlp":
            hidden_input = CONTEXT_LEN * D_MODEL
        case "attention" | "multihead":
            keys = shared_width(D_MODEL, heads, kv_heads)
            layers += CONTEXT_LEN * D_MODEL + 2 * (D_MODEL + keys) * D_MODEL  # positions; W_Q and W_O, W_K and W_V
            hidden_input = D_MODEL
        case _:
            raise ValueError(f"kind must be mlp, attention or multihead, got {kind!r}")
    return layers + (hidden_input + 1) * HIDDEN + (HIDDEN + 1) * vocab_size  # the last two layers have a bias


def count_parameters(model: nn.Module) -> int:
    """Return the number of trained numbers in `model`."""
    return sum(parameter.numel() for parameter in model.parameters())
