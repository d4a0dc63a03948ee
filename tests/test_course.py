"""The course's calculations, held to values made by hand and to slow loops."""

import math
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import torch
from torch import nn

from wordlm import course
from wordlm.files import REPOSITORY
from wordlm.models import CausalAttentionLM, MultiHeadAttentionLM, build_model, count_parameters
from wordlm.quiz import questions
from wordlm.text import left_pad


def test_two_equal_wishes_share_one_softmax_and_two_heads_do_not():
    rows = course.two_wishes(4, 4)
    e4 = math.exp(4)
    assert rows.loc["one head", "cat"] == pytest.approx(e4 / (2 * e4 + 3))
    assert rows.loc["one head", "fish"] == pytest.approx(e4 / (2 * e4 + 3))
    assert rows.loc["two heads, head 1", "cat"] == pytest.approx(e4 / (e4 + 4))
    assert rows.loc["two heads, head 2", "fish"] == pytest.approx(e4 / (e4 + 4))
    assert rows.sum(axis=1).tolist() == pytest.approx([1, 1, 1])


@pytest.mark.parametrize(("width", "heads", "slots"), [(512, 8, 64), (64, 1, 64), (96, 12, 10)])
def test_the_shapes_are_those_of_a_real_block(width, heads, slots):
    model = MultiHeadAttentionLM(9, slots, width, hidden=1, heads=heads)
    with torch.inference_mode():
        seen = model.forward_details(torch.ones(1, slots, dtype=torch.int64))
    table = course.split_shapes(width, heads, slots)
    real = [str(tuple(seen[name].shape)) for name in ("E", "Q", "weights", "messages", "contextual")]
    assert table["shape"].tolist() == real
    assert [len(axes.split(", ")) for axes in table["axes"]] == [len(seen[n].shape) for n in ("E", "Q", "weights")] + [
        3,
        3,
    ]


def test_a_width_that_does_not_divide_is_refused_in_the_words_of_the_model():
    for calculate in (course.split_shapes, course.doubling_table):
        with pytest.raises(ValueError, match="divide d_model=64, got heads=7"):
            calculate(64, 7)


def test_no_calculation_of_the_course_builds_a_model(monkeypatch):
    """At their largest settings; a model of width 8192 alone would be 1 GB."""

    def refuse(*args, **kwargs):
        raise AssertionError("a module was built")

    monkeypatch.setattr(nn.Module, "__init__", refuse)
    course.cost_table(131_072, 8192, 64, 8, 4, 96)
    course.split_shapes(1024, 16)
    course.growth_table(1024)
    course.doubling_table(1024, 16)
    course.parameters_with_full_width(16)
    for seed in range(3):
        questions(seed)


def test_random_dot_products_are_drawn_in_little_memory_at_the_widest():
    tracemalloc.start()
    course.score_spread(max(course.WIDTHS), True)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 100e6


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("width", [1, 4, 64])
def test_random_dot_products_are_like_those_of_random_queries_and_keys(width, scaled):
    generator = torch.Generator().manual_seed(3)
    queries = torch.randn(20_000, 1, width, generator=generator)
    dots = (queries * torch.randn(20_000, 8, width, generator=generator)).sum(-1)
    scores = dots / math.sqrt(width) if scaled else dots
    largest = scores.softmax(-1).amax(-1)
    found = course.score_spread(width, scaled, trials=20_000)
    # 20,000 draws of each: both means lie within about 0.01 of the truth.
    assert found["spread"] == pytest.approx(scores.std().item(), rel=0.02)
    assert found["largest"] == pytest.approx(largest.mean().item(), abs=0.01)
    assert found["passes"] == pytest.approx((largest * (1 - largest)).mean().item(), abs=0.005)


def test_what_passes_a_softmax_is_never_more_than_a_quarter():
    weights = np.linspace(0, 1, 1001)
    assert (weights * (1 - weights)).max() == course.MOST_THAT_PASSES == 0.25
    assert all(course.score_spread(w, on)["passes"] <= 0.25 for w in course.WIDTHS for on in (True, False))


def test_the_spread_of_scores_does_not_grow_with_the_width_and_that_of_dot_products_does():
    table = course.spread_table()
    assert table["scores, scaled"].tolist() == pytest.approx([1] * len(table), abs=0.05)
    assert table["dot products"].tolist() == pytest.approx(np.sqrt(table["width"]).tolist(), rel=0.05)


@pytest.mark.parametrize(("width", "heads"), [(64, 4), (96, 3)])
def test_twice_the_width_has_the_heads_and_parameters_of_real_blocks(width, heads):
    table = course.doubling_table(width, heads)
    for row, (wide, count) in enumerate([(width, heads), (2 * width, 2 * heads), (2 * width, heads)]):
        model = MultiHeadAttentionLM(9, 4, wide, hidden=1, heads=count)
        real = sum(W.weight.numel() for W in (model.W_Q, model.W_K, model.W_V, model.W_O))
        assert table.iloc[row, 1:].tolist() == [wide, count, model.head_width, real]


@pytest.mark.parametrize("heads", [1, 2, 16])
def test_only_the_attention_matrices_grow_when_each_head_keeps_the_full_width(heads):
    """Built as such: one head as wide as all heads together has as many parameters."""
    model = CausalAttentionLM(4000, 64, 64, d_k=64 * heads, d_v=64 * heads, hidden=256)
    assert course.parameters_with_full_width(heads) == count_parameters(model)
    assert course.parameters_with_full_width(16) == 1_566_880


@pytest.mark.parametrize("heads", [1, 2, 4, 8])
def test_parameters_are_counted_as_in_real_matrices(heads):
    model = MultiHeadAttentionLM(10, 4, d_model=64, hidden=8, heads=heads)
    real = sum(W.weight.numel() for W in (model.W_Q, model.W_K, model.W_V, model.W_O))
    table = course.growth_table(64).set_index("heads")
    assert table.loc[heads, "parameters if shared out"] == real == 4 * 64 * 64
    kept = sum(layer.weight.numel() for layer in [nn.Linear(64, heads * 64, bias=False)] * 3)
    kept += nn.Linear(heads * 64, 64, bias=False).weight.numel()
    assert table.loc[heads, "parameters if each head keeps it all"] == kept


def test_a_slice_is_a_projection_with_one_hot_rows():
    x = np.array([1.0, 2.0, -1.0, 0.5])
    eye = np.eye(4)
    table = course.two_heads_from(x, eye[:2], eye[2:])
    assert table.loc["slice, head 1"].tolist() == table.loc["projection, head 1"].tolist() == [1.0, 2.0]
    assert table.loc["slice, head 2"].tolist() == table.loc["projection, head 2"].tolist() == [-1.0, 0.5]
    mixed = course.two_heads_from(x, np.array([[1, 0, 0, 1], [0, 1, 1, 0.0]]), eye[2:])
    assert mixed.loc["projection, head 1"].tolist() == [1.5, 1.0]


def test_swapping_two_queries_swaps_the_patterns():
    before, after = course.trio_weights(course.TRIO_QUERIES), course.trio_weights(course.TRIO_QUERIES[::-1])
    assert before.loc["head 1"].tolist() == after.loc["head 2"].tolist()
    assert before.loc["head 2"].tolist() == after.loc["head 1"].tolist()
    assert before.loc["head 1"].tolist() != before.loc["head 2"].tolist()
    e = [math.exp(score / math.sqrt(2)) for score in (4, 1, 0)]
    assert before.loc["head 1"].tolist() == pytest.approx([x / sum(e) for x in e])


@pytest.mark.parametrize("width", [1, 16, 256])
def test_scores_spread_by_the_root_of_the_width_unless_scaled(width):
    # 16,000 draws: the standard deviation is met within 2 %.
    assert course.score_spread(width, False)["spread"] == pytest.approx(math.sqrt(width), rel=0.03)
    assert course.score_spread(width, True)["spread"] == pytest.approx(1, rel=0.03)


def test_without_the_scale_a_wide_head_saturates():
    without, scaled = course.score_spread(256, False), course.score_spread(256, True)
    assert without["largest"] > 0.9 > 0.5 > scaled["largest"]
    assert without["passes"] < scaled["passes"] / 2


def test_minus_infinity_keeps_rows_at_one_and_zeros_afterwards_do_not():
    scores = np.array([[1.0, 2.0, 0.5], [0.5, 1.0, 2.0], [1.0, 0.0, 1.5]])
    before = course.masked_rows(scores, "minus infinity before")
    assert before.sum(1).tolist() == pytest.approx([1, 1, 1])
    assert before[np.triu_indices(3, 1)].tolist() == [0, 0, 0]
    after = course.masked_rows(scores, "zero after")
    e = np.exp(scores)
    assert after[0].tolist() == pytest.approx([e[0, 0] / e[0].sum(), 0, 0])
    assert course.masked_rows(scores, "none")[0, 1] > 0


@pytest.mark.parametrize("name", ["attention_seed11", "multihead_seed11", "multihead_h8_seed11"])
def test_the_built_in_layer_agrees_and_shows_only_the_average(bundled, name):
    model = bundled(name)
    ids = torch.from_numpy(left_pad([1, 20, 30, 40]))
    difference, averaged = course.built_in_layer(model, ids)
    assert difference < 1e-4
    with torch.inference_mode():
        weights = model.forward_details(ids)["weights"]
    torch.testing.assert_close(averaged, weights.mean(1), atol=1e-6, rtol=0)
    shown = weights[0, :, -4:, -4:].numpy()
    most, of_mean = course.hidden_by_the_average(shown)
    assert (most, of_mean) == (shown[:, -1].max(), pytest.approx(shown[:, -1].mean(0).max()))


def test_without_the_output_projection_a_head_reaches_its_own_slice_only(bundled):
    table = course.reach_of_messages(bundled("multihead_seed11"))
    assert table["with it"].tolist() == [64] * 4
    assert table["without it"].tolist() == [16] * 4


def test_even_weights_score_what_even_weights_should():
    model = build_model("multihead", seed=0)
    with torch.no_grad():
        model.W_Q.weight.zero_()
    found = course.induction_test(model, length=6, sequences=2)
    assert found.scores.tolist() == pytest.approx([found.even] * 4, abs=1e-6)
    assert found.even == pytest.approx(sum(1 / n for n in range(8, 14)) / 6)


def test_the_bundled_one_block_models_have_no_induction_head(bundled):
    for name in ("attention_seed11", "multihead_seed11"):
        found = course.induction_test(bundled(name))
        assert found.scores.max() < 2 * found.even
        assert found.second > 0.9 * found.first


def test_the_calculator_gives_the_values_made_by_hand():
    # 4096² × 32 × 2 bytes × 32 layers = 32 GiB; 2 × 4096 × 32 × 128 × 2 bytes × 32 layers = 2 GiB.
    table = course.cost_table(4096, 4096, 32, 8, 2, 32).set_index("sets of keys and values")
    assert table["scores of all layers, MiB"].tolist() == [32768.0] * 3
    assert table["cache, MiB"].to_dict() == {32: 2048.0, 8: 512.0, 1: 64.0}
    # Two products of n² × d multiplications and as many additions, a layer.
    assert course.attention_operations(10, 6, 2) == 2 * (2 * 10 * 10 * 6 * 2)


def test_the_steps_of_a_message_are_those_made_by_hand():
    steps = course.message_steps()
    assert steps["dot product"].tolist() == [4.0, 1.0, 0.0]
    assert steps["score"].tolist() == pytest.approx([4 / math.sqrt(2), 1 / math.sqrt(2), 0])
    e = [math.exp(score / math.sqrt(2)) for score in (4, 1, 0)]
    first, second, third = (x / sum(e) for x in e)
    # The values are (1, 0), (0, 1) and (1, 1).
    assert course.message_of_steps().tolist() == pytest.approx([first + third, second + third])
    assert steps["weight × value"].iloc[0] == f"({first:.3g}, 0)"


def test_one_way_to_share_is_listed_once():
    assert list(course.cost_table(64, 64, 4, 1, 2, 1)["way"]) == ["multi-head", "multi-query"]
    assert list(course.cost_table(64, 64, 4, 4, 2, 1)["way"]) == ["multi-head", "multi-query"]
    assert list(course.cost_table(64, 64, 1, 1, 2, 1)["way"]) == ["multi-head"]


def test_the_program_on_the_page_runs_and_prints_what_the_page_shows(bundled):
    ids = [1, 20, 30, 40]
    program = course.built_in_program("multihead_seed11.npz", ids)
    done = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    difference, row = done.stdout.splitlines()
    assert float(difference.removeprefix("largest difference: ")) < 1e-4
    averaged = course.built_in_layer(bundled("multihead_seed11"), torch.from_numpy(left_pad(ids)))[1]
    assert row == f"last row, averaged: {[round(w, 3) for w in averaged[0, -1, -4:].tolist()]}"


def test_groups_that_do_not_divide_the_heads_are_refused():
    with pytest.raises(ValueError, match="groups must divide heads=4, got groups=8"):
        course.cost_table(64, 64, 4, 8, 2, 1)
