"""The course, the quiz and the glossary without a browser."""

import math
import re

import numpy as np
import pytest

from tests.pages.screen import array
from wordlm import course
from wordlm.files import ARTIFACTS, read_json
from wordlm.glossary import TERMS
from wordlm.models import MultiHeadAttentionLM, build_model, count_parameters
from wordlm.numbers import signed
from wordlm.quiz import MAKERS, question_of, questions
from wordlm.ui.frame.tour import STOPS
from wordlm.ui.views.learn.chapters import CHAPTERS

NUMBERS = range(1, 10)


def press(screen, label):
    next(button for button in screen.app.button if button.label == label).click().run()
    assert not screen.app.exception, screen.app.exception
    return screen


def answer(screen, question, given, key):
    if question.options:
        screen.app.radio(key=f"answer_{key}").set_value(given)
    else:
        screen.app.number_input(key=f"answer_{key}").set_value(given)
    return press(screen, "Check")


def wrong_answer(question):
    if question.options:
        return next(option for option in question.options if option != question.answer)
    return question.answer + 10 * question.tolerance + 1


def sentences(text: str) -> list[str]:
    """Split a text into sentences; a link counts as its words, code and tags as nothing."""
    text = re.sub(r"<[^>]*>|`[^`]*`", " ", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return [piece.strip() for piece in re.split(r"(?<=[.!?:;])\s+", text) if piece.strip()]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("model", ["1", "MLP"])
def test_every_chapter_is_drawn_for_every_model(open_page, number, model):
    screen = open_page("learn", chapter=str(number), model=model)
    assert f"{number}. {CHAPTERS[number - 1].title}" in screen.text


@pytest.mark.parametrize("number", NUMBERS)
def test_no_sentence_of_the_course_is_longer_than_25_words(open_page, number):
    screen = open_page("learn", chapter=str(number))
    said = [m.value for m in screen.app.markdown] + [c.value for c in screen.app.caption]
    long = [s for text in said for s in sentences(text) if len(s.split()) > 25]
    assert not long


def test_no_sentence_of_quiz_and_tour_is_longer_than_25_words():
    said = [stop.text for stop in STOPS]
    for seed in (0, 1, 2):
        for question in questions(seed):
            said += [question.text, question.why, question.hint, *question.options.values()]
    assert not [s for text in said for s in sentences(text) if len(s.split()) > 25]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_chapter_links_its_terms_to_the_glossary(open_page, number):
    screen = open_page("learn", chapter=str(number))
    links = re.findall(r"\(learn\?part=glossary&term=([^)]*)\)", screen.markdown)
    assert links
    assert {link.replace("+", " ") for link in links} <= set(TERMS)


def test_the_swap_changes_places_of_the_patterns(open_page):
    screen = open_page("learn", chapter="4")
    before = screen.table("The weight rows of two heads")
    screen.app.toggle(key="swapped").set_value(True).run()
    after = screen.table("The weight rows of two heads")
    assert before.loc["head 1"].tolist() == after.loc["head 2"].tolist()
    assert before.loc["head 2"].tolist() == after.loc["head 1"].tolist()
    np.testing.assert_allclose(array(screen.figure("trio")["data"][0]["z"]), after.to_numpy(), atol=1e-9)


def test_the_wishes_follow_their_sliders(open_page):
    screen = open_page("learn", chapter="1")
    screen.app.slider(key="wish_subject").set_value(8.0).run()
    shown = screen.table("The rows of one head and of two heads")
    np.testing.assert_allclose(shown.to_numpy(), course.two_wishes(8.0, 4.0).to_numpy())


def test_a_width_that_does_not_divide_is_told_with_the_models_own_words(open_page):
    screen = open_page("learn", chapter="2")
    assert "Width 512 with 8 heads makes 64 each." in screen.text
    screen.app.slider(key="course_heads").set_value(7).run()
    assert "heads must be at least 1 and divide d_model=512, got heads=7" in screen.text.replace("\\", "")
    assert not screen.app.exception


@pytest.mark.parametrize("way", ["minus infinity before", "zero after", "none"])
def test_the_mask_is_shown_as_it_is_chosen(open_page, way):
    screen = open_page("learn", chapter="5")
    screen.app.button_group(key="mask_way").set_value(way).run()
    table = screen.table("Three rows of weights and their sums")
    assert (table["sum"].tolist() == pytest.approx([1, 1, 1])) is (way != "zero after")
    assert (table.iloc[0, 1] > 0) == (way == "none")


def test_groups_that_do_not_fit_are_told(open_page):
    screen = open_page("learn", chapter="8")
    screen.app.select_slider(key="cost_groups").set_value(64).run()
    assert "64 groups cannot share out 32 heads evenly" in screen.text.replace("\\", "")


def test_the_ablation_numbers_are_those_of_the_artifact(open_page):
    from wordlm.ablation import head_value_table

    stored = read_json(ARTIFACTS / "heads" / "ablation.json")["checkpoints"]["multihead_seed11"]
    shown = open_page("learn", chapter="7").table("Increase of the test loss without each head")
    assert shown.iloc[:, 0].tolist() == head_value_table(stored)["zero"].tolist()


@pytest.mark.parametrize("number", NUMBERS)
def test_a_chapters_question_explains_a_wrong_answer_and_takes_the_right_one(open_page, number):
    screen, question = open_page("learn", chapter=str(number)), question_of(number, 0)
    answer(screen, question, wrong_answer(question), f"chapter_{number}")
    assert "Not yet." in screen.text
    answer(screen, question, question.answer, f"chapter_{number}")
    assert "Right." in screen.text
    assert "Not yet." not in screen.text


def test_checking_without_an_answer_asks_for_one(open_page):
    screen = press(open_page("learn", part="quiz"), "Check")
    assert "Give an answer first" in screen.text


def test_a_round_ends_in_a_summary_by_chapter_and_the_next_has_other_numbers(open_page):
    screen = open_page("learn", part="quiz")
    asked = questions(1)
    for place, question in enumerate(asked):
        assert f"Question {place + 1} of {len(MAKERS)}" in str([e.proto.text for e in screen.app.get("progress")])
        if place == 0:
            answer(screen, question, wrong_answer(question), f"1_{place}")
        if place == 1:
            press(screen, "Skip")
            continue
        answer(screen, question, question.answer, f"1_{place}")
        press(screen, "Next question")
    table = screen.table("How each chapter went").set_index("chapter")
    assert table.loc[1].tolist() == [1, 1, 1], "wrong first, then skipped, then right at once"
    assert table["right at once"].sum() == len(MAKERS) - 2
    assert f"{len(MAKERS) - 2} of {len(MAKERS)} right at the first try" in screen.text
    assert f"{len(MAKERS) - 1} right in the end" in screen.text
    press(screen, "Another round, with other numbers")
    assert screen.app.radio(key="answer_2_0").options == list(questions(2)[0].options)


def test_the_quiz_keeps_its_place_when_the_page_is_left(open_page):
    screen = press(press(open_page("learn", part="quiz"), "Skip"), "Skip")
    screen.app.switch_page("pages/explore.py").run()
    screen.app.switch_page("pages/learn.py").run()
    assert "Question 3 of" in str([e.proto.text for e in screen.app.get("progress")])


def test_the_glossary_opens_at_a_term_by_its_link(open_page):
    screen = open_page("learn", part="glossary", term="causal mask")
    assert "<dt>causal mask</dt>" in screen.text
    assert "<dt>query</dt>" not in screen.text
    screen.app.text_input(key="term").set_value("zebra").run()
    assert "None of the" in screen.text


@pytest.mark.parametrize(("name", "value"), [("chapter", "12"), ("part", "exam")])
def test_a_link_to_what_is_not_there_falls_back_with_a_word(open_page, name, value):
    screen = open_page("learn", **{name: value})
    assert "1. Why is one head a bottleneck?" in screen.text


@pytest.mark.parametrize("page", ["explore", "benchmark"])
def test_the_glossary_opens_from_any_page(open_page, page):
    screen = press(open_page(page), "Glossary")
    assert screen.app.text_input(key="glossary_search")


@pytest.mark.parametrize("number", [5, 6, 7])
def test_a_chapter_shows_an_own_model_with_its_own_words(open_page, number):
    from tests.pages.test_train_page import FAST, train

    screen = open_page("train", "the dog found a ball", **(FAST | {"words": "its own", "steps": "2"}))
    train(screen)
    screen.app.switch_page("pages/learn.py").run()
    screen.app.button_group(key="chapter").set_value(str(number)).run()
    screen.app.segmented_control(key="model").set_value("own 1").run()
    assert not screen.app.exception
    assert "This page cannot be shown" not in screen.text


def test_what_was_moved_in_a_chapter_is_kept_while_the_visitor_is_on_another_page(open_page):
    screen = open_page("learn")
    screen.app.slider(key="wish_subject").set_value(5.5).run()
    screen.app.switch_page("pages/perplexity.py").run()
    screen.app.switch_page("pages/learn.py").run()
    assert screen.app.slider(key="wish_subject").value == 5.5


# What is said, held to what is calculated here anew


@pytest.fixture
def stored():
    return read_json(ARTIFACTS / "heads" / "ablation.json")["checkpoints"]


def test_chapter_1_gives_the_formula_of_the_softmax_with_its_value(open_page):
    text = open_page("learn", chapter="1").text
    assert "e to the power of each score, divided by the sum of all these powers" in text
    assert f"$e^2 / (e^2 + e^0)$ = {math.exp(2) / (math.exp(2) + 1):.3f}" in text


def test_chapter_2_says_what_queries_and_messages_are_before_it_shows_their_shapes(open_page):
    text = open_page("learn", chapter="2").text
    assert "A query is the vector with which a word looks at others" in text
    assert "A message is what a head hands to it" in text


def test_chapter_2_says_what_the_whole_model_has_when_heads_keep_the_width(open_page):
    text = open_page("learn", chapter="2").text
    one = build_model("attention")
    grown = count_parameters(one) + 15 * sum(W.weight.numel() for W in (one.W_Q, one.W_K, one.W_V, one.W_O))
    assert f"from {count_parameters(one):,} to {grown:,}" in text


def test_chapter_2_doubles_the_width_with_the_heads_and_without(open_page):
    screen = open_page("learn", chapter="2")
    table = screen.table("What twice the width makes").set_index("way")
    assert table.loc["as set above", ["width", "heads", "head width"]].tolist() == [512, 8, 64]
    assert table.loc["twice the width, twice the heads", ["width", "heads", "head width"]].tolist() == [1024, 16, 64]
    assert table.loc["twice the width, as many heads", ["width", "heads", "head width"]].tolist() == [1024, 8, 128]
    assert "Both cost the same: 4 times" in screen.text


def test_chapter_2_tells_heads_too_narrow_and_too_wide_from_our_own_runs_with_what_is_decided(open_page):
    runs = read_json(ARTIFACTS / "heads" / "comparison.json")["runs"]
    losses = {group[0]["heads"]: np.array([run["test_loss"] for run in group]) for group in runs.values()}
    text = open_page("learn", chapter="2").text
    assert "In our runs 16 heads, each 4 wide, had the lowest mean test loss" in text
    for heads, width, decided in ((64, 1, False), (1, 64, True)):
        differences = losses[heads] - losses[16]
        half = 4.3027 * differences.std(ddof=1) / 3**0.5  # Student's quantile for two degrees of freedom
        low, high = differences.mean() - half, differences.mean() + half
        assert bool(low > 0) == decided
        said = (
            f"With {heads} head{'s' * (heads > 1)} of width {width} it is {differences.mean():.4f} nats higher, 95 % "
            f"interval {signed(low)} to {signed(high)}" + ("." if decided else ": that holds 0")
        )
        assert said in text
    assert "whoever designs the model chooses it" in text


@pytest.mark.parametrize("scaled", [True, False])
def test_chapter_5_never_calls_a_bare_dot_product_a_score(open_page, scaled):
    screen = open_page("learn", chapter="5")
    screen.app.toggle(key="scale_on").set_value(scaled).run()
    drawn = course.score_spread(64, scaled)
    assert f"the {'scores' if scaled else 'dot products'} spread by {drawn['spread']:.2f}" in screen.text
    assert f"on average {drawn['passes']:.3f} here, and never more than 0.25" in screen.text
    assert "their dot product is the score" not in screen.text
    assert [trace["name"] for trace in screen.figure("spread")["data"]] == ["dot products", "scores, scaled"]


def test_chapter_7_says_that_single_increases_do_not_add_up(open_page, stored):
    text = open_page("learn", chapter="7").text
    zero = {tuple(entry["off"]): entry["increase"] for entry in stored["multihead_seed11"]["zero"]}
    singles, whole = sum(zero[head,] for head in range(4)), zero[0, 1, 2, 3]
    assert f"The 4 increases add up to {singles:.3f}; with all heads off the loss rises by {whole:.3f}" in text
    assert singles < whole, "else the sentence on redundancy would not hold"
    assert "the others make up for part of it. That is redundancy." in text
    pair = min((off for off in zero if len(off) == 2), key=zero.get)
    apart = zero[pair[0],] + zero[pair[1],]
    assert f"heads {pair[0] + 1} and {pair[1] + 1}: {zero[pair]:.3f} when both are off, {apart:.3f}" in text
    assert "worth most, given the others" in text


def test_chapter_7_says_what_pruning_and_in_context_learning_are_and_that_results_depend_on_the_task(open_page):
    text = open_page("learn", chapter="7").text
    assert "Pruning takes heads out for good" in text
    assert "That is in-context learning." in text
    assert "On another task other heads may matter" in text


def test_chapter_8_says_what_sharing_trades_and_which_operations_it_counts(open_page):
    screen = open_page("learn", chapter="8")
    cache = screen.table("Memory of scores and cache")["cache, MiB"]
    assert f"makes the cache {cache[0] / cache[1]:g} times smaller" in screen.text
    # Length 4,096, width 4,096, 32 layers: a product and an addition for each of n² pairs and d numbers, twice.
    assert f"{2 * 2 * 4096**2 * 4096 * 32 / 1e9:,.1f} billion multiplications and additions" in screen.text
    assert "one forward pass over the whole text that skips no masked pair" in screen.text
    assert "find words by the same keys" in screen.text
    # A key and a value of 4 × 16 or 1 × 16 numbers of 4 bytes; products with two matrices of 64 × 64.
    assert (
        "the cache is exact: 512 bytes a word where 4 heads have their own sets, 128 where they share one"
        in screen.text
    )
    assert f"{2 * 64 * 64 * 64:,} multiplications, of one word {2 * 64 * 64:,}" in screen.text
    assert f"To score the vocabulary takes {256 * 4000:,} either way" in screen.text


def test_chapter_8_at_its_widest_builds_no_model(open_page, monkeypatch):
    screen = open_page("learn", chapter="8")

    def refuse(*args, **kwargs):
        raise AssertionError("a model was built to read a number off it")

    monkeypatch.setattr(MultiHeadAttentionLM, "__init__", refuse)
    screen.app.select_slider(key="cost_width").set_value(8192).run()
    assert not screen.app.exception
    assert len(screen.table("Memory of scores and cache"))


def test_chapter_9_says_why_our_losses_may_be_compared(open_page):
    text = open_page("learn", chapter="9").text
    mlp, attention = (count_parameters(build_model(kind)) for kind in ("mlp", "attention"))
    assert "when tokenizer and test words are the same" in text
    assert f"the MLP has {mlp:,}, the attention models {attention:,}" in text


def split_drawn(screen) -> str:
    return next(e.proto.body for e in screen.app.get("html") if 'class="split"' in e.proto.body)


@pytest.mark.parametrize(("heads", "each", "rest"), [(8, 64, 0), (1, 512, 0), (7, 73, 1), (16, 32, 0)])
def test_chapter_2_draws_every_coordinate_once_in_the_hue_of_its_head(open_page, heads, each, rest):
    from wordlm.ui.drawing.charts import head_hue

    drawn = split_drawn(open_page("learn", chapter="2", course_heads=str(heads)))
    blocks = drawn.split("class=blocks")[1].split("class=strip")[0]
    cells = {}
    for columns, rows, hue in re.findall(r"--c:(\d+);--r:(\d+);background:(#\w+)", blocks):
        cells[hue] = cells.get(hue, 0) + int(columns) * int(rows)
    assert cells == {head_hue(head): each for head in range(heads)} | ({"#888888": rest} if rest else {})
    assert sum(cells.values()) == 512
    assert ("left over" in drawn) == bool(rest)


def test_chapter_7_draws_what_each_head_is_worth_as_a_bar_with_its_interval_in_the_head_s_hue(open_page, stored):
    from wordlm.ui.drawing.charts import head_hue

    screen = open_page("learn", chapter="7")
    (bars,) = screen.figure("without")["data"]
    entries = [next(e for e in stored["multihead_seed11"]["zero"] if e["off"] == [head]) for head in range(4)]
    assert array(bars["y"]).tolist() == [e["increase"] for e in entries]
    low = array(bars["y"]) - array(bars["error_y"]["arrayminus"])
    high = array(bars["y"]) + array(bars["error_y"]["array"])
    np.testing.assert_allclose(np.stack([low, high], 1), [e["interval"] for e in entries])
    assert bars["marker"]["color"] == [head_hue(head) for head in range(4)]
    assert not screen.app.dataframe, "the numbers are one press away"


def test_the_menu_names_the_chapters_and_the_link_keeps_their_numbers(open_page):
    screen = open_page("learn")
    menu = screen.app.segmented_control(key="chapter")
    assert list(menu.options) == [f"{number} {chapter.name}" for number, chapter in enumerate(CHAPTERS, 1)]
    menu.set_value("2").run()
    assert screen.address == {"chapter": ["2"]}
    assert "2. Split, attend, concatenate" in screen.text


USED = {"5": {"model", "seed"}, "6": {"prompt", "model", "seed"}, "7": {"model", "seed"}}


@pytest.mark.parametrize("chapter", [str(number) for number in range(1, 10)])
def test_a_chapter_has_those_of_the_shared_controls_that_it_reads_and_no_others(open_page, chapter):
    app = open_page("learn", chapter=chapter).app
    drawn = {one.key for one in (*app.text_input, *app.button_group)} & {"prompt", "model", "seed"}
    assert drawn == USED.get(chapter, set())


@pytest.mark.parametrize("part", ["quiz", "glossary"])
def test_quiz_and_glossary_have_none_of_the_shared_controls(open_page, part):
    app = open_page("learn", part=part).app
    assert not {one.key for one in (*app.text_input, *app.button_group)} & {"prompt", "model", "seed"}
