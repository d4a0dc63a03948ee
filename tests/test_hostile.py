"""Input that means harm, or only looks like it: whatever a visitor types, uploads or puts into a link.

Hand-made attacks on checkpoints (pickles, bombs, headers that announce too much) are in test_checkpoints.
"""

import io
import json
import os
import sys
from contextlib import contextmanager
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.pages.screen import Screen
from wordlm.checkpoints import open_checkpoint, save_model_npz
from wordlm.data import FEWEST_STORIES, DataError, stories_in
from wordlm.files import ARTIFACTS
from wordlm.inspection import inspect_ids, token_table
from wordlm.models import build_model, variant_of
from wordlm.results import check_comparison
from wordlm.text import Vocab, encode_prompt, tokenize
from wordlm.ui.browser.pictures.heads import Look, panes_of
from wordlm.ui.browser.pictures.squares import squares_svg
from wordlm.ui.drawing import charts
from wordlm.ui.drawing.escape import for_html, for_markdown, label_html
from wordlm.ui.frame import export, parameters
from wordlm.variants import Variant

MARKUP = "<>&\"'`*_[]()!:$\\={}#~|/;.-+@\t\r\n​‮ aα中"
TEXTS = st.text(max_size=200) | st.text(alphabet=MARKUP, max_size=80)
ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "![x](https://example.org/x.png)",
    '=HYPERLINK("https://example.org")',
    "$\\href{javascript:alert(1)}{x}$",
    "../../../etc/passwd",
    "%3Cscript%3E",
    "a" * 20_000,
    "é" * 3000,
    "\u202e\u200b\x00",
    "{0.__class__}",
    "<|endoftext|>",
    ":red[x] :material/warning:",
]
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Tags(HTMLParser):
    """Collects the tags of an HTML text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]


@given(TEXTS)
@QUICK
def test_any_prompt_is_encoded_with_labels_that_differ_and_the_models_laws_hold(model, vocab, text):
    prompt = encode_prompt(text, vocab)
    assert 1 <= len(prompt.ids) <= 64
    assert len(set(prompt.labels)) == len(prompt.labels)
    assert all(0 < id_ < len(vocab) for id_ in prompt.ids)
    checks = inspect_ids(model, prompt.ids).checks
    assert checks.row_sum < checks.TOLERANCE and checks.forward < checks.TOLERANCE and checks.masked == 0


@pytest.fixture(scope="module")
def model(bundled):
    return bundled("multihead_seed11")


@given(TEXTS)
@QUICK
def test_no_text_becomes_a_tag_an_attribute_or_a_link(text):
    assert set(Tags(f"<p>{for_html(text)} {label_html(text)}</p>").found) == {"p", "bdi"}
    escaped = for_markdown(text)
    for place, character in enumerate(escaped):
        if character in "*_[]<`$:":
            assert place and escaped[place - 1] == "\\"


@given(TEXTS)
@QUICK
def test_plotly_gets_no_tag_from_a_visitor(model, vocab, text):
    prompt = encode_prompt(text, vocab)
    weights = inspect_ids(model, prompt.ids).weights
    figure = charts.paired_bars(list(prompt.labels), {"head 1": weights[0, -1]}, "weight").to_dict()
    assert not any("<" in name for name in figure["data"][0]["x"])


@given(TEXTS)
@QUICK
def test_the_picture_of_any_prompt_is_svg_that_an_xml_reader_takes(model, vocab, text):
    prompt = encode_prompt(text, vocab)
    weights, look = inspect_ids(model, prompt.ids).weights, Look(len(prompt.ids) - 1, 0, 0, "cells", "root", "shown")
    svg = ElementTree.fromstring(squares_svg(text, prompt, weights, panes_of(len(weights)), look).encode())
    assert {one.tag.rpartition("}")[2] for one in svg.iter()} <= {"svg", "g", "rect", "path", "text"}


@given(st.lists(TEXTS, min_size=1, max_size=5))
@QUICK
def test_no_cell_of_a_csv_is_a_formula(texts):
    table = pd.DataFrame({"text": texts, **{f"={i}": [1.0] * len(texts) for i in range(2)}}, index=texts)
    read = pd.read_csv(io.BytesIO(export.as_csv(table, index=True)), dtype=str, keep_default_na=False)
    cells = [*read.columns, *read.to_numpy().ravel()]
    assert not [cell for cell in cells if len(cell) > 1 and cell[0] in "=+-@\t\r"]


def test_a_single_mark_stays_as_it_was_typed_in_a_csv(vocab):
    table = token_table(encode_prompt("= + - @", vocab))
    read = pd.read_csv(io.BytesIO(export.as_csv(table, index=False)), dtype=str)
    assert read["typed"].tolist() == ["<BOS>", "=", "+", "-", "@"]


@given(st.binary(max_size=300) | st.lists(TEXTS, max_size=6).map("\n\n".join).map(str.encode))
@QUICK
def test_any_text_file_is_stories_or_one_clear_sentence(content):
    try:
        stories = stories_in(content)
    except DataError as error:
        assert "\n" not in str(error)
    else:
        assert len(stories) >= FEWEST_STORIES
        assert all(map(tokenize, stories))


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)
FIELDS = ["runs", "aggregate", "environment", "protocol", "baselines", "mlp", "seed", "test_loss", "history", "heads"]


@given(JSON | st.dictionaries(st.sampled_from(FIELDS), JSON | st.dictionaries(st.sampled_from(FIELDS), JSON)))
@QUICK
def test_any_json_is_a_comparison_or_refused_by_its_field(value):
    try:
        assert check_comparison(value) is value
    except ValueError as error:
        assert str(error)


@pytest.fixture(scope="module")
def npz() -> bytes:
    file = io.BytesIO()
    vocab = Vocab.load(ARTIFACTS / "vocab.json")
    save_model_npz(file, build_model("attention", seed=1), {"kind": "attention", "vocab_sha256": vocab.sha256})
    return file.getvalue()


@given(place=st.floats(0, 1), new=st.binary(min_size=1, max_size=40), cut=st.booleans())
@QUICK
def test_a_checkpoint_changed_anywhere_is_refused_or_whole(npz, place, new, cut):
    at = int(place * (len(npz) - 1))
    changed = npz[:at] + new + (b"" if cut else npz[at + len(new) :])
    try:
        _, model, _ = open_checkpoint(io.BytesIO(changed))
    except ValueError:
        return
    assert all(np.isfinite(tensor.numpy()).all() for tensor in model.state_dict().values())


@given(JSON)
@QUICK
def test_any_metadata_is_a_model_or_refused(npz, value):
    with np.load(io.BytesIO(npz)) as file:
        arrays = dict(file)
    metadata = json.loads(str(arrays["metadata"]))
    changed = metadata | (value if isinstance(value, dict) else {"kind": value, "heads": value, "itos": value})
    arrays["metadata"] = np.array(json.dumps(changed))
    file = io.BytesIO()
    np.savez(file, **arrays)
    try:
        _, model, _ = open_checkpoint(file)
    except ValueError as error:
        assert "array metadata" in str(error)
    else:
        assert variant_of(model) == Variant("attention", 1)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda text: text[:20].encode("unicode_escape").decode())
@pytest.mark.parametrize("page", ["explore", "compare", "heads_and_words", "generate"])
def test_no_prompt_breaks_a_page(page, attack):
    screen = Screen(page, attack, {})
    assert "<script>alert" not in screen.markdown
    assert "<img src=x" not in screen.markdown


VALUES = [*ATTACKS[:2], "", "-1", "1e309", "nan", "999999999999", "0", "own 1", "null"]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("page", ["explore", "switch_off", "heads_and_words", "generate", "train", "learn"])
def test_no_link_breaks_a_page(page, value):
    screen = Screen(page, None, dict.fromkeys(parameters.PARAMETERS, value))
    assert "<script>alert" not in screen.markdown


_watched: list[list[tuple]] = []


@pytest.fixture(scope="module")
def watch():
    """Note what Python is asked to do with files: `open`, `os.open` and the rest, by whatever name they are called."""

    of_files = {"open", "os", "shutil", "glob", "pathlib", "tempfile", "subprocess"}

    def hook(event: str, arguments: tuple) -> None:
        if _watched and event.partition(".")[0] in of_files:
            _watched[-1].append((event, *arguments))

    sys.addaudithook(hook)  # for good: Python has no way to take one away

    @contextmanager
    def watch():
        _watched.append([])
        try:
            yield _watched[-1]
        finally:
            _watched.pop()

    return watch


@pytest.mark.parametrize("page", ["explore", "generate", "perplexity"])
def test_a_visitors_words_reach_no_file_and_nothing_is_written(watch, page):
    """A prompt and a link that look like a path are drawn; another drawing before has imported all there is."""
    Screen(page, None, {"prompt": "a cat"})
    with watch() as asked:
        Screen(page, None, dict.fromkeys(parameters.PARAMETERS, "../../etc/passwd"))
    assert asked, "the page's own file is opened"
    assert not [what for what in asked if "passwd" in str(what)]
    changed = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    assert not [what for what in asked if what[0] == "open" and what[3] & changed]
