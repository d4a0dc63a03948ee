"""A visitor's own models without a browser: reached without a session, and gone with it."""

import gc
import io
import threading
import weakref

import pytest

from tests.pages.screen import Screen
from wordlm.checkpoints import save_model_npz
from wordlm.inspection import inspect_ids
from wordlm.models import build_model
from wordlm.text import SPECIALS, Vocab, encode_prompt
from wordlm.ui.state.own_models import OwnModelGone
from wordlm.ui.state.resources import model_of

PROMPT = "the dog found a ball"


def npz(vocab, heads: int, seed: int) -> bytes:
    file = io.BytesIO()
    metadata = {"kind": "multihead", "heads": heads, "seed": seed, "vocab_sha256": vocab.sha256}
    save_model_npz(file, build_model("multihead", heads=heads, seed=seed), metadata)
    return file.getvalue()


def with_own_model(open_page, vocab, seed: int, heads: int = 2) -> Screen:
    """Open a model of weights of its own: sessions of other tests may still hold theirs."""
    screen = open_page("train", PROMPT)
    content = npz(vocab, heads, seed)
    screen.app.file_uploader(key="checkpoint_file").set_value(("mine.npz", content, "application/zip")).run()
    assert "own 1" in screen.app.session_state["own_models"]
    return screen


def on_page(screen: Screen, page: str) -> Screen:
    screen.app.session_state["view"] |= {"model": "own 1", "engine": "PyTorch"}
    screen.app.switch_page(f"pages/{page}.py").run()
    assert not screen.app.exception, screen.app.exception
    return screen


@pytest.fixture
def taken(monkeypatch):
    """What the page hands to the buttons that take it along, by the page's title."""
    found = {}

    def take_away(file, title, text, checkpoints, collect, *args, picture=None):
        found[title] = (collect, picture)

    monkeypatch.setattr("wordlm.ui.frame.export.take_away", take_away)
    return found


def in_another_thread(function):
    """Call a function where there is no session, as the server does when a file is fetched."""
    came = []

    def call() -> None:
        try:
            came.append(function())
        except Exception as error:  # handed to the test
            came.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return came[0]


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("explore", "Where each head looks"),
        ("compare", "Two models side by side"),
        ("switch_off", "Without some heads"),
        ("heads_and_words", "Heads and words"),
        ("perplexity", "Perplexity"),
    ],
)
def test_a_view_of_an_own_model_is_taken_away_without_a_session(open_page, vocab, taken, page, title):
    screen = on_page(with_own_model(open_page, vocab, seed=1), page)
    tables, _ = in_another_thread(taken[title][0])
    assert tables
    if page == "explore":
        (name,) = (own.key.name for own in screen.app.session_state["own_models"].values())
        weights = tables["Weights of the chosen query"].loc[f"{name}, head 1"].tolist()[1:]
        expected = inspect_ids(build_model("multihead", heads=2, seed=1), encode_prompt(PROMPT, vocab).ids).weights
        assert weights == pytest.approx(expected[0, -1].tolist(), abs=1e-6)


def test_a_model_goes_when_its_visitor_removes_it_whatever_was_kept_of_it(open_page, vocab, taken):
    screen = with_own_model(open_page, vocab, seed=2)
    held = screen.app.session_state["own_models"]["own 1"]
    key, gone = held.key, weakref.ref(held.weights.model)
    for page in ("explore", "compare", "switch_off", "heads_and_words", "perplexity", "generate"):
        on_page(screen, page)
    del held
    taken.clear()
    screen.app.switch_page("pages/train.py").run()
    next(b for b in screen.app.button if b.label == "Remove").click().run()
    gc.collect()
    assert gone() is None
    with pytest.raises(OwnModelGone, match=r"own 1 .2 heads. is no longer here: open its file on the Train page"):
        model_of(key)


def test_a_model_of_two_visitors_stays_while_one_of_them_has_it(open_page, vocab):
    one, other = (with_own_model(open_page, vocab, seed=3) for _ in range(2))
    key = one.app.session_state["own_models"]["own 1"].key
    assert other.app.session_state["own_models"]["own 1"].key == key
    next(b for b in other.app.button if b.label == "Remove").click().run()
    gc.collect()
    assert model_of(key).heads == 2


def test_equal_weights_with_other_heads_are_another_model(open_page, vocab):
    two, four = (with_own_model(open_page, vocab, 4, heads) for heads in (2, 4))
    keys = [screen.app.session_state["own_models"]["own 1"].key for screen in (two, four)]
    assert [model_of(key).heads for key in keys] == [2, 4]


def test_a_download_of_a_model_that_is_gone_says_so_in_one_sentence(open_page, vocab, taken):
    screen = on_page(with_own_model(open_page, vocab, seed=5), "explore")
    _, picture = taken["Where each head looks"]
    screen.app.session_state["own_models"].clear()
    gc.collect()
    assert isinstance(in_another_thread(picture), OwnModelGone)
    assert str(in_another_thread(picture)).startswith("own 1 (2 heads) is no longer here")


def test_models_with_other_words_of_the_same_number_do_not_stand_beside_each_other(open_page):
    screen = open_page("train", PROMPT)
    for place, words in enumerate((("dog", "ball"), ("cat", "ball"), ("dog", "ball"))):
        vocab, file = Vocab((*SPECIALS, *words)), io.BytesIO()
        model = build_model("multihead", vocab_size=len(vocab), seed=20 + place)
        its_own = {"itos": list(vocab.itos), "vocab_sha256": vocab.sha256}
        save_model_npz(file, model, {"kind": "multihead", "heads": 4, "seed": 20 + place, **its_own})
        screen.app.file_uploader(key="checkpoint_file").set_value((f"{place}.npz", file.getvalue(), "")).run()
    screen = on_page(screen, "compare")
    assert screen.app.button_group(key="b").options == ["own 1", "own 3"]
