"""Switching heads off: what the model says without them, for a prompt and for all test targets.

Michel, Levy and Neubig 2019, *Are sixteen heads really better than one?* prune heads this way. A head that is
off gives zeros, or its mean message over all validation targets, which disturbs the rest less.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import msgspec
import numpy as np
import pandas as pd
import torch
from torch import Tensor

from wordlm.data import Windows
from wordlm.inspection import next_log_probabilities, rank_of
from wordlm.models import CausalAttentionLM
from wordlm.schemas import Count, Loss, checked, checked_each
from wordlm.scoring import prefix_windows
from wordlm.text import Vocab

Fill = Literal["zero", "mean"]
BATCH = 1024


def switches(model: CausalAttentionLM, off: Iterable[int], mean_messages: Tensor | None = None) -> dict:
    """Return the forward's arguments that switch the heads `off` (from 0), filled with zeros or mean messages."""
    heads_on = torch.ones(model.heads, dtype=torch.bool)
    heads_on[list(off)] = False
    return {"heads_on": heads_on, "off_message": mean_messages}


@dataclass(frozen=True)
class PromptEffect:
    """What a prompt's predictions become when some heads are off."""

    before: np.ndarray  # (V,) probability of each next word, all heads on
    after: np.ndarray  # (V,)
    losses_before: np.ndarray  # (n,) nats, of the prompt's words
    losses_after: np.ndarray  # (n,)


@torch.inference_mode()
def prompt_effect(
    model: CausalAttentionLM, word_ids: Sequence[int], off: Iterable[int], mean: Tensor | None, *, first: int = 0
) -> PromptEffect:
    """Read a prompt with and without the heads `off`; `word_ids` are all its words, scored from `first` on.

    One batch holds the context of each word and, in its last row, that of the word to come. What each head says is
    computed once for both.
    """
    contexts = prefix_windows(word_ids)[first : len(word_ids) + 1]
    words, targets = torch.arange(len(contexts) - 1), torch.tensor(word_ids[first:], dtype=torch.int64)
    e_last, per_head = model.last_slot(contexts)

    def read(heads: Iterable[int]) -> tuple[np.ndarray, np.ndarray]:
        logs = model.read_out(e_last, per_head, **switches(model, heads, mean)).log_softmax(-1)  # (words + 1, V)
        return logs[-1].exp().numpy(), -logs[words, targets].numpy()

    (before, losses_before), (after, losses_after) = read(()), read(off)
    return PromptEffect(before, after, losses_before, losses_after)


def next_word_effect(before: np.ndarray, after: np.ndarray, vocab: Vocab, count: int = 10) -> pd.DataFrame:
    """Return the words likeliest before or after: `word`, `before`, `after`, `change`, the likeliest after first.

    `before` and `after` (V,) are probabilities of the next word, with all heads on and with some off.
    """
    top = np.argsort(-np.maximum(before, after), kind="stable")[:count]
    top = top[np.argsort(-after[top], kind="stable")]
    before, after = before[top], after[top]
    return pd.DataFrame(
        {"word": vocab.decode(top.tolist()), "before": before, "after": after, "change": after - before}
    )


def word_effect(model: CausalAttentionLM, ids: Sequence[int], word: int, mean: Tensor | None = None) -> pd.DataFrame:
    """Return how each head changes one word's chance: a row for all heads on, then one for each head off.

    Columns: `heads`, `probability`, `rank` (1 = likeliest), `times as likely` as with all heads on.
    """
    rows = []
    for off in [(), *((head,) for head in range(model.heads))]:
        logs = next_log_probabilities(model, ids, **switches(model, off, mean))
        name = f"without head {off[0] + 1}" if off else "all heads"
        rows.append((name, math.exp(logs[word]), rank_of(word, logs), logs[word]))
    table = pd.DataFrame(rows, columns=["heads", "probability", "rank", "times as likely"])
    # Of the logarithms, since two chances that are both 0 to a computer still have a ratio.
    table["times as likely"] = np.exp(table["times as likely"] - table["times as likely"][0])
    return table


def loss_table(effect: PromptEffect, labels: Sequence[str]) -> pd.DataFrame:
    """Return the surprisal of each word of the prompt in nats: `word`, `before`, `after`, `change`."""
    before, after = effect.losses_before, effect.losses_after
    return pd.DataFrame({"word": labels, "before": before, "after": after, "change": after - before})


# Over all targets of a split


class _WithoutHeads(msgspec.Struct):
    off: list[Count]
    loss: Loss
    increase: float
    interval: tuple[float, float]


class _Ablation(msgspec.Struct):
    sha256: str
    heads: Count
    mean_messages: list[list[float]]
    zero: list[_WithoutHeads]
    mean: list[_WithoutHeads]
    shapley_zero: list[float] = []
    shapley_mean: list[float] = []

    def __post_init__(self) -> None:
        everyone = list(range(self.heads))
        for fill in get_args(Fill):
            measured = [entry.off for entry in getattr(self, fill)]
            if not all(off in measured for off in ([], *([head] for head in everyone), everyone)):
                raise ValueError(f"{fill} must hold the losses without no head, without each and without all")


class _Ablations(msgspec.Struct):
    targets: Count
    stories: Count
    interval: str
    checkpoints: dict[str, Any]


def check_ablations(value: Any) -> dict[str, Any]:
    """Return `value` if it has the form of `ablation.json`; else a `ValueError` names the field."""
    checked_each(checked(value, _Ablations).checkpoints, _Ablation, "checkpoints")
    return value


def head_value_table(stored: dict) -> pd.DataFrame:
    """Return what each head of one entry of `ablation.json` is worth on the test set, in nats per token.

    Index: the head. For zeros and for mean messages: the increase of the test loss when it alone is off, its
    interval (`low`, `high`), and its Shapley value where every subset was measured.
    """
    rows: dict[Any, dict[str, float]] = {}
    for fill in ("zero", "mean"):
        for entry in stored[fill]:
            if len(entry["off"]) == 1:
                row = rows.setdefault(f"head {entry['off'][0] + 1}", {})
                row[fill], (row[f"{fill} low"], row[f"{fill} high"]) = entry["increase"], entry["interval"]
    table = pd.DataFrame.from_dict(rows, orient="index")
    for fill in ("zero", "mean"):
        if f"shapley_{fill}" in stored:
            table[f"Shapley, {fill}"] = stored[f"shapley_{fill}"]
    return table


@dataclass(frozen=True)
class Together:
    """What the heads of a model are worth one by one, and together, in nats per token with zeros in their place."""

    singles: float
    """The increases of the test loss with one head off at a time, added up."""
    all_off: float
    """The increase with all heads off."""


def worth_together(stored: dict) -> Together:
    """Return what the heads of one entry of `ablation.json` are worth one by one and together."""
    singles = sum(entry["increase"] for entry in stored["zero"] if len(entry["off"]) == 1)
    return Together(singles, _increase(stored, range(stored["heads"])))


def cheapest_pair(stored: dict) -> tuple[tuple[int, int], float, float] | None:
    """Return the two heads whose loss costs least when both are off: they, that cost, and their single costs added.

    None where no pair was measured, or where the pair is the whole model.
    """
    pairs = [entry for entry in stored["zero"] if len(entry["off"]) == 2]
    if stored["heads"] <= 2 or not pairs:
        return None
    least = min(pairs, key=lambda entry: entry["increase"])
    first, second = least["off"]
    apart = sum(_increase(stored, [head]) for head in (first, second))
    return (first, second), least["increase"], apart


def subset_table(stored: dict) -> pd.DataFrame:
    """Return every measured set of heads: `off`, and for zeros and mean messages the test loss and its increase."""
    names = [", ".join(str(head + 1) for head in entry["off"]) or "none" for entry in stored["zero"]]
    table = pd.DataFrame({"heads off": names})
    for fill in ("zero", "mean"):
        table[f"loss, {fill}"] = [entry["loss"] for entry in stored[fill]]
        table[f"increase, {fill}"] = [entry["increase"] for entry in stored[fill]]
    return table


def stored_entry(stored: dict, fill: Fill, off: Sequence[int]) -> dict | None:
    """Return the measured entry for a set of heads off, or None where it was not measured."""
    return next((entry for entry in stored[fill] if entry["off"] == list(off)), None)


def _increase(stored: dict, off: Sequence[int]) -> float:
    if (entry := stored_entry(stored, "zero", off)) is None:
        heads = ", ".join(str(head + 1) for head in off)
        raise ValueError(f"the loss without heads {heads} is missing: python -m wordlm.ablate measures it")
    return entry["increase"]


@torch.inference_mode()
def mean_messages(model: CausalAttentionLM, contexts: Windows) -> Tensor:
    """Return each head's mean message at the last slot over all contexts, (H, M)."""
    total = torch.zeros(model.heads, model.W_O.in_features // model.heads, dtype=torch.float64)
    for start in range(0, len(contexts), BATCH):
        total += model.last_slot(contexts[start : start + BATCH])[1].double().sum(0)
    return (total / len(contexts)).float()


@torch.inference_mode()
def subset_losses(
    model: CausalAttentionLM,
    contexts: Windows,
    targets: Tensor,
    subsets: Sequence[Sequence[int]],
    fills: dict,
    on_share_done: Callable[[float], None] = lambda share: None,
) -> dict[tuple[Fill, tuple[int, ...]], Tensor]:
    """Return every target's loss in nats, (N,) float32, with each of `subsets` of the heads off.

    `fills` maps "zero" to None and "mean" to the mean messages. Attention is computed once a batch; only the
    layers after the heads run again for each subset.
    """
    keys = [(fill, tuple(off)) for fill in fills for off in subsets]
    losses = {key: torch.empty(len(targets)) for key in keys}
    for start in range(0, len(targets), BATCH):
        batch = slice(start, start + BATCH)
        e_last, per_head = model.last_slot(contexts[batch])
        for fill, off in keys:
            logits = model.read_out(e_last, per_head, **switches(model, off, fills[fill]))
            losses[fill, off][batch] = torch.nn.functional.cross_entropy(logits, targets[batch], reduction="none")
        on_share_done(min(1.0, (start + BATCH) / len(targets)))
    return losses


def all_subsets(heads: int) -> list[tuple[int, ...]]:
    """Return every set of heads, the empty one first."""
    return [s for size in range(heads + 1) for s in itertools.combinations(range(heads), size)]


def shapley_values(heads: int, loss_without: dict[tuple[int, ...], float]) -> list[float]:
    """Return each head's share in lowering the loss, in nats per token (Shapley 1953).

    `loss_without` gives the loss for every set of heads switched off. A head's value is what switching it on
    lowers the loss by, averaged over all orders of switching heads on; the values add up to the loss with no
    head minus the loss with all.
    """
    everyone = frozenset(range(heads))
    values = []
    for head in range(heads):
        value = 0.0
        for size in range(heads):
            weight = math.factorial(size) * math.factorial(heads - size - 1) / math.factorial(heads)
            for on in itertools.combinations(sorted(everyone - {head}), size):
                without = loss_without[tuple(sorted(everyone - set(on)))]
                value += weight * (without - loss_without[tuple(sorted(everyone - set(on) - {head}))])
        values.append(value)
    return values


def paired_interval(
    differences: np.ndarray, story: np.ndarray, *, resamples: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """Return a 95 % bootstrap interval of the mean difference, whole stories drawn with replacement.

    `differences` (N,) are paired losses of the same targets, `story` (N,) which story each belongs to.
    """
    return ratio_interval(differences, np.ones(len(differences)), story, resamples=resamples, seed=seed)


def ratio_interval(
    over: np.ndarray, under: np.ndarray, story: np.ndarray, *, resamples: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """Return a 95 % bootstrap interval of sum(over) / sum(under), whole stories drawn with replacement; all (N,).

    Words of one story are not independent, so stories are what is drawn (Efron and Tibshirani 1993, chapter 8).
    """
    overs, unders = (np.bincount(story, weights=part) for part in (over, under))
    drawn = np.random.default_rng(seed).integers(len(overs), size=(resamples, len(overs)))
    low, high = np.quantile(overs[drawn].sum(1) / unders[drawn].sum(1), [0.025, 0.975])
    return float(low), float(high)
