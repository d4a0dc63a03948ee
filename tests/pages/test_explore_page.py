"""The Explore page without a browser: what is on screen equals what the checkpoint says."""

import hashlib
import math

import numpy as np
import pytest
import torch

from tests.pages.screen import Screen, softmax
from wordlm.checkpoints import parameter_bytes
from wordlm.inspection import Checks
from wordlm.models import CausalAttentionLM
from wordlm.numbers import written
from wordlm.text import encode_prompt
from wordlm.ui import limits
from wordlm.ui.drawing import sentences

PROMPT = "a little dog found a red hat"
ODD_PROMPT = "<s> </script> $x$ *a* :smile: &lt; _b_"
WEIGHTS = "Weights of the chosen query"


@pytest.fixture
def open_page(open_page):
    """Open a page; Explore with its tables, unless another tab is named."""

    def opened(page: str = "explore", prompt: str | None = None, **params) -> Screen:
        return open_page(page, prompt, **({"tab": "In numbers"} if page == "explore" else {}) | params)

    return opened


def test_the_weight_table_holds_the_models_numbers_for_one_and_four_heads(open_page, details):
    table = open_page().table(WEIGHTS)
    one = details(PROMPT, "attention_seed11")["weights"][:, -1, -8:]
    four = details(PROMPT, "multihead_seed11")["weights"][:, -1, -8:]
    np.testing.assert_allclose(table.drop(columns="sum").to_numpy(), np.concatenate([one, four]), atol=1e-6)
    np.testing.assert_allclose(table["sum"], 1, atol=1e-6)
    assert list(table.columns[1:]) == ["0 · <BOS>", *(f"{i} · {w}" for i, w in enumerate(PROMPT.split(), 1))]
    assert list(table.index) == ["1 head, seed 11", *(f"4 heads, seed 11, head {h}" for h in (1, 2, 3, 4))]


@pytest.mark.parametrize(
    ("model", "name"),
    [("1", "attention_seed11"), ("4", "multihead_seed11"), *((h, f"multihead_h{h}_seed11") for h in ("2", "8", "16"))],
)
def test_each_row_is_what_the_model_does_when_that_word_is_the_last_one(open_page, rows_as_last, model, name):
    picture = open_page(model=model).picture
    expected = rows_as_last(PROMPT, name)
    lower = np.tril(np.ones((8, 8), bool))
    np.testing.assert_allclose(picture["rows"][:, lower], expected[:, lower], atol=1e-6)
    assert [head["title"] for head in picture["heads"]] == [f"head {h + 1}" for h in range(int(model))]
    assert len({head["hue"] for head in picture["heads"]}) == int(model)
    assert [word["label"] for word in picture["words"]] == [
        "0 · <BOS>",
        *(f"{i} · {w}" for i, w in enumerate(PROMPT.split(), 1)),
    ]


def test_the_answer_beside_the_picture_is_the_pressed_weight_and_how_it_came_about(open_page, details):
    picture = open_page(query="4 · found", key="3 · dog", head="2").picture
    found = details("a little dog found", "multihead_seed11")
    assert (picture["query"], picture["key"], picture["head"], picture["reads"]) == (4, 3, 1, 5)
    assert picture["scores"][1][3] == pytest.approx(found["scores"][1, -1, -2], abs=1e-4)
    assert picture["rows"][1, 4, 3] == pytest.approx(found["weights"][1, -1, -2], abs=1e-6)


def test_heads_are_switched_off_without_leaving_and_the_next_words_say_what_they_were(open_page, bundled, vocab):
    import torch

    picture = open_page(without=["2", "3"]).picture
    model, ids = bundled("multihead_seed11"), torch.from_numpy(encode_prompt(PROMPT, vocab).input_ids)
    with torch.inference_mode():
        before = model.forward_details(ids)["logits"][0].softmax(-1)
        on = torch.tensor([True, False, False, True])
        after = model.forward_details(ids, heads_on=on)["logits"][0].softmax(-1)
    assert [head["on"] for head in picture["heads"]] == [True, False, False, True]
    assert picture["without"] == "heads 2 and 3"
    for word in picture["next"]:
        place = vocab.itos.index(word["word"])
        assert word["before"] == pytest.approx(before[place].item(), abs=1e-6)
        assert word["after"] == pytest.approx(after[place].item(), abs=1e-6)
    chances = [word["after"] for word in picture["next"]]
    assert chances[0] == pytest.approx(after.max().item(), abs=1e-6)
    assert chances == sorted(chances, reverse=True)


def number(written: str) -> float:
    return float(written.replace("−", "-"))


def test_the_steps_of_one_weight_are_the_models_and_agree_by_hand(open_page, details):
    screen = open_page(head="2", query="6 · red", key="3 · dog", tab="One weight")
    steps = screen.table("The calculation of the weight").set_index("step")
    found = details("a little dog found a red", "multihead_seed11")
    q, k = found["Q"][1, -1], found["K"][1, -4]
    assert number(steps.loc["dot product", "by hand"]) == pytest.approx(q @ k, abs=1e-3)
    assert number(steps.loc["scale", "model"]) == pytest.approx(q @ k / 4, abs=1e-3)
    assert number(steps.loc["softmax", "model"]) == pytest.approx(found["weights"][1, -1, -4], abs=1e-4)
    assert list(steps.index[-4:]) == ["concatenate", "output projection", "residual", "logit"]
    assert steps["difference"].max() < 1e-4
    terms = screen.table("The dot product term by term")
    np.testing.assert_allclose(terms["q × k"], q * k, atol=1e-5)
    assert terms["running sum"].iloc[-1] == pytest.approx(q @ k, abs=1e-4)
    row = screen.table("The softmax over the row")
    np.testing.assert_allclose(row["weight"], found["weights"][1, -1, -7:], atol=1e-6)
    assert f"q 1: {written(float(q[0]))}" in screen.text
    assert "✓ Made by hand, each step agrees with the model." in screen.text
    most = np.abs(q * k).argmax()
    said = " = ".join((f"{written(q[most], 2)} × {written(k[most], 2)}", written(q[most] * k[most], 2)))
    assert f"the furthest from 0 is number {most + 1}: {said}" in screen.text
    for word, score in zip(["a", "little", "dog", "found", "a", "red"], found["scores"][1, -1, -6:], strict=True):
        assert f"<bdi>{word}</bdi><br>{written(float(score), 2)}" in screen.text
    assert f"divided by √16: <b>{written(float(q @ k) / 4, 2)}</b>, the score" in screen.text


def test_a_key_after_the_query_is_not_offered_since_its_reading_ends_before(open_page):
    screen = open_page(query="2 · little", key="5 · a")
    assert "The link asks for key = 5 · a, which is not offered" in screen.text.replace("\\", "")
    assert screen.picture["key"] <= 2


def test_an_earlier_query_is_read_as_the_last_word_in_all_that_follows(open_page, details, vocab):
    screen = open_page(query="3 · dog")
    found = details("a little dog", "multihead_seed11")
    probabilities = softmax(found["logits"])
    measures = screen.table("How each head spreads its weights")
    np.testing.assert_allclose(measures["itself"], found["weights"][:, -1, -1], atol=1e-6)
    screen = open_page(query="3 · dog", tab="Next words")
    table = screen.table("The ten likeliest next words")
    assert table["word"][0] == vocab.itos[int(probabilities.argmax())]
    np.testing.assert_allclose(table["probability"], np.sort(probabilities)[::-1][:10], atol=1e-6)
    assert "After <b><bdi>dog</bdi></b> the likeliest word is" in screen.text


def test_the_previous_word_head_is_seen_on_explore(open_page):
    """Head 2 of seed 11, measured over separate readings of 63 words: 0.52 on the previous word, rows 8 to 63."""
    text = (
        "once upon a time there was a little girl named lily . she had a red ball and she loved to play with it . " * 2
    )
    words = text.split()[:40]
    shown = open_page(prompt=" ".join(words)).picture["rows"][1]
    assert np.mean([shown[row, row - 1] for row in range(8, len(words) + 1)]) > 0.4


def test_the_matrices_of_one_reading_are_one_press_away_and_said_to_be_that(open_page, details, rows_as_last):
    screen = open_page()
    assert "one reading of the whole prompt makes" not in screen.text
    screen.app.toggle(key="one_reading").set_value(True).run()
    lower = np.tril(np.ones((8, 8), bool))
    assert "FAILS" not in screen.text
    for head, shown in enumerate(screen.picture["rows"]):
        one_reading = details(PROMPT, "multihead_seed11")["weights"][head, -8:, -8:]
        np.testing.assert_allclose(shown[lower], one_reading[lower], atol=1e-6)
        np.testing.assert_allclose(shown[-1], rows_as_last(PROMPT, "multihead_seed11")[head, -1], atol=1e-6)
    assert "one reading of the whole prompt makes" in screen.text


def test_what_a_row_gives_to_words_that_the_picture_no_longer_shows_is_said(open_page, details, vocab):
    words = ("the cat sat on a red mat and " * 12).split()[:80]
    screen = Screen("explore", None, {"prompt": " ".join(words), "query": "20 · on", "tab": "In numbers"})
    row = details(" ".join(words[:20]), "multihead_seed11")["weights"][:, -1, -21:]
    assert screen.picture["words"][0]["label"] == "17 · the"
    assert (screen.picture["query"], screen.picture["reads"]) == (3, 21)
    np.testing.assert_allclose(screen.picture["beyond"], row[:, :17].sum(1), atol=1e-4)
    assert list(screen.table(WEIGHTS).columns[1:3]) == ["0 · <BOS>", "1 · the"]


def test_a_fixed_query_keeps_its_place_and_shows_the_word_that_stands_there_now(open_page):
    screen = open_page(query="3 · dog")
    screen.app.text_input(key="prompt").set_value("a little cat found a hat").run()
    assert screen.address["query"] == ["3 · cat"]
    assert list(screen.table(WEIGHTS).columns)[-1] == "3 · cat"


def test_a_query_comes_back_when_the_text_was_too_short_for_a_moment(open_page):
    screen = open_page(query="3 · dog")
    screen.app.text_input(key="prompt").set_value("a").run()
    assert "query" not in screen.address
    screen.app.text_input(key="prompt").set_value("a little dog ran").run()
    assert screen.address["query"] == ["3 · dog"]
    assert list(screen.table(WEIGHTS).columns)[-1] == "3 · dog"


def test_the_next_words_are_the_ten_likeliest(open_page, details, vocab):
    screen = open_page(tab="Next words")
    probabilities = softmax(details(PROMPT, "multihead_seed11")["logits"])
    best = np.argsort(-probabilities)[:10]
    table = screen.table("The ten likeliest next words")
    assert table["word"].tolist() == [vocab.itos[i] for i in best]
    np.testing.assert_allclose(table["probability"], probabilities[best], atol=1e-6)
    np.testing.assert_allclose([word["before"] for word in screen.picture["next"]], probabilities[best][:8], atol=1e-6)


def test_any_word_s_chance_is_shown_with_each_head_off(open_page, bundled, vocab):
    import torch

    screen = open_page(word="ball", tab="Next words")
    table = screen.table("probability and rank with each head off")
    model, ids = bundled("multihead_seed11"), torch.from_numpy(encode_prompt(PROMPT, vocab).input_ids)
    word = vocab.itos.index("ball")
    for row, off in enumerate([None, 0, 1, 2, 3]):
        on = torch.tensor([head != off for head in range(4)])
        with torch.inference_mode():
            probabilities = model.forward_details(ids, heads_on=on)["logits"][0].softmax(-1)
        assert table["probability"][row] == pytest.approx(probabilities[word].item(), rel=1e-4)
        assert table["rank"][row] == 1 + (probabilities > probabilities[word]).sum()
    assert table["times as likely"][0] == 1
    factors = table["probability"] / table["probability"][0]
    assert table["times as likely"].tolist() == pytest.approx(factors.tolist(), rel=1e-5)
    most = max(range(1, 5), key=lambda head: abs(math.log(factors[head])))
    assert f"Head {most} matters most for it" in screen.text
    assert f"its probability is {factors[most]:.2f} times as large" in screen.text
    assert "change" not in table, "that word means a difference on Switch off"
    assert "<bdi>ball</bdi></b> has probability" in screen.text


def test_a_word_outside_the_vocabulary_is_said_to_be_one(open_page):
    assert "xylophonist is not among the 4,000 words" in open_page(word="xylophonist", tab="Next words").text


def test_head_measures_equal_their_definitions(open_page, details, bundled):
    table = open_page().table("How each head spreads its weights")
    found = details(PROMPT, "multihead_seed11")
    W_O = bundled("multihead_seed11").W_O.weight.detach().numpy()
    for head in range(4):
        row = found["weights"][head, -1, -8:].astype(float)
        entropy = -sum(p * math.log(p) for p in row if p > 0)
        part = slice(16 * head, 16 * head + 16)
        shown = table.iloc[head]
        assert shown["entropy"] == pytest.approx(entropy, abs=1e-5)
        assert shown["effective tokens"] == pytest.approx(math.exp(entropy), abs=1e-4)
        assert shown["first token"] == pytest.approx(row[0], abs=1e-6)
        assert shown["previous"] == pytest.approx(row[-2], abs=1e-6)
        assert shown["itself"] == pytest.approx(row[-1], abs=1e-6)
        assert shown["mean distance"] == pytest.approx(sum(p * (7 - i) for i, p in enumerate(row)), abs=1e-5)
        added = W_O[:, part] @ found["messages"][-1, part]
        assert shown["message norm"] == pytest.approx(np.linalg.norm(added), abs=1e-4)


def test_the_shapes_are_those_of_the_definition(open_page):
    table = open_page(tab="Shapes").table("The shape of every tensor").set_index("tensor")["shape"]
    assert table.to_dict() == {
        "E": "(1, 64, 64)",
        "Q": "(1, 4, 64, 16)",
        "K": "(1, 4, 64, 16)",
        "V": "(1, 4, 64, 16)",
        "weights": "(1, 4, 64, 64)",
        "messages": "(1, 64, 64)",
        "contextual": "(1, 64, 64)",
        "logits": "(1, 4000)",
    }


def test_the_tokens_are_shown_with_their_ids_and_what_was_done_to_them(open_page, vocab):
    screen = open_page(prompt="a Zyzzyva ran", tab="Shapes")
    assert [(word["typed"], word["id"], word["sort"]) for word in screen.picture["words"]] == [
        ("<BOS>", 1, "special"),
        ("a", vocab.itos.index("a"), ""),
        ("Zyzzyva", 3, "unknown"),
        ("ran", vocab.itos.index("ran"), ""),
    ]
    assert screen.table("Each token with its number")["typed"].tolist() == ["<BOS>", "a", "Zyzzyva", "ran"]
    assert "3 words and the start mark in 64 slots; 60 are padding" in screen.text
    assert "1 unknown to the vocabulary, read as `<UNK>`: Zyzzyva" in screen.text


def test_the_checks_on_screen_hold(open_page):
    text = open_page().text
    assert "✓ 4 checks hold" in text
    assert text.count("<li>✓") == 4
    assert "FAILS" not in text


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        ({"row_sum": 2e-4}, "every row of weights sums to 1 (largest error 2 × 10⁻⁴)"),
        ({"masked": 1e-30}, "masked cells are exactly 0 (largest 1 × 10⁻³⁰)"),
        ({"forward": 0.5}, "forward and forward_details differ by 5 × 10⁻¹"),
        ({"forward": math.nan}, "forward and forward_details differ by not a number"),
        ({"drawn": 2e-4}, "the picture's row is that of the word's own reading (largest difference 2 × 10⁻⁴)"),
    ],
    ids=["row sum", "masked", "forward", "no number", "drawn"],
)
def test_a_check_that_does_not_hold_of_one_model_is_said_to_fail_and_no_other(monkeypatch, broken, law):
    drawn = []
    monkeypatch.setattr(sentences.st, "html", drawn.append)
    holding = {"row_sum": 1e-7, "masked": 0.0, "forward": 1e-6}
    bad = Checks(**{name: (holding | broken)[name] for name in holding})
    sentences.check_strip(Checks(**holding), bad, drawn=broken.get("drawn", 0.0))
    (strip,) = drawn
    assert strip.count("✓") == 3
    (_, failing) = strip.replace("\u00a0", " ").split("✗ FAILS:")
    assert law in failing.partition("</li>")[0]


def test_a_forward_that_is_not_what_the_page_shows_fails_its_check(open_page, monkeypatch):
    real = CausalAttentionLM.forward
    monkeypatch.setattr(CausalAttentionLM, "forward", lambda model, ids, **rest: real(model, ids, **rest) + 0.25)
    text = open_page(prompt="a broken model ran").text  # read nowhere else, since what is found is kept
    assert "✗ FAILS: the prediction rests on these very numbers (forward and forward_details differ by 2.5" in text
    assert text.count("✓") == 3


def test_the_chosen_query_gives_its_own_row(open_page, details):
    screen = open_page(query="3 · dog")
    table = screen.table(WEIGHTS)
    four = details("a little dog", "multihead_seed11")["weights"][:, -1, -4:]
    np.testing.assert_allclose(table.iloc[1:].drop(columns="sum"), four, atol=1e-6)
    assert list(table.columns)[-1] == "3 · dog"


def test_a_query_that_a_shorter_prompt_no_longer_has_falls_back_to_the_last_word(open_page):
    screen = open_page(query="7 · hat")
    screen.app.text_input(key="prompt").set_value("two words").run()
    assert not screen.app.exception
    assert screen.picture["query"] == 2
    assert list(screen.table(WEIGHTS).columns)[-1] == "2 · words"


def test_toggling_the_heads_keeps_prompt_query_and_scale(open_page):
    screen = Screen("explore", None, {"prompt": "the cat sat", "query": "2 · cat", "scale": "logarithmic"})
    for model in ("8", "1", "16", "4"):
        screen.app.button_group(key="model").set_value(model).run()
        assert not screen.app.exception
        assert screen.app.text_input(key="prompt").value == "the cat sat"
        assert screen.picture["words"][screen.picture["query"]]["label"] == "2 · cat"
        assert screen.picture["scale"] == "logarithmic"
        assert len(screen.picture["heads"]) == int(model)


def test_the_mlp_says_that_it_has_no_heads_and_still_predicts(open_page, details):
    screen = open_page(model="MLP")
    assert "The MLP has no attention" in screen.text
    word, probability = screen.whole_model["confirm"]["words"][0]
    expected = softmax(details(PROMPT, "mlp_seed11")["logits"])
    assert (word, probability) == (int(expected.argmax()), pytest.approx(expected.max(), abs=1e-5))
    assert "so it has no weight to follow" in open_page(model="MLP", tab="One weight").text
    assert (
        open_page(model="MLP", tab="Next words")
        .table("The ten likeliest next words")["probability"]
        .is_monotonic_decreasing
    )


def test_the_browser_is_given_the_chosen_model_and_the_servers_numbers(open_page, details, bundled, vocab):
    given = open_page(form="model", query="3 · dog", head="2", without=["1", "3"]).whole_model
    (model,) = given["models"]
    assert (model["title"], model["layout"]["heads"]) == ("4 heads", 4)
    assert model["weights"]["bytes"] == len(parameter_bytes(bundled("multihead_seed11")))
    assert model["weights"]["digest"] == hashlib.sha256(parameter_bytes(bundled("multihead_seed11"))).hexdigest()
    chosen = given["chosen"]
    assert (chosen["query"], chosen["head"], chosen["off"]) == ({"label": "3 · dog", "position": 3}, 1, [0, 2])
    expected = details("a little dog", "multihead_seed11")["weights"][:, -1, -4:]
    np.testing.assert_allclose(np.reshape(given["confirm"]["weights"], (4, 4)), expected, atol=1e-6)
    assert given["confirm"]["off"] == [0, 2]
    with torch.inference_mode():
        ids = torch.from_numpy(encode_prompt("a little dog", vocab).input_ids)
        logits = bundled("multihead_seed11")(ids, heads_on=torch.tensor([False, True, False, True]))[0].numpy()
    word, probability = given["confirm"]["words"][0]
    assert (word, probability) == (int(logits.argmax()), pytest.approx(softmax(logits).max(), abs=1e-5))


def test_the_sentence_never_names_a_head_that_is_off(open_page, details):
    rows = details(PROMPT, "multihead_seed11")["weights"][:, -1]
    order = (-rows.max(1)).argsort()
    assert f"Head {order[0] + 1} has the largest weight" in open_page().text
    assert f"Head {order[1] + 1} has the largest weight" in open_page(without=[str(order[0] + 1)]).text
    assert "has the largest weight" not in open_page(without=["1", "2", "3", "4"]).text


def test_a_second_model_stands_beside_the_first_and_any_other_is_offered(open_page):
    given = open_page(form="model", beside="1").whole_model
    assert [one["layout"]["heads"] for one in given["models"]] == [4, 1]
    assert given["chosen"]["beside"] == "1"
    assert "4" not in dict(given["others"])
    assert {"1", "2", "8", "16", "MLP"} <= set(dict(given["others"]))


def test_a_seed_that_is_not_bundled_is_replaced_with_a_word(open_page):
    assert "8 heads is bundled with seed 11 only" in open_page(model="8", seed="29").text


def test_a_seed_that_is_bundled_is_used(open_page, details):
    expected = details(PROMPT, "multihead_seed47")["weights"][:, -1, -8:]
    table = open_page(seed="47").table(WEIGHTS)
    np.testing.assert_allclose(table.iloc[1:].drop(columns="sum"), expected, atol=1e-6)


def test_a_mistake_of_a_link_is_told_once_also_where_a_page_ends_early(open_page):
    screen = open_page("switch_off", model="MLP", scale="99")
    assert "scale = 99, which is not offered" in screen.app.warning[0].value
    screen.app.segmented_control(key="seed").set_value(29).run()
    assert not screen.app.warning


@pytest.mark.parametrize(
    "params",
    [
        {"model": "7"},
        {"seed": "abc"},
        {"query": "999"},
        {"scale": "<script>"},
        {"head": "-1"},
        {"key": "zz"},
        {"first": "x" * 5000},
        {"engine": "steam"},
        {"temperature": "hot"},
        {"top_p": "7"},
    ],
)
def test_a_link_with_nonsense_falls_back_with_a_word(open_page, params):
    screen = open_page(**params)
    assert len(screen.table(WEIGHTS)) == 5
    ((name, _),) = params.items()
    assert f"The link asks for {name} = " in screen.text
    screen.app.text_input(key="prompt").set_value("two words").run()
    assert "The link asks for" not in screen.text


def test_a_right_link_and_unknown_parameters_are_not_complained_of(open_page):
    screen = open_page(model="8", head="7", scale="logarithmic", seed="11", query="3 · dog", utm_source="mail")
    assert "The link asks for" not in screen.text
    assert screen.picture["query"] == 3


PROMPTS = {
    "empty": "",
    "spaces": "   ",
    "10,000 words": "the cat sat on the mat . " * 1450,
    "one word of 10,000 letters": "a" * 10_000,
    "emoji": "👩\u200d👩\u200d👧 ❤️ 🐶 ran",
    "right to left": "שלום עולם مرحبا بالعالم",
    "NUL": "a\x00b\x00",
    "HTML": "<img src=x onerror=alert(1)><script>alert(2)</script>",
    "Markdown": "**bold** [link](http://x) `code` # head $x^2$ :red[x]",
    "odd tokens": ODD_PROMPT,
    "only unknown words": "qqq zzz",
    "the same word again": "dog dog dog dog",
}


@pytest.mark.parametrize("page", ["explore", "compare", "switch_off"])
@pytest.mark.parametrize("name", PROMPTS)
def test_any_prompt_is_shown_as_typed_and_raises_nothing(open_page, vocab, name, page):
    screen = open_page(page, prompt=PROMPTS[name])
    prompt = encode_prompt(limits.PROMPT.cut(PROMPTS[name]), vocab)
    assert screen.app.text_input(key="prompt").value == PROMPTS[name]
    for markup in ("<img", "<script"):
        assert markup not in screen.text.lower()
    if page == "explore":
        assert [word["typed"] for word in screen.picture["words"]] == list(prompt.typed)
        table = screen.table(WEIGHTS)
        assert list(table.columns[1:]) == list(prompt.labels)
        np.testing.assert_allclose(table["sum"], 1, atol=1e-6)


def test_dropped_positions_are_counted(open_page):
    assert "the earliest 37 positions did not fit and were dropped" in open_page(prompt="cat " * 100).text
