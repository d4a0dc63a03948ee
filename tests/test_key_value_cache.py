"""The cache of keys and values is exact: held to the plain engine word by word."""

import numpy as np
import pytest
import torch

from wordlm.bundled import BUNDLED, Bundled
from wordlm.checkpoints import open_checkpoint
from wordlm.course import cache_bytes
from wordlm.engines import CachedTorchEngine, TorchEngine
from wordlm.generation import Decoding, generate
from wordlm.key_value_cache import KeyValueCache
from wordlm.models import CausalAttentionLM, build_model, build_variant
from wordlm.text import BOS, CONTEXT_LEN, EOS, PAD, left_pad, tokenize
from wordlm.variants import Variant

# float32 logits of about 20; a key is added up in another order.
ROUNDING = 1e-4
WORDS = 500

SHARED = [Variant.with_heads(*heads) for heads in ((4, 1), (4, 2), (8, 1), (8, 2), (8, 4))]


EVERY = [(variant, seed) for variant, seeds in BUNDLED.items() for seed in seeds]
EVERY += [(variant, None) for variant in SHARED if variant not in BUNDLED]


class Endless:
    """An engine whose stories do not end; keeps the logits of each call."""

    name, device, threads = "endless", "cpu", 1

    def __init__(self, engine) -> None:
        self.engine, self.seen = engine, []

    def logits(self, context):
        logits = self.engine.logits(context).copy()
        logits[EOS] = -20
        self.seen.append(logits)
        return logits


@pytest.mark.parametrize(
    "decoding",
    [Decoding(WORDS), Decoding(WORDS, temperature=1.0, seed=5)],
    ids=["greedy", "drawn"],
)
@pytest.mark.parametrize(("variant", "seed"), EVERY, ids=str)
def test_stories_of_500_words_are_the_same_with_and_without_the_cache(variant, seed, decoding, vocab):
    """Of a variant that is not bundled a fresh model writes: its words are as good for this."""
    model = build_variant(variant, seed=3).eval() if seed is None else open_checkpoint(Bundled(variant, seed).path)[1]
    start = [BOS, *vocab.encode(tokenize("one day a big bear saw a small bird"))]
    plain, cached = Endless(TorchEngine(model)), Endless(CachedTorchEngine(model))
    first, second = generate(plain, start, decoding), generate(cached, start, decoding)
    assert len(first.new_ids) == WORDS
    assert second.new_ids == first.new_ids
    np.testing.assert_allclose(np.stack(cached.seen), np.stack(plain.seen), atol=ROUNDING, rtol=0)


@pytest.mark.parametrize("variant", SHARED, ids=str)
def test_the_cache_is_the_definition_in_double_precision(variant):
    """Also while the text is shorter than the context, when it is just as long, and when words fall out."""
    model = build_variant(variant, 50, seed=7).double().eval()
    ids = [BOS, *np.random.default_rng(0).integers(4, 50, 2 * CONTEXT_LEN).tolist()]
    cache = KeyValueCache(model)
    for end in range(1, len(ids) + 1):
        context = torch.from_numpy(left_pad(ids[max(0, end - CONTEXT_LEN) : end]))
        with torch.inference_mode():
            expected = model.forward_details(context)["logits"][0]
        torch.testing.assert_close(cache.logits(context[0]), expected, atol=1e-11, rtol=1e-9)


def test_only_the_new_word_is_projected_while_a_text_goes_on(monkeypatch):
    model, rows = build_model("multihead", 50, seed=1, kv_heads=2).eval(), []
    cache = KeyValueCache(model)
    plain = cache._project
    monkeypatch.setattr(cache, "_project", lambda e: rows.append(len(e)) or plain(e))
    ids = [BOS, 5, 6, 7, 8]
    for end in range(1, 6):
        cache.logits(torch.from_numpy(left_pad(ids[:end]))[0])
    assert rows == [CONTEXT_LEN, 1, 1, 1, 1]


def test_another_text_is_read_anew_and_the_same_one_twice_gives_the_same():
    model = build_model("multihead", 50, seed=1, kv_heads=2).eval()
    cached, plain = CachedTorchEngine(model), TorchEngine(model)
    for ids in ([BOS, 5, 6], [BOS, 9], [BOS, 9], [BOS, 9, 7], [BOS, 8, 7, 4], [7] * 64, [7] * 64):
        context = left_pad(ids)
        np.testing.assert_allclose(cached.logits(context), plain.logits(context), atol=ROUNDING, rtol=0)


@pytest.mark.parametrize("place", range(CONTEXT_LEN - 1))
def test_a_text_that_moved_on_but_for_one_word_anywhere_is_read_anew(place):
    model = build_model("multihead", 50, seed=1).eval()
    ids = torch.from_numpy(np.random.default_rng(0).integers(4, 49, CONTEXT_LEN + 1))
    cache, other = KeyValueCache(model), ids[1:].clone()
    cache.logits(ids[:-1])
    other[place] = 49
    expected = model(other[None])[0].detach()
    torch.testing.assert_close(cache.logits(other), expected, atol=ROUNDING, rtol=0)


def test_a_caller_that_writes_over_its_context_is_not_misread():
    model, context = build_model("multihead", 50, seed=1).eval(), np.full((1, CONTEXT_LEN), 7)
    cached, plain = CachedTorchEngine(model), TorchEngine(model)
    cached.logits(context)
    context[:] = 9
    np.testing.assert_allclose(cached.logits(context), plain.logits(context), atol=ROUNDING, rtol=0)


@pytest.mark.parametrize(("d_k", "d_v"), [(4, 6), (6, 4)])
def test_keys_and_values_may_be_of_different_widths_and_any_id_may_be_padding(d_k, d_v):
    model = CausalAttentionLM(11, 5, d_model=6, d_k=d_k, d_v=d_v, hidden=7, pad_id=2).double()
    cache = KeyValueCache(model)
    for ids in ([2, 2, 2, 1, 9], [2, 2, 1, 9, 3], [2, 1, 9, 3, 4], [1, 9, 3, 4, 4], [9, 3, 4, 4, 8]):
        ids = torch.tensor(ids)
        torch.testing.assert_close(cache.logits(ids), model(ids[None])[0].detach())


@pytest.mark.parametrize("variant", [Variant.with_heads(1), *map(Variant.with_heads, (4, 8)), *SHARED], ids=str)
def test_the_cache_holds_a_key_and_a_value_a_word_for_each_set_that_heads_share(variant):
    cache = KeyValueCache(build_variant(variant, 50, seed=1))
    assert cache.bytes_held == 0
    cache.logits(torch.from_numpy(left_pad([BOS]))[0])
    width = 64 // variant.heads
    assert cache.bytes_held == CONTEXT_LEN * 2 * variant.kv_heads * width * 4
    assert cache.bytes_held == cache_bytes(CONTEXT_LEN, variant.kv_heads, width, 4, 1)


def test_a_model_without_keys_and_values_is_run_as_it_is():
    model, context = build_model("mlp", 50, seed=1).eval(), left_pad([BOS, 5])
    engine = CachedTorchEngine(model)
    assert engine.cache is None
    np.testing.assert_array_equal(engine.logits(context), TorchEngine(model).logits(context))


def test_padding_never_changes_what_the_cache_predicts():
    model, ids = build_model("multihead", 50, seed=1, kv_heads=1).eval(), torch.from_numpy(left_pad([BOS, 5, 6]))[0]
    before = KeyValueCache(model).logits(ids).clone()
    with torch.no_grad():
        model.token_embedding.weight[PAD] += 100
    torch.testing.assert_close(KeyValueCache(model).logits(ids), before, atol=0, rtol=0)
