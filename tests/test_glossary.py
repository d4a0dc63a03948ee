"""The glossary, and its links in the texts."""

import math
import re

import pytest

from wordlm.glossary import TERMS, matching
from wordlm.text import CONTEXT_LEN, VOCAB_SIZE
from wordlm.ui.glossary import linked

WANTED = """attention, attention map, causal mask, dimension, distribution, dot product, embedding, GPU, gradient,
hard pointer, head, key, key axis, layer, layer norm, logits, matrix, negative infinity, one-hot, output projection,
parameter, positional encoding, projection, query, residual stream, retrieval layer, saturating, scale, score matrix,
soft alignment, softmax, token, value, variance, vector, weighted sum, weights, perplexity, cross-entropy, surprisal,
ablation, padding"""


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
    for term in ("context", "padding", "positional encoding", "slot"):
        assert str(CONTEXT_LEN) in TERMS[term]
    assert f"{1 / math.log(2):.2f} bits" in TERMS["nats"]
