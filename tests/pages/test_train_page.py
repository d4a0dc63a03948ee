"""The Train page without a browser, and its models on the other pages."""

import hashlib
import io
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.pages.screen import array
from wordlm.checkpoints import load_model_npz, parameter_bytes, save_model_npz
from wordlm.data import corpus_from_stories, make_all_windows
from wordlm.files import ARTIFACTS, read_json
from wordlm.inspection import inspect_ids
from wordlm.jobs import Ending, State
from wordlm.models import build_model, build_variant
from wordlm.smoke import smoke_stories
from wordlm.text import encode_prompt
from wordlm.training import evaluate
from wordlm.ui import limits

PROMPT = "the dog found a ball"
FAST = {"learn_from": "smoke stories", "steps": "20", "batch": "32", "validations": "4"}


def press(screen, label, key=None):
    button = next(b for b in screen.app.button if b.label == label and (key is None or key in b.key))
    button.click().run()
    assert not screen.app.exception, screen.app.exception
    return screen


def wait(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def train(screen):
    press(screen, "Train")
    job = screen.app.session_state["job"]
    wait(lambda: not job.is_active)
    screen.app.run()
    assert not screen.app.exception, screen.app.exception
    return job


def own_names(screen):
    return list(screen.app.session_state["own_models"])


@pytest.fixture
def open_train(open_page):
    return lambda **settings: open_page("train", PROMPT, **(FAST | settings))


def digest(model) -> str:
    return hashlib.sha256(b"".join(t.numpy().tobytes() for t in model.state_dict().values())).hexdigest()


def test_a_training_shows_its_own_numbers_and_stands_beside_the_bundled_model(open_train, bundled, vocab):
    screen = open_train()
    job = train(screen)
    table = screen.table("Training loss of each update")
    assert table["step"].tolist() == [5, 10, 15, 20]
    assert table["validation loss"].tolist() == [p.validation_loss for p in job.history]
    assert table["kept"].tolist().index(True) == table["validation loss"].argmin()
    assert array(screen.figure("loss")["data"][0]["y"]).tolist() == job.losses

    beside = screen.table("Your model beside the bundled one").set_index("model")["validation loss"]
    contexts, targets = make_all_windows(corpus_from_stories(smoke_stories(), "smoke", vocab))["validation"]
    assert beside["own 1"] == pytest.approx(evaluate(job.model, contexts, targets), abs=1e-5)
    expected = evaluate(bundled("multihead_seed11"), contexts, targets)
    assert beside["bundled: 4 heads, seed 11"] == pytest.approx(expected, abs=1e-5)
    assert beside["the same chance for every word"] == pytest.approx(np.log(4000))


def test_the_replay_shows_the_weights_after_the_chosen_updates(open_train):
    screen = open_train()
    job = train(screen)
    for step in (0, 10, 20):
        screen.app.select_slider(key="replay").set_value(step).run()
        shown = screen.picture["rows"][1]
        lower = np.tril_indices(len(shown))
        np.testing.assert_allclose(shown[lower], job.weights[step][1][lower], atol=1e-6)
        assert f"After {step} updates." in screen.text


def test_a_trained_model_opens_in_explore_under_its_own_name(open_train, vocab):
    screen = open_train()
    job = train(screen)
    press(screen, "Open in Explore", "outcome")
    assert screen.app.segmented_control(key="model").value == "own 1"
    expected = inspect_ids(job.model, encode_prompt(PROMPT, vocab).ids).weights[:, -1]
    shown = np.reshape(screen.whole_model["confirm"]["weights"], expected.shape)
    np.testing.assert_allclose(shown, expected, atol=1e-6)
    assert screen.address["model"] == ["own 1"]


def test_a_training_is_seen_in_the_whole_model_as_it_was_after_so_many_updates(open_train):
    screen = open_train()
    job = train(screen)
    screen.app.toggle(key="through").set_value(True).run()
    kept = job.result["selected_step"]
    for step in (kept, 0):
        screen.app.select_slider(key="replay").set_value(step).run()
        (model,) = screen.whole_model["models"]
        assert model["weights"]["digest"] == hashlib.sha256(job.snapshots.read(step)).hexdigest()
        shown = np.reshape(screen.whole_model["confirm"]["weights"], job.weights[step][:, -1].shape)
        np.testing.assert_allclose(shown, job.weights[step][:, -1], atol=1e-6)
    assert job.snapshots.read(kept) == parameter_bytes(job.model)
    order = job.order
    untrained = build_variant(order.variant, len(order.corpus.vocab), order.config.seed)
    assert job.snapshots.read(0) == parameter_bytes(untrained)
    assert job.snapshots.read(0) != job.snapshots.read(kept)


@pytest.mark.parametrize(
    ("name", "asked", "default"),
    [("steps", "12.5", 100), ("batch", "1e309", 512), ("rate", "", 0.003), ("train_seed", "nan", 11)],
)
def test_a_number_of_a_link_that_does_not_fit_is_named_and_left_out(open_page, name, asked, default):
    screen = open_page("train", **{name: asked, "validations": "7"})
    (warning,) = screen.app.warning
    assert f"asks for {name} = {asked or 'nothing'}, which is not offered" in warning.value.replace("\\", "")
    assert screen.app.number_input(key=name).value == pytest.approx(default)
    assert screen.app.number_input(key="validations").value == 7


def test_a_damaged_bundled_model_is_named_beside_a_training(open_train, monkeypatch, tmp_path):
    (tmp_path / "heads").mkdir()
    whole = (ARTIFACTS / "heads" / "mlp_seed11.npz").read_bytes()
    (tmp_path / "heads" / "mlp_seed11.npz").write_bytes(whole[:1000])
    (tmp_path / "vocab.json").write_bytes((ARTIFACTS / "vocab.json").read_bytes())
    screen = open_train(trained="MLP", steps="4", validations="1")
    monkeypatch.setattr("wordlm.files.ARTIFACTS", tmp_path)
    train(screen)
    assert "artifacts/heads/mlp\\_seed11\\.npz is damaged" in screen.text


@pytest.mark.parametrize("words", ["the bundled one", "its own"])
@pytest.mark.parametrize("trained", ["MLP", "2"])
def test_every_page_can_show_an_own_model(open_train, words, trained):
    screen = open_train(words=words, trained=trained, steps="4", validations="1")
    train(screen)
    press(screen, "Open in Explore", "outcome")
    screen.app.switch_page("pages/explore.py")
    screen.app.query_params["tab"] = "In numbers"
    screen.app.run()
    for page in ("compare", "switch_off", "heads_and_words", "perplexity", "generate", "benchmark"):
        screen.app.switch_page(f"pages/{page}.py").run()
        assert not screen.app.exception, (page, screen.app.exception)
        assert screen.app.session_state["view"]["model"] == "own 1", page


def test_a_model_with_its_own_vocabulary_writes_in_its_own_words(open_train):
    screen = open_train(words="its own")
    job = train(screen)
    press(screen, "Open in Generate", "outcome")
    screen.app.switch_page("pages/generate.py").run()  # AppTest forgets where the app itself switched to
    press(screen, "Write")
    decisions = screen.table("Every decision of own 1")
    assert set(decisions["word"]) <= set(job.order.corpus.vocab.itos)
    with torch.inference_mode():
        first = job.model(torch.from_numpy(job.order.prompt.input_ids))[0].numpy().copy()
    first[[0, 1, 3]] = -np.inf
    assert decisions["word"][0] == job.order.corpus.vocab.itos[int(first.argmax())]


def test_a_model_with_its_own_vocabulary_is_compared_with_its_like_only(open_train):
    screen = open_train(words="its own")
    train(screen)
    press(screen, "Open in Compare", "outcome")
    assert list(screen.app.segmented_control(key="b").options) == ["own 1"]


def test_training_changes_no_bundled_model_and_no_artifact(open_train):
    from wordlm.ui.state.resources import checkpoint, model_of

    before = digest(model_of(checkpoint("4", 11)))
    files = {path: path.stat().st_mtime_ns for path in ARTIFACTS.rglob("*")}
    train(open_train())
    assert digest(model_of(checkpoint("4", 11))) == before
    assert {path: path.stat().st_mtime_ns for path in ARTIFACTS.rglob("*")} == files


def test_a_loss_that_is_no_number_is_told_and_leaves_no_model(open_train, monkeypatch):
    """No setting that is offered brings it about for sure, so the first batch holds what the loss cannot bear."""

    def poisoned(variant, *rest):
        model = build_variant(variant, *rest)
        with torch.no_grad():
            model.vocab_head.bias[0] = np.nan
        return model

    screen = open_train()
    monkeypatch.setattr("wordlm.jobs.build_variant", poisoned)
    train(screen)
    assert "The training ended after 0 updates: the loss became nan" in screen.text.replace("\\", "")
    assert "own 1" not in own_names(screen)
    monkeypatch.undo()
    assert train(screen).result is not None, "the slot is free again"


def test_only_the_newest_models_are_kept(open_train):
    screen = open_train(steps="1", validations="1")
    for seed in range(4):
        screen.app.number_input(key="train_seed").set_value(seed).run()
        train(screen)
    offered = own_names(screen)
    assert [name for name in offered if name.startswith("own")] == ["own 2", "own 3", "own 4"]


def test_a_removed_model_gives_way_to_the_default(open_train):
    screen = open_train(steps="1", validations="1")
    train(screen)
    press(screen, "Open in Explore", "outcome")
    screen.app.switch_page("pages/explore.py")
    screen.app.query_params["tab"] = "In numbers"
    screen.app.run()
    screen.app.switch_page("pages/train.py").run()
    press(screen, "Remove")
    assert screen.app.session_state["view"]["model"] == "4"
    assert not screen.app.exception


def npz(**changes) -> bytes:
    model = build_model("multihead", seed=5, heads=2)
    file = io.BytesIO()
    from wordlm.text import Vocab

    metadata = {"kind": "multihead", "heads": 2, "seed": 5, "vocab_sha256": Vocab.load(ARTIFACTS / "vocab.json").sha256}
    save_model_npz(file, model, metadata | changes)
    return file.getvalue()


def upload(screen, content: bytes):
    screen.app.file_uploader(key="checkpoint_file").set_value(("mine.npz", content, "application/zip")).run()
    assert not screen.app.exception, screen.app.exception
    return screen


def test_an_uploaded_checkpoint_opens_like_one_made_here(open_train):
    screen = upload(open_train(), npz())
    assert "own 1**: 2 heads, seed 5" in screen.text
    assert "own 1" in own_names(screen)


def test_a_checkpoint_of_the_comparison_opens(open_train):
    screen = upload(open_train(), (ARTIFACTS / "heads" / "attention_seed11.npz").read_bytes())
    assert "own 1**: 1 head, seed 11" in screen.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no zip", "no complete .npz file"),
        (npz(heads=3), "heads must be at least 1 and divide"),
        (npz(heads="4"), "heads must be a whole number, got '4'"),
        (npz(kind="attention", vocab_sha256="0"), "names another vocabulary"),
        (npz(kind="mlp"), "array position_embedding.weight is not part of this model"),
        (npz(itos=["a"] * 5000), "array metadata.itos: expected array of length <= 4000"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused_with_the_array_at_fault(open_train, content, message):
    screen = upload(open_train(), content)
    assert message in screen.text.replace("\\", "")
    assert "own 1" not in own_names(screen)


def test_the_downloaded_file_loads_again(open_train, vocab):
    screen = open_train()
    job = train(screen)
    own = screen.app.session_state["own_models"]["own 1"]
    metadata, model = load_model_npz(io.BytesIO(own.npz()), build_model("multihead"))
    assert digest(model) == digest(job.model)
    assert metadata["selected_step"] == job.result["selected_step"]
    assert metadata["source"] == "smoke stories"


STORIES = "\n\n".join(f"the cat number {i} ran to the park ." for i in range(30))


def test_an_uploaded_text_is_learned(open_train):
    screen = open_train(learn_from="a text of mine", words="its own")
    screen.app.file_uploader(key="text_file").set_value(("cats.txt", STORIES.encode(), "text/plain")).run()
    assert "cats.txt: stories: 24 for train, 3 for validation, 3 for test" in screen.text.replace("\\", "")
    job = train(screen)
    assert "cat" in job.order.corpus.vocab.itos
    assert len(job.order.corpus.vocab) < 60


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "The text holds no story"),
        (b"one story only", "The text holds one story, at least 3 are needed"),
        (b"one story\n\nand another", "The text holds 2 stories, at least 3 are needed"),
        ("käse".encode("latin-1"), "The text is not UTF-8 (byte 1)"),
        (b"same story\n\n" * 20, "No story is left for validation: too many are equal"),
    ],
)
def test_a_text_that_cannot_be_learned_is_refused(open_train, content, message):
    screen = open_train(learn_from="a text of mine")
    screen.app.file_uploader(key="text_file").set_value(("bad.txt", content, "text/plain")).run()
    assert not screen.app.exception
    assert message in screen.text.replace("\\", "")
    assert next(b for b in screen.app.button if b.label == "Train").disabled


def paste(screen, text: str):
    screen.app.text_area(key="text_pasted").set_value(text).run()
    assert not screen.app.exception, screen.app.exception
    return screen


PARAGRAPHS = "\n\n".join(
    f"{word} went out , and the {word} was happy ." for word in ("ann", "bob", "tim", "lily", "ben")
)


@pytest.mark.parametrize("words", ["the bundled one", "its own"])
def test_five_pasted_paragraphs_are_learned(open_train, words):
    screen = paste(open_train(learn_from="a text of mine", words=words, steps="4", validations="1"), PARAGRAPHS)
    assert "The pasted text: stories: 3 for train, 1 for validation, 1 for test" in screen.text
    assert "That is little: 33 targets to learn from and 11 to validate on" in screen.text
    job = train(screen)
    assert job.result["selected_step"] == 4
    assert "happy" in job.order.corpus.vocab.itos


def test_a_pasted_text_stays_when_the_page_is_left_and_is_in_no_link(open_train):
    screen = paste(open_train(learn_from="a text of mine"), PARAGRAPHS)
    screen.app.switch_page("pages/explore.py").run()
    screen.app.switch_page("pages/train.py").run()
    assert screen.app.text_area(key="text_pasted").value == PARAGRAPHS
    assert not any("happy" in str(value) for value in screen.app.query_params.values())


def test_of_a_pasted_text_and_an_upload_the_page_says_which_is_learned(open_train):
    screen = open_train(learn_from="a text of mine")
    screen.app.file_uploader(key="text_file").set_value(("cats.txt", STORIES.encode(), "text/plain")).run()
    paste(screen, PARAGRAPHS)
    said = screen.text.replace("\\", "")
    assert "The pasted text: stories: 3 for train" in said
    assert "Empty the box to use cats.txt." in said
    assert "cats.txt: stories: 24 for train" in paste(screen, " \n").text.replace("\\", "")


def test_a_pasted_text_that_is_too_long_is_refused(open_train, monkeypatch):
    monkeypatch.setattr(limits, "TRAINING_TEXT", replace(limits.TRAINING_TEXT, most=100))
    screen = paste(open_train(learn_from="a text of mine"), PARAGRAPHS)
    said = f"The pasted text has {len(PARAGRAPHS)} bytes, at most 100 can be learned from."
    assert said in screen.text.replace("\\", "")
    assert screen.app.text_area(key="text_pasted").value == PARAGRAPHS


def overfitted(open_train, **settings):
    """Ten short stories of different words: learned by heart at once, and nothing that helps with others."""
    text = "\n\n".join(f"{letter}at {letter}og {letter}en {letter}ip" for letter in "abcdefghij")
    settings = {"learn_from": "a text of mine", "words": "its own", "steps": "60", "validations": "6"} | settings
    screen = paste(open_train(**settings), text)
    return screen, train(screen)


def test_where_validation_rises_the_kept_step_is_what_is_shown_first(open_train):
    screen, job = overfitted(open_train)
    kept, last = job.result["selected_step"], job.history[-1]
    assert kept < last.step == 60
    shown = screen.picture["rows"][1]
    lower = np.tril_indices(len(shown))
    assert screen.app.select_slider(key="replay").value == kept
    np.testing.assert_allclose(shown[lower], job.weights[kept][1][lower], atol=1e-6)
    assert f"After {kept} updates. This is the model that is kept." in screen.text
    assert f"Kept is the model after {kept} updates, the best on validation." in screen.text
    figures = {metric.label: metric.value for metric in screen.app.metric}
    assert figures[f"validation loss, kept (update {kept})"] == f"{job.result['validation_loss']:.4f}"
    assert figures["validation loss, not kept (update 60)"] == f"{last.validation_loss:.4f}"
    screen.app.select_slider(key="replay").set_value(60).run()
    assert f"After 60 updates. Not the model that is kept: that is the one after {kept} updates." in screen.text


def test_overfitting_and_a_model_worse_than_even_chance_are_said(open_train):
    screen, job = overfitted(open_train)
    last, words = job.history[-1].validation_loss, len(job.order.corpus.vocab)
    then, now = np.mean(job.losses[:10]), np.mean(job.losses[-10:])
    assert job.result["selected_step"] == 10
    assert (
        f"By update 60 the validation loss rose to {last:.4f}, while the training loss, a mean of ten updates, "
        f"fell from {then:.4f} to {now:.4f}. That is *overfitting*"
    ) in screen.text
    assert job.result["validation_loss"] > np.log(words)
    assert f"worse than even chance. To give each of the {words} words the same probability" in screen.text
    assert f"a loss of {np.log(words):.4f}." in screen.text


def test_a_training_that_goes_well_is_not_called_overfitted(open_train):
    screen = open_train()
    job = train(screen)
    assert job.result["selected_step"] == 20
    assert "overfitting" not in screen.text
    assert "even chance" not in screen.text
    assert [metric.label for metric in screen.app.metric] == [
        "validation loss, kept (update 20)",
        "training loss (update 20)",
        "updates a second",
    ]


def test_the_replay_keeps_its_place_until_the_next_training(open_train):
    screen = open_train()
    train(screen)
    screen.app.select_slider(key="replay").set_value(5).run()
    screen.app.switch_page("pages/explore.py").run()
    screen.app.switch_page("pages/train.py").run()
    assert screen.app.select_slider(key="replay").value == 5
    assert "After 5 updates." in screen.text
    job = train(screen)
    assert screen.app.select_slider(key="replay").value == job.result["selected_step"] == 20


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (Ending.PRESSED, "you pressed Stop"),
        (Ending.ABSENCE, "you had been gone for more than 10 min"),
        (Ending.SHUTDOWN, "the server was shut down"),
    ],
)
def test_what_ended_a_run_is_said(open_train, ending, said):
    screen = open_train(steps="6000")
    press(screen, "Train")
    job = screen.app.session_state["job"]
    wait(lambda: job.losses)
    job.end(ending)
    wait(lambda: not job.is_active)
    screen.app.run()
    assert (
        f"Stopped after {len(job.losses):,} of 6,000 updates: {said}. The best validation step is kept." in screen.text
    )


def test_stop_is_told_as_the_visitors_own_wish(open_train):
    screen = open_train(steps="6000")
    press(screen, "Train")
    wait(lambda: screen.app.session_state["job"].losses)
    screen.app.run()
    press(screen, "Stop")
    wait(lambda: not screen.app.session_state["job"].is_active)
    screen.app.run()
    assert "updates: you pressed Stop." in screen.text


def test_without_the_stories_a_download_is_offered(open_page, monkeypatch, tmp_path):
    monkeypatch.setattr("wordlm.ui.state.resources.DATA_DIR", tmp_path)
    screen = open_page("train", learn_from="6,000 stories")
    assert "The stories are not on this machine" in screen.text
    assert any(button.label == "Download the stories" for button in screen.app.button)


def test_another_visitor_sees_who_trains(open_train):
    first, second = open_train(), open_train()
    first.app.number_input(key="steps").set_value(6000).run()
    press(first, "Train")
    job = first.app.session_state["job"]
    try:
        wait(lambda: len(job.losses) >= 5)
        second.app.run()
        assert "Another visitor's training is running" in second.text
        assert "left" in second.text
        first.app.run()
        assert "Another visitor's" not in first.text
    finally:
        job.end(Ending.PRESSED)
    wait(lambda: not job.is_active)
    second.app.run()
    assert "Another visitor's training is running" not in second.text


@pytest.mark.parametrize(("trained", "group"), [("4", "multihead"), ("MLP", "mlp"), ("16", "multihead_h16")])
def test_before_a_training_the_bundled_model_s_own_curve_is_shown_in_grey(open_page, trained, group):
    runs = read_json(ARTIFACTS / "heads" / "comparison.json")["runs"][group]
    screen = open_page("train", trained=trained)
    traces = screen.figure("expected")["data"]
    assert [trace["name"] for trace in traces] == [f"seed {run['seed']}" for run in runs]
    for trace, run in zip(traces, runs, strict=True):
        assert trace["y"] == [entry["validation_loss"] for entry in run["history"]]
        assert trace["line"]["color"] == "#888888"


def test_the_curve_of_old_gives_way_to_the_visitor_s_own_which_can_be_taken_along(open_train):
    screen = open_train()
    assert screen.figure("expected")
    train(screen)
    assert not any(e.key == "expected" for e in screen.app.get("plotly_chart"))
    labels = [b.proto.label for b in screen.app.get("download_button")]
    assert labels[-3:] == ["Tables (CSV, zipped)", "Picture (SVG)", "Report (one HTML file)"]


def test_where_no_temporary_folder_can_be_written_the_page_says_so(open_train, monkeypatch, tmp_path):
    screen = open_train()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    (said,) = press(screen, "Train").app.error
    assert said.value.replace("\\", "") == (
        "No model can be trained here, since the app finds no folder for temporary files that it can write to: "
        "whoever runs it sets TMPDIR to one and starts it anew."
    )
    monkeypatch.undo()
    assert train(screen).state is State.FINISHED
