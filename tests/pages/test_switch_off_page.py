"""The page that switches heads off, without a browser."""

import numpy as np
import pytest
import torch

from wordlm.files import ARTIFACTS, read_json
from wordlm.text import encode_prompt
from wordlm.ui.state.resources import checkpoint, vocabulary

PROMPT = "a little dog found a red hat"


@pytest.fixture(scope="module")
def stored():
    return read_json(ARTIFACTS / "heads" / "ablation.json")["checkpoints"]


def switch_off(screen, *heads: str) -> None:
    """Switch these heads off, and all others on: a pill is lit where a head is on."""
    pills = screen.app.button_group(key="not_off")
    pills.set_value([option for option in pills.options if option not in heads]).run()


@pytest.mark.parametrize("off", [(), (0,), (1, 3), (0, 1, 2, 3)])
@pytest.mark.parametrize("fill", ["zero", "mean"])
def test_next_word_and_losses_are_those_of_the_plain_forward(open_page, bundled, vocab, stored, off, fill):
    screen = open_page("switch_off")
    switch_off(screen, *(str(head + 1) for head in off))
    screen.app.button_group(key="fill").set_value(fill).run()
    assert not screen.app.exception
    model = bundled("multihead_seed11")
    on = torch.tensor([head not in off for head in range(4)])
    mean = torch.tensor(stored["multihead_seed11"]["mean_messages"]) if fill == "mean" else None

    def logits(text, **switches):
        ids = torch.from_numpy(encode_prompt(text, vocab).input_ids)
        with torch.inference_mode():
            return model.forward_details(ids, **switches)["logits"][0].log_softmax(-1)

    words = screen.table("Probabilities of the next words")
    ids = [vocab.itos.index(word) for word in words["word"]]
    np.testing.assert_allclose(words["before"], logits(PROMPT).exp()[ids], atol=1e-5)
    np.testing.assert_allclose(words["after"], logits(PROMPT, heads_on=on, off_message=mean).exp()[ids], atol=1e-5)

    losses = screen.table("Surprisal of each word")
    typed = PROMPT.split()
    for place, word in enumerate(typed):
        before = " ".join(typed[:place])
        expected = -logits(before, heads_on=on, off_message=mean)[vocab.itos.index(word)]
        assert losses["after"][place] == pytest.approx(expected.item(), abs=1e-4)


def test_what_a_head_is_worth_is_what_is_stored(open_page, stored):
    table = open_page("switch_off").table("What each head is worth")
    entry = stored["multihead_seed11"]
    for head in range(4):
        alone = next(e for e in entry["zero"] if e["off"] == [head])
        assert table["nothing"].iloc[head] == alone["increase"]
        assert [table["nothing low"].iloc[head], table["nothing high"].iloc[head]] == alone["interval"]
    np.testing.assert_allclose(table["Shapley, nothing"], entry["shapley_zero"])


def test_weight_and_influence_stand_side_by_side(open_page, details):
    table = open_page("switch_off").table("What each head is worth")
    weights = details(PROMPT, "multihead_seed11")["weights"][:, -1]
    np.testing.assert_allclose(table["largest weight"], weights.max(1), atol=1e-6)


def test_every_set_of_four_heads_is_listed(open_page):
    table = open_page("switch_off").table("Test loss for each set of heads off")
    assert len(table) == 16
    assert table["heads off"].iloc[0] == "none"
    assert table["heads off"].iloc[-1] == "1, 2, 3, 4"


def test_the_mlp_has_no_head_to_switch_off(open_page):
    screen = open_page("switch_off", model="MLP")
    assert "The MLP has no heads" in screen.text
    assert not screen.app.dataframe


def test_heads_that_a_smaller_model_lacks_are_forgotten(open_page):
    screen = open_page("switch_off", model="8")
    switch_off(screen, "7", "8")
    screen.app.button_group(key="model").set_value("2").run()
    assert not screen.app.exception
    assert len(screen.table("What each head is worth")) == 2


def test_without_the_stories_the_page_says_how_to_get_them(open_page, monkeypatch, tmp_path):
    monkeypatch.setattr("wordlm.ui.state.resources.DATA_DIR", tmp_path)
    assert "python -m wordlm.prepare_data" in open_page("switch_off").text


def test_measuring_again_agrees_with_what_is_stored(open_page, monkeypatch, tmp_path, real_stories):
    from wordlm.prepare_data import prepare

    prepare("dgx", tmp_path, real_stories)
    monkeypatch.setattr("wordlm.ui.state.resources.DATA_DIR", tmp_path)
    screen = open_page("switch_off")
    next(button for button in screen.app.button if "Measure again" in button.label).click().run(timeout=200)
    assert not screen.app.exception
    assert "It agrees with the stored" in screen.text


def test_with_no_head_off_the_page_says_so_and_never_without_no_head(open_page):
    screen = open_page("switch_off")
    assert not screen.app.exception
    assert "No head is switched off" in screen.text
    assert "No word changes." in screen.text
    names = [trace["name"] for key in ("next_effect", "loss_effect") for trace in screen.figure(key)["data"]]
    assert names == ["all heads"] * 2
    assert "without no head" not in screen.text


def test_what_is_off_on_explore_is_off_here_at_first(open_page):
    assert "without head 2" in open_page("switch_off", without="2").text
    assert "without heads 1 and 3" in open_page("switch_off", without="2", off=["1", "3"]).text


@pytest.mark.parametrize(("model", "name"), [("4", "multihead_seed11"), ("8", "multihead_h8_seed11")])
def test_a_head_s_worth_is_said_to_be_given_the_others_with_the_sums(open_page, stored, model, name):
    text = open_page("switch_off", model=model).text
    entry = stored[name]
    singles = sum(e["increase"] for e in entry["zero"] if len(e["off"]) == 1)
    all_off = next(e["increase"] for e in entry["zero"] if len(e["off"]) == entry["heads"])
    assert f"add up to {singles:.3f}; with all heads off the loss rises by {all_off:.3f}" in text
    assert "make up for part of what is lost" in text
    assert (f"they add up to {all_off:.3f}" in text) == ("shapley_zero" in entry)


def test_the_worth_of_one_head_has_no_others_to_be_given(open_page):
    assert "given the others" not in open_page("switch_off", model="1").text


def test_the_numbers_are_made_only_once_they_are_opened_and_a_link_opens_them(open_page):
    assert not open_page("switch_off").app.dataframe
    screen = open_page("switch_off", table_worth="true")
    assert len(screen.app.dataframe) == 1 and screen.has_table("What each head is worth")
    assert screen.address == {"table_worth": ["true"]}


def test_the_take_away_holds_every_table_and_picture_of_the_page(open_page):
    from wordlm.ui.views import switch_off as view

    screen = open_page("switch_off")
    words, losses = screen.table("Probabilities of the next words"), screen.table("Surprisal of each word")
    tables, figures = view.collect(words, losses, (0,), checkpoint("4", 11), encode_prompt(PROMPT, vocabulary()).ids)
    assert len(tables) == len(screen.app.dataframe) == 4
    assert len(figures) == len(screen.app.get("plotly_chart")) == 3


def test_a_lit_pill_is_a_head_that_is_on_and_the_address_names_those_that_are_off(open_page):
    screen = open_page("switch_off", off=["2"])
    assert screen.app.button_group(key="not_off").value == ["1", "3", "4"]
    switch_off(screen, "1", "3", "4")
    assert screen.address["off"] == ["1", "3", "4"]
    assert "without heads 1, 3 and 4" in screen.text
    screen.app.switch_page("pages/benchmark.py").run()
    screen.app.switch_page("pages/switch_off.py").run()
    assert screen.app.button_group(key="not_off").value == ["2"]


def test_the_words_that_fall_and_rise_most_are_named_with_both_probabilities(open_page):
    screen = open_page("switch_off", off=["2"])
    words = screen.table("Probabilities of the next words")
    fallen, risen = words.loc[words["change"].idxmin()], words.loc[words["change"].idxmax()]
    said = screen.text.replace("<bdi>", "").replace("</bdi>", "").replace("“", "").replace("”", "")
    named = f"<b>{fallen['word']}</b> falls most, from {fallen['before']:.3f} to"
    assert f"Without head 2, of the 10 words shown, {named}" in said
    assert f"<b>{risen['word']}</b> rises most, from" in said and f"to {risen['after']:.3f}. The likeliest" in said
