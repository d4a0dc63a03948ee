"""Sentences whose words rest on numbers: each way that the numbers can fall."""

import html
import re

import numpy as np
import pytest

from wordlm.bundled import Bundled
from wordlm.profiles import Measure
from wordlm.ui.views import compare
from wordlm.ui.views.heads_and_words import cards
from wordlm.ui.views.learn import chapters

FOUR, ONE = Bundled.nearest("4", 11), Bundled.nearest("1", 11)


def comparison_with(differences: list[float]) -> dict:
    """Return a comparison in which four heads' loss less one head's is as given, a number a seed."""
    seeds = range(len(differences))
    return {
        "runs": {
            "multihead": [{"seed": seed, "test_loss": 3 + d} for seed, d in zip(seeds, differences, strict=True)],
            "attention": [{"seed": seed, "test_loss": 3.0} for seed in seeds],
        }
    }


@pytest.mark.parametrize(
    ("differences", "said"),
    [
        ([-0.2, -0.21, -0.19], "4 heads expect the right word better than 1 head: "),
        ([0.2, 0.21, 0.19], "1 head expects the right word better than 4 heads: "),
        ([-0.3, 0.29, -0.01], "neither of 4 heads and 1 head can be told to expect the right word better"),
    ],
)
def test_no_model_is_called_better_where_the_interval_holds_0(differences, said, monkeypatch):
    text = compare._over_the_test_set(FOUR, ONE, comparison_with(differences))
    assert said in text
    assert ("which holds 0" in text) == said.startswith("neither")


def test_random_words_are_compared_with_even_chances_both_ways():
    assert "more than even chances" in chapters._beside_even_chances(9.5, 8.29)
    assert "no more than even chances" in chapters._beside_even_chances(8.2, 8.29)


def test_an_answer_names_the_baseline_by_position_and_which_side_of_even_it_explains():
    ends = {"beyond_low": np.array([-0.02]), "beyond_high": np.array([0.01]), "by_position": np.array([0.06])}
    for value, even, side in ((0.05, 0.04, "more"), (0.05, 0.07, "less")):
        near = np.array([value])
        measure = Measure(9, near, near - 0.001, near + 0.001, even, np.array([0.1]), **ends)
        assert f"{side} than even weights would. Distance and number of keys" in cards._answer(measure, 0)
        assert "position alone predicts 0.060" in cards._share_said(measure, 0, "test stories")


FAULTS = re.compile(
    r"(?<![\d.,/·-] )(?<![\d.,/–-])\b1 (scores|heads|words|seeds|units|numbers|slots|updates|stories|texts|positions)\b"
    r"|[+−]0\.0+(?!\d)|(?<!\d)-\d|\bnan\b|\bNaN\b|None|undefined|\d, and \d|\bhead \d+ and head \d+ and head"
    r"|\b\d\.0 %|\b1 are\b|\.\.(?!\.)(?<!\.\.\.)"
)
"""What no sentence may hold: plurals of one, a sign before 0, a hyphen for a minus, lists with two words between."""
PROMPTS = ("", "hat", "zyzzyva quokka", "cat cat", 32 * "a red ")


def test_the_faults_are_found_where_they_are():
    for faulty in ("1 heads", "a change of +0.000", "-0.5", "nan nats", "1, 2, and 4", "2.0 %", "1 are padding"):
        assert FAULTS.search(faulty), faulty
    for right in ("1 of 3 heads", "21 heads", "0.1 words", "12.0 nats", "well-known", "1 head"):
        assert not FAULTS.search(right), right


@pytest.mark.parametrize("model", ["1", "16", "4kv1", "MLP"])
@pytest.mark.parametrize("page", ["explore", "switch_off", "heads_and_words", "compare"])
def test_no_sentence_of_a_page_has_a_known_fault(open_page, page, model):
    for prompt in PROMPTS:
        for params in ({}, {"off": ["1"]}) if page == "switch_off" and model != "MLP" else ({},):
            text = html.unescape(
                re.sub(r"<style.*?</style>|<[^>]*>", " ", open_page(page, prompt=prompt, model=model, **params).text)
            )
            found = FAULTS.search(text)
            assert not found, f"{prompt!r}: …{text[max(0, found.start() - 60) : found.end() + 60]}…"
