"""The Explore page without a browser: what is on screen equals what the checkpoint says."""

import base64
import json
from html import escape

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from wordlm.checkpoints import load_model_npz
from wordlm.files import ARTIFACTS, REPOSITORY
from wordlm.models import build_model
from wordlm.text import encode_prompt

PROMPT = "a little dog found a red hat"
ODD_PROMPT = "<s> </script> $x$ *a* :smile: &lt; _b_"


def open_app(prompt: str | None = None, **query_params: str) -> AppTest:
    app = AppTest.from_file(str(REPOSITORY / "app.py"), default_timeout=60)
    for name, value in query_params.items():
        app.query_params[name] = value
    app.run()
    if prompt is not None:
        app.text_input(key="prompt").set_value(prompt).run()
    return app


def details(vocab, text: str, kind: str, name: str, heads: int | None = None) -> dict[str, np.ndarray]:
    _, model = load_model_npz(ARTIFACTS / "heads" / f"{name}.npz", build_model(kind, heads=heads))
    ids = torch.from_numpy(encode_prompt(text, vocab).input_ids)
    with torch.inference_mode():
        return {key: value[0].numpy() for key, value in model.eval().forward_details(ids).items()}


def figure(app: AppTest, place: int = 0) -> dict:
    return json.loads(app.get("plotly_chart")[place].proto.spec)


def array(value) -> np.ndarray:
    """Plotly sends arrays as base64 with a dtype, or as plain lists with None for NaN."""
    if isinstance(value, dict):
        flat = np.frombuffer(base64.b64decode(value["bdata"]), np.dtype(value["dtype"]))
        return flat.reshape([int(side) for side in str(value["shape"]).split(",")]) if "shape" in value else flat
    return np.array(value, float)


def page_text(app: AppTest) -> str:
    said = [element.value for kind in ("markdown", "caption", "info") for element in getattr(app, kind)]
    return " ".join([*said, *(element.proto.body for element in app.get("html"))])


def test_the_weight_table_holds_the_models_numbers_for_one_and_four_heads(vocab):
    app = open_app()
    assert not app.exception
    table = app.dataframe[0].value
    one = details(vocab, PROMPT, "attention", "attention_seed11")["weights"][:, -1, -8:]
    four = details(vocab, PROMPT, "multihead", "multihead_seed11")["weights"][:, -1, -8:]
    np.testing.assert_allclose(table.drop(columns="sum").to_numpy(), np.concatenate([one, four]), atol=1e-6)
    np.testing.assert_allclose(table["sum"], 1, atol=1e-6)
    assert list(table.columns[1:]) == ["0 · <BOS>", *(f"{i} · {w}" for i, w in enumerate(PROMPT.split(), 1))]
    assert table.index[0] == "1 head, seed 11"
    assert len(table) == 5


@pytest.mark.parametrize(
    ("model", "kind", "name", "heads"),
    [("1", "attention", "attention_seed11", None), ("4", "multihead", "multihead_seed11", None)]
    + [(str(h), "multihead", f"multihead_h{h}_seed11", h) for h in (2, 8, 16)],
)
def test_the_heatmaps_hold_the_models_weights_on_one_colour_scale(vocab, model, kind, name, heads):
    app = open_app(model=model)
    assert not app.exception
    expected = details(vocab, PROMPT, kind, name, heads)["weights"][:, -8:, -8:]
    traces = [trace for trace in figure(app)["data"] if trace["type"] == "heatmap"]
    assert len(traces) == len(expected) == int(model)
    for trace, weights in zip(traces, expected, strict=True):
        shown = array(trace["z"])
        lower = np.tril(np.ones((8, 8), bool))
        np.testing.assert_allclose(shown[lower], weights[lower], atol=1e-6)
        assert np.isnan(shown[~lower]).all()
        assert trace["coloraxis"] == "coloraxis"
        assert trace["x"] == trace["y"] and len(set(trace["x"])) == 8


def test_the_next_words_are_the_ten_likeliest(vocab):
    app = open_app()
    logits = details(vocab, PROMPT, "multihead", "multihead_seed11")["logits"]
    probabilities = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    best = np.argsort(-probabilities)[:10]
    table = app.dataframe[1].value
    assert table["word"].tolist() == [vocab.itos[i] for i in best]
    np.testing.assert_allclose(table["probability"], probabilities[best], atol=1e-6)
    np.testing.assert_allclose(array(figure(app, 1)["data"][0]["x"]), probabilities[best], atol=1e-6)


def test_the_shapes_are_those_of_the_definition():
    table = open_app().dataframe[2].value.set_index("tensor")["shape"]
    assert table.to_dict() == {
        "E": "(1, 64, 64)",
        "Q": "(1, 4, 64, 16)",
        "K": "(1, 4, 64, 16)",
        "V": "(1, 4, 64, 16)",
        "weights": "(1, 4, 64, 64)",
        "messages": "(1, 64, 64)",
        "contextual": "(1, 64, 64)",
        "logits": "(1, 4000)",
    }


def test_the_tokens_are_shown_with_their_ids_and_what_was_done_to_them(vocab):
    text = page_text(open_app("a Zyzzyva ran"))
    for word, id_ in (("a", vocab.itos.index("a")), ("ran", vocab.itos.index("ran"))):
        assert f"<bdi>{word}</bdi></b><small><bdi>{id_}</bdi>" in text
    assert "<bdi>Zyzzyva</bdi></b><small><bdi>&lt;UNK&gt; 3</bdi>" in text
    assert "3 words in 64 slots, 60 of them padding" in text
    assert "1 unknown to the vocabulary" in text


def test_the_checks_on_screen_hold():
    text = page_text(open_app())
    assert text.count("✓") == 3
    assert "FAILS" not in text


def test_the_chosen_query_gives_its_own_row(vocab):
    app = open_app()
    app.selectbox(key="query").set_value("3").run()
    table = app.dataframe[0].value
    four = details(vocab, PROMPT, "multihead", "multihead_seed11")["weights"][:, -5, -8:-4]
    np.testing.assert_allclose(table.iloc[1:].drop(columns="sum"), four, atol=1e-6)
    assert list(table.columns)[-1] == "3 · dog"


def test_a_query_that_a_shorter_prompt_no_longer_has_falls_back_to_the_last_word():
    app = open_app()
    app.selectbox(key="query").set_value("7").run()
    app.text_input(key="prompt").set_value("two words").run()
    assert not app.exception
    assert app.selectbox(key="query").value == "last"
    assert list(app.dataframe[0].value.columns)[-1] == "2 · words"


def test_toggling_the_heads_keeps_prompt_query_and_scale():
    app = open_app("the cat sat")
    app.selectbox(key="query").set_value("2").run()
    app.button_group(key="scale").set_value("logarithmic").run()
    app.button_group(key="model").set_value("8").run()
    assert not app.exception
    assert app.text_input(key="prompt").value == "the cat sat"
    assert app.selectbox(key="query").value == "2"
    assert app.button_group(key="scale").value == "logarithmic"


def test_the_mlp_says_that_it_has_no_heads_and_still_predicts():
    app = open_app(model="MLP")
    assert not app.exception
    assert "The MLP has no heads" in app.info[0].value
    assert len(app.get("plotly_chart")) == 1
    assert app.dataframe[1].value["probability"].is_monotonic_decreasing


def test_a_seed_that_is_not_bundled_is_replaced_with_a_word():
    app = open_app(model="8", seed="29")
    assert not app.exception
    assert "8 heads is bundled with seed 11 only" in page_text(app)


def test_a_seed_that_is_bundled_is_used(vocab):
    app = open_app(seed="47")
    expected = details(vocab, PROMPT, "multihead", "multihead_seed47")["weights"][:, -1, -8:]
    np.testing.assert_allclose(app.dataframe[0].value.iloc[1:].drop(columns="sum"), expected, atol=1e-6)


@pytest.mark.parametrize(
    "params",
    [{"model": "7"}, {"seed": "abc"}, {"query": "999"}, {"scale": "<script>"}, {"head": "-1"}, {"nonsense": "1"}],
)
def test_a_link_with_nonsense_falls_back_without_an_exception(params):
    app = open_app(**params)
    assert not app.exception
    assert len(app.dataframe[0].value) == 5


PROMPTS = {
    "empty": "",
    "spaces": "   ",
    "10,000 words": "the cat sat on the mat . " * 1450,
    "one word of 10,000 letters": "a" * 10_000,
    "emoji": "👩\u200d👩\u200d👧 ❤️ 🐶 ran",
    "right to left": "שלום עולם مرحبا بالعالم",
    "NUL": "a\x00b\x00",
    "HTML": "<img src=x onerror=alert(1)><script>alert(2)</script>",
    "Markdown": "**bold** [link](http://x) `code` # head $x^2$ :red[x]",
    "odd tokens": ODD_PROMPT,
    "only unknown words": "qqq zzz",
    "the same word again": "dog dog dog dog",
}


@pytest.mark.parametrize("name", PROMPTS)
def test_any_prompt_is_shown_as_typed_and_raises_nothing(vocab, name):
    text = PROMPTS[name]
    app = open_app(text)
    assert not app.exception
    prompt = encode_prompt(text, vocab)
    assert list(app.dataframe[0].value.columns[1:]) == list(prompt.labels)
    shown = " ".join(element.proto.body for element in app.get("html"))
    for word in prompt.typed:
        assert f"<bdi>{escape(word)}</bdi>" in shown
    for word in ("<img", "<script"):
        assert word not in shown.lower()
    np.testing.assert_allclose(app.dataframe[0].value["sum"], 1, atol=1e-6)


def test_dropped_positions_are_counted():
    text = page_text(open_app("cat " * 100))
    assert "the earliest 37 positions did not fit and were dropped" in text
