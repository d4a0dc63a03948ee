"""Texts that run from right to left, wherever a text is drawn word by word."""

import pytest

from wordlm.engines import TorchEngine
from wordlm.generation import Decoding, generate
from wordlm.text import encode_prompt
from wordlm.ui.state.resources import checkpoint
from wordlm.ui.views.generate.stories import Start, story_html

HEBREW = "שלום עולם"


@pytest.mark.parametrize(("prompt", "direction"), [(HEBREW, "rtl"), ("a cat שלום", "ltr"), ("", "ltr")])
def test_the_row_of_words_runs_in_the_direction_of_the_text(open_page, prompt, direction):
    assert open_page("explore", prompt).picture["direction"] == direction


def test_a_story_runs_in_the_direction_of_its_start_and_not_word_by_word(vocab, bundled):
    ids = encode_prompt(HEBREW, vocab).ids
    story = generate(TorchEngine(bundled("attention_seed11")), ids, Decoding(5))
    drawn = story_html(Start(f"{HEBREW} <b>", list(ids), vocab), story.decisions, checkpoint("1", 11))
    assert drawn.startswith(f'<div class="story" dir="auto"><em>{HEBREW} &lt;b&gt;</em>')
    assert "<bdi>" not in drawn
