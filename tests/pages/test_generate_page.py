"""The Generate page without a browser."""

import html
import json
import re
from dataclasses import asdict
from urllib.parse import parse_qsl

import pytest

from wordlm.engines import TorchEngine
from wordlm.generation import Decoding, StopReason, generate, story_text
from wordlm.text import BOS, EOS, PAD, UNK, encode_prompt, typed_words

PROMPT = "a little dog found a red hat"


def write(screen):
    next(button for button in screen.app.button if button.label == "Write").click().run(timeout=60)
    assert not screen.app.exception
    return screen


def column(table, name):
    return table.set_index("report")[name]


@pytest.mark.parametrize("engine", ["ONNX Runtime", "PyTorch", "PyTorch with a cache"])
def test_a_greedy_story_is_the_models(open_page, bundled, vocab, engine):
    screen = write(open_page("generate", engine=engine))
    expected = generate(TorchEngine(bundled("multihead_seed11")), encode_prompt(PROMPT, vocab).ids, Decoding(60))
    name = f"4 heads, seed 11 · {engine}"
    decisions = screen.table(f"Every decision of {name}")
    assert decisions["word"].tolist() == vocab.decode(choice.id for choice in expected.decisions)
    report = column(screen.table("Words, calls, times and settings"), name)
    assert report["new tokens"] == str(len(expected.new_ids))
    assert report["model calls"] == str(len(expected.decisions))
    assert report["stop"] == str(expected.stop)
    assert report["engine"] == engine


def test_the_cache_is_explained_by_what_it_keeps_of_each_word(open_page):
    assert "512 bytes of each word for 4 heads" in open_page("generate", engine="PyTorch with a cache").text
    assert "no keys and values to keep" in open_page("generate", engine="PyTorch with a cache", model="MLP").text
    assert "bytes of each word" not in open_page("generate", engine="PyTorch").text


def test_a_model_that_shares_keys_and_values_writes_with_and_without_a_cache_the_same(open_page, bundled, vocab):
    expected = generate(TorchEngine(bundled("multihead_kv1_seed11")), encode_prompt(PROMPT, vocab).ids, Decoding(60))
    for engine in ("PyTorch", "PyTorch with a cache"):
        screen = open_page("generate", engine=engine, model="4kv1")
        assert screen.app.button_group(key="writers").options == ["1", "2", "4 heads, 1 kv", "8", "16", "MLP"]
        decisions = write(screen).table(f"Every decision of 4 heads, 1 kv, seed 11 · {engine}")
        assert decisions["word"].tolist() == vocab.decode(choice.id for choice in expected.decisions)


def test_several_models_write_side_by_side_with_the_same_settings(open_page, bundled, vocab):
    screen = open_page("generate", engine="PyTorch")
    screen.app.button_group(key="writers").set_value(["MLP", "1", "4"]).run()
    screen.app.slider(key="temperature").set_value(1.0).run()
    screen.app.slider(key="limit").set_value(12).run()
    write(screen)
    report = screen.table("Words, calls, times and settings")
    assert len(report.columns) == 4
    for model, file in (("MLP", "mlp_seed11"), ("1 head", "attention_seed11"), ("4 heads", "multihead_seed11")):
        expected = generate(TorchEngine(bundled(file)), encode_prompt(PROMPT, vocab).ids, Decoding(12, 1.0))
        decisions = screen.table(f"Every decision of {model}, seed 11")
        assert decisions["word"].tolist() == vocab.decode(choice.id for choice in expected.decisions)


def test_the_share_of_unknown_words_of_a_start_is_shown(open_page, vocab):
    screen = open_page("generate")
    science = "The enzyme catalyses the hydrolysis of the substrate, and the reaction rate"
    screen.app.selectbox(key="start").set_value(science).run()
    _, ids = typed_words(science, vocab)
    assert f"{ids.count(3)} of {len(ids)} words of the start" in screen.text
    write(screen)


def test_each_word_links_to_explore_at_that_moment(open_page, vocab):
    screen = write(open_page("generate", engine="PyTorch"))
    _, stories = screen.app.session_state["stories"]
    ((_, story),) = stories.values()
    links = re.findall(r'href="\./\?([^"]*)"', screen.text)
    assert len(links) == len(story.new_ids)
    for place, link in enumerate(links):
        params = dict(parse_qsl(html.unescape(link)))
        assert (params["model"], params["seed"]) == ("4", "11")
        ids = encode_prompt(params["prompt"], vocab).ids
        assert list(ids) == [*story.start_ids, *story.new_ids[: place + 1]][-64:]


def test_runs_are_exported_as_text_and_json(open_page, vocab):
    from wordlm.ui.views.generate.stories import export_json, export_text

    screen = write(open_page("generate", engine="PyTorch"))
    began, stories = screen.app.session_state["stories"]
    ((name, (_, story)),) = stories.items()
    content = json.loads(export_json(began, stories))
    assert content["start"] == PROMPT
    assert content["stories"][name]["words"] == vocab.decode(story.new_ids)
    assert content["stories"][name]["report"]["model calls"] == len(story.decisions)
    assert story_text(story, vocab) in export_text(began, stories)


def test_real_stories_can_be_gone_on_with_and_read_beside(open_page, monkeypatch, tmp_path, real_stories):
    from wordlm.prepare_data import prepare

    prepare("dgx", tmp_path, real_stories)
    monkeypatch.setattr("wordlm.ui.state.resources.DATA_DIR", tmp_path)
    screen = open_page("generate")
    screen.app.selectbox(key="start").set_value("a held-out story").run(timeout=60)
    write(screen)
    assert "The real story goes on:" in screen.text


def test_without_the_stories_they_are_not_offered(open_page, monkeypatch, tmp_path):
    monkeypatch.setattr("wordlm.ui.state.resources.DATA_DIR", tmp_path)
    assert "a held-out story" not in open_page("generate").app.selectbox(key="start").options


def test_no_model_chosen_means_nothing_to_press(open_page):
    screen = open_page("generate")
    screen.app.button_group(key="writers").set_value([]).run()
    assert next(button for button in screen.app.button if button.label == "Write").disabled


def test_what_a_browser_sends_back_is_not_trusted(vocab):
    from wordlm.ui.views.generate.browser_engine import received_story

    many = 200
    story = {
        "start": {"text": "x", "ids": [BOS, 10**9]},
        "decoding": asdict(Decoding(5)),
        "ids": [5, 10**9, -3, 6] + [7] * 99,
        "probabilities": [0.1, 0.2, 0.3, 0.4] + [0.5] * (many - 4),
        "alternatives": [[[5, 0.5], [10**9, 0.1]]] * many,
        "milliseconds": [1] * many,
        "stop": "nonsense",
        "way": "steam",
    }
    made = received_story(story, vocab)
    assert made.start_ids == [BOS]
    assert made.new_ids == [5, 6, 7, 7, 7]
    assert made.stop is StopReason.STOPPED
    assert [choice.probability for choice in made.decisions] == [0.1, 0.4, 0.5, 0.5, 0.5]
    assert made.decisions[0].alternatives == ((5, 0.5),)
    with pytest.raises(ValueError, match="max_new_tokens"):
        received_story(story | {"decoding": asdict(Decoding(5)) | {"max_new_tokens": 10**9}}, vocab)


def sent(**changes) -> dict:
    """A story of three words and the end, as the browser sends it."""
    return {
        "start": {"text": "x", "ids": [BOS]},
        "decoding": asdict(Decoding(60)),
        "ids": [5, 6, 7],
        "probabilities": [0.1, 0.2, 0.3, 0.4],
        "alternatives": [[[5, 0.1]], [[6, 0.2]], [[7, 0.3]], [[2, 0.4]]],
        "milliseconds": [1, 2, 3, 4],
        "stop": "END",
        "way": "WebAssembly",
    } | changes


@pytest.mark.parametrize(
    ("ids", "kept"),
    [
        ([5, 6, 7], [5, 6, 7, 2]),
        ([10**9, 6, 7], [6, 7, 2]),
        ([5, -1, 7], [5, 7, 2]),
        ([5, 6, PAD], [5, 6, 2]),
        ([EOS, BOS, 7], [7, 2]),
        ([5, "6", 7], [5, 7, 2]),
        ([10**9] * 3, [2]),
    ],
)
def test_an_id_that_is_no_word_is_dropped_with_its_probability_alternatives_and_time(vocab, ids, kept):
    from wordlm.ui.views.generate.browser_engine import received_story

    whole = {5: 0.1, 6: 0.2, 7: 0.3, EOS: 0.4}
    made = received_story(sent(ids=ids), vocab)
    assert [choice.id for choice in made.decisions] == kept
    for choice in made.decisions:
        assert choice.probability == whole[choice.id]
        assert choice.alternatives == ((choice.id, whole[choice.id]),)
        assert choice.seconds == pytest.approx(whole[choice.id] / 100)


@pytest.mark.parametrize(
    "changes",
    [{"probabilities": [2.0] * 4}, {"probabilities": [float("nan")] * 4}, {"milliseconds": [-1] * 4}, {"ids": 5}],
    ids=str,
)
def test_numbers_that_cannot_be_are_no_story(vocab, changes):
    from wordlm.ui.views.generate.browser_engine import received_story

    with pytest.raises((ValueError, TypeError)):
        received_story(sent(**changes), vocab)


def test_unknown_words_of_a_real_story_are_read_as_unknown(open_page, monkeypatch, tmp_path, real_stories, vocab):
    from wordlm.prepare_data import prepare

    prepare("dgx", tmp_path, real_stories)
    monkeypatch.setattr("wordlm.ui.state.resources.DATA_DIR", tmp_path)
    from wordlm.ui.views.generate.stories import UNKNOWN_MARK

    assert typed_words(f"the {UNKNOWN_MARK} ran", vocab)[1][1] == UNK
    screen = open_page("generate", opening="60")
    screen.app.selectbox(key="start").set_value("a held-out story").run(timeout=60)
    for number in range(1, 30):
        screen.app.number_input(key="story").set_value(number).run()
        if "are unknown to the vocabulary" in screen.text:
            break
    write(screen)
    began, stories = screen.app.session_state["stories"]
    ((_, story),) = stories.values()
    assert UNK in began.ids and len(began.ids) <= 61
    assert story.start_ids == began.ids


def example_of(screen) -> str:
    return next((e.proto.body for e in screen.app.get("html") if 'class="example"' in e.proto.body), "")


@pytest.mark.parametrize(("model", "file"), [("4", "multihead_seed11"), ("MLP", "mlp_seed11")])
def test_before_a_story_is_written_an_example_shows_how_it_would_go_on(open_page, bundled, vocab, model, file):
    screen = open_page("generate", model=model)
    expected = generate(TorchEngine(bundled(file)), encode_prompt(PROMPT, vocab).ids, Decoding(20))
    assert re.findall(r">([^<]*)</a>", example_of(screen)) == vocab.decode(expected.new_ids)
    assert "An example, written here at once: the likeliest 20 words" in screen.text
    write(screen)
    assert not example_of(screen), "gone once the visitor has a story"


def test_the_example_shows_an_odd_start_as_typed(open_page):
    screen = open_page("generate", "<s> </script> $x$ *a* :smile: &lt; _b_")
    assert "&lt;s&gt; &lt;/script&gt; $x$ *a* :smile: &amp;lt; _b_" in example_of(screen)


def test_a_story_s_tables_stand_behind_a_press_and_all_go_along(open_page, vocab):
    from wordlm.ui.views.generate.stories import tables_of

    screen = write(open_page("generate", engine="PyTorch"))
    assert not screen.app.dataframe
    _, stories = screen.app.session_state["stories"]
    screen.open_numbers()
    assert len(tables_of(stories, vocab)) == len(screen.app.dataframe) == 2
    assert [b.proto.label for b in screen.app.get("download_button")][-2:] == ["Text", "JSON"]
