import itertools
import json
import statistics

import numpy as np
import pytest
import torch

from wordlm.ablate import chosen_subsets, measure_all
from wordlm.ablation import (
    all_subsets,
    cheapest_pair,
    mean_messages,
    paired_interval,
    prompt_effect,
    shapley_values,
    subset_losses,
    switches,
    word_effect,
    worth_together,
)
from wordlm.checkpoints import save_model_npz
from wordlm.models import build_model
from wordlm.text import BOS
from wordlm.training import evaluate


@pytest.fixture(scope="module")
def model(smoke_corpus):
    return build_model("multihead", len(smoke_corpus.vocab), seed=3).eval()


def test_losses_with_heads_off_equal_an_evaluation_of_the_plain_forward(model, smoke_windows):
    contexts, targets = (part[:300] for part in smoke_windows["validation"])
    mean = mean_messages(model, contexts)
    losses = subset_losses(model, contexts, targets, [(), (2,), (0, 3)], {"zero": None, "mean": mean})
    assert losses["zero", ()].double().mean().item() == pytest.approx(evaluate(model, contexts, targets), abs=1e-6)
    for (fill, off), loss in losses.items():
        on = torch.tensor([head not in off for head in range(4)])
        with torch.inference_mode():
            plain = model.forward_details(contexts[:], heads_on=on, off_message=mean if fill == "mean" else None)
        expected = torch.nn.functional.cross_entropy(plain["logits"], targets, reduction="none")
        torch.testing.assert_close(loss, expected, atol=1e-5, rtol=0)


def test_mean_messages_are_the_average_of_the_last_slots_messages(model, smoke_windows):
    contexts, _ = smoke_windows["validation"]
    with torch.inference_mode():
        messages = model.forward_details(contexts[:])["messages"][:, -1].view(len(contexts), 4, -1)
    torch.testing.assert_close(mean_messages(model, contexts), messages.mean(0), atol=1e-5, rtol=0)


def test_a_prompt_s_effect_is_nothing_when_no_head_is_off(model):
    words = (7, 8, 9)
    effect = prompt_effect(model, words, (), None)
    np.testing.assert_array_equal(effect.before, effect.after)
    np.testing.assert_array_equal(effect.losses_before, effect.losses_after)
    other = prompt_effect(model, words, (1,), None)
    assert not np.array_equal(other.before, other.after)


def test_switching_off_never_changes_the_model(model):
    ids = torch.tensor([[0] * 60 + [BOS, 5, 6, 7]])
    before = model(ids)
    model(ids, **switches(model, (0, 1)))
    assert torch.equal(model(ids), before)


def test_shapley_values_are_the_average_over_all_orders():
    """Directly from the definition: every order of switching heads on."""
    rng = np.random.default_rng(1)
    loss_without = {subset: float(rng.random()) for subset in all_subsets(4)}

    def loss_with(on):
        return loss_without[tuple(sorted({0, 1, 2, 3} - set(on)))]

    expected = [
        statistics.fmean(
            loss_with(order[: order.index(head)]) - loss_with(order[: order.index(head) + 1])
            for order in itertools.permutations(range(4))
        )
        for head in range(4)
    ]
    values = shapley_values(4, loss_without)
    assert values == pytest.approx(expected)
    assert sum(values) == pytest.approx(loss_without[0, 1, 2, 3] - loss_without[()])


def test_a_word_s_effect_is_a_factor_of_its_chance_and_stays_one_where_chances_are_tiny(model):
    table = word_effect(model, (BOS, 5, 6), 9)
    factors = table["probability"] / table["probability"][0]
    assert table["times as likely"].tolist() == pytest.approx(factors.tolist(), rel=1e-6)
    assert table["times as likely"][0] == 1
    assert len(table) == 5
    assert (table["times as likely"] > 0).all()


@pytest.fixture
def stored():
    """Two heads that stand in for each other, and a third that matters alone."""
    increases = {(): 0, (0,): 0.1, (1,): 0.2, (2,): 0.5, (0, 1): 0.9, (0, 2): 0.6, (1, 2): 0.75, (0, 1, 2): 1.5}
    return {"heads": 3, "zero": [{"off": list(off), "increase": rise} for off, rise in increases.items()]}


def test_single_increases_are_added_up_beside_the_increase_with_all_heads_off(stored):
    together = worth_together(stored)
    assert (together.singles, together.all_off) == (pytest.approx(0.8), 1.5)


def test_the_cheapest_pair_is_found_among_the_measured_ones_with_its_single_costs(stored):
    assert cheapest_pair(stored) == ((0, 2), 0.6, pytest.approx(0.6))
    stored["zero"] = [entry for entry in stored["zero"] if len(entry["off"]) != 2]
    assert cheapest_pair(stored) is None


def test_every_subset_is_listed_once_and_the_empty_one_first():
    subsets = all_subsets(4)
    assert len(set(subsets)) == 16
    assert subsets[0] == ()
    assert len(chosen_subsets(8)) == 10
    assert len(chosen_subsets(1)) == 2


def test_the_interval_draws_whole_stories():
    """With one value a story, repeated, the interval is that of the stories, however many words they have."""
    rng = np.random.default_rng(0)
    values = rng.normal(1, 1, 200)
    low, high = paired_interval(np.repeat(values, 50), np.repeat(np.arange(200), 50))
    half = 1.96 * values.std(ddof=1) / 200**0.5
    assert low == pytest.approx(values.mean() - half, abs=0.03)
    assert high == pytest.approx(values.mean() + half, abs=0.03)


def test_every_attention_checkpoint_of_a_folder_is_measured(smoke_corpus, tmp_path):
    digest = smoke_corpus.vocab.sha256
    for kind, name, heads in (("attention", "attention_seed1", 1), ("multihead", "multihead_seed1", 4)):
        metadata = {"kind": kind, "heads": heads, "seed": 1, "vocab_sha256": digest}
        save_model_npz(tmp_path / f"{name}.npz", build_model(kind, len(smoke_corpus.vocab), seed=1), metadata)
    result = measure_all(tmp_path, smoke_corpus)
    json.dumps(result, allow_nan=False)
    assert set(result["checkpoints"]) == {"attention_seed1", "multihead_seed1"}
    assert len(result["checkpoints"]["multihead_seed1"]["zero"]) == 16
    assert result["stories"] == 40
    one = result["checkpoints"]["attention_seed1"]
    assert one["zero"][0] == {"off": [], "loss": one["loss"], "increase": 0.0, "interval": (0.0, 0.0)}
