import itertools
import json
import statistics

import numpy as np
import pytest
import torch

from wordlm.ablate import chosen_subsets, measure_all
from wordlm.ablation import (
    PromptEffect,
    all_subsets,
    cheapest_pair,
    check_ablations,
    head_value_table,
    loss_table,
    mean_messages,
    next_word_effect,
    paired_interval,
    prompt_effect,
    shapley_values,
    stored_entry,
    subset_losses,
    subset_table,
    switches,
    word_effect,
    worth_together,
)
from wordlm.checkpoints import save_model_npz
from wordlm.files import ARTIFACTS, read_json
from wordlm.inspection import next_probabilities
from wordlm.models import build_model
from wordlm.scoring import word_losses
from wordlm.text import BOS, SPECIALS, Vocab
from wordlm.training import evaluate


@pytest.fixture(scope="module", params=[4, 2], ids=["4 heads", "4 heads, 2 kv"])
def model(request, smoke_corpus):
    return build_model("multihead", len(smoke_corpus.vocab), seed=3, kv_heads=request.param).eval()


def test_losses_with_heads_off_equal_an_evaluation_of_the_plain_forward(monkeypatch, model, smoke_windows):
    monkeypatch.setattr("wordlm.ablation.BATCH", 120)
    contexts, targets = (part[:300] for part in smoke_windows["validation"])
    mean, shares = mean_messages(model, contexts), []
    losses = subset_losses(model, contexts, targets, [(), (2,), (0, 3)], {"zero": None, "mean": mean}, shares.append)
    assert shares == [0.4, 0.8, 1]
    assert losses["zero", ()].double().mean().item() == pytest.approx(evaluate(model, contexts, targets), abs=1e-6)
    for (fill, off), loss in losses.items():
        on = torch.tensor([head not in off for head in range(4)])
        with torch.inference_mode():
            plain = model.forward_details(contexts[:], heads_on=on, off_message=mean if fill == "mean" else None)
        expected = torch.nn.functional.cross_entropy(plain["logits"], targets, reduction="none")
        torch.testing.assert_close(loss, expected, atol=1e-5, rtol=0)
        assert not loss.requires_grad, "nothing is kept for a training"


def test_mean_messages_are_the_average_of_the_last_slots_messages(monkeypatch, model, smoke_windows):
    monkeypatch.setattr("wordlm.ablation.BATCH", 500)
    contexts = smoke_windows["validation"][0][:1200]
    with torch.inference_mode():
        messages = model.forward_details(contexts[:])["messages"][:, -1].view(len(contexts), 4, -1)
    mean = mean_messages(model, contexts)
    torch.testing.assert_close(mean, messages.mean(0), atol=1e-5, rtol=0)
    assert not mean.requires_grad, "nothing is kept for a training"


def test_a_prompt_s_effect_is_nothing_when_no_head_is_off(model):
    words = (7, 8, 9)
    effect = prompt_effect(model, words, (), None)
    np.testing.assert_array_equal(effect.before, effect.after)
    np.testing.assert_array_equal(effect.losses_before, effect.losses_after)
    assert len(effect.losses_before) == 3
    other = prompt_effect(model, words, (1,), None)
    assert not np.array_equal(other.before, other.after)


@pytest.mark.parametrize("mean", [None, torch.linspace(-1, 1, 64).view(4, 16)], ids=["zeros", "mean messages"])
def test_a_prompt_s_effect_is_that_of_two_models(model, mean):
    """Of a text of which the model reads the end, and of which the last two words are scored."""
    words = [*range(4, 69), 5, 9, 6, 8, 7]
    off = {"heads_on": torch.tensor([True, False, True, False]), "off_message": mean}
    effect = prompt_effect(model, words, (1, 3), mean, first=68)
    np.testing.assert_allclose(effect.before, next_probabilities(model, words[-64:]), atol=1e-6)
    np.testing.assert_allclose(effect.after, next_probabilities(model, words[-64:], **off), atol=1e-6)
    np.testing.assert_allclose(effect.losses_before, word_losses(model, words, first=68), atol=1e-6)
    np.testing.assert_allclose(effect.losses_after, word_losses(model, words, first=68, **off), atol=1e-6)
    assert len(effect.losses_after) == 2
    assert not np.array_equal(effect.before, effect.after)
    assert not np.array_equal(effect.losses_before, effect.losses_after)


def test_the_words_likeliest_before_or_after_are_listed_with_the_change_the_likeliest_after_first():
    vocab = Vocab((*SPECIALS, *"abcdefgh"))
    before = np.array([0.0, 0.01, 0.02, 0.03, 0.3, 0.1, 0.2, 0.04, 0.05, 0.06, 0.07, 0.08])
    after = before.copy()
    after[[4, 11]] = 0.1, 0.25
    effect = PromptEffect(before, after, np.array([1.0, 2.0]), np.array([1.5, 0.5]))
    table = next_word_effect(before, after, vocab)
    assert table["word"].tolist() == ["h", "c", "a", "b", "g", "f", "e", "d", "<UNK>", "<EOS>"]
    ids = vocab.encode(table["word"][:8])
    assert table["before"].tolist()[:8] == before[ids].tolist()
    assert table["after"].tolist()[:8] == after[ids].tolist()
    assert table["change"].tolist() == pytest.approx([0.17, 0, -0.2] + [0] * 7)
    assert len(next_word_effect(before, after, vocab, 3)) == 3
    losses = loss_table(effect, ["1 · cat", "2 · sat"])
    assert losses.to_dict("list") == {
        "word": ["1 · cat", "2 · sat"],
        "before": [1.0, 2.0],
        "after": [1.5, 0.5],
        "change": [0.5, -1.5],
    }


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
    assert table["heads"].tolist() == ["all heads", *(f"without head {number}" for number in (1, 2, 3, 4))]
    for row, off in enumerate([(), (0,), (1,), (2,), (3,)]):
        probabilities = next_probabilities(model, (BOS, 5, 6), **switches(model, off))
        assert table["probability"][row] == pytest.approx(float(probabilities[9]), rel=1e-5)
        assert table["rank"][row] == 1 + (probabilities > probabilities[9]).sum()
    factors = table["probability"] / table["probability"][0]
    assert table["times as likely"].tolist() == pytest.approx(factors.tolist(), rel=1e-6)
    assert table["times as likely"][0] == 1
    assert len(table) == 5
    assert (table["times as likely"] > 0).all()


@pytest.fixture
def stored():
    """Two heads that stand in for each other, and a third that matters alone."""
    increases = {(): 0, (0,): 0.1, (1,): 0.2, (2,): 0.5, (0, 1): 0.9, (0, 2): 0.6, (1, 2): 0.75, (0, 1, 2): 1.5}
    zero = [{"off": list(off), "increase": rise, "loss": 3 + rise} for off, rise in increases.items()]
    for entry in zero:
        entry["interval"] = (entry["increase"] - 0.01, entry["increase"] + 0.01)
    mean = [{key: -np.array(value) if key != "off" else value for key, value in entry.items()} for entry in zero]
    return {"heads": 3, "zero": zero, "mean": mean}


def test_a_head_s_value_is_its_own_increase_with_its_interval_and_a_shapley_value_where_there_is_one(stored):
    table = head_value_table(stored)
    assert list(table.index) == ["head 1", "head 2", "head 3"]
    assert list(table.columns) == ["zero", "zero low", "zero high", "mean", "mean low", "mean high"]
    assert table["zero"].tolist() == [0.1, 0.2, 0.5]
    assert table["zero low"].tolist() == pytest.approx([0.09, 0.19, 0.49])
    assert table["zero high"].tolist() == pytest.approx([0.11, 0.21, 0.51])
    assert table["mean high"].tolist() == pytest.approx([-0.11, -0.21, -0.51])
    with_values = head_value_table(stored | {"shapley_zero": [1, 2, 3]})
    assert with_values["Shapley, zero"].tolist() == [1, 2, 3]
    assert "Shapley, mean" not in with_values


def test_every_measured_set_of_heads_is_named_by_its_heads_with_loss_and_increase(stored):
    table = subset_table(stored)
    assert table["heads off"].tolist() == ["none", "1", "2", "3", "1, 2", "1, 3", "2, 3", "1, 2, 3"]
    assert table["loss, zero"].tolist() == [entry["loss"] for entry in stored["zero"]]
    assert table["increase, mean"].tolist() == [entry["increase"] for entry in stored["mean"]]
    assert stored_entry(stored, "zero", (0, 2)) is stored["zero"][5]
    assert stored_entry(stored, "mean", (2, 0)) is None


def test_single_increases_are_added_up_beside_the_increase_with_all_heads_off(stored):
    together = worth_together(stored)
    assert (together.singles, together.all_off) == (pytest.approx(0.8), 1.5)


def test_what_heads_are_worth_together_is_refused_where_a_set_of_them_was_not_measured(stored):
    stored["zero"].pop()
    with pytest.raises(ValueError, match="the loss without heads 1, 2, 3 is missing"):
        worth_together(stored)
    del stored["zero"][1]
    with pytest.raises(ValueError, match="the loss without heads 1 is missing"):
        cheapest_pair(stored)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda entry: entry["zero"].pop(), ": zero must hold the losses without no head, without each and without"),
        (lambda entry: entry["mean"].pop(1), ": mean must hold the losses without no head, without each and without"),
        (lambda entry: entry["zero"][3].pop("increase"), ".zero[3].increase is missing"),
        (lambda entry: entry["zero"][3].update(interval=[1]), ".zero[3].interval: expected array of length 2, got 1"),
        (lambda entry: entry.update(heads="4"), ".heads: expected int, got str"),
    ],
)
def test_stored_losses_that_are_not_whole_are_refused_by_their_field(change, said):
    value = read_json(ARTIFACTS / "heads" / "ablation.json")
    assert check_ablations(value) is value
    change(value["checkpoints"]["multihead_seed11"])
    with pytest.raises(ValueError) as error:
        check_ablations(value)
    assert str(error.value).startswith(f"checkpoints.multihead_seed11{said}")


def test_the_cheapest_pair_is_found_among_the_measured_ones_with_its_single_costs(stored):
    assert cheapest_pair(stored) == ((0, 2), 0.6, pytest.approx(0.6))
    stored["zero"] = [entry for entry in stored["zero"] if len(entry["off"]) != 2]
    assert cheapest_pair(stored) is None


def test_two_heads_that_are_the_whole_model_are_no_pair():
    increases = {(0,): 0.1, (1,): 0.2, (0, 1): 0.9}
    zero = [{"off": list(off), "increase": rise} for off, rise in increases.items()]
    assert cheapest_pair({"heads": 2, "zero": zero}) is None
    assert cheapest_pair({"heads": 3, "zero": zero}) == ((0, 1), 0.9, pytest.approx(0.3))


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


def test_the_interval_equals_a_slow_loop_over_drawn_stories():
    rng = np.random.default_rng(4)
    story = np.repeat(np.arange(6), [1, 2, 3, 4, 5, 6])
    differences = rng.normal(size=21)
    draw, means = np.random.default_rng(0), []
    for _ in range(2000):
        drawn = np.concatenate([differences[story == one] for one in draw.integers(6, size=6)])
        means.append(drawn.mean())
    expected = tuple(np.quantile(means, [0.025, 0.975]))
    assert paired_interval(differences, story) == pytest.approx(expected, rel=1e-9)


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
