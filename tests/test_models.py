import math
import threading

import pytest
import torch
from torch.nn import functional as F

from tests.library_layer import library_attention
from wordlm.models import (
    MLPLM,
    CausalAttentionLM,
    MultiHeadAttentionLM,
    build_model,
    build_variant,
    count_parameters,
    head_width,
    parameter_count,
    variant_of,
)
from wordlm.text import BOS, CONTEXT_LEN, PAD
from wordlm.variants import MLP, Variant

# float32 sums of 64 products in another order differ by a few units in the last place.
ROUNDING = 2e-5

HEAD_COUNTS = [1, 2, 4, 8, 16, 64]
SHARED = [(4, 1), (4, 2), (8, 1), (8, 2), (8, 4), (64, 16)]  # heads, kv_heads
ALL = [*((heads, heads) for heads in HEAD_COUNTS), *SHARED]


def attention_model(heads: int, kv_heads: int | None = None, seed: int = 3):
    return build_model("multihead", seed=seed, heads=heads, kv_heads=kv_heads).eval()


def random_ids(lengths=(1, 2, 9, 64), seed: int = 0) -> torch.Tensor:
    """One text per length, left-padded, each starting with BOS."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.full((len(lengths), CONTEXT_LEN), PAD)
    for row, length in enumerate(lengths):
        ids[row, -length:] = torch.randint(4, 4000, (length,), generator=generator)
        ids[row, -length] = BOS
    return ids


def slow_logits(model, ids: torch.Tensor) -> torch.Tensor:
    """The definition, one head, one query and one key at a time, in float64."""
    model = model.double()
    H, G, width = model.heads, model.kv_heads, model.head_width
    out = []
    for row in ids.tolist():
        real = [slot for slot, i in enumerate(row) if i != PAD]
        e = {s: model.token_embedding.weight[row[s]] + model.position_embedding.weight[s] for s in real}
        last = real[-1]
        message = []
        for head in range(H):
            part = slice(head * width, (head + 1) * width)
            read = slice(head // (H // G) * width, (head // (H // G) + 1) * width)
            q = model.W_Q.weight[part] @ e[last]
            exps = {s: math.exp(float(q @ (model.W_K.weight[read] @ e[s])) / math.sqrt(width)) for s in real}
            total = sum(exps.values())
            message.append(sum(exps[s] / total * (model.W_V.weight[read] @ e[s]) for s in real))
        contextual = e[last] + model.W_O.weight @ torch.cat(message)
        out.append(model.vocab_head(torch.relu(model.hidden_layer(contextual))))
    model.float()
    return torch.stack(out)


def test_parameter_counts_are_those_of_the_definition():
    assert count_parameters(build_model("mlp")) == 2_332_832
    assert count_parameters(build_model("attention")) == 1_321_120
    assert {count_parameters(build_model("multihead", heads=h)) for h in HEAD_COUNTS} == {1_321_120}
    # W_K and W_V have 16 rows of 64 instead of 64.
    assert count_parameters(build_model("multihead", heads=4, kv_heads=1)) == 1_321_120 - 2 * 48 * 64


@pytest.mark.parametrize("kind", ["mlp", "attention", "multihead"])
@pytest.mark.parametrize("vocab_size", [7, 4000])
def test_parameters_are_counted_without_a_model_as_they_are_in_one(kind, vocab_size):
    assert parameter_count(kind, vocab_size) == count_parameters(build_model(kind, vocab_size))


@pytest.mark.parametrize(("heads", "kv_heads"), SHARED)
def test_fewer_keys_and_values_are_counted_as_fewer_parameters(heads, kv_heads):
    model = attention_model(heads, kv_heads)
    assert parameter_count("multihead", 4000, heads, kv_heads) == count_parameters(model)
    assert model.W_K.weight.shape == model.W_V.weight.shape == (kv_heads * 64 // heads, 64)
    assert model.W_K.out_features == model.W_V.out_features == kv_heads * 64 // heads


@pytest.mark.parametrize("heads", HEAD_COUNTS)
def test_a_set_of_keys_and_values_for_each_head_is_the_model_without_that_choice_to_the_last_bit(heads):
    ids, targets = random_ids(), torch.tensor([7, 8, 9, 10])
    plain, chosen = (build_model("multihead", seed=11, heads=heads, kv_heads=kv) for kv in (None, heads))
    assert list(plain.state_dict()) == list(chosen.state_dict())
    for model in (plain, chosen):
        F.cross_entropy(model(ids), targets).backward()
    for (name, one), other in zip(plain.named_parameters(), chosen.parameters(), strict=True):
        assert torch.equal(one, other) and torch.equal(one.grad, other.grad), name
    assert torch.equal(plain(ids), chosen(ids))


@pytest.mark.parametrize(("heads", "kv_heads"), SHARED)
def test_sharing_keeps_the_first_rows_of_keys_and_values_and_all_else_of_a_seed(heads, kv_heads):
    whole = build_model("multihead", seed=11, heads=heads).state_dict()
    for name, value in build_model("multihead", seed=11, heads=heads, kv_heads=kv_heads).state_dict().items():
        assert torch.equal(value, whole[name][: len(value)]), name
        assert (value.shape == whole[name].shape) == (name not in ("W_K.weight", "W_V.weight")), name


def grouped_attention(model, ids: torch.Tensor) -> dict[str, torch.Tensor]:
    """What PyTorch makes of heads that share keys and values, with the matrices of the model."""
    E = model.token_embedding(ids) + model.position_embedding.weight
    Q, K, V = (W(E).unflatten(-1, (-1, model.head_width)).transpose(1, 2) for W in (model.W_Q, model.W_K, model.W_V))
    assert K.shape[1] == V.shape[1] == model.kv_heads
    later, pad = torch.ones(64, 64, dtype=torch.bool).triu(1), ids == PAD
    mask = ~later & (pad[:, :, None] == pad[:, None, :])
    messages = F.scaled_dot_product_attention(Q, K, V, mask[:, None], enable_gqa=True).transpose(1, 2).flatten(2)
    contextual = E + model.W_O(messages)
    logits = model.vocab_head(torch.relu(model.hidden_layer(contextual[:, -1])))
    return {"messages": messages, "contextual": contextual, "logits": logits}


@pytest.mark.parametrize(("heads", "kv_heads"), SHARED)
def test_shared_keys_and_values_equal_the_library_s_grouped_attention_values_and_gradients(heads, kv_heads):
    model, ids, targets = attention_model(heads, kv_heads).double(), random_ids(), torch.tensor([7, 8, 9, 10])
    theirs, ours = grouped_attention(model, ids), model.forward_details(ids)
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value, atol=1e-12, rtol=1e-9, msg=name)
    torch.testing.assert_close(model(ids), theirs["logits"], atol=1e-12, rtol=1e-9)
    fast, slow = (
        torch.autograd.grad(F.cross_entropy(logits, targets), list(model.parameters()))
        for logits in (model(ids), theirs["logits"])
    )
    for (name, _), one, other in zip(model.named_parameters(), fast, slow, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-9, msg=name)


@pytest.mark.parametrize("kv_heads", [0, -1, 3, 8])
def test_keys_and_values_that_the_heads_cannot_share_evenly_are_refused(kv_heads):
    with pytest.raises(ValueError, match=f"divide heads=4, got kv_heads={kv_heads}"):
        build_model("multihead", heads=4, kv_heads=kv_heads)


@pytest.mark.parametrize(("d_model", "heads"), [(64, 1), (64, 64), (96, 12), (8, 4)])
def test_the_rule_of_the_head_width_is_what_a_model_does(d_model, heads):
    model = MultiHeadAttentionLM(9, 4, d_model, hidden=3, heads=heads)
    queries = model.forward_details(torch.tensor([[0, 1, 5, 6]]))["Q"]
    assert queries.shape[1:] == (heads, 4, head_width(d_model, heads))


@pytest.mark.parametrize("heads", [0, -1, 7, 65])
def test_the_rule_of_the_head_width_refuses_in_the_words_of_the_model(heads):
    with pytest.raises(ValueError) as of_the_model:
        MultiHeadAttentionLM(9, 4, 64, hidden=3, heads=heads)
    with pytest.raises(ValueError) as of_the_rule:
        head_width(64, heads)
    assert str(of_the_rule.value) == str(of_the_model.value)
    assert f"divide d_model=64, got heads={heads}" in str(of_the_rule.value)


def test_one_seed_gives_every_head_count_the_same_initial_values():
    reference = build_model("attention", seed=11).state_dict()
    for heads in HEAD_COUNTS:
        for name, value in build_model("multihead", seed=11, heads=heads).state_dict().items():
            assert torch.equal(value, reference[name]), name
    other = build_model("attention", seed=29).state_dict()
    assert not torch.equal(other["W_Q.weight"], reference["W_Q.weight"])


@pytest.mark.parametrize("seed", [11, None])
def test_building_leaves_the_process_s_random_state_alone(seed):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    build_model("attention", seed=seed)
    assert torch.equal(torch.rand(3), expected)


def test_without_a_seed_every_model_is_another_one():
    one, other = build_model("attention", 9), build_model("attention", 9)
    assert not torch.equal(one.W_Q.weight, other.W_Q.weight)


@pytest.mark.parametrize("variant", [MLP, Variant.with_heads(1), Variant.with_heads(8, 2)], ids=str)
def test_the_initial_values_are_those_that_pytorch_draws_in_order_after_its_own_manual_seed(variant):
    """So that a model of an earlier version of this project begins with the same values, to the last bit."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        match variant.kind:
            case "mlp":
                plain = MLPLM(9, CONTEXT_LEN, 64, 256)
            case "attention":
                plain = CausalAttentionLM(9, CONTEXT_LEN, 64, 64, 64, 256)
            case "multihead":
                plain = MultiHeadAttentionLM(9, CONTEXT_LEN, heads=variant.heads, kv_heads=variant.kv_heads)
    built = build_variant(variant, 9, 11).state_dict()
    for name, value in plain.state_dict().items():
        assert torch.equal(built[name], value), name


def test_threads_that_build_and_draw_at_once_all_get_the_values_of_their_seeds():
    seeds, together = [11, 29, 47, 101], threading.Barrier(5)
    wanted = {seed: build_model("attention", 500, seed).state_dict() for seed in seeds}
    built, done = [], threading.Event()

    def build(seed):
        together.wait()
        built.extend((seed, build_model("attention", 500, seed)) for _ in range(20))

    def draw():
        together.wait()
        while not done.is_set():
            build_model("attention", 9)
            torch.rand(1000)

    threads = [*(threading.Thread(target=build, args=(seed,)) for seed in seeds), threading.Thread(target=draw)]
    for thread in threads:
        thread.start()
    for thread in threads[:-1]:
        thread.join()
    done.set()
    threads[-1].join()
    assert len(built) == 80
    wrong = [seed for seed, model in built if not torch.equal(model.W_Q.weight, wanted[seed]["W_Q.weight"])]
    assert not wrong


@pytest.mark.parametrize("heads", [0, -4, 3, 128])
def test_head_counts_that_do_not_divide_the_width_are_refused(heads):
    with pytest.raises(ValueError, match=f"divide d_model=64, got heads={heads}"):
        build_model("multihead", heads=heads)


def test_unknown_kinds_and_heads_for_a_kind_without_choice_are_refused():
    with pytest.raises(ValueError, match="mlp, attention or multihead"):
        build_model("transformer")
    for kind in ("mlp", "attention", "transformer"):
        with pytest.raises(ValueError, match='kind "multihead" only'):
            build_model(kind, heads=4)
        with pytest.raises(ValueError, match='kind "multihead" only'):
            build_model(kind, kv_heads=1)


@pytest.mark.parametrize("heads", [None, 1, 2, 4])
def test_a_variant_is_built_as_its_kind_with_its_heads_from_the_seed(heads):
    variant = Variant.with_heads(heads)
    model = build_variant(variant, 9, seed=5)
    assert variant_of(model) == variant
    same = build_model(variant.kind, 9, 5, heads if variant.kind == "multihead" else None)
    assert all(torch.equal(value, same.state_dict()[name]) for name, value in model.state_dict().items())


def test_details_have_the_shapes_of_the_definition():
    details = attention_model(4).forward_details(random_ids((8,)))
    assert {name: tuple(value.shape) for name, value in details.items()} == {
        "E": (1, 64, 64),
        "Q": (1, 4, 64, 16),
        "K": (1, 4, 64, 16),
        "V": (1, 4, 64, 16),
        "scores": (1, 4, 64, 64),
        "weights": (1, 4, 64, 64),
        "messages": (1, 64, 64),
        "contextual": (1, 64, 64),
        "logits_all": (1, 64, 4000),
        "logits": (1, 4000),
    }


def test_heads_that_share_have_the_keys_and_values_of_their_group_in_the_details():
    details = attention_model(8, 2).forward_details(random_ids((8,)))
    for name in ("Q", "K", "V"):
        assert details[name].shape == (1, 8, 64, 8)
    for name in ("K", "V"):
        for head in range(8):
            assert torch.equal(details[name][:, head], details[name][:, head // 4 * 4]), (name, head)
        assert not torch.equal(details[name][:, 3], details[name][:, 4])


@pytest.mark.parametrize(("heads", "kv_heads"), ALL)
def test_forward_equals_details_and_a_slow_loop_over_the_definition(heads, kv_heads):
    model, ids = attention_model(heads, kv_heads), random_ids()
    with torch.no_grad():
        fast, plain = model(ids), model.forward_details(ids)["logits"]
        torch.testing.assert_close(fast, plain, atol=ROUNDING, rtol=ROUNDING)
        torch.testing.assert_close(plain.double(), slow_logits(model, ids), atol=ROUNDING, rtol=ROUNDING)


@pytest.mark.parametrize(
    "build",
    [
        lambda: CausalAttentionLM(11, 5, d_model=6, d_k=4, d_v=3, hidden=7, pad_id=2),
        lambda: MultiHeadAttentionLM(11, 5, d_model=6, hidden=7, heads=3, pad_id=2),
        lambda: MultiHeadAttentionLM(11, 5, d_model=12, hidden=7, heads=6, pad_id=2, kv_heads=3),
    ],
    ids=["1 head", "3 heads", "6 heads, 3 kv"],
)
def test_no_two_sizes_of_a_model_need_be_equal_and_any_id_may_be_padding(build):
    model = build()
    ids = torch.tensor([[2, 2, 1, 9, 3], [1, 0, 4, 5, 6], [1, 9, 2, 5, 2]])  # no prompt ends with padding
    with torch.no_grad():
        details, fast = model.forward_details(ids), model(ids)
        torch.testing.assert_close(fast, details["logits"], atol=ROUNDING, rtol=ROUNDING)
        assert (details["weights"][0, :, -1, :2] == 0).all() and (details["weights"][0, :, -1, 2:] > 0).all()
        assert (details["weights"][1, :, -1] > 0).all()
        assert ((details["weights"][2, :, -1] > 0) == torch.tensor([False, False, True, False, True])).all()
        model.token_embedding.weight[2] += 100
        torch.testing.assert_close(model(ids[:2]), fast[:2], atol=0, rtol=0)


@pytest.mark.parametrize(("heads", "kv_heads"), ALL)
def test_gradients_of_forward_equal_those_of_the_plain_form(heads, kv_heads):
    model, ids = attention_model(heads, kv_heads).double(), random_ids()
    targets = torch.tensor([7, 8, 9, 10])
    gradients = []
    for logits in (model(ids), model.forward_details(ids)["logits"]):
        loss = F.cross_entropy(logits, targets)
        gradients.append(torch.autograd.grad(loss, list(model.parameters())))
    for (name, _), fast, plain in zip(model.named_parameters(), *gradients, strict=True):
        torch.testing.assert_close(fast, plain, atol=1e-12, rtol=1e-9, msg=name)


@pytest.mark.parametrize(("heads", "kv_heads"), ALL)
def test_attention_equals_the_library_s_layer_carrying_the_same_matrices(heads, kv_heads):
    model, ids = attention_model(heads, kv_heads), random_ids((64, 64))
    with torch.no_grad():
        details = model.forward_details(ids)
        out, weights = library_attention(model, details["E"])
    torch.testing.assert_close(details["weights"], weights, atol=ROUNDING, rtol=ROUNDING)
    torch.testing.assert_close(details["contextual"], details["E"] + out, atol=ROUNDING, rtol=ROUNDING)


@pytest.mark.parametrize("heads", [1, 4])
def test_weights_are_exactly_zero_where_masked_and_each_row_sums_to_one(heads):
    ids = random_ids()
    weights = attention_model(heads).forward_details(ids)["weights"]
    real = ids != PAD
    assert torch.isfinite(weights).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]), atol=1e-6, rtol=0)
    for text in range(len(ids)):
        for query in range(CONTEXT_LEN):
            for key in range(CONTEXT_LEN):
                allowed = key <= query and real[text, key] == real[text, query]
                assert (weights[text, :, query, key] != 0).all() == allowed


def test_a_later_word_never_changes_earlier_logits():
    model, ids = attention_model(4), random_ids((20,))
    changed = ids.clone()
    changed[0, -1] = 17
    before, after = (model.forward_details(i)["logits_all"][0] for i in (ids, changed))
    assert torch.equal(before[:-1], after[:-1])
    assert not torch.equal(before[-1], after[-1])


def test_padding_never_changes_a_prediction():
    model, ids = attention_model(4), random_ids((20,))
    with torch.no_grad():
        before = model(ids)
        model.token_embedding.weight[PAD] += 100
        torch.testing.assert_close(model(ids), before, atol=0, rtol=0)


def test_one_of_many_heads_is_the_one_head_model():
    one = build_model("attention", seed=11)
    assert type(one) is CausalAttentionLM
    many = build_model("multihead", seed=11, heads=1)
    ids = random_ids()
    assert torch.equal(one(ids), many(ids))
    for name, value in one.forward_details(ids).items():
        assert torch.equal(value, many.forward_details(ids)[name]), name


def test_a_text_s_logits_do_not_depend_on_its_batch():
    model, ids = attention_model(4), random_ids()
    together = model(ids)
    for row in range(len(ids)):
        torch.testing.assert_close(model(ids[row : row + 1])[0], together[row], atol=ROUNDING, rtol=ROUNDING)


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("off", [(0,), (1, 3), (0, 1, 2, 3)])
def test_a_head_switched_off_gives_zeros_or_its_mean_message(off, kv_heads):
    model, ids = attention_model(4, kv_heads), random_ids()
    heads_on = torch.tensor([head not in off for head in range(4)])
    mean = torch.randn(4, 16, generator=torch.Generator().manual_seed(1))
    for off_message in (None, mean):
        details = model.forward_details(ids, heads_on=heads_on, off_message=off_message)
        fast = model(ids, heads_on=heads_on, off_message=off_message)
        torch.testing.assert_close(fast, details["logits"], atol=ROUNDING, rtol=ROUNDING)
        per_head = details["messages"].view(len(ids), CONTEXT_LEN, 4, 16)
        whole = model.forward_details(ids)["messages"].view_as(per_head)
        for head in range(4):
            if head not in off:
                assert torch.equal(per_head[:, :, head], whole[:, :, head])
            else:
                expected = torch.zeros(16) if off_message is None else mean[head]
                assert (per_head[:, :, head] == expected).all()
    assert torch.equal(model(ids), model(ids, heads_on=torch.ones(4, dtype=torch.bool)))


@pytest.mark.parametrize("number", [1, 3, 5])
def test_a_mask_over_another_number_of_heads_is_refused(number):
    with pytest.raises(ValueError, match=rf"one entry per head: 4, got \({number},\)"):
        attention_model(4)(random_ids((8, 9)), heads_on=torch.ones(number, dtype=torch.bool))


def test_the_mlp_has_no_heads_and_reads_every_slot():
    model, ids = build_model("mlp", seed=1), random_ids((64, 9))
    with torch.no_grad():
        beside = torch.stack([torch.cat([model.token_embedding.weight[i] for i in row]) for row in ids])
        hidden = (beside @ model.hidden_layer.weight.T + model.hidden_layer.bias).clamp(min=0)
        expected = hidden @ model.vocab_head.weight.T + model.vocab_head.bias
        torch.testing.assert_close(model(ids), expected, atol=ROUNDING, rtol=ROUNDING)
    assert set(model.forward_details(ids)) == {"E", "logits"}
    assert torch.equal(model(ids), model.forward_details(ids)["logits"])
    changed = ids.clone()
    changed[0, 0] = 9
    assert not torch.equal(model(ids), model(changed))


def test_multihead_derives_from_the_one_head_model_with_its_own_defaults():
    model = MultiHeadAttentionLM(4000, 64)
    assert isinstance(model, CausalAttentionLM)
    assert (model.heads, model.head_width) == (4, 16)
