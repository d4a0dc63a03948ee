"""What a model is, in all its forms: each can be read back, and none says two things."""

import itertools

import pytest

from wordlm.bundled import BUNDLED, EXPORTED, SEEDS, Bundled
from wordlm.checkpoints import open_checkpoint
from wordlm.models import build_variant, variant_of
from wordlm.variants import MLP, Variant

VARIANTS = [MLP, *(Variant.with_heads(heads) for heads in (1, 2, 4, 8, 16, 32, 64))]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_every_form_of_a_variant_is_read_back_and_builds_that_model(variant):
    assert Variant.parse(variant.choice) == variant
    assert Variant.of_group(variant.group) == variant
    assert Variant.stated(variant.kind, variant.heads) == variant
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
    assert str(Variant("multihead", 0)) == "multihead with 0 heads"
    assert str(Variant("multihead", None)) == "multihead without a number of heads"


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
def test_a_file_states_heads_as_a_whole_number_or_is_refused(heads):
    with pytest.raises(ValueError, match="heads must be a whole number, got"):
        Variant.stated("multihead", heads)


@pytest.mark.parametrize(
    "group", ["", "multihead_h4", "attention_h1", "mlp_h2", "transformer", "multihead_h", "multihead_h08"]
)
def test_what_is_no_group_is_refused(group):
    with pytest.raises(ValueError, match="is no group of models"):
        Variant.of_group(group)


@pytest.mark.parametrize("choice", ["", "mlp", "four", "3", "own 1"])
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
