"""The Explore page without a browser: what is on screen equals what the checkpoint says."""

import math

import numpy as np
import pytest

from tests.pages.screen import array, softmax
from wordlm.text import encode_prompt

PROMPT = "a little dog found a red hat"
ODD_PROMPT = "<s> </script> $x$ *a* :smile: &lt; _b_"
WEIGHTS = "Weights of the chosen query"


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
def test_the_heatmaps_hold_the_models_weights_on_one_colour_scale(open_page, details, model, name):
    traces = open_page(model=model).figure("heatmaps")["data"]
    expected = details(PROMPT, name)["weights"][:, -8:, -8:]
    assert len(traces) == len(expected) == int(model)
    lower = np.tril(np.ones((8, 8), bool))
    for trace, weights in zip(traces, expected, strict=True):
        shown = array(trace["z"])
        np.testing.assert_allclose(shown[lower], weights[lower], atol=1e-6)
        assert np.isnan(shown[~lower]).all()
        assert trace["coloraxis"] == "coloraxis"
        assert trace["x"] == trace["y"] and len(set(trace["x"])) == 8


def test_the_colours_say_what_they_span(open_page, details):
    screen = open_page()
    assert screen.figure("heatmaps")["layout"]["coloraxis"]["colorbar"]["title"]["text"] == "weight, 0 to 1"
    screen.app.button_group(key="scale").set_value("per view").run()
    axis = screen.figure("heatmaps")["layout"]["coloraxis"]
    largest = details(PROMPT, "multihead_seed11")["weights"][:, -7:, -8:].max()
    assert axis["cmax"] == pytest.approx(largest)
    assert f"{largest:.3f}" in axis["colorbar"]["title"]["text"]
    screen.app.button_group(key="scale").set_value("logarithmic").run()
    figure = screen.figure("heatmaps")
    weights = details(PROMPT, "multihead_seed11")["weights"][0, -8:, -8:]
    lower = np.tril(np.ones((8, 8), bool))
    np.testing.assert_allclose(array(figure["data"][0]["z"])[lower], np.log10(weights[lower].clip(1e-4)), atol=1e-5)


@pytest.mark.parametrize("left_out", ["left out", "left out, rest scaled up"])
def test_the_first_token_can_be_left_out_and_the_picture_says_so(open_page, details, left_out):
    screen = open_page()
    screen.app.selectbox(key="first").set_value(left_out).run()
    figure = screen.figure("heatmaps")
    shown = array(figure["data"][1]["z"])
    weights = details(PROMPT, "multihead_seed11")["weights"][1, -8:, -8:]
    assert np.isnan(shown[:, 0]).all()
    expected = weights[-1, 1:] / (weights[-1, 1:].sum() if "scaled" in left_out else 1)
    np.testing.assert_allclose(shown[-1, 1:], expected, atol=1e-6)
    assert f"first token {left_out}" in figure["layout"]["coloraxis"]["colorbar"]["title"]["text"]
    np.testing.assert_allclose(screen.table(WEIGHTS)["sum"], 1, atol=1e-6)


def test_the_text_is_shaded_by_the_chosen_head(open_page, details):
    screen = open_page(head="3")
    weights = details(PROMPT, "multihead_seed11")["weights"][2, -8:, -8:]
    assert [token["shade"] for token in screen.tokens("shaded")] == pytest.approx(weights[-1].tolist(), abs=1e-6)
    screen.app.selectbox(key="query").set_value("2").run()
    assert [token["shade"] for token in screen.tokens("shaded")][3:] == [None] * 5
    screen.app.button_group(key="shading").set_value("queries of the token").run()
    shades = [token["shade"] for token in screen.tokens("shaded")]
    assert shades[:2] == [None, None]
    assert shades[2:] == pytest.approx(weights[2:, 2].tolist(), abs=1e-6)


def number(written: str) -> float:
    return float(written.replace("−", "-"))


def test_the_steps_of_one_weight_are_the_models_and_agree_by_hand(open_page, details):
    screen = open_page(head="2")
    screen.app.selectbox(key="query").set_value("6").run()
    screen.app.selectbox(key="key").set_value("3").run()
    steps = screen.table("The calculation of the weight").set_index("step")
    found = details(PROMPT, "multihead_seed11")
    q, k = found["Q"][1, -2], found["K"][1, -5]
    assert number(steps.loc["dot product", "by hand"]) == pytest.approx(q @ k, abs=1e-3)
    assert number(steps.loc["scale and mask", "model"]) == pytest.approx(q @ k / 4, abs=1e-3)
    assert number(steps.loc["softmax", "model"]) == pytest.approx(found["weights"][1, -2, -5], abs=1e-4)
    assert list(steps.index[-4:]) == ["concatenate", "output projection", "residual", "logit"]
    assert steps["difference"].max() < 1e-4
    terms = screen.table("The dot product term by term")
    np.testing.assert_allclose(terms["q × k"], q * k, atol=1e-5)
    assert terms["running sum"].iloc[-1] == pytest.approx(q @ k, abs=1e-4)
    row = screen.table("The softmax over the row")
    np.testing.assert_allclose(row["weight"], found["weights"][1, -2, -8:-1], atol=1e-6)
    bars = screen.figure("vectors")["data"]
    np.testing.assert_allclose(array(bars[2]["y"]), q, atol=1e-6)
    np.testing.assert_allclose(array(bars[3]["y"]), k, atol=1e-6)


def test_a_later_key_is_shown_to_be_masked(open_page):
    screen = open_page()
    screen.app.selectbox(key="query").set_value("2").run()
    screen.app.selectbox(key="key").set_value("5").run()
    steps = screen.table("The calculation of the weight").set_index("step")
    assert (steps.loc["scale and mask", ["by hand", "model"]] == "minus infinity").all()
    assert (steps.loc["softmax", ["by hand", "model"]] == "0").all()
    assert "minus infinity" in steps.loc["scale and mask", "formula"]


def test_the_next_words_are_the_ten_likeliest(open_page, details, vocab):
    screen = open_page()
    probabilities = softmax(details(PROMPT, "multihead_seed11")["logits"])
    best = np.argsort(-probabilities)[:10]
    table = screen.table("The ten likeliest next words")
    assert table["word"].tolist() == [vocab.itos[i] for i in best]
    np.testing.assert_allclose(table["probability"], probabilities[best], atol=1e-6)
    np.testing.assert_allclose(array(screen.figure("next")["data"][0]["x"]), probabilities[best], atol=1e-6)


def test_any_word_s_chance_is_shown_with_each_head_off(open_page, bundled, vocab):
    import torch

    screen = open_page(word="ball")
    table = screen.table("probability and rank with each head off")
    model, ids = bundled("multihead_seed11"), torch.from_numpy(encode_prompt(PROMPT, vocab).input_ids)
    word = vocab.itos.index("ball")
    for row, off in enumerate([None, 0, 1, 2, 3]):
        on = torch.tensor([head != off for head in range(4)])
        with torch.inference_mode():
            probabilities = model.forward_details(ids, heads_on=on)["logits"][0].softmax(-1)
        assert table["probability"][row] == pytest.approx(probabilities[word].item(), rel=1e-4)
        assert table["rank"][row] == 1 + (probabilities > probabilities[word]).sum()
    assert table["change"][0] == 0
    assert table["change"][2] == pytest.approx(math.log(table["probability"][2] / table["probability"][0]), abs=1e-5)
    assert "<bdi>ball</bdi></b> has probability" in screen.text


def test_a_word_outside_the_vocabulary_is_said_to_be_one(open_page):
    assert "xylophonist is not among the 4,000 words" in open_page(word="xylophonist").text


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
    table = open_page().table("The shape of every tensor").set_index("tensor")["shape"]
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
    screen = open_page(prompt="a Zyzzyva ran")
    assert [(token["typed"], token["note"]) for token in screen.tokens()] == [
        ("<BOS>", "1"),
        ("a", str(vocab.itos.index("a"))),
        ("Zyzzyva", "<UNK> 3"),
        ("ran", str(vocab.itos.index("ran"))),
    ]
    assert "3 words in 64 slots, 60 of them padding" in screen.text
    assert "1 unknown to the vocabulary, read as `<UNK>`: Zyzzyva" in screen.text


def test_the_checks_on_screen_hold(open_page):
    text = open_page().text
    assert text.count("✓") == 3
    assert "FAILS" not in text


def test_the_chosen_query_gives_its_own_row(open_page, details):
    screen = open_page()
    screen.app.selectbox(key="query").set_value("3").run()
    table = screen.table(WEIGHTS)
    four = details(PROMPT, "multihead_seed11")["weights"][:, -5, -8:-4]
    np.testing.assert_allclose(table.iloc[1:].drop(columns="sum"), four, atol=1e-6)
    assert list(table.columns)[-1] == "3 · dog"


def test_a_query_that_a_shorter_prompt_no_longer_has_falls_back_to_the_last_word(open_page):
    screen = open_page()
    screen.app.selectbox(key="query").set_value("7").run()
    screen.app.text_input(key="prompt").set_value("two words").run()
    assert not screen.app.exception
    assert screen.app.selectbox(key="query").value == "last"
    assert list(screen.table(WEIGHTS).columns)[-1] == "2 · words"


def test_toggling_the_heads_keeps_prompt_query_and_scale(open_page):
    screen = open_page(prompt="the cat sat")
    screen.app.selectbox(key="query").set_value("2").run()
    screen.app.button_group(key="scale").set_value("logarithmic").run()
    for model in ("8", "1", "16", "4"):
        screen.app.button_group(key="model").set_value(model).run()
        assert not screen.app.exception
        assert screen.app.text_input(key="prompt").value == "the cat sat"
        assert screen.app.selectbox(key="query").value == "2"
        assert screen.app.button_group(key="scale").value == "logarithmic"


def test_the_mlp_says_that_it_has_no_heads_and_still_predicts(open_page):
    screen = open_page(model="MLP")
    assert "The MLP has no heads" in screen.app.info[0].value
    assert len(screen.app.get("plotly_chart")) == 1
    assert screen.table("The ten likeliest next words")["probability"].is_monotonic_decreasing


def test_a_seed_that_is_not_bundled_is_replaced_with_a_word(open_page):
    assert "8 heads is bundled with seed 11 only" in open_page(model="8", seed="29").text


def test_a_seed_that_is_bundled_is_used(open_page, details):
    expected = details(PROMPT, "multihead_seed47")["weights"][:, -1, -8:]
    table = open_page(seed="47").table(WEIGHTS)
    np.testing.assert_allclose(table.iloc[1:].drop(columns="sum"), expected, atol=1e-6)


def test_a_mistake_of_a_link_is_told_once_also_where_a_page_ends_early(open_page):
    screen = open_page("switch_off", model="MLP", b="99")
    assert "b = 99, which is not offered" in screen.app.warning[0].value
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
    assert screen.app.selectbox(key="query").value == "3"


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
    prompt = encode_prompt(PROMPTS[name], vocab)
    for markup in ("<img", "<script"):
        assert markup not in screen.text.lower()
    if page == "explore":
        assert [token["typed"] for token in screen.tokens()] == list(prompt.typed)
        table = screen.table(WEIGHTS)
        assert list(table.columns[1:]) == list(prompt.labels)
        np.testing.assert_allclose(table["sum"], 1, atol=1e-6)


def test_dropped_positions_are_counted(open_page):
    assert "the earliest 37 positions did not fit and were dropped" in open_page(prompt="cat " * 100).text
