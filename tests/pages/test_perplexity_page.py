"""The Perplexity page without a browser."""

import math
import re

import numpy as np
import pytest
import torch

from wordlm.loss import read_probabilities
from wordlm.text import encode_prompt, tokenize, typed_words

MODELS = {
    "MLP, seed 11": "mlp_seed11",
    "1 head, seed 11": "attention_seed11",
    "2 heads, seed 11": "multihead_h2_seed11",
    "4 heads, seed 11": "multihead_seed11",
    "8 heads, seed 11": "multihead_h8_seed11",
    "16 heads, seed 11": "multihead_h16_seed11",
}


def metrics(screen) -> list[str]:
    return [metric.value.replace("\u00a0", " ") for metric in screen.app.metric]


def test_the_example_starts_the_page(open_page):
    screen = open_page("perplexity")
    assert metrics(screen)[:4] == ["1.3863", "2.0000", "4.0000", "0.2500"]
    table = screen.table("The loss of each target")
    assert table["loss, nats"].round(4).tolist() == [0.6931, 1.3863, 2.0794]


def test_a_zero_is_infinite_in_words(open_page):
    screen = open_page("perplexity")
    screen.app.text_area(key="probabilities").set_value("0.5, 0").run()
    assert not screen.app.exception
    assert metrics(screen)[:4] == ["infinite", "infinite", "infinite", "0"]
    assert "infinite loss" in screen.text


@pytest.mark.parametrize(
    ("typed", "perplexity", "mean"), [("1e-300", "1 × 10³⁰⁰", "1 × 10⁻³⁰⁰"), ("0.00002", "50,000.0000", "2 × 10⁻⁵")]
)
def test_a_number_that_does_not_fit_is_a_power_of_ten_and_never_0(open_page, typed, perplexity, mean):
    screen = open_page("perplexity", probabilities=typed)
    assert metrics(screen)[2:4] == [perplexity, mean]


def test_a_decimal_comma_is_read_and_said(open_page):
    screen = open_page("perplexity", probabilities="0,5 0,25 0,125")
    assert metrics(screen)[:4] == ["1.3863", "2.0000", "4.0000", "0.2500"]
    assert "Read with decimal commas: 0,5 is 0.5." in screen.text.replace("\\", "")
    assert "For two numbers type a space after the comma." in screen.text.replace("\\", "")


def test_log_probabilities_are_read_on_the_reader_s_word_and_a_link_restores_it(open_page):
    screen = open_page("perplexity", probabilities="-0.6931471806, -1.3862943611, -2.0794415417")
    assert "are they log-probabilities?" in screen.app.error[0].value.replace("\\", "")
    screen.app.toggle(key="logarithms").set_value(True).run()
    assert metrics(screen)[:4] == ["1.3863", "2.0000", "4.0000", "0.2500"]
    screen = open_page("perplexity", probabilities="-5000 -5000", logarithms="true")
    assert metrics(screen)[2:4] == ["2.968 × 10²¹⁷¹", "3.37 × 10⁻²¹⁷²"]
    assert screen.table("The loss of each target")["ln p"].tolist() == [-5000, -5000]
    screen.app.text_area(key="probabilities").set_value("0.5").run()
    assert "are they probabilities?" in screen.app.error[0].value


@pytest.mark.parametrize("value", ["", "nonsense", "1e309"])
def test_a_wrong_value_of_the_control_in_a_link_breaks_nothing(open_page, value):
    assert metrics(open_page("perplexity", logarithms=value))[2] == "4.0000"


def shaded(screen) -> str:
    return next(e.proto.body for e in screen.app.get("html") if 'class="surprisal"' in e.proto.body)


def test_paragraphs_and_spaces_of_a_text_stay_in_the_shaded_text(open_page):
    screen = open_page("perplexity")
    screen.app.text_area(key="text").set_value("A cat sat.\n\nA dog ran!").run()
    assert re.sub("<[^>]*>", "", shaded(screen)) == "A cat sat.\n\nA dog ran!"


def test_a_text_runs_in_its_own_direction_and_not_word_by_word(open_page):
    screen = open_page("perplexity")
    screen.app.text_area(key="text").set_value("שלום עולם").run()
    assert 'dir="auto"' in shaded(screen) and "<bdi>" not in shaded(screen)


@pytest.mark.parametrize(("typed", "message"), [("0.5, x", "Entry 2, x, is not a number"), ("", "no probability yet")])
def test_a_wrong_entry_is_named_and_the_rest_of_the_page_stands(open_page, typed, message):
    screen = open_page("perplexity")
    screen.app.text_area(key="probabilities").set_value(typed).run()
    assert not screen.app.exception
    assert message in screen.app.error[0].value.replace("\\", "")
    assert len(screen.table("Probability, rank and loss of each word"))


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
    assert "1 of 3 words (33.3 %) are unknown" in screen.text
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
    assert ">&lt;</span>" in screen.text
    assert "<s>" not in screen.text


def test_one_total_gives_other_perplexities_over_other_units(open_page):
    screen = open_page("perplexity")
    screen.app.text_area(key="text").set_value("a cat sat.").run()
    table = screen.table("The same total loss as perplexities").set_index("shared out over")
    total = screen.table("Probability, rank and loss of each word")["loss, nats"].sum()
    assert table["number"].tolist() == [4, 8]
    np.testing.assert_allclose(table["perplexity"], np.exp(total / np.array([4, 8])), rtol=1e-5)
    assert f"that is a perplexity of {table['perplexity'].iloc[0]:,.4f}" in screen.text


def test_the_bars_are_the_losses_of_the_targets_and_the_line_is_the_running_mean(open_page):
    bars, line = open_page("perplexity").figure("targets")["data"]
    np.testing.assert_allclose(bars["y"], np.log([2, 4, 8]))
    np.testing.assert_allclose(line["y"], np.cumsum(np.log([2, 4, 8])) / [1, 2, 3])
    bars, line = open_page("perplexity", probabilities="0.5, 0").figure("targets")["data"]
    assert bars["y"] == [pytest.approx(math.log(2)), None], "an infinite loss has no height and is said in words"


def test_no_table_is_made_before_it_is_opened_and_the_take_away_has_them_all(open_page, vocab):
    from wordlm.ui.state.resources import checkpoint, scores_of
    from wordlm.ui.views import perplexity as view

    screen = open_page("perplexity")
    assert not screen.app.dataframe
    screen.open_numbers()
    words, ids = typed_words(screen.app.text_area(key="text").value, vocab)
    chosen = checkpoint("4", 11)
    scores = {chosen.name: scores_of(chosen, tuple(ids))}
    tables, figures = view.collect(read_probabilities("0.5"), words, ids, scores, chosen.name, vocab)
    assert len(tables) == len(screen.app.dataframe) == 5
    assert len(figures) == len(screen.app.get("plotly_chart")) == 2
