"""The page about heads over many texts and about the vectors of words, without a browser."""

import re

import numpy as np
import pytest

from tests.pages.screen import array
from tests.pages.test_learn_page import sentences
from tests.pages.test_train_page import FAST, press, train
from wordlm.compare import LIKENESS_TEXTS, head_likeness
from wordlm.embeddings import added_by_training, cosines, vectors_of
from wordlm.files import ARTIFACTS, read_json
from wordlm.profiles import TARGETS, Profile
from wordlm.text import tokenize

PROMPT = "a little dog found a red hat"


@pytest.fixture(scope="module")
def stored():
    return read_json(ARTIFACTS / "heads" / "profiles.json")["checkpoints"]


def words_open(open_page, **settings):
    return open_page("heads_and_words", about="Words", **settings)


def test_every_measure_on_the_page_is_what_is_stored(open_page, stored):
    screen = open_page("heads_and_words")
    table = screen.table("Every measure of every head")
    seen = Profile.from_json(stored["multihead_seed11"]["profiles"]["test stories"])
    for head in range(4):
        for name, measure in seen.measures.items():
            row = table[(table["head"] == head + 1) & (table["measure"] == name)].iloc[0]
            assert row["value"] == measure.value[head]
            assert (row["low"], row["high"]) == (measure.low[head], measure.high[head])
    table = screen.table("The mean weight by distance")
    assert len(table) == 64
    np.testing.assert_array_equal(table["head 2"], seen.by_distance[1])
    np.testing.assert_array_equal(table[["head 2, 10 %", "head 2, 90 %"]].T, [seen.low[1], seen.high[1]])


@pytest.mark.parametrize(("model", "name"), [("4", "multihead_seed11"), ("16", "multihead_h16_seed11")])
def test_a_card_says_the_measure_furthest_from_even_and_the_head_s_worth(open_page, stored, model, name):
    text = open_page("heads_and_words", model=model).text
    cards = re.findall(r"<section>.*?</section>", text)
    seen = Profile.from_json(stored[name]["profiles"]["test stories"])
    worth = read_json(ARTIFACTS / "heads" / "ablation.json")["checkpoints"][name]["zero"]
    assert len(cards) == int(model)
    for head, card in enumerate(cards):
        first = seen.unusual(head)[0]
        assert f"<b>{seen.measures[first].value[head]:.3f} on {first}" in card
        alone = next(entry["increase"] for entry in worth if entry["off"] == [head])
        assert f"Worth {alone:.4f} nats per token" in card
        assert re.search(r'<img src="data:image/svg\+xml;base64,[\w+/=]+" alt="Head', card)


def test_where_sharpness_and_worth_disagree_it_is_said(open_page, stored):
    text = open_page("heads_and_words").text
    seen = Profile.from_json(stored["multihead_seed11"]["profiles"]["test stories"])
    worth = read_json(ARTIFACTS / "heads" / "ablation.json")["checkpoints"]["multihead_seed11"]["zero"]
    alone = [next(e["increase"] for e in worth if e["off"] == [head]) for head in range(4)]
    ranks = [np.argsort(np.argsort(-np.array(values))) for values in (alone, seen.sharpness)]
    far = [head + 1 for head in range(4) if abs(ranks[0][head] - ranks[1][head]) >= 2]
    assert far == [1], "else this test shows nothing"
    assert "Sharpness and worth disagree for head 1." in text
    assert text.count("The two disagree.") == 1


def test_heads_of_other_seeds_that_are_most_alike_are_named_where_there_are_other_seeds(open_page, bundled, vocab):
    texts = [vocab.encode(tokenize(text)) for text in LIKENESS_TEXTS]
    likeness = {
        seed: head_likeness(bundled("multihead_seed11"), bundled(f"multihead_seed{seed}"), texts) for seed in (29, 47)
    }
    text = open_page("heads_and_words").text
    for head in range(4):
        found = [f"head {m[head].argmax() + 1} of seed {seed} ({m[head].max():.2f})" for seed, m in likeness.items()]
        assert f"Most alike: {' and '.join(found)}" in text
    assert "Most alike" not in open_page("heads_and_words", model="8").text


@pytest.mark.parametrize("target", TARGETS)
def test_a_hypothesis_is_answered_by_what_is_stored_and_by_the_prompt(open_page, stored, target, rows_as_last):
    screen = open_page("heads_and_words", prompt="the dog saw the dog .", head="2", looks_at=target)
    table = screen.table("Share of the weight on").set_index("texts")
    assert list(table.index) == ["test stories", "repeated words", "repeated names", "your prompt"]
    for texts in table.index[:3]:
        measure = Profile.from_json(stored["multihead_seed11"]["profiles"][texts]).measures[target]
        assert table.loc[texts, "share"] == measure.value[1]
    rows = rows_as_last("the dog saw the dog .", "multihead_seed11")[1]  # positions: <BOS> the dog saw the dog .
    expected = {
        "the start mark": rows[1:, 0].mean(),
        "the previous word": np.mean([rows[place, place - 1] for place in range(1, 7)]),
        "itself": np.mean([rows[place, place] for place in range(1, 7)]),
        "the same word earlier": (rows[4, 1] + rows[5, 2]) / 2,
        "the word after the same word earlier": (rows[4, 2] + rows[5, 3]) / 2,
        "punctuation": rows[6, 6],
    }[target]
    assert table.loc["your prompt", "share"] == pytest.approx(expected, abs=1e-5)
    assert f"In your prompt it gives {target} {expected:.3f}"[:-1] in screen.text
    drawn = {trace["name"]: array(trace["y"]) for trace in screen.figure("looks_at_picture")["data"]}
    assert drawn["test stories (line: even weights)"][1] == table.loc["test stories", "share"]


@pytest.mark.parametrize(
    ("head", "target", "said"),
    [
        ("2", "the previous word", "**Yes, mostly.**"),
        ("3", "the previous word", "**More than evenly.**"),
        ("2", "itself", "**No.**"),
    ],
)
def test_the_answer_is_yes_only_where_most_of_the_weight_goes_there(open_page, head, target, said):
    assert said in open_page("heads_and_words", head=head, looks_at=target).text


def test_the_induction_measure_says_why_one_block_cannot_do_it(open_page):
    text = open_page("heads_and_words", looks_at="the word after the same word earlier").text
    assert "One block cannot do this in general." in text
    assert "One block cannot" not in open_page("heads_and_words").text


@pytest.mark.parametrize("prompt", ["", "hat"])
def test_a_prompt_without_such_a_word_says_nothing_about_it(open_page, prompt):
    screen = open_page("heads_and_words", prompt=prompt, looks_at="the same word earlier")
    assert "No word of your prompt has the same word earlier, so it says nothing" in screen.text


def test_the_mlp_has_no_heads_to_profile_and_no_slots_but_words(open_page):
    screen = open_page("heads_and_words", model="MLP")
    assert "The MLP has no heads" in screen.text
    screen = words_open(open_page, model="MLP")
    assert "The MLP has no position embeddings" in screen.text
    assert screen.figure("word_map")["data"][1]["text"][0] == "hat"


@pytest.mark.parametrize("form", ["what training added", "as the model reads them"])
@pytest.mark.parametrize(("model", "name"), [("4", "multihead_seed11"), ("MLP", "mlp_seed11")])
def test_the_nearest_words_have_the_largest_cosines_of_all(open_page, bundled, vocab, form, model, name):
    screen = words_open(open_page, model=model, near="Red", vectors=form)
    whole = vectors_of(bundled(name)).words
    vectors = added_by_training(bundled(name), 11).words if form == "what training added" else whole
    near = cosines(vectors, vocab.encode(["red"])[0])
    best = [word for word in np.argsort(-near)[:12] if word > 3 and vocab.itos[word] != "red"][:10]
    table = screen.table("The words nearest to red")
    assert table["word"].tolist() == vocab.decode(best)
    np.testing.assert_allclose(table["cosine"], near[best])
    marked = screen.figure("word_map")["data"][1]
    assert marked["hovertext"] == ["red", *vocab.decode(best)]


def test_without_a_word_the_last_known_one_of_the_prompt_is_looked_at(open_page):
    assert words_open(open_page, prompt="a big dog zyxxy").has_table("The words nearest to dog") is False
    assert words_open(open_page, prompt="a big dog zyxxy", table_nearest="true").has_table("nearest to dog")


@pytest.mark.parametrize("typed", ["zyxxy", "<script>alert(1)</script>", "*"])
def test_a_word_that_is_unknown_is_said_to_be(open_page, typed):
    screen = words_open(open_page, near=typed, table_nearest="true")
    first = typed if typed == "zyxxy" else typed[0]
    assert f"{first} is not among the 4,000 words" in screen.text.replace("\\", "")
    assert screen.has_table("nearest to hat")


@pytest.mark.parametrize("trained", ["2", "MLP"])
@pytest.mark.parametrize("words", ["the bundled one", "its own"])
def test_an_own_model_is_measured_at_once_where_nothing_is_stored(open_page, monkeypatch, trained, words):
    monkeypatch.setattr("wordlm.profiles.CONTROLLED_TEXTS", 10)
    screen = open_page("train", PROMPT, **(FAST | {"words": words, "trained": trained, "steps": "4"}))
    train(screen)
    press(screen, "Open in Explore", "outcome")
    screen.app.switch_page("pages/heads_and_words.py").run()
    assert not screen.app.exception, screen.app.exception
    if trained == "2":
        assert "it was not measured over the test stories" in screen.text
        assert "Worth" not in screen.text and "Most alike" not in screen.text
        assert screen.table("Share of the weight on")["texts"].tolist() == [
            "repeated words",
            "repeated names",
            "your prompt",
        ]
    screen.app.session_state["view"]["about"] = "Words"
    screen.app.session_state["about"] = "Words"
    screen.app.run()
    assert not screen.app.exception, screen.app.exception
    assert "what training added is" in screen.text


@pytest.mark.parametrize(
    "settings",
    [{}, {"model": "16", "looks_at": "the word after the same word earlier"}, {"table_profile": "true"}]
    + [{"about": "Words", "model": model} for model in ("4", "MLP")],
    ids=str,
)
def test_no_sentence_of_either_tab_is_longer_than_25_words(open_page, settings):
    screen = open_page("heads_and_words", **settings)
    said = re.sub(r"<style>.*?</style>|</p>|</li>|- \*", ". ", screen.text, flags=re.S)
    assert not [sentence for sentence in sentences(said) if len(sentence.split()) > 25]


@pytest.mark.parametrize("text", ["a\n\nb\n\nc", "cat sat\n\ncat ran\n\ndog sat on a cat"])
def test_an_own_model_of_a_few_words_breaks_neither_tab(open_page, text):
    settings = FAST | {"learn_from": "a text of mine", "words": "its own", "trained": "2", "steps": "2"}
    screen = open_page("train", PROMPT, **settings)
    screen.app.text_area(key="text_pasted").set_value(text).run()
    train(screen)
    press(screen, "Open in Explore", "outcome")
    screen.app.switch_page("pages/heads_and_words.py").run()
    for about in ("Heads", "Words"):
        screen.app.session_state["about"] = screen.app.session_state["view"]["about"] = about
        screen.app.session_state["looks_at"] = "punctuation"
        screen.app.run()
        assert not screen.app.exception, screen.app.exception
        if about == "Heads":
            assert "No word of the repeated words has punctuation" in screen.text


def test_the_take_away_holds_the_tables_and_pictures_of_the_open_tab(open_page, monkeypatch):
    taken = {}
    monkeypatch.setattr("wordlm.ui.frame.export.take_away", lambda *args, **more: taken.update(collected=args[4]()))
    open_page("heads_and_words")
    tables, figures = taken["collected"]
    assert list(tables) == [
        "Measures over test stories",
        "Weight by distance over test stories",
        "Share on the previous word",
    ]
    assert list(figures) == ["Share of each head's weight on the previous word"]
    words_open(open_page)
    tables, figures = taken["collected"]
    assert list(tables) == ["The words nearest to hat", "How alike the slots are"]
    assert len(figures) == 3
