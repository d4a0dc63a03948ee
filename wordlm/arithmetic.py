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
        """The largest |by hand - model's|."""
        return float(np.abs(self.by_hand - self.model).max())


@dataclass(frozen=True)
class WeightSteps:
    """How head `head` comes to the weight of `key` for the last word of a reading (counted from 0)."""

    head: int
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
    model: CausalAttentionLM, seen: Inspection, *, head: int, key: int, word: int, spelled: str
) -> WeightSteps:
    """Recompute the weight of `key` in `head` for the last word of a reading, the query.

    And on to the logit of vocabulary word `word`, `spelled` so. `seen` is the model's inspection of the reading.
    """
    width = model.head_width
    part = slice(head * width, (head + 1) * width)

    def matrix(layer: torch.nn.Linear, rows: slice | int = slice(None)) -> np.ndarray:
        return layer.weight[rows].detach().double().numpy()

    key_matrix = model.matrix_of_each_head(model.W_K)[head].detach().double().numpy()  # (K, D)
    e_query, e_key = seen.E[-1].astype(float), seen.E[key].astype(float)
    q, k = seen.Q[head, -1].astype(float), seen.K[head, key].astype(float)
    scores = seen.scores[head, -1].astype(float)
    weights = seen.weights[:, -1].astype(float)
    message = weights[head] @ seen.V[head].astype(float)
    heads_messages = np.einsum("hk,hkm->hm", weights, seen.V.astype(float)).ravel()
    update = matrix(model.W_O) @ seen.messages[-1].astype(float)
    contextual = seen.contextual[-1].astype(float)
    hidden = np.maximum(0, matrix(model.hidden_layer) @ contextual + model.hidden_layer.bias.detach().numpy())
    logit = matrix(model.vocab_head, word) @ hidden + model.vocab_head.bias[word].item()
    powers = np.exp(scores - scores.max())
    with torch.inference_mode():  # what the model computes before it scales, and after its last step
        model_product = torch.from_numpy(seen.Q[head, -1]) @ torch.from_numpy(seen.K[head, key])
        model_logit = model.predict(torch.from_numpy(seen.contextual[-1]))[word]
    steps = (
        Step("query", "q = W_Q e of the query", matrix(model.W_Q, part) @ e_query, seen.Q[head, -1]),
        Step("key", "k = W_K e of the key", key_matrix @ e_key, seen.K[head, key]),
        Step("dot product", "q · k, the products added up", np.asarray(q @ k), model_product.numpy()),
        Step("scale", f"q · k / √{width}", np.asarray(q @ k / math.sqrt(width)), seen.scores[head, -1, key]),
        Step(
            "softmax",
            "exp(score) / the sum of exp(score) over the row",
            powers[key] / powers.sum(),
            seen.weights[head, -1, key],
        ),
        Step("value mix", "the weighted sum of the values", message, seen.messages[-1, part]),
        Step("concatenate", "the heads' messages side by side", heads_messages, seen.messages[-1]),
        Step(
            "output projection",
            "W_O times the messages",
            update,
            seen.contextual[-1] - seen.E[-1],
        ),
        Step("residual", "e plus the update", e_query + update, seen.contextual[-1]),
        Step("logit", f"hidden layer, then the row of {spelled}", np.asarray(logit), model_logit.numpy()),
    )
    return WeightSteps(head, key, e_query, e_key, q, k, message, update, steps)


def step_table(explained: WeightSteps) -> pd.DataFrame:
    """Return `step`, `formula`, `by hand`, `model`, `difference`; a vector is given by its norm."""

    def shown(value: np.ndarray) -> str:
        value = np.asarray(value, float)
        return f"norm {written(float(np.linalg.norm(value)))}" if value.ndim else written(value.item())

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


def softmax_table(seen: Inspection, labels: tuple[str, ...], *, head: int) -> pd.DataFrame:
    """Return the softmax over the last word's row: `key`, `score`, `exp(score − largest)`, `weight`."""
    scores = seen.scores[head, -1].astype(float)
    powers = np.exp(scores - scores.max())
    return pd.DataFrame(
        {"key": labels, "score": scores, "exp(score − largest)": powers, "weight": powers / powers.sum()}
    )
