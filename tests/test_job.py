"""One training at a time: who gets the slot, and what frees it."""

import gc
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from wordlm import jobs
from wordlm.data import Windows
from wordlm.inspection import rows_of
from wordlm.jobs import VALIDATION_TARGETS, Ending, Job, LineIsFull, Order, State, Trainer, validation_sample
from wordlm.models import build_model
from wordlm.text import encode_prompt
from wordlm.training import TrainConfig, evaluate, train_model
from wordlm.variants import MLP, Variant

SHORT = TrainConfig(steps=12, batch_size=32, eval_every=4)
LONG = replace(SHORT, steps=6000, eval_every=150)


@pytest.fixture
def order(smoke_corpus):
    prompt = encode_prompt("the dog found a ball", smoke_corpus.vocab)
    return Order(Variant.with_heads(4), SHORT, smoke_corpus, "smoke stories", prompt)


@pytest.fixture
def trainer():
    return Trainer(lambda owner: True)


PATIENCE = 120.0
"""Seconds until a test that waits for ever fails; no test waits for time to pass."""
NEWS = threading.Condition()


@pytest.fixture(autouse=True)
def told(monkeypatch):
    """Whatever a training reports is told to those who wait for news of it."""
    keep = Job.note

    def note(job, progress, model):
        keep(job, progress, model)
        with NEWS:
            NEWS.notify_all()

    monkeypatch.setattr(Job, "note", note)


def wait(condition):
    with NEWS:
        assert NEWS.wait_for(condition, PATIENCE), "it did not happen"


def wait_for_updates(job, number=3):
    """Wait until so many updates were made from now on."""
    done = len(job.losses)
    wait(lambda: len(job.losses) >= done + number)


def finish(job):
    assert job.ended.wait(PATIENCE)
    return job


class Clock:
    """A clock that a test sets."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


def test_a_job_gives_the_numbers_of_the_command_line(trainer, order, smoke_corpus, smoke_windows):
    job = finish(trainer.submit(order, "ann"))
    model = build_model("multihead", len(smoke_corpus.vocab), SHORT.seed)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # another number of threads adds in another order
    losses = []
    result, history = train_model(
        model, *smoke_windows["train"], *smoke_windows["validation"], SHORT, on_progress=losses.append
    )
    torch.set_num_threads(threads)
    assert job.state is State.FINISHED
    assert job.losses == pytest.approx([p.train_loss for p in losses[1:]], abs=1e-6)
    assert [p.validation_loss for p in job.history] == pytest.approx([p.validation_loss for p in history], abs=1e-6)
    assert job.result["selected_step"] == result["selected_step"]
    assert job.metadata["validation_loss"] == job.result["validation_loss"]
    assert evaluate(job.model, *smoke_windows["validation"]) == pytest.approx(result["validation_loss"], abs=1e-5)


def test_the_prompts_weights_are_kept_from_the_start_on_and_at_each_validation(trainer, order, smoke_corpus):
    job = finish(trainer.submit(order, "ann"))
    assert list(job.weights) == [0, 4, 8, 12]
    new = rows_of(build_model("multihead", len(smoke_corpus.vocab), SHORT.seed).eval(), order.prompt)
    np.testing.assert_allclose(job.weights[0], new.weights, atol=1e-6)
    assert job.result["selected_step"] == 12
    np.testing.assert_allclose(job.weights[12], rows_of(job.model, order.prompt).weights, atol=1e-6)
    assert np.abs(job.weights[12] - job.weights[0]).max() > 0.01


def test_an_mlp_has_no_weights_to_keep(trainer, order):
    job = finish(trainer.submit(replace(order, variant=MLP), "ann"))
    assert (job.state, job.weights) == (State.FINISHED, {})


def test_pressing_twice_starts_one_run(trainer, order):
    pressed = [threading.Thread(target=lambda: got.append(trainer.submit(order, "ann"))) for _ in range(8)]
    got = []
    for thread in pressed:
        thread.start()
    for thread in pressed:
        thread.join()
    assert len(set(map(id, got))) == 1
    assert len(trainer.ahead_of(None)) <= 1, "one job in line, or done by now"
    assert len(finish(got[0]).losses) == SHORT.steps


def test_the_second_visitor_waits_for_the_first(trainer, order):
    first = trainer.submit(replace(order, config=LONG), "ann")
    second = trainer.submit(order, "bob")
    wait(lambda: len(first.losses) > 3)
    assert (first.state, second.state) == (State.RUNNING, State.WAITING)
    assert trainer.ahead_of(second) == [first]
    assert first.seconds_left > 0
    first.end(Ending.PRESSED)
    assert finish(second).state is State.FINISHED
    assert first.state is State.STOPPED


def test_stop_ends_a_run_before_its_next_update_at_its_best_step(trainer, order, smoke_windows):
    job = trainer.submit(replace(order, config=LONG), "ann")
    wait(lambda: len(job.history) >= 2)
    job.end(Ending.PRESSED)
    done = len(job.losses)
    assert len(finish(job).losses) <= done + 1, "that in progress"
    assert (job.state, job.ending, job.result["stopped"]) == (State.STOPPED, Ending.PRESSED, True)
    assert job.result["validation_loss"] == min(p.validation_loss for p in job.history)
    assert evaluate(job.model, *smoke_windows["validation"]) == pytest.approx(job.result["validation_loss"], abs=1e-5)


def test_a_job_stopped_in_line_never_begins(trainer, order):
    first, second = trainer.submit(replace(order, config=LONG), "ann"), trainer.submit(order, "bob")
    trainer.stop(second)
    assert (second.state, second.losses, second.result) == (State.STOPPED, [], None), "at once, not when its turn comes"
    assert first.is_active
    trainer.stop(first)
    finish(first)


def test_a_visitor_who_leaves_the_line_is_no_longer_counted(order, clock):
    present = {"ann", "bob", "eve"}
    trainer = Trainer(lambda owner: owner in present, grace=60, clock=clock)
    first, second = trainer.submit(replace(order, config=LONG), "ann"), trainer.submit(order, "bob")
    assert trainer.ahead_of(None) == [first, second]
    present.remove("bob")
    clock.seconds += 60
    assert trainer.ahead_of(None) == [first, second]
    clock.seconds += 1
    assert trainer.ahead_of(None) == [first]
    assert second.state is State.STOPPED
    trainer.stop(first)
    finish(first)


def test_a_short_absence_in_line_does_not_cost_the_turn(order, clock):
    present = {"ann", "bob"}
    trainer = Trainer(lambda owner: owner in present, grace=60, clock=clock)
    first, second = trainer.submit(replace(order, config=LONG), "ann"), trainer.submit(order, "bob")
    present.remove("bob")
    clock.seconds += 60
    wait_for_updates(first)
    trainer.stop(first)
    assert finish(second).state is State.FINISHED


def test_the_number_of_threads_is_restored_whatever_overlaps():
    before = torch.get_num_threads()
    inner, outer = jobs.a_core_left_free(), jobs.a_core_left_free()
    inner.__enter__()
    outer.__enter__()
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)
    assert torch.get_num_threads() == before


def test_a_visitor_who_leaves_frees_the_slot_after_the_grace_period(order, clock):
    present = {"ann", "bob"}
    trainer = Trainer(lambda owner: owner in present, grace=60, clock=clock)
    first = trainer.submit(replace(order, config=LONG), "ann")
    second = trainer.submit(order, "bob")
    wait(lambda: len(first.losses) > 3)
    present.remove("ann")
    clock.seconds += 60
    wait_for_updates(first)
    assert first.state is State.RUNNING
    clock.seconds += 1
    finish(first)
    assert (first.state, first.ending) == (State.STOPPED, Ending.ABSENCE)
    assert finish(second).state is State.FINISHED


def test_a_visitor_who_comes_back_in_time_keeps_the_run(order, clock):
    present = {"ann"}
    trainer = Trainer(lambda owner: owner in present, grace=60, clock=clock)
    job = trainer.submit(replace(order, config=LONG), "ann")
    for _ in range(2):  # each time shorter than what is granted, together longer
        present.clear()
        clock.seconds += 50
        wait_for_updates(job)
        present.add("ann")
        wait(lambda: job.seen == clock())
    wait_for_updates(job)
    assert job.state is State.RUNNING
    job.end(Ending.PRESSED)
    finish(job)


def test_a_run_goes_on_when_its_tab_is_another_session_now(order, clock):
    present = {"ann"}
    trainer = Trainer(lambda owner: owner in present, grace=60, clock=clock)
    job = trainer.submit(replace(order, config=LONG), "ann")
    present.clear()
    present.add("ann again")
    assert trainer.look_after(job.token, "ann again") is job
    clock.seconds += 100
    wait_for_updates(job)
    assert job.state is State.RUNNING
    assert trainer.submit(order, "ann again") is job, "pressing Train there starts no second one"
    trainer.stop(job)
    finish(job)


def test_a_job_is_found_by_its_token_alone_and_for_as_long_as_somebody_holds_it(trainer, order):
    job = trainer.submit(order, "ann")
    thread, token = trainer._thread, finish(job).token
    assert trainer.look_after(token, "ann again") is job
    assert trainer.look_after(token + "x", "eve") is None
    assert len(token) > 24, "nobody guesses it"
    del job
    thread.join()  # which holds it to the end
    gc.collect()
    assert trainer.look_after(token, "ann again") is None
    assert trainer.gave(token)
    assert not Trainer(lambda owner: True).gave(token), "another process did not give it"


def test_a_visitor_who_is_there_goes_before_one_who_left_the_line(order):
    present = {"ann", "bob", "eve"}
    trainer = Trainer(lambda owner: owner in present, grace=60)
    first = trainer.submit(replace(order, config=LONG), "ann")
    left, there = trainer.submit(replace(order, config=LONG), "bob"), trainer.submit(order, "eve")
    present.remove("bob")
    trainer.stop(first)
    assert finish(there).state is State.FINISHED
    wait(lambda: left.state is State.RUNNING)  # then it is the other one's turn
    trainer.stop(left)
    finish(left)


def test_a_server_that_ends_says_so_in_its_jobs(trainer, order):
    job = trainer.submit(replace(order, config=LONG), "ann")
    wait(lambda: job.losses)
    trainer._end()
    assert (finish(job).state, job.ending) == (State.STOPPED, Ending.SHUTDOWN)


def test_the_first_cause_of_an_end_is_the_one_that_is_kept(trainer, order):
    job = trainer.submit(replace(order, config=LONG), "ann")
    trainer.stop(job)
    trainer._end()
    assert finish(job).ending is Ending.PRESSED


def test_a_loss_that_is_no_number_ends_the_run_with_the_reason_and_frees_the_slot(trainer, order):
    job = trainer.submit(replace(order, config=replace(SHORT, learning_rate=1e38)), "ann")
    after = trainer.submit(order, "bob")
    assert finish(job).state is State.FAILED
    assert "try a smaller learning rate" in job.reason
    assert job.model is None
    assert finish(after).state is State.FINISHED


def test_a_crash_ends_the_run_with_the_reason_and_frees_the_slot(trainer, order, monkeypatch):
    def crash(job, should_stop):
        raise MemoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "train_job", crash)
        job = finish(trainer.submit(order, "ann"))
    assert (job.state, job.reason) == (State.FAILED, "MemoryError: no room")
    assert finish(trainer.submit(order, "ann")).state is State.FINISHED


def test_a_line_that_is_full_says_so(order):
    trainer = Trainer(lambda owner: True, longest=8)
    waiting = [trainer.submit(replace(order, config=LONG), f"visitor {i}") for i in range(8)]
    with pytest.raises(LineIsFull, match="8 trainings are in line already") as full:
        trainer.submit(order, "late")
    assert not full.value.yours
    for job in waiting:
        job.end(Ending.PRESSED)
    for job in waiting:
        finish(job)


def test_the_tabs_of_one_visitor_do_not_fill_the_line_for_others(order):
    trainer = Trainer(lambda owner: True, longest=3, each=2)
    waiting = [trainer.submit(replace(order, config=LONG), tab, "ann") for tab in ("tab 1", "tab 2")]
    with pytest.raises(LineIsFull, match="2 trainings of yours") as full:
        trainer.submit(order, "tab 3", "ann")
    assert full.value.yours
    assert trainer.submit(order, "tab 2", "ann") is waiting[1]
    waiting.append(trainer.submit(replace(order, config=LONG), "tab 1 of another", "bob"))
    for job in waiting:
        job.end(Ending.PRESSED)
    for job in waiting:
        finish(job)
    assert finish(trainer.submit(order, "tab 3", "ann")).state is State.FINISHED


def test_of_many_who_ask_for_the_pace_at_once_one_measures_and_nobody_waits(trainer, order, monkeypatch):
    measuring, go_on, calls = threading.Event(), threading.Event(), []

    def measure(asked):
        calls.append(asked)
        measuring.set()
        assert go_on.wait(30)
        return 0.1, 0.2

    monkeypatch.setattr(jobs, "seconds_needed", measure)
    first = threading.Thread(target=trainer.pace, args=[order])
    first.start()
    assert measuring.wait(30)
    other = replace(order, config=replace(order.config, batch_size=2 * order.config.batch_size))
    assert trainer.pace(order) is None
    assert trainer.pace(other) is None
    go_on.set()
    first.join()
    assert trainer.pace(order) == (0.1, 0.2)
    assert calls == [order]
    assert trainer.pace(other) == (0.1, 0.2)
    assert calls == [order, other]


def test_a_measuring_of_the_pace_that_fails_does_not_hold_up_the_next(trainer, order, monkeypatch):
    def fail(asked):
        raise MemoryError

    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(jobs, "seconds_needed", fail)
        trainer.pace(order)
    assert min(trainer.pace(order)) > 0


def test_the_validation_sample_is_spread_over_all_targets(smoke_corpus):
    stream = smoke_corpus.splits["train"]
    contexts = Windows(stream, 64)
    targets = torch.arange(len(contexts))  # each target names its row
    chosen, rows = validation_sample({"validation": (contexts, targets)})
    assert len(rows) == VALIDATION_TARGETS < len(contexts)
    assert (rows[0], rows[-1]) == (0, len(contexts) - 1)
    assert set((rows[1:] - rows[:-1]).tolist()) <= {len(contexts) // VALIDATION_TARGETS + i for i in (0, 1)}
    assert torch.equal(chosen[7], contexts[int(rows[7])])
