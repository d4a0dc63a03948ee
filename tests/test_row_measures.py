"""How a head spreads its weights, for rows whose measures are known."""

import math
from dataclasses import replace

import numpy as np
import pytest

from wordlm.inspection import inspect_ids
from wordlm.models import build_model
from wordlm.row_measures import MEASURES, head_measures

# entropy, effective tokens, first token, previous, itself, mean distance
ROWS = [
    ([1.0], (0, 1, 1, 0, 1, 0)),
    ([0.0, 1.0], (0, 1, 0, 0, 1, 0)),
    ([1.0, 0.0], (0, 1, 1, 1, 0, 1)),
    ([0.25] * 4, (math.log(4), 4, 0.25, 0.25, 0.25, 1.5)),
    ([0.5, 0.0, 0.5, 0.0], (math.log(2), 2, 0.5, 0.5, 0, 2)),
    ([0.0, 0.8, 0.0, 0.2], (math.log(5) - 0.8 * math.log(4), 5 / 4**0.8, 0, 0, 0.2, 1.6)),
]


@pytest.mark.parametrize(("row", "expected"), ROWS, ids=str)
def test_a_row_of_known_weights_has_the_measures_of_the_definition(row, expected):
    model = build_model("multihead", seed=3, heads=2)
    seen = inspect_ids(model, range(1, len(row) + 1))
    other = np.eye(len(row))[-1]  # the second head looks at its own token
    weights = seen.weights.copy()
    weights[:, -1] = [row, other]
    table = head_measures(model, replace(seen, weights=weights))
    assert list(table.columns) == ["head", *MEASURES]
    assert table["head"].tolist() == [1, 2]
    assert table.iloc[0, 1:7].tolist() == pytest.approx(expected)
    assert table.iloc[1, 1:7].tolist() == pytest.approx((0, 1, float(len(row) == 1), 0, 1, 0))


def test_the_message_norms_are_those_of_what_each_head_adds_and_all_heads_add_the_whole():
    model = build_model("multihead", seed=3, heads=2)
    seen = inspect_ids(model, [1, 9, 8])
    W_O = model.W_O.weight.detach().numpy()
    added = [W_O[:, :32] @ seen.messages[2, :32], W_O[:, 32:] @ seen.messages[2, 32:]]
    np.testing.assert_allclose(head_measures(model, seen)["message norm"], np.linalg.norm(added, axis=1), rtol=1e-5)
    np.testing.assert_allclose(seen.E[2] + sum(added), seen.contextual[2], atol=1e-6)
