"""One attention weight, step by step: each number made by hand from the one before, beside the model's own.

"By hand" is NumPy in float64 on the model's matrices, so a difference of about 1e-6 is the model's float32.
Vaswani et al. 2017, *Attention is all you need*, equation 1 and section 3.2.2.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from wordlm.inspection import Inspection
from wordlm.models import CausalAttentionLM
from wordlm.numbers import written


@dataclass(frozen=True)
class Step:
    """One line of the calculation. Values are numbers or vectors."""

    name: str
    formula: str
    by_hand: np.ndarray
    model: np.ndarray

    @property
    def difference(self) -> float:
        """The largest |by hand - model's|; equal infinities differ by 0."""
        if np.array_equal(self.by_hand, self.model):
            return 0.0
        return float(np.abs(self.by_hand - self.model).max())


@dataclass(frozen=True)
class WeightSteps:
    """How head `head` comes to the weight of `key` for `query` (all counted from 0)."""

    head: int
    query: int
    key: int
    e_query: np.ndarray  # (D,)
    e_key: np.ndarray  # (D,)
    q: np.ndarray  # (K,)
    k: np.ndarray  # (K,)
    message: np.ndarray  # (K,)
    update: np.ndarray  # (D,)
    steps: tuple[Step, ...]

    @property
    def weight(self) -> float:
        """The model's weight."""
        return float(next(step.model for step in self.steps if step.name == "softmax"))

    @property
    def largest_difference(self) -> float:
        """The largest difference of any step."""
        return max(step.difference for step in self.steps)


def explain_weight(
    model: CausalAttentionLM, seen: Inspection, *, head: int, query: int, key: int, word: int, spelled: str
) -> WeightSteps:
    """Recompute the weight of `key` for `query` in `head`, and on to the logit of vocabulary word `word`, `spelled` so.

    `seen` is the model's inspection of the prompt. A key after the query is masked: its weight is 0.
    """
    width = model.head_width
    part = slice(head * width, (head + 1) * width)

    def matrix(layer, rows=slice(None)) -> np.ndarray:
        return layer.weight[rows].detach().double().numpy()

    e_query, e_key = seen.E[query].astype(float), seen.E[key].astype(float)
    q, k = seen.Q[head, query].astype(float), seen.K[head, key].astype(float)
    scores = seen.scores[head, query].astype(float)
    weights = seen.weights[head, query].astype(float)
    message = weights @ seen.V[head].astype(float)
    heads_messages = np.einsum("hk,hkm->hm", seen.weights[:, query].astype(float), seen.V.astype(float)).ravel()
    update = matrix(model.W_O) @ seen.messages[query].astype(float)
    contextual = seen.contextual[query].astype(float)
    hidden = np.maximum(0, matrix(model.hidden_layer) @ contextual + model.hidden_layer.bias.detach().numpy())
    logit = matrix(model.vocab_head, word) @ hidden + model.vocab_head.bias[word].item()

    visible = key <= query
    score = float(q @ k) / math.sqrt(width)
    kept = np.exp(scores[: query + 1] - scores[: query + 1].max())
    with torch.inference_mode():  # what the model computes before it scales, and after its last step
        model_product = torch.from_numpy(seen.Q[head, query]) @ torch.from_numpy(seen.K[head, key])
        model_logit = model.predict(torch.from_numpy(seen.contextual[query]))[word]
    steps = (
        Step("query", "q = W_Q e of the query", matrix(model.W_Q, part) @ e_query, seen.Q[head, query]),
        Step("key", "k = W_K e of the key", matrix(model.W_K, part) @ e_key, seen.K[head, key]),
        Step("dot product", "q · k, the products added up", np.asarray(q @ k), model_product.numpy()),
        Step(
            "scale and mask",
            f"q · k / √{width}" if visible else "a later word: minus infinity",
            np.asarray(score if visible else -math.inf),
            seen.scores[head, query, key],
        ),
        Step(
            "softmax",
            "exp(score) / the sum of exp(score) over the row",
            np.asarray(math.exp(scores[key] - scores[: query + 1].max()) / kept.sum() if visible else 0.0),
            seen.weights[head, query, key],
        ),
        Step("value mix", "the weighted sum of the values", message, seen.messages[query, part]),
        Step("concatenate", "the heads' messages side by side", heads_messages, seen.messages[query]),
        Step(
            "output projection",
            "W_O times the messages",
            update,
            seen.contextual[query] - seen.E[query],
        ),
        Step("residual", "e plus the update", e_query + update, seen.contextual[query]),
        Step("logit", f"hidden layer, then the row of {spelled}", np.asarray(logit), model_logit.numpy()),
    )
    return WeightSteps(head, query, key, e_query, e_key, q, k, message, update, steps)


def step_table(explained: WeightSteps) -> pd.DataFrame:
    """Return `step`, `formula`, `by hand`, `model`, `difference`; a vector is given by its norm."""

    def shown(value: np.ndarray) -> str:
        value = np.asarray(value, float)
        if value.ndim:
            return f"norm {written(np.linalg.norm(value))}"
        return written(value.item())

    rows = [(s.name, s.formula, shown(s.by_hand), shown(s.model), s.difference) for s in explained.steps]
    return pd.DataFrame(rows, columns=["step", "formula", "by hand", "model", "difference"])


def term_table(explained: WeightSteps) -> pd.DataFrame:
    """Return the dot product term by term: `coordinate`, `q`, `k`, `q × k`, `running sum`."""
    products = explained.q * explained.k
    return pd.DataFrame(
        {
            "coordinate": np.arange(1, len(products) + 1),
            "q": explained.q,
            "k": explained.k,
            "q × k": products,
            "running sum": products.cumsum(),
        }
    )


def softmax_table(seen: Inspection, labels: tuple[str, ...], *, head: int, query: int) -> pd.DataFrame:
    """Return the softmax over one row: `key`, `score`, `exp(score − largest)`, `weight`."""
    scores = seen.scores[head, query, : query + 1].astype(float)
    powers = np.exp(scores - scores.max())
    return pd.DataFrame(
        {
            "key": labels[: query + 1],
            "score": scores,
            "exp(score − largest)": powers,
            "weight": powers / powers.sum(),
        }
    )
