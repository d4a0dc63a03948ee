"""The Compare page without a browser."""

import numpy as np
import pytest

from tests.pages.screen import array, softmax
from wordlm.compare import LIKENESS_TEXTS, best_matching, head_likeness
from wordlm.scoring import word_losses
from wordlm.text import tokenize

PROMPT = "a little dog found a red hat"


def test_both_models_rows_stand_under_each_other(open_page, details):
    screen = open_page("compare", b="8")
    table = screen.table("The weights of the query, one row a head")
    expected = [details(PROMPT, name)["weights"][:, -1, -8:] for name in ("multihead_seed11", "multihead_h8_seed11")]
    np.testing.assert_allclose(table.drop(columns="sum"), np.concatenate(expected), atol=1e-6)
    assert table.index[0] == "A: 4 heads, seed 11, head 1"
    assert table.index[-1] == "B: 8 heads, seed 11, head 8"
    np.testing.assert_allclose(array(screen.figure("rows")["data"][0]["z"]), np.concatenate(expected), atol=1e-6)


def test_next_words_of_both_models_stand_side_by_side(open_page, details, vocab):
    table = open_page("compare", b="MLP").table("The likeliest next words under A and B")
    for column, name in (("A: 4 heads, seed 11", "multihead_seed11"), ("B: MLP, seed 11", "mlp_seed11")):
        probabilities = softmax(details(PROMPT, name)["logits"])
        expected = [probabilities[vocab.itos.index(word)] for word in table["word"]]
        np.testing.assert_allclose(table[column], expected, atol=1e-6)
    assert table.shape == (10, 3)


def test_surprisal_of_each_word_is_the_models_loss(open_page, bundled, vocab):
    screen = open_page("compare")
    table = screen.table("Surprisal of each typed word")
    ids = vocab.encode(tokenize(PROMPT))
    for column, name in (("A: 4 heads, seed 11", "multihead_seed11"), ("B: 1 head, seed 11", "attention_seed11")):
        np.testing.assert_allclose(table[column], word_losses(bundled(name), ids), atol=1e-5)
    np.testing.assert_allclose(table["B − A"], table.iloc[:, 2] - table.iloc[:, 1], atol=1e-6)
    np.testing.assert_allclose(array(screen.figure("surprisal")["data"][0]["y"]), table.iloc[:, 1], atol=1e-6)


def test_one_head_stands_beside_four_and_their_mean(open_page, details):
    table = open_page("compare").table("One head's row, the four heads' rows and their mean")
    one = details(PROMPT, "attention_seed11")["weights"][:, -1, -8:]
    four = details(PROMPT, "multihead_seed11")["weights"][:, -1, -8:]
    np.testing.assert_allclose(table, np.concatenate([one, four, four.mean(0)[None]]), atol=1e-6)


def test_distances_are_symmetric_and_zero_to_itself(open_page):
    table = open_page("compare").table("Jensen-Shannon distances").to_numpy()
    np.testing.assert_allclose(table, table.T, atol=1e-9)
    np.testing.assert_allclose(np.diag(table), 0, atol=1e-6)
    assert 0 < table[0, 1] <= 1


def test_partners_at_other_seeds_are_the_best_matching(open_page, bundled, vocab):
    table = open_page("compare").table("Which head of another seed")
    texts = [vocab.encode(tokenize(text)) for text in LIKENESS_TEXTS]
    for seed in (29, 47):
        likeness = head_likeness(bundled("multihead_seed11"), bundled(f"multihead_seed{seed}"), texts)
        partners = best_matching(likeness)
        assert table[f"partner, seed {seed}"].tolist() == [partner + 1 for partner in partners]
        np.testing.assert_allclose(table[f"likeness, seed {seed}"], likeness[range(4), partners], atol=1e-6)


def test_a_model_without_heads_explains_itself_and_the_rest_stands(open_page):
    screen = open_page("compare", model="MLP", b="4")
    assert "A: MLP, seed 11 has no heads" in screen.text
    assert len(screen.table("The weights of the query, one row a head")) == 4
    assert screen.has_table("Surprisal of each typed word")


def test_two_models_without_heads_still_compare_words(open_page):
    screen = open_page("compare", model="MLP", b="MLP")
    assert not screen.has_table("The weights of the query")
    assert screen.has_table("The likeliest next words under A and B")


def test_a_model_beside_itself_differs_nowhere(open_page):
    assert "They do not differ." in open_page("compare", model="4", b="4").text


@pytest.mark.parametrize("model", ["1", "4", "16"])
def test_another_model_is_offered_as_b_at_first(open_page, model):
    assert open_page("compare", model=model).app.button_group(key="b").value != model


@pytest.mark.parametrize("params", [{"b": "7"}, {"b_seed": "x"}, {"query": "44"}])
def test_a_link_with_nonsense_falls_back(open_page, params):
    assert open_page("compare", **params).has_table("The likeliest next words under A and B")
