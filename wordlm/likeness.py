"""How alike two heads are, and which head of one model plays the part of which in another."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import rel_entr

from wordlm.inspection import Inspection, rows_as_last, weight_table
from wordlm.models import CausalAttentionLM
from wordlm.text import BOS, EncodedPrompt, Vocab


def jensen_shannon(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the Jensen-Shannon distance of distributions along the last axis: 0 alike, 1 without overlap.

    The square root of the divergence in bits (Endres and Schindelin 2003), so it is a metric.
    """
    middle = (p + q) / 2
    bits = (rel_entr(p, middle) + rel_entr(q, middle)).sum(-1) / (2 * np.log(2))
    return np.sqrt(np.clip(bits, 0, 1))  # rounding alone leaves the range


def head_distances(rows: np.ndarray) -> np.ndarray:
    """Return the distance of every two heads' rows (H, n) as (H, H)."""
    rows = rows.astype(float)
    return jensen_shannon(rows[:, None], rows[None])


def head_likeness(first: CausalAttentionLM, second: CausalAttentionLM, texts: Sequence[Sequence[int]]) -> np.ndarray:
    """Return how alike each head of `first` is to each of `second`, (H1, H2), 1 for equal rows.

    `texts` are word ids. The likeness is 1 minus the mean Jensen-Shannon distance of the
    two heads' rows, over every word of every text as the last word read; the start mark's own row, which is
    always 1, is left out.
    """
    total, count = np.zeros((first.heads, second.heads)), 0
    for text in texts:
        a, b = (rows_as_last(model, [BOS, *text], len(text)).astype(float) for model in (first, second))
        total += jensen_shannon(a[:, None], b[None]).sum(-1)
        count += a.shape[1]
    return 1 - total / count


def best_matching(likeness: np.ndarray) -> list[int]:
    """Return for each head (row) its partner (column), one to one, with the largest total likeness."""
    from scipy.optimize import linear_sum_assignment  # a quarter of a second that only this needs

    return linear_sum_assignment(likeness, maximize=True)[1].tolist()


# Tables


def beside_each_other(first: np.ndarray, second: np.ndarray, vocab: Vocab, count: int = 10) -> pd.DataFrame:
    """Return the words likeliest under either of two models, (V,) each: `word`, `before` (A), `after` (B)."""
    top = np.argsort(-np.maximum(first, second), kind="stable")[:count]
    return pd.DataFrame({"word": vocab.decode(top.tolist()), "before": first[top], "after": second[top]})


def surprisal_table(words: Sequence[str], surprisals: dict[str, np.ndarray]) -> pd.DataFrame:
    """Return the surprisal of each word under two models in nats, and `B − A`."""
    table = pd.DataFrame({"word": list(words), **surprisals})
    first, second = surprisals
    table["B − A"] = table[second] - table[first]
    return table


def blend_table(one: Inspection, four: Inspection, reading: EncodedPrompt) -> pd.DataFrame:
    """Return the last word's row under one head, the rows of four, and their mean."""
    blend = weight_table({"one head": one, "four heads": four}, reading).drop(columns="sum")
    blend.loc["mean of the four"] = blend.iloc[1:].mean()
    return blend


def distance_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the Jensen-Shannon distance of every two rows."""
    return pd.DataFrame(head_distances(rows.to_numpy()), index=rows.index, columns=rows.index)


def partner_table(first: int, likeness: dict[int, np.ndarray]) -> pd.DataFrame:
    """Return, for each head of seed `first`, its partner at every other seed and how alike the two are."""
    heads = len(next(iter(likeness.values())))
    table = pd.DataFrame({f"head, seed {first}": range(1, heads + 1)})
    for seed, matrix in likeness.items():
        partners = best_matching(matrix)
        table[f"partner, seed {seed}"] = [partner + 1 for partner in partners]
        table[f"likeness, seed {seed}"] = matrix[range(len(partners)), partners]
    return table


# Short, ordinary sentences of the stories' kind, written for this project: on what a head does with them rests
# which head of another model is called its partner.
LIKENESS_TEXTS = (
    "once upon a time there was a little girl named lily . she had a red ball .",
    "tom and his dog went to the park . they saw a big tree and a small bird .",
    'the cat said , " i want to play with you . " the mouse was scared .',
    "one day , ben found a shiny stone in the garden . he showed it to his mom .",
    "it was a sunny day and the birds were singing . mia felt very happy .",
    'the bear was hungry . he looked for honey , but the bees said , " no ! "',
    "sara made a cake with her grandma . they put it on the table and smiled .",
    "the boy lost his hat . he looked under the bed and behind the door .",
)
