"""The squares as a file: `wordlm/ui/browser/pictures/squares.py`, its colours against those of `heads.js`."""

import re
from dataclasses import replace
from typing import get_args
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.node import run_tests, write_plain_json
from wordlm.text import Vocab, encode_prompt
from wordlm.ui.browser.pictures.heads import Look, Pane, panes_of
from wordlm.ui.browser.pictures.squares import SCALES, colour, squares_svg
from wordlm.ui.drawing.charts import Scale

SVG = "{http://www.w3.org/2000/svg}"
LOOK = Look(query=2, head=1, key=1, form="cells", scale="absolute", first="shown")


def drawn(weights, panes, look=LOOK, text="a dog", vocab=None) -> ElementTree.Element:
    prompt = encode_prompt(text, vocab or Vocab(("<PAD>", "<BOS>", "<EOS>", "<UNK>", "a", "dog")))
    return ElementTree.fromstring(squares_svg("Where heads look", prompt, weights, panes, look))


def triangle(*rows: list[float]) -> np.ndarray:
    square = np.zeros((len(rows), len(rows)))
    for place, row in enumerate(rows):
        square[place, : len(row)] = row
    return square


def cells(svg: ElementTree.Element) -> list[dict[tuple[int, int], tuple[str, float]]]:
    """Return each square's coloured cells: (query, key) to hue and opacity."""
    found = []
    for group in svg.iter(f"{SVG}g"):
        if "scale" in group.get("transform", ""):
            found.append({})
            for path in group:
                for key, query in re.findall(r"M(\d+) (\d+)", path.get("d")):
                    found[-1][int(query), int(key)] = path.get("fill"), float(path.get("fill-opacity"))
    return found


def words(svg: ElementTree.Element) -> list[str]:
    return [text.text for text in svg.iter(f"{SVG}text")]


def test_every_colour_is_that_of_the_picture_on_the_screen(tmp_path):
    random = np.random.default_rng(9)
    weights = [0.0, 1.0, 1e-4, 1e-6, 0.25, *random.random(200), *(random.random(200) ** 8)]
    cases = [
        [weight, keys, "#0072B2", scale, largest, None, colour(weight, keys, "#0072B2", scale, largest)]
        for weight in weights
        for scale in get_args(Scale)
        for keys, largest in ((1, 1.0), (7, 0.6), (64, 0.9))
    ]
    cases += [
        [weight, 9, "#0072B2", scale, 0.8, "#D55E00", colour(weight, 9, "#0072B2", scale, 0.8, "#D55E00")]
        for weight in (*weights, *(-weight for weight in weights))
        for scale in get_args(Scale)
    ]
    assert set(SCALES) == set(get_args(Scale))
    write_plain_json(tmp_path / "colours.json", {"cases": cases, "scales": SCALES})
    run_tests("heads.test.js", tmp_path)


def test_each_weight_stands_in_its_row_and_column_in_its_head_s_hue():
    weights = np.stack([triangle([1.0], [0.25, 0.75], [0.5, 0.125, 0.375]), triangle([1.0], [1.0, 0.0], [0, 0, 1])])
    first, second = cells(drawn(weights, panes_of(2)))
    assert first[1, 1] == ("#0072B2", 0.75) and first[2, 1] == ("#0072B2", 0.125)
    assert len(first) == 6 and set(second) == {(0, 0), (1, 0), (2, 2)}
    assert second[2, 2] == ("#E69F00", 1.0)


def test_a_first_column_that_is_left_out_has_no_colour_and_the_rest_may_be_scaled_up():
    weights = triangle([1.0], [0.25, 0.75], [0.5, 0.125, 0.375])[None]
    (left_out,) = cells(drawn(weights, panes_of(1), replace(LOOK, head=0, first="left out")))
    assert left_out[2, 2] == ("#0072B2", 0.375) and (2, 0) not in left_out
    (scaled,) = cells(drawn(weights, panes_of(1), replace(LOOK, head=0, first="left out, rest scaled up")))
    assert scaled[2, 2] == ("#0072B2", 0.75) and scaled[0, 0] == ("#0072B2", 1.0)


def test_a_difference_has_the_other_hue_where_it_is_negative():
    difference = triangle([0.0], [0.5, -0.5], [0.25, -0.25, 0.0])[None]
    (found,) = cells(drawn(difference, [Pane("A − B", "#0072B2", negative="#D55E00")], replace(LOOK, head=0)))
    assert found[1, 0] == ("#0072B2", 0.5) and found[1, 1] == ("#D55E00", 0.5)


def test_the_words_stand_at_both_edges_and_the_row_that_is_outlined_is_named():
    svg = drawn(np.stack([np.tril(np.full((3, 3), 0.5))] * 2), panes_of(2, off=(1,)))
    said = words(svg)
    assert said.count("dog") == 3  # below both squares, and at the left of the first
    assert "head 1" in said and "head 2, off" in said
    assert any("outlined: 2 · dog." in text and "weight, 0 to 1." in text for text in said)


@pytest.mark.parametrize(("length", "heads"), [(1, 1), (5, 4), (20, 16), (63, 16), (200, 4)])
def test_words_are_readable_at_any_length_and_number_of_heads(length, heads, vocab):
    prompt = encode_prompt(" ".join(["dog"] * length), vocab)
    n = len(prompt.ids)
    weights = np.tril(np.full((heads, n, n), 1 / n))
    svg = ElementTree.fromstring(squares_svg("t", prompt, weights, panes_of(heads), replace(LOOK, query=n - 1, head=0)))
    assert float(svg.get("font-size")) >= 9
    assert int(svg.get("width")) <= 1400
    assert len(cells(svg)) == heads


def test_odd_words_are_written_as_they_were_typed(vocab):
    svg = drawn(
        np.tril(np.full((1, 20, 20), 0.1)), panes_of(1), text="<s> </script> $x$ &lt; \x07 \ud800 x y", vocab=vocab
    )
    assert {"<", "/", "script", "&", "lt", ";"} <= set(words(svg))
