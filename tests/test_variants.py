"""What a model is, in all its forms: each can be read back, and none says two things."""

import itertools

import pytest

from wordlm.bundled import BUNDLED, EXPORTED, SEEDS, Bundled
from wordlm.checkpoints import open_checkpoint
from wordlm.models import build_variant, variant_of
from wordlm.variants import MLP, Variant

HEADS = [(1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (4, 4), (8, 1), (8, 2), (8, 4), (8, 8), (16, 16), (32, 4), (64, 64)]
VARIANTS = [MLP, *(Variant.with_heads(heads, kv_heads) for heads, kv_heads in HEADS)]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_every_form_of_a_variant_is_read_back_and_builds_that_model(variant):
    assert Variant.parse(variant.choice) == variant
    assert Variant.of_group(variant.group) == variant
    assert Variant.stated(**variant.statement) == variant
    assert variant_of(build_variant(variant, vocab_size=8, seed=0)) == variant


def test_no_two_variants_share_a_form():
    for form in ("choice", "title", "group"):
        assert len({getattr(variant, form) for variant in VARIANTS}) == len(VARIANTS)
    stems = [variant.stem(seed) for variant, seed in itertools.product(VARIANTS, SEEDS)]
    assert len(set(stems)) == len(stems)


def test_the_forms_are_those_that_files_links_and_people_know():
    four, eight = Variant.with_heads(4), Variant.with_heads(8)
    assert (MLP.choice, MLP.title, MLP.stem(11)) == ("MLP", "MLP", "mlp_seed11")
    assert (four.choice, four.title, four.stem(29)) == ("4", "4 heads", "multihead_seed29")
    assert (eight.group, Variant.with_heads(1).title) == ("multihead_h8", "1 head")
    assert (str(MLP), str(eight)) == ("mlp", "multihead with 8 heads")
    shared, usual = Variant.with_heads(8, 2), Variant.with_heads(4, 1)
    assert (shared.choice, shared.title, shared.stem(11)) == ("8kv2", "8 heads, 2 kv", "multihead_h8_kv2_seed11")
    assert (usual.choice, usual.title, usual.group) == ("4kv1", "4 heads, 1 kv", "multihead_kv1")
    assert str(shared) == "multihead with 8 heads, 2 kv"
    assert str(Variant("multihead", 0)) == "multihead with 0 heads"
    assert str(Variant("multihead", None)) == "multihead without a number of heads"


def test_where_each_head_has_its_own_keys_and_values_nothing_is_said_of_them():
    four = Variant.with_heads(4)
    assert four == Variant.with_heads(4, 4) == Variant("multihead", 4) == Variant.parse("4kv4")
    assert four.statement == {"kind": "multihead", "heads": 4}
    assert Variant.with_heads(4, 2).statement == {"kind": "multihead", "heads": 4, "kv_heads": 2}


def test_variants_stand_from_the_mlp_to_the_most_heads():
    for (i, one), (j, other) in itertools.product(enumerate(VARIANTS), repeat=2):
        assert (one < other, one <= other, one > other, one >= other) == (i < j, i <= j, i > j, i >= j)


def test_a_number_of_heads_that_no_model_has_is_refused_when_it_is_built():
    with pytest.raises(ValueError, match="heads must be at least 1"):
        build_variant(Variant.parse("0"))


def test_a_file_need_not_state_the_one_head_of_kind_attention():
    assert Variant.stated("attention", None) == Variant.with_heads(1)
    assert Variant.stated("attention", 7) == Variant("attention", 7) != Variant.with_heads(7)


@pytest.mark.parametrize("heads", ["4", 4.0, True, [4]], ids=repr)
def test_a_file_states_heads_as_whole_numbers_or_is_refused(heads):
    with pytest.raises(ValueError, match=r"^heads must be a whole number, got"):
        Variant.stated("multihead", heads)
    with pytest.raises(ValueError, match=r"^kv_heads must be a whole number, got"):
        Variant.stated("multihead", 4, heads)


@pytest.mark.parametrize(
    "group",
    [
        *("", "multihead_h4", "attention_h1", "mlp_h2", "transformer", "multihead_h", "multihead_h08"),
        *("multihead_kv4", "multihead_h8_kv8", "multihead_kv", "multihead_kv2_h8", "attention_kv1", "mlp_kv1"),
    ],
)
def test_what_is_no_group_is_refused(group):
    with pytest.raises(ValueError, match="is no group of models"):
        Variant.of_group(group)


@pytest.mark.parametrize("choice", ["", "mlp", "four", "3", "own 1", "16kv1", "4kv", "MLPkv1", "kv2"])
def test_a_choice_that_is_not_bundled_is_refused(choice):
    with pytest.raises(ValueError):
        Bundled.nearest(choice, 11)


@pytest.mark.parametrize("variant", BUNDLED, ids=str)
def test_each_bundled_model_is_the_one_that_is_promised(variant, vocab):
    for seed in BUNDLED[variant]:
        metadata, model, _ = open_checkpoint(Bundled(variant, seed).path, vocab)
        assert (variant_of(model), metadata["seed"]) == (variant, seed)


def test_a_seed_that_is_not_bundled_gives_way_to_the_first_one():
    assert Bundled.nearest("8", 29) == Bundled(Variant.with_heads(8), 11)
    assert Bundled.nearest("4", 29).name == "4 heads, seed 29"


def test_what_is_said_to_be_exported_is_there_and_nothing_else():
    paths = {Bundled(variant, SEEDS[0]).onnx_path for variant in EXPORTED}
    assert paths == set(next(iter(paths)).parent.iterdir())
