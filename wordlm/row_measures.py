"""How a head spreads the weights of one word: each measure with its definition, which the page shows as its help."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from wordlm.inspection import Inspection
from wordlm.models import CausalAttentionLM

MEASURES = {
    "entropy": "How spread out the weights are, in nats: 0 when one key has all, ln of the number of keys at most",
    "effective tokens": "The exponential of the entropy: as many keys as if they shared the weight evenly",
    "first token": "The weight of the first token",
    "previous": "The weight of the token just before the query",
    "itself": "The weight of the query's own token",
    "mean distance": "How many words back the head looks on average",
    "message norm": "The length of what this head adds to the query through the output projection",
}


def head_measures(model: CausalAttentionLM, seen: Inspection) -> pd.DataFrame:
    """Return one row per head with the `MEASURES` of the last word of a reading; without a previous word, 0."""
    weights = seen.weights[:, -1].astype(float)
    n = weights.shape[1]
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    entropy = -(weights * logs).sum(1)
    messages = seen.messages[-1].reshape(seen.heads, -1)
    output = model.W_O.weight.detach().numpy().reshape(-1, seen.heads, messages.shape[1])  # (D, H, M)
    added = np.einsum("dhm,hm->hd", output, messages)
    return pd.DataFrame(
        {
            "head": np.arange(1, seen.heads + 1),
            "entropy": entropy,
            "effective tokens": np.exp(entropy),
            "first token": weights[:, 0],
            "previous": weights[:, -2] if n > 1 else np.zeros(seen.heads),
            "itself": weights[:, -1],
            "mean distance": weights @ np.arange(n - 1, -1, -1),
            "message norm": np.linalg.norm(added, axis=1),
        }
    )


def measures_beside(models: Sequence[CausalAttentionLM], named: dict[str, Inspection]) -> pd.DataFrame:
    """Return the measures of several models' heads under each other, with the column `model` before them."""
    tables = {name: head_measures(model, seen) for model, (name, seen) in zip(models, named.items(), strict=True)}
    return pd.concat(tables, names=["model", None]).reset_index(level=0)
