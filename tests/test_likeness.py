import itertools
import math

import numpy as np
import pytest
import torch

from wordlm.likeness import best_matching, head_distances, head_likeness, jensen_shannon
from wordlm.models import build_model


def slow_distance(p, q):
    def kl(a, b):
        return sum(x * math.log2(x / y) for x, y in zip(a, b, strict=True) if x > 0)

    middle = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
    return math.sqrt((kl(p, middle) + kl(q, middle)) / 2)


def test_the_distance_equals_its_definition():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(6), 2)
        p[0], q[1] = 0, 0
        p, q = p / p.sum(), q / q.sum()
        assert jensen_shannon(p, q) == pytest.approx(slow_distance(p, q), abs=1e-12)


def test_equal_rows_are_at_0_and_rows_without_overlap_at_1():
    p, q = np.array([0.5, 0.5, 0, 0]), np.array([0, 0, 0.2, 0.8])
    assert jensen_shannon(p, p) == 0
    assert jensen_shannon(p, q) == pytest.approx(1)
    np.testing.assert_allclose(head_distances(np.array([p, q, p])), [[0, 1, 0], [1, 0, 1], [0, 1, 0]], atol=1e-12)


def permuted(model, order):
    """The same model with its heads in another order: every head's rows of Q, K, V and columns of O move along."""
    other = build_model("multihead", seed=0, heads=model.heads)
    other.load_state_dict(model.state_dict())
    rows = torch.cat([torch.arange(16) + 16 * head for head in order])
    with torch.no_grad():
        for layer in (other.W_Q, other.W_K, other.W_V):
            layer.weight.copy_(layer.weight[rows])
        other.W_O.weight.copy_(other.W_O.weight[:, rows])
    return other.eval()


def test_heads_in_another_order_are_found_again():
    model = build_model("multihead", seed=5).eval()
    with torch.no_grad():
        model.W_Q.weight *= 6  # fresh heads are nearly alike; this makes each look its own way
    order = [2, 0, 3, 1]
    texts = [[10, 20, 30, 40, 50], [60, 70, 60, 70]]
    likeness = head_likeness(model, permuted(model, order), texts)
    assert best_matching(likeness) == [order.index(head) for head in range(4)]
    np.testing.assert_allclose(likeness[range(4), best_matching(likeness)], 1, atol=1e-6)


def test_matching_takes_the_best_total_not_the_best_first():
    assert best_matching(np.array([[0.9, 0.8], [0.85, 0.1]])) == [1, 0]


def test_the_matching_is_that_of_trying_every_pairing():
    for likeness in np.random.default_rng(0).random((10, 6, 6)):
        pairings = itertools.permutations(range(6))
        assert best_matching(likeness) == list(max(pairings, key=lambda columns: likeness[range(6), columns].sum()))


def test_sixteen_heads_are_matched_too():
    order = np.random.default_rng(0).permutation(16)
    assert best_matching(np.eye(16)[order]) == order.tolist()
