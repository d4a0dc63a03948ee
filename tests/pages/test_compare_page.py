"""The Compare page without a browser."""

import numpy as np
import pytest

from tests.pages.screen import array, softmax
from wordlm.compare import LIKENESS_TEXTS, best_matching, head_likeness
from wordlm.files import ARTIFACTS, read_json
from wordlm.scoring import word_losses
from wordlm.text import tokenize

PROMPT = "a little dog found a red hat"


def test_a_head_of_each_model_stands_beside_their_difference(open_page, rows_as_last):
    picture = open_page("compare", b="8", head="2", b_head="7").picture
    a, b = rows_as_last(PROMPT, "multihead_seed11")[1], rows_as_last(PROMPT, "multihead_h8_seed11")[6]
    lower = np.tril(np.ones((8, 8), bool))
    for rows, expected in zip(picture["rows"], (a, b, a - b), strict=True):
        np.testing.assert_allclose(rows[lower], expected[lower], atol=1e-6)
    assert [pane["title"] for pane in picture["heads"]] == ["A: 4 heads, head 2", "B: 8 heads, head 7", "A − B"]
    assert picture["heads"][2]["negative"] == picture["heads"][1]["hue"]


def test_both_models_rows_stand_under_each_other_in_numbers(open_page, details):
    screen = open_page("compare", b="8", compared="In numbers")
    table = screen.table("The weights of the query, one row a head")
    expected = [details(PROMPT, name)["weights"][:, -1, -8:] for name in ("multihead_seed11", "multihead_h8_seed11")]
    np.testing.assert_allclose(table.drop(columns="sum"), np.concatenate(expected), atol=1e-6)
    assert table.index[0] == "A: 4 heads, seed 11, head 1"
    assert table.index[-1] == "B: 8 heads, seed 11, head 8"


@pytest.mark.parametrize(("b", "name"), [("MLP", "mlp_seed11"), ("1", "attention_seed11")])
def test_next_words_of_both_models_stand_side_by_side(open_page, details, vocab, b, name):
    table = open_page("compare", b=b, compared="In numbers").table("The likeliest next words under A and B")
    for column, model in (("before", "multihead_seed11"), ("after", name)):
        probabilities = softmax(details(PROMPT, model)["logits"])
        expected = [probabilities[vocab.itos.index(word)] for word in table["word"]]
        np.testing.assert_allclose(table[column], expected, atol=1e-6)
    assert table.shape == (10, 3)


def test_one_sentence_says_how_they_differ_here_and_over_the_whole_test_set(open_page):
    runs = read_json(ARTIFACTS / "heads" / "comparison.json")["runs"]
    four, one = (np.array([run["test_loss"] for run in runs[group]]) for group in ("multihead", "attention"))
    half = 4.3027 * (four - one).std(ddof=1) / 3**0.5  # Student's quantile for two degrees of freedom
    mean = (four - one).mean()
    text = open_page("compare").text
    assert "Over the whole test set 4 heads expect the right word better than 1 head" in text
    assert f"the loss of A less that of B is −{-mean:.4f}" in text
    assert f"(95 % interval −{half - mean:.4f} to −{-mean - half:.4f}, 3 seeds; lower is better)" in text
    undecided = open_page("compare", model="16", b="8").text
    assert "neither of 16 heads and 8 heads can be told to expect the right word better" in undecided


def test_surprisal_of_each_word_is_the_models_loss(open_page, bundled, vocab):
    screen = open_page("compare")
    table = screen.table("Surprisal of each typed word")
    ids = vocab.encode(tokenize(PROMPT))
    for column, name in (("A: 4 heads, seed 11", "multihead_seed11"), ("B: 1 head, seed 11", "attention_seed11")):
        np.testing.assert_allclose(table[column], word_losses(bundled(name), ids), atol=1e-5)
    np.testing.assert_allclose(table["B − A"], table.iloc[:, 2] - table.iloc[:, 1], atol=1e-6)
    np.testing.assert_allclose(array(screen.figure("surprisal")["data"][0]["y"]), table.iloc[:, 1], atol=1e-6)


def test_one_head_stands_beside_four_and_their_mean(open_page, details):
    table = open_page("compare", compared="One head and four").table(
        "One head's row, the four heads' rows and their mean"
    )
    one = details(PROMPT, "attention_seed11")["weights"][:, -1, -8:]
    four = details(PROMPT, "multihead_seed11")["weights"][:, -1, -8:]
    np.testing.assert_allclose(table, np.concatenate([one, four, four.mean(0)[None]]), atol=1e-6)


def test_distances_are_symmetric_and_zero_to_itself(open_page):
    table = open_page("compare", compared="One head and four").table("Jensen-Shannon distances").to_numpy()
    np.testing.assert_allclose(table, table.T, atol=1e-9)
    np.testing.assert_allclose(np.diag(table), 0, atol=1e-6)
    assert 0 < table[0, 1] <= 1


def test_partners_at_other_seeds_are_the_best_matching(open_page, bundled, vocab):
    table = open_page("compare", compared="Across seeds").table("Which head of another seed")
    texts = [vocab.encode(tokenize(text)) for text in LIKENESS_TEXTS]
    for seed in (29, 47):
        likeness = head_likeness(bundled("multihead_seed11"), bundled(f"multihead_seed{seed}"), texts)
        partners = best_matching(likeness)
        assert table[f"partner, seed {seed}"].tolist() == [partner + 1 for partner in partners]
        np.testing.assert_allclose(table[f"likeness, seed {seed}"], likeness[range(4), partners], atol=1e-6)


def test_a_model_without_heads_explains_itself_and_the_rest_stands(open_page):
    screen = open_page("compare", model="MLP", b="4")
    assert "The MLP has no attention" in screen.text
    assert len(screen.table("Surprisal of each typed word"))
    screen = open_page("compare", model="MLP", b="4", compared="In numbers")
    assert len(screen.table("The weights of the query, one row a head")) == 4


def test_a_model_beside_itself_is_told_to_need_another_one(open_page):
    assert "A and B are the same model" in open_page("compare", model="4", b="4").text


@pytest.mark.parametrize("model", ["1", "4", "16"])
def test_another_model_is_offered_as_b_at_first(open_page, model):
    assert open_page("compare", model=model).app.button_group(key="b").value != model


@pytest.mark.parametrize("params", [{"b": "7"}, {"b_seed": "x"}, {"query": "44"}])
def test_a_link_with_nonsense_falls_back(open_page, params):
    assert len(open_page("compare", **params).table("Surprisal of each typed word"))


def test_one_head_stands_beside_four_and_their_mean_in_one_picture(open_page, details):
    picture = open_page("compare", compared="One head and four", query="6 · red", scale="even").picture_of("blend")
    assert [pane["title"] for pane in picture["heads"]] == [
        *("one head", "head 1", "head 2", "head 3", "head 4", "mean of the four")
    ]
    assert (picture["scale"], picture["query"], picture["switches"], picture["next"]) == ("even", 6, False, [])
    one = details("a little dog found a red", "attention_seed11")["weights"][0, -1, -7:]
    four = details("a little dog found a red", "multihead_seed11")["weights"][:, -1, -7:]
    np.testing.assert_allclose(picture["rows"][0, 6, :7], one, atol=1e-6)
    np.testing.assert_allclose(picture["rows"][1:5, 6, :7], four, atol=1e-6)
    np.testing.assert_allclose(picture["rows"][5, 6, :7], four.mean(0), atol=1e-6)
