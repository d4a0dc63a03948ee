"""The Perplexity page without a browser."""

import math

import numpy as np
import pytest
import torch

from wordlm.text import encode_prompt, tokenize

MODELS = {
    "MLP, seed 11": "mlp_seed11",
    "1 head, seed 11": "attention_seed11",
    "2 heads, seed 11": "multihead_h2_seed11",
    "4 heads, seed 11": "multihead_seed11",
    "8 heads, seed 11": "multihead_h8_seed11",
    "16 heads, seed 11": "multihead_h16_seed11",
}


def metrics(screen) -> list[str]:
    return [metric.value for metric in screen.app.metric]


def test_the_example_starts_the_page(open_page):
    screen = open_page("perplexity")
    assert metrics(screen)[:4] == ["1.3863", "2.0000", "4.0000", "0.2500"]
    table = screen.table("The loss of each target")
    assert table["loss, nats"].round(4).tolist() == [0.6931, 1.3863, 2.0794]


def test_a_zero_is_infinite_in_words(open_page):
    screen = open_page("perplexity")
    screen.app.text_area(key="probabilities").set_value("0.5, 0").run()
    assert not screen.app.exception
    assert metrics(screen)[:4] == ["infinite", "infinite", "infinite", "0.0000"]
    assert "infinite loss" in screen.text


@pytest.mark.parametrize(("typed", "message"), [("0.5, x", "entry 2, x, is not a number"), ("", "no probability yet")])
def test_a_wrong_entry_is_named_and_the_rest_of_the_page_stands(open_page, typed, message):
    screen = open_page("perplexity")
    screen.app.text_area(key="probabilities").set_value(typed).run()
    assert not screen.app.exception
    assert message in screen.app.error[0].value.replace("\\", "")
    assert screen.has_table("Probability, rank and loss of each word")


def test_one_more_prediction_moves_the_whole(open_page):
    screen = open_page("perplexity")
    screen.app.select_slider(key="added").set_value(0.5).run()
    after = (math.log(2) + math.log(4) + math.log(8) + math.log(2)) / 4
    assert f"from 1.3863 to {after:.4f} nats, the perplexity from 4.0000 to {math.exp(after):.4f}" in screen.text
    screen.app.select_slider(key="added").set_value(0.0).run()
    assert "to infinite nats" in screen.text


@pytest.mark.parametrize("text", ["A cat sat. A cat ran!", "one two three four five " * 20])
def test_a_text_is_scored_as_by_a_slow_loop_over_the_definition(open_page, bundled, vocab, text):
    screen = open_page("perplexity")
    screen.app.text_area(key="text").set_value(text).run()
    assert not screen.app.exception
    models = screen.table("Perplexity of the text under each model").set_index("model")
    words = tokenize(text)
    for name, file in MODELS.items():
        model, losses, ranks = bundled(file), [], []
        for place, word in enumerate(words):
            ids = torch.from_numpy(encode_prompt(" ".join(words[:place]), vocab).input_ids)
            with torch.inference_mode():
                p = model.forward_details(ids)["logits"][0].double().softmax(-1)
            (target,) = vocab.encode([word])
            losses.append(-math.log(p[target]))
            ranks.append(1 + int((p > p[target]).sum()))
        assert models.loc[name, "cross-entropy, nats"] == pytest.approx(np.mean(losses), abs=1e-5)
        assert models.loc[name, "perplexity"] == pytest.approx(math.exp(np.mean(losses)), rel=1e-5)
        if name == "4 heads, seed 11":
            table = screen.table("Probability, rank and loss of each word")
            np.testing.assert_allclose(table["loss, nats"], losses, atol=1e-4)
            assert table["rank"].tolist() == ranks
            assert metrics(screen)[4] == f"{np.mean(losses):.4f}"


def test_the_words_on_which_models_differ_most_come_first(open_page):
    table = open_page("perplexity").table("The words on which the models differ most")
    losses = table[list(MODELS)].to_numpy()
    np.testing.assert_allclose(table["spread"], losses.max(1) - losses.min(1), atol=1e-6)
    assert table["spread"].is_monotonic_decreasing


def test_unknown_words_are_counted_with_a_warning(open_page):
    screen = open_page("perplexity")
    screen.app.text_area(key="text").set_value("the zyzzyva ran").run()
    assert "1 of 3 words (33.3 %) are unknown" in screen.app.warning[0].value
    assert screen.table("Probability, rank and loss of each word")["unknown"].tolist() == [False, True, False]


def test_an_empty_text_asks_for_one(open_page):
    screen = open_page("perplexity")
    screen.app.text_area(key="text").set_value("  ").run()
    assert not screen.app.exception
    assert "no word to score yet" in screen.text


def test_odd_words_are_shown_as_typed(open_page):
    screen = open_page("perplexity")
    screen.app.text_area(key="text").set_value("<s> </script> $x$ *a* :smile: &lt; _b_").run()
    assert not screen.app.exception
    words = screen.table("Probability, rank and loss of each word")["word"]
    assert [word.split(" · ", 1)[1] for word in words[:7]] == ["<", "s", ">", "<", "/", "script", ">"]
    assert "<bdi>&lt;</bdi>" in screen.text
    assert "<s>" not in screen.text


def test_one_total_gives_other_perplexities_over_other_units(open_page):
    screen = open_page("perplexity")
    screen.app.text_area(key="text").set_value("a cat sat.").run()
    table = screen.table("The same total loss as perplexities").set_index("shared out over")
    total = screen.table("Probability, rank and loss of each word")["loss, nats"].sum()
    assert table["number"].tolist() == [4, 8]
    np.testing.assert_allclose(table["perplexity"], np.exp(total / np.array([4, 8])), rtol=1e-5)
