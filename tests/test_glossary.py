"""The glossary, and its links in the texts."""

import math
import re

import pytest
import torch

from wordlm.glossary import TERMS, matching
from wordlm.models import build_model
from wordlm.text import CONTEXT_LEN, VOCAB_SIZE
from wordlm.ui.frame.glossary import linked

WANTED = """attention, attention map, causal mask, dimension, distribution, dot product, embedding, GPU, gradient,
hard pointer, head, key, key axis, layer, layer norm, logits, matrix, negative infinity, one-hot, output projection,
parameter, positional encoding, projection, query, residual stream, retrieval layer, saturating, scale, score matrix,
soft alignment, softmax, token, value, variance, vector, weighted sum, weights, perplexity, cross-entropy, surprisal,
ablation, padding, MLP, Shapley value, bootstrap, top k, top p, Kneser-Ney, flash attention, in-context learning,
pruning, redundancy"""


def test_every_term_that_a_reader_may_ask_for_is_there():
    assert {term.strip() for term in WANTED.replace("\n", " ").split(",")} <= set(TERMS)


@pytest.mark.parametrize("term", TERMS)
def test_a_term_has_one_plain_sentence(term):
    sentence = TERMS[term]
    assert sentence.endswith(".")
    assert not re.search(r"[.!?] ", sentence.replace("1.44 ", ""))
    assert len(sentence.split()) <= 25


def test_the_terms_stand_in_order():
    assert list(TERMS) == sorted(TERMS, key=str.lower)


def test_a_search_finds_the_exact_term_or_whatever_mentions_it():
    assert list(matching("query")) == ["query"]
    assert list(matching(" Query ")) == ["query"]
    assert {"softmax", "causal mask", "saturating"} <= set(matching("softm"))
    assert matching("") == TERMS
    assert matching("zebra") == {}


def test_the_first_mention_of_a_term_is_linked_and_no_other():
    said = linked("A query meets keys. The query wins.")
    assert said == (
        "A [query](learn?part=glossary&term=query) meets [keys](learn?part=glossary&term=key). The query wins."
    )


def test_the_longest_term_wins_and_parts_of_words_do_not():
    assert linked("the attention map") == "the [attention map](learn?part=glossary&term=attention+map)"
    assert linked("monkeys and headings") == "monkeys and headings"


@pytest.mark.parametrize("text", ["`a head`", "[a head](there)", "$head$"])
def test_code_links_and_formulas_stay_as_they_are(text):
    assert linked(text) == text


def test_the_numbers_in_the_sentences_are_those_of_the_model():
    assert f"here {VOCAB_SIZE:,}" in TERMS["vocabulary"]
    for term in ("context", "padding", "positional encoding", "slot", "MLP"):
        assert str(CONTEXT_LEN) in TERMS[term]
    assert f"{1 / math.log(2):.2f} bits" in TERMS["nats"]


def test_the_key_axis_has_both_of_its_meanings():
    assert "columns of an attention map" in TERMS["key axis"]
    assert "width" in TERMS["key axis"]


def test_a_score_is_scaled_and_a_dot_product_is_not_called_one():
    assert "root of the head's width" in TERMS["score"]
    assert "score" not in TERMS["dot product"]
    assert "Dividing dot products" in TERMS["scale"]
    assert "score" not in TERMS["logits"]


def test_the_scale_keeps_the_spread_from_growing_and_promises_no_value():
    assert "does not grow with the width" in TERMS["scale"]
    assert "near 1" not in TERMS["scale"]


def test_the_mlp_reads_padding_where_heads_do_not():
    """The logits move when a padding slot's embedding does: in the MLP only."""
    ids = torch.tensor([[0] * 60 + [1, 5, 6, 7]])
    moved = {}
    for kind in ("mlp", "attention"):
        model = build_model(kind, 10, seed=0)
        with torch.inference_mode():
            before = model(ids)
            model.token_embedding.weight[0] += 1
            moved[kind] = not torch.equal(model(ids), before)
    assert moved == {"mlp": True, "attention": False}
    assert "no head looks there, but the MLP reads them" in TERMS["padding"]
