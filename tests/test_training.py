import math
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from wordlm.loss import perplexity
from wordlm.models import build_model
from wordlm.training import NonFiniteLoss, TrainConfig, choose_device, evaluate, train_model

SHORT = TrainConfig(steps=30, batch_size=32, seed=3, eval_every=10)


def smoke_model(corpus, kind="attention", seed=3):
    return build_model(kind, len(corpus.vocab), seed)


def train(model, windows, config=SHORT, **options):
    return train_model(model, *windows["train"], *windows["validation"], config, device="cpu", **options)


@pytest.mark.parametrize("kind", ["mlp", "attention", "multihead"])
def test_training_lowers_the_loss_and_keeps_the_best_validation_step(smoke_corpus, smoke_windows, kind):
    model = smoke_model(smoke_corpus, kind)
    before = evaluate(model, *smoke_windows["validation"])
    result, history = train(model, smoke_windows)
    best = min(history, key=lambda progress: progress.validation_loss)
    assert [progress.step for progress in history] == [10, 20, 30]
    assert result["validation_loss"] == best.validation_loss < before
    assert result["selected_step"] == best.step
    assert evaluate(model, *smoke_windows["validation"]) == pytest.approx(best.validation_loss, abs=1e-6)


def test_an_earlier_step_is_restored_when_later_ones_are_worse(smoke_corpus, smoke_windows):
    """Twenty targets are soon known by heart, and the validation loss rises."""
    model = smoke_model(smoke_corpus)
    contexts, targets = smoke_windows["train"]
    few = (contexts[:20], targets[:20])
    config = replace(SHORT, steps=100, learning_rate=0.02)
    result, history = train_model(model, *few, *smoke_windows["validation"], config, device="cpu")
    losses = [progress.validation_loss for progress in history]
    assert losses[-1] > min(losses) + 0.1, "the case needs a run that gets worse"
    assert result["selected_step"] < 100
    assert evaluate(model, *smoke_windows["validation"]) == pytest.approx(min(losses), abs=1e-5)


def test_the_loop_equals_a_plain_loop_written_from_the_definition(smoke_corpus, smoke_windows):
    """The plain form of the model, AdamW unfused, batches by hand."""
    contexts, targets = smoke_windows["train"]
    plain = smoke_model(smoke_corpus)
    optimizer = torch.optim.AdamW(plain.parameters(), lr=SHORT.learning_rate, weight_decay=SHORT.weight_decay)
    rows = torch.Generator().manual_seed(SHORT.seed)
    losses = []
    for _ in range(SHORT.steps):
        batch = torch.randint(len(targets), (SHORT.batch_size,), generator=rows)
        loss = F.cross_entropy(plain.forward_details(contexts[:][batch])["logits"], targets[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    seen = []
    train(smoke_model(smoke_corpus), smoke_windows, on_progress=lambda progress: seen.append(progress.train_loss))
    assert seen[0] is None
    assert seen[1:] == pytest.approx(losses, abs=1e-4)


def test_the_same_seed_gives_the_same_losses_and_another_seed_others(smoke_corpus, smoke_windows):
    runs = [train(smoke_model(smoke_corpus), smoke_windows, replace(SHORT, seed=s))[1] for s in (3, 3, 4)]
    losses = [[progress.validation_loss for progress in run] for run in runs]
    assert losses[0] == losses[1] != losses[2]


def test_a_run_that_is_stopped_keeps_its_best_step(smoke_corpus, smoke_windows):
    model = smoke_model(smoke_corpus)
    seen = []
    result, _ = train(
        model, smoke_windows, on_progress=seen.append, should_stop=lambda: bool(seen) and seen[-1].step == 15
    )
    assert result["stopped"] is True
    assert seen[-1].step == 15
    assert result["selected_step"] == 10
    assert evaluate(model, *smoke_windows["validation"]) == pytest.approx(result["validation_loss"], abs=1e-6)


def test_a_run_stopped_before_any_validation_is_validated_once(smoke_corpus, smoke_windows):
    result, history = train(smoke_model(smoke_corpus), smoke_windows, should_stop=lambda: True)
    assert (result["stopped"], result["selected_step"], len(history)) == (True, 0, 1)


def test_a_loss_that_is_no_number_ends_the_run_before_the_update(smoke_corpus, smoke_windows):
    model = smoke_model(smoke_corpus)

    def poison(progress):
        if progress.step == 12:
            with torch.no_grad():
                model.vocab_head.bias[0] = math.nan

    with pytest.raises(NonFiniteLoss, match="the loss became nan: try a smaller learning rate"):
        train(model, smoke_windows, on_progress=poison)
    assert all(torch.isfinite(value).all() for value in model.state_dict().values())


@pytest.mark.parametrize(("rate", "steps"), [(1e5, 2), (1e5, 12), (1e30, 1), (1e30, 2), (1e38, 1)])
def test_a_rate_that_ruins_the_model_ends_in_an_error_also_when_its_last_update_did(
    smoke_corpus, smoke_windows, rate, steps
):
    """Of the only update the training loss is still that of the beginning; only a validation can tell."""
    model = smoke_model(smoke_corpus)
    before = smoke_model(smoke_corpus).state_dict()
    config = replace(SHORT, steps=steps, learning_rate=rate)
    with pytest.raises(NonFiniteLoss, match=r"^the (validation )?loss became (nan|inf): try a smaller learning rate$"):
        train(model, smoke_windows, config)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(
    "setting",
    [
        {"steps": 0},
        {"batch_size": 0},
        {"eval_every": -1},
        {"learning_rate": 0.0},
        {"learning_rate": math.nan},
        {"weight_decay": -0.1},
        {"precision": "fp8"},
    ],
)
def test_impossible_settings_are_refused_by_name(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        TrainConfig(**setting)


def test_evaluation_does_not_depend_on_the_batch_size(smoke_corpus, smoke_windows):
    model = smoke_model(smoke_corpus)
    contexts, targets = smoke_windows["test"]
    with torch.no_grad():
        one_by_one = [-model(contexts[i][None]).log_softmax(-1)[0, targets[i]].item() for i in range(len(targets))]
    expected = math.fsum(one_by_one) / len(targets)
    for batch_size in (1, 7, 512, 10**6):
        assert evaluate(model, contexts, targets, batch_size=batch_size) == pytest.approx(expected, abs=1e-6)


def test_evaluation_of_nothing_is_refused(smoke_corpus, smoke_windows):
    contexts, targets = smoke_windows["test"]
    with pytest.raises(ValueError, match="no targets"):
        evaluate(smoke_model(smoke_corpus), contexts[:0], targets[:0])


def test_a_uniform_model_has_a_perplexity_equal_to_its_vocabulary(smoke_corpus, smoke_windows):
    model = smoke_model(smoke_corpus)
    with torch.no_grad():
        model.vocab_head.weight.zero_()
        model.vocab_head.bias.zero_()
    loss = evaluate(model, *smoke_windows["test"])
    assert perplexity(loss) == pytest.approx(len(smoke_corpus.vocab), rel=1e-5)


def test_bf16_training_ends_near_fp32(smoke_corpus, smoke_windows):
    losses = {}
    for precision in ("fp32", "bf16"):
        result, _ = train(smoke_model(smoke_corpus), smoke_windows, replace(SHORT, steps=60, precision=precision))
        losses[precision] = result["validation_loss"]
        assert result["config"]["precision"] == precision
    # bfloat16 keeps 8 bits of a number: after 60 steps the losses differ in the second decimal.
    assert losses["bf16"] == pytest.approx(losses["fp32"], abs=0.05)


def test_the_automatic_device_is_named_with_its_reason():
    device, reason = choose_device("auto")
    if torch.cuda.is_available():
        assert device.type == "cuda"
    else:
        assert device.type == ("mps" if torch.backends.mps.is_available() else "cpu")
    assert reason
    assert choose_device("cpu") == (torch.device("cpu"), "asked for")
