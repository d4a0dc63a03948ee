"""The calculations of the course: small, exact, and each made anew from the numbers that the reader sets."""

import functools
import inspect
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from wordlm.inspection import rows_as_last
from wordlm.models import D_MODEL, CausalAttentionLM, head_width, parameter_count
from wordlm.numbers import short
from wordlm.profiles import repeated_words
from wordlm.scoring import word_losses
from wordlm.text import BOS, CONTEXT_LEN
from wordlm.variants import Variant

# The sentence of chapters 1 and 4. Its last word looks back.
WISH_WORDS = ("the", "cat", "saw", "a", "fish")
SUBJECT, OBJECT = 1, 4


def softmax(scores: np.ndarray) -> np.ndarray:
    """Turn each row of scores (..., n) into a distribution. -inf becomes exactly 0."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def two_wishes(subject: float, object_: float) -> pd.DataFrame:
    """Return the weights when a word wishes to see the subject and the object, each by so many points of score.

    One head adds both wishes to one row of scores; of two heads each has one wish. Rows: one head, head 1, head 2.
    """
    wishes = np.zeros((2, len(WISH_WORDS)))
    wishes[0, SUBJECT], wishes[1, OBJECT] = subject, object_
    rows = softmax(np.vstack([wishes.sum(0), wishes]))
    return pd.DataFrame(rows, index=["one head", "two heads, head 1", "two heads, head 2"], columns=WISH_WORDS)


def split_shapes(d_model: int, heads: int, context_len: int = CONTEXT_LEN) -> pd.DataFrame:
    """Return `tensor`, `shape` and `axes` on the way of one text through a block of this width.

    Raises `ValueError`, the model's own, when the width cannot be shared out.
    """
    width, slots = head_width(d_model, heads), context_len
    rows = [
        ("embeddings", (1, slots, d_model), "text, slot, coordinate"),
        ("queries, split among the heads", (1, heads, slots, width), "text, head, slot, coordinate"),
        ("weights, one map a head", (1, heads, slots, slots), "text, head, query, key"),
        ("messages, side by side again", (1, slots, d_model), "text, slot, coordinate"),
        ("embeddings plus projected messages", (1, slots, d_model), "text, slot, coordinate"),
    ]
    return pd.DataFrame([(name, str(shape), axes) for name, shape, axes in rows], columns=["tensor", "shape", "axes"])


def attention_parameters(d_model: int, heads: int, width: int) -> int:
    """Return the numbers in W_Q, W_K, W_V and W_O for heads of this width each, without biases."""
    return 4 * d_model * heads * width


def parameters_with_full_width(heads: int) -> int:
    """Return the parameters of our attention model if each of its heads kept the full width."""
    one, many = (attention_parameters(D_MODEL, count, D_MODEL) for count in (1, heads))
    return parameter_count("attention") - one + many


def growth_table(d_model: int, counts: Sequence[int] = (1, 2, 4, 8, 16)) -> pd.DataFrame:
    """Return what more heads cost when the whole width is kept, and when each head keeps the full width."""
    rows = []
    for heads in counts:
        width = head_width(d_model, heads)
        rows.append(
            (heads, width, attention_parameters(d_model, heads, width), attention_parameters(d_model, heads, d_model))
        )
    return pd.DataFrame(
        rows,
        columns=[
            "heads",
            "head width if shared out",
            "parameters if shared out",
            "parameters if each head keeps it all",
        ],
    )


def doubling_table(d_model: int, heads: int) -> pd.DataFrame:
    """Return what twice the width makes of a block: with twice the heads, and with as many as before."""
    return pd.DataFrame(
        [
            (way, width, count, head_width(width, count), attention_parameters(width, count, head_width(width, count)))
            for way, width, count in (
                ("as set above", d_model, heads),
                ("twice the width, twice the heads", 2 * d_model, 2 * heads),
                ("twice the width, as many heads", 2 * d_model, heads),
            )
        ],
        columns=["way", "width", "heads", "head width", "parameters of the matrices"],
    )


def parse_matrix(text: str, rows: int, columns: int) -> np.ndarray:
    """Read `rows` lines of `columns` numbers, between commas or spaces. Raises `ValueError` that says what is off."""
    lines = [line for line in text.replace("−", "-").splitlines() if line.strip()]
    if len(lines) != rows:
        raise ValueError(f"{rows} line{'s' * (rows > 1)} of {columns} numbers are needed, there are {len(lines)}")
    matrix = []
    for place, line in enumerate(lines, 1):
        entries = re.split(r"[\s,;]+", line.strip(" ,;"))
        try:
            numbers = [float(entry) for entry in entries]
        except ValueError:
            raise ValueError(f"line {place} holds something that is no number: write it as 1, 0, -1, 0.5") from None
        if len(numbers) != columns:
            comma = "; a decimal is written 0.5, not 0,5" if len(numbers) > columns else ""
            raise ValueError(f"line {place} needs {columns} numbers, it holds {len(numbers)}{comma}")
        if not all(abs(number) < 1e6 for number in numbers):
            raise ValueError(f"line {place} holds a number that is not below a million")
        matrix.append(numbers)
    return np.array(matrix)


def two_heads_from(x: np.ndarray, first: np.ndarray, second: np.ndarray) -> pd.DataFrame:
    """Return what two heads of width 2 get of a vector x (4,): a slice each, or a projection (2, 4) of all of it."""
    return pd.DataFrame(
        [x[:2], x[2:], first @ x, second @ x],
        index=["slice, head 1", "slice, head 2", "projection, head 1", "projection, head 2"],
        columns=["coordinate 1", "coordinate 2"],
    )


# Three tokens, keys of width 2 that both heads share, and a query for each head.
TRIO = ("dog", "chased", "cat")
TRIO_KEYS = np.array([[2.0, 0.0], [0.5, 0.5], [0.0, 2.0]])
TRIO_QUERIES = np.array([[2.0, 0.0], [0.0, 2.0]])
TRIO_VALUES = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def trio_weights(queries: np.ndarray) -> pd.DataFrame:
    """Return the row of the last of three tokens for each of two heads, given their queries (2, 2)."""
    scores = queries @ TRIO_KEYS.T / math.sqrt(TRIO_KEYS.shape[1])
    return pd.DataFrame(softmax(scores), index=["head 1", "head 2"], columns=TRIO)


def message_steps() -> pd.DataFrame:
    """Return how the last of three tokens gets its message, one line a key and one column a step.

    Its query is the first of `TRIO_QUERIES`; the message is the sum of the last column.
    """
    query = TRIO_QUERIES[0]
    dots = TRIO_KEYS @ query
    scores = dots / math.sqrt(len(query))
    weights = softmax(scores)
    return pd.DataFrame(
        {
            "key": [vector_text(k) for k in TRIO_KEYS],
            "value": [vector_text(v) for v in TRIO_VALUES],
            "dot product": dots,
            "score": scores,
            "weight": weights,
            "weight × value": [vector_text(part) for part in weights[:, None] * TRIO_VALUES],
        },
        index=TRIO,
    )


def message_of_steps() -> np.ndarray:
    """Return the message of `message_steps`, (2,)."""
    return message_steps()["weight"].to_numpy() @ TRIO_VALUES


def vector_text(values: np.ndarray) -> str:
    """Return a short vector as one reads it: "(0.85, 0.1)"."""
    return f"({', '.join(short(value) for value in values)})"


WIDTHS = (1, 4, 16, 64, 256, 1024)
SPREAD_KEYS = 8
MOST_THAT_PASSES = 0.25
"""The largest that w (1 - w) can be, at w = 0.5."""


@functools.lru_cache(maxsize=1)
def spread_table() -> pd.DataFrame:
    """Return the spread of dot products and of scores, which are scaled, and the largest weight from either."""
    rows = []
    for width in WIDTHS:
        dots, scores = (score_spread(width, scaled, trials=500) for scaled in (False, True))
        rows.append((width, dots["spread"], scores["spread"], dots["largest"], scores["largest"]))
    return pd.DataFrame(
        rows,
        columns=[
            "width",
            "dot products",
            "scores, scaled",
            "largest weight without the scale",
            "largest weight with the scale",
        ],
    )


def score_spread(
    width: int, scaled: bool, keys: int = SPREAD_KEYS, trials: int = 2000, seed: int = 0
) -> dict[str, float]:
    """Draw random queries and keys of unit variance; return what their scores, or bare dot products, are like.

    `spread`: their standard deviation; `largest`: mean of the largest of `keys` weights; `passes`: mean of
    w (1 - w) for it, which is how much of a gradient passes its softmax and at most `MOST_THAT_PASSES`.
    """
    rng = np.random.default_rng(seed)
    lengths = np.linalg.norm(rng.standard_normal((trials, width)), axis=1, keepdims=True)  # of the queries
    # A random key's dot product with a vector is normal, with that vector's length as its standard deviation. So it
    # is drawn as such: the keys themselves would be `keys` times as many numbers as the queries.
    dot_products = lengths * rng.standard_normal((trials, keys))
    scores = dot_products / math.sqrt(width) if scaled else dot_products
    largest = softmax(scores).max(-1)
    return {
        "spread": float(scores.std()),
        "largest": float(largest.mean()),
        "passes": float((largest * (1 - largest)).mean()),
    }


def masked_rows(scores: np.ndarray, way: str) -> np.ndarray:
    """Return the weights of a score matrix (n, n) with later keys hidden before or after the softmax, or not at all.

    `way` is "minus infinity before", "zero after" or "none".
    """
    later = np.triu(np.ones_like(scores, dtype=bool), 1)
    if way == "minus infinity before":
        return softmax(np.where(later, -np.inf, scores))
    weights = softmax(scores)
    return np.where(later, 0.0, weights) if way == "zero after" else weights


def reach_of_messages(model: CausalAttentionLM) -> pd.DataFrame:
    """Return, for each head, how many coordinates of a word it can change with the output projection and without.

    Without one the messages would be added as they are, side by side, so that a head reaches its own slice only.
    """
    output = model.W_O.weight.detach().view(model.W_O.out_features, model.heads, -1)  # (D, H, M)
    reached = (output.abs().amax(2) > 0).sum(0).tolist()
    return pd.DataFrame(
        {"head": range(1, model.heads + 1), "with it": reached, "without it": [output.shape[2]] * model.heads}
    )


def built_in_layer(model: CausalAttentionLM, ids: Tensor) -> tuple[float, Tensor]:
    """Give PyTorch's own layer our matrices; return the largest difference and its averaged weights.

    The layer knows no sharing of keys and values: it gets a copy of a shared matrix for each head.
    """
    layer = nn.MultiheadAttention(model.W_Q.in_features, model.heads, bias=False, batch_first=True)
    W_K, W_V = (model.matrix_of_each_head(W).flatten(0, 1) for W in (model.W_K, model.W_V))
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([model.W_Q.weight, W_K, W_V]))
        layer.out_proj.weight.copy_(model.W_O.weight)
        ours = model.forward_details(ids)
        theirs, averaged = layer(ours["E"], ours["E"], ours["E"], attn_mask=~model.visible(ids)[0])
    difference = (ours["E"] + theirs - ours["contextual"]).abs().max().item()
    return difference, averaged


def built_in_program(file: str, ids: Sequence[int]) -> str:
    """Return the program that compares a bundled checkpoint with PyTorch's layer; run it in the repository."""
    return f"""import torch
from torch import Tensor, nn

from wordlm.checkpoints import open_checkpoint
from wordlm.models import CausalAttentionLM
from wordlm.text import left_pad


{inspect.getsource(built_in_layer)}

model = open_checkpoint("artifacts/heads/{file}")[1]
difference, averaged = built_in_layer(model, torch.from_numpy(left_pad({list(ids)})))
print(f"largest difference: {{difference:.1e}}")
print("last row, averaged:", [round(weight, 3) for weight in averaged[0, -1, -{len(ids)}:].tolist()])
"""


def hidden_by_the_average(weights: np.ndarray) -> tuple[float, float]:
    """Return the largest weight of any head in the last row of (H, n, n), and the largest of their average there."""
    last = weights[:, -1]
    return float(last.max()), float(last.mean(0).max())


@dataclass(frozen=True)
class InductionTest:
    """What a model does when random words are shown twice over."""

    scores: np.ndarray
    """(H,): the mean weight on the word that followed the last time."""
    even: float
    """What even weights would give."""
    first: float
    """Mean surprisal of the words in the first showing, nats."""
    second: float
    """The same in the second. A model that copies would be much less surprised."""


def induction_test(model: CausalAttentionLM, length: int = 16, sequences: int = 8, seed: int = 0) -> InductionTest:
    """Show random common words twice over; each word is read as the last one, as in training.

    Olsson et al. 2022, *In-context learning and induction heads*, section 2.
    """
    rng = np.random.default_rng(seed)
    scores, losses = [], []
    queries = np.arange(length + 1, 2 * length + 1)
    for _ in range(sequences):
        words = repeated_words(rng, length, model.token_embedding.num_embeddings)
        rows = rows_as_last(model, [BOS, *words], 2 * length + 1)
        scores.append(rows[:, queries, queries - length + 1].mean(1))
        losses.append(word_losses(model, words))
    mean = np.mean(losses, axis=0)
    return InductionTest(
        scores=np.mean(scores, axis=0),
        even=float((1 / (queries + 1)).mean()),
        # The first word of a showing follows the start mark or another showing, so it is left out.
        first=float(mean[1:length].mean()),
        second=float(mean[length + 1 :].mean()),
    )


def score_bytes(length: int, heads: int, precision: int, layers: int) -> int:
    """Return the bytes of all weights at once: n² a head and layer."""
    return length**2 * heads * precision * layers


def cache_bytes(length: int, groups: int, width: int, precision: int, layers: int) -> int:
    """Return the bytes of the key-value cache: a key and a value a word, for each group of heads and each layer."""
    return 2 * length * groups * width * precision * layers


def cache_bytes_of(variant: Variant) -> int:
    """Return the bytes that one of our models, which has heads, keeps of each word: float32 numbers of one layer."""
    if variant.heads is None or variant.kv_heads is None:
        raise ValueError("a model without heads keeps no keys and values")
    return cache_bytes(1, variant.kv_heads, head_width(D_MODEL, variant.heads), 4, 1)


def attention_operations(length: int, d_model: int, layers: int) -> int:
    """Return the multiplications and additions of scores and weighted sums; the number of heads does not matter."""
    return 4 * length**2 * d_model * layers


def cost_table(length: int, d_model: int, heads: int, groups: int, precision: int, layers: int) -> pd.DataFrame:
    """Return score memory and cache of three ways to share keys and values. Raises `ValueError` for odd numbers.

    Shazeer 2019, *Fast transformer decoding* (multi-query); Ainslie et al. 2023, *GQA* (grouped-query).
    """
    width = head_width(d_model, heads)
    if heads % groups:
        raise ValueError(f"groups must divide heads={heads}, got groups={groups}")
    ways = {"multi-head": heads}
    if 1 < groups < heads:
        ways[f"grouped-query, {groups} groups"] = groups
    if heads > 1:
        ways["multi-query"] = 1
    scores = score_bytes(length, heads, precision, layers)
    return pd.DataFrame(
        [
            (way, count, scores / 2**20, cache_bytes(length, count, width, precision, layers) / 2**20)
            for way, count in ways.items()
        ],
        columns=["way", "sets of keys and values", "scores of all layers, MiB", "cache, MiB"],
    )
