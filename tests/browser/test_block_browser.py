"""The whole model in one picture: read in the visitor's browser, at every key, with and without the server."""

import math
import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import choose, settled
from wordlm.ablation import switches
from wordlm.bundled import Bundled
from wordlm.inspection import inspect_ids, next_probabilities, next_words
from wordlm.text import encode_prompt
from wordlm.variants import Variant

TEXT = "lily gave the ball to tom . tom gave the ball to"


@pytest.fixture(scope="module")
def four_heads(bundled):
    return bundled("multihead_seed11")


def open_picture(page: Page, url: str, text: str = TEXT, more: str = "") -> None:
    page.goto(f"{url}/?form=model&prompt={text.replace(' ', '+')}{more}")
    expect(page.locator(".board .word").first).to_be_visible()
    settled(page)


def prompt_box(page: Page):
    return page.get_by_role("textbox", name="Prompt")


def words(page: Page) -> list[str]:
    return page.locator(".board .word").all_inner_texts()


def likeliest(page: Page) -> tuple[str, str]:
    """The first of the next words and its probability."""
    first = page.locator(".board .next li").first
    return first.locator("button").inner_text(), first.locator(".number").inner_text()


def expected(model, vocab, text: str, off: tuple[int, ...] = ()) -> tuple[str, str]:
    probabilities = next_probabilities(model, encode_prompt(text, vocab).ids, **switches(model, off))
    best = next_words(probabilities, vocab).iloc[0]
    word = best["word"] if re.search(r"\w", best["word"]) else f"“{best['word']}”"
    return word, f"{best['probability']:.3f}"


def test_the_picture_shows_the_models_own_numbers_and_the_server_confirms_them(page, server, four_heads, vocab):
    open_picture(page, server)
    assert words(page) == ["<BOS>", *TEXT.split()]
    assert likeliest(page) == expected(four_heads, vocab, TEXT)
    seen = inspect_ids(four_heads, encode_prompt(TEXT, vocab).ids)
    most = [f"most at “{seen_word(TEXT, row)}”{row.max():.3f}" for row in seen.weights[:, -1]]
    assert page.locator(".titles .dim:has(.number)").all_text_contents() == most
    expect(page.locator(".check")).to_contain_text("✓ The server agrees to")


def seen_word(text: str, row) -> str:
    return ["<BOS>", *text.split()][int(row.argmax())]


def test_the_picture_follows_every_key_while_the_server_does_not_answer(page, server, proxy, four_heads, vocab):
    proxy.port = urlsplit(server).port
    open_picture(page, proxy.url)
    proxy.answers.clear()
    prompt_box(page).press("End")
    typed = TEXT
    for key in " the dog":
        prompt_box(page).press_sequentially(key)
        typed += key
        expect(page.locator(".board .word")).to_have_count(1 + len(typed.split()), timeout=1000)
        assert likeliest(page) == expected(four_heads, vocab, typed)
    expect(page.locator(".check")).to_have_text("Calculated in your browser.")
    proxy.answers.set()
    expect(page.locator(".check")).to_contain_text("✓ The server agrees")
    assert words(page)[1:] == typed.split()


def test_without_the_server_play_hover_queries_and_heads_off_still_work(page, server, proxy, four_heads, vocab):
    proxy.port = urlsplit(server).port
    open_picture(page, proxy.url)
    proxy.lose()
    page.get_by_role("switch", name="head 2 on").press("Space")
    expect(page.locator(".board .next h4")).to_have_text("Next word after to without head 2")
    word, now = likeliest(page)
    assert (word, now.split(" ")[0]) == expected(four_heads, vocab, TEXT, (1,))
    page.get_by_role("switch", name="head 2 on").press("Space")

    page.locator(".board .word").nth(4).hover()
    shorter = " ".join(TEXT.split()[:4])
    expect(page.locator(".board .next h4")).to_have_text("Next word after ball")
    assert likeliest(page) == expected(four_heads, vocab, shorter)
    page.locator(".sentence").hover()
    expect(page.locator(".board .next h4")).to_have_text("Next word after to")
    page.locator(".board .word").nth(3).press("Enter")
    expect(page.locator(".board .next h4")).to_have_text("Next word after the")

    page.get_by_role("button", name="Play the steps").press("Enter")
    expect(page.locator(".sentence")).to_contain_text("Words and slots.")
    page.get_by_role("button", name="Pause").press("Enter")
    for title in ("Embedding", "Query, key, value", "Scores", "Weights", "Messages", "Update", "The next word"):
        page.get_by_role("button", name="Step forward").press("Enter")
        expect(page.locator(".sentence b")).to_have_text(f"{title}. ")
    expect(page.get_by_role("button", name="Step forward")).to_be_disabled()


def test_what_is_pressed_stands_in_the_link_and_a_link_opens_it(page, server):
    open_picture(page, server)
    page.locator(".board .word").nth(4).press("Enter")
    expect(page).to_have_url(re.compile("query=4"))
    page.get_by_role("button", name="head 3", exact=True).press("Enter")
    expect(page).to_have_url(re.compile("head=3"))
    page.get_by_role("switch", name="head 1 on").press("Space")
    expect(page).to_have_url(re.compile("without=1"))
    expect(page.locator(".check")).to_contain_text("✓ The server agrees")
    link, seen = page.url, likeliest(page)
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator(".board .word[aria-pressed=true]")).to_have_text("ball")
    expect(page.locator(".name[aria-pressed=true]")).to_have_text("head 3")
    expect(page.get_by_role("switch", name="head 1 on")).not_to_be_checked()
    assert likeliest(page) == seen


def ours(url: str) -> bool:
    return urlsplit(url).path.startswith("/media/")


def test_script_words_and_weights_are_fetched_once_and_never_again(browser, server):
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    fetched = []
    context.on("response", lambda r: fetched.append(int(r.headers["content-length"])) if ours(r.url) else None)
    for visit in range(2):
        page = context.new_page()
        open_picture(page, server)
        choose(page, "model", "1")
        expect(page.locator(".board .lane")).to_have_count(1)
        choose(page, "model", "4")
        expect(page.locator(".board .lane")).to_have_count(4)
        if visit == 0:
            assert len(fetched) == 4  # the script, two models and one vocabulary
            assert sum(sorted(fetched)[:-1]) < 7_000_000  # of a visit with one model
            fetched.clear()
        page.close()
    assert not fetched
    context.close()


def test_the_heads_split_and_merge_in_place(page, server):
    open_picture(page, server)
    for heads in ("1", "16", "4"):
        choose(page, "model", heads)
        expect(page.locator(".board .lane")).to_have_count(int(heads))
        expect(page.locator(".check")).to_contain_text("✓ The server agrees")


def test_a_next_word_shows_who_made_it_likely_and_the_sum_is_its_log_p(page, server):
    open_picture(page, server)
    page.locator(".board .next li button").first.press("Enter")
    panel = page.locator(".panel.shares")
    expect(panel.locator("h4")).to_have_text("Who made “the” likely?")
    shares = panel.locator("tbody").first.locator("tr td:nth-child(2)").all_inner_texts()
    sums = panel.locator("tfoot").first.locator("tr td:nth-child(2)").all_inner_texts()
    numbers, (total, constant, log_p) = (
        [round(1000 * float(number.replace("−", "-"))) for number in texts] for texts in (shares, sums)
    )
    assert sum(numbers) == total and total + constant == log_p
    chance = page.locator(".board .next li .number").first.inner_text()
    assert math.exp(log_p / 1000) == pytest.approx(float(chance.split()[0]), abs=0.001)
    expect(panel.locator("tfoot").first).to_contain_text("✓")
    panel.get_by_label("Compare with").select_option(label="their")
    expect(panel.locator("h4")).to_have_text("Why “the” rather than “their”?")
    expect(panel.locator("tfoot").first).to_contain_text("✓")
    panel.get_by_role("button", name="Close").press("Enter")
    expect(panel).to_have_count(0)


def test_an_appended_word_goes_on_in_the_prompt_and_the_picture(page, server):
    open_picture(page, server)
    page.get_by_role("button", name="Append the", exact=True).press("Enter")
    expect(prompt_box(page)).to_have_value(f"{TEXT} the")
    assert words(page)[-1] == "the"
    expect(page).to_have_url(re.compile(r"ball\+to\+the"))


def test_any_stage_opens_and_its_cells_say_what_they_were_made_from(page, server):
    open_picture(page, server)
    board = page.locator(".board").bounding_box()
    lane = page.locator(".board .lane").nth(1).bounding_box()
    page.mouse.move(lane["x"] + lane["width"] / 2, board["y"] + 110)
    expect(page.locator(".tip")).to_contain_text("head 2: “to” looks at the start mark, score")
    page.get_by_role("button", name="values", exact=True).nth(1).press("Enter")
    panel = page.locator(".panel")
    expect(panel.locator("h4")).to_have_text("Values of head 2: what each word hands on (13 × 16)")
    first = panel.locator(".cell-said").inner_text()
    panel.locator("canvas").press("ArrowRight")
    expect(panel.locator(".cell-said")).not_to_have_text(first)
    expect(panel.locator(".cell-said")).to_contain_text("value of “to”, number 2:")


def test_another_model_stands_below_and_they_say_where_they_part(page, server):
    open_picture(page, server)
    page.get_by_label("Another model below").select_option(label="1 head")
    expect(page.locator(".board")).to_have_count(2)
    expect(page.locator(".sentence")).to_contain_text("They disagree most on")
    expect(page).to_have_url(re.compile("beside=1"))
    page.locator(".board").nth(1).locator(".word").nth(4).hover()
    for picture in range(2):
        expect(page.locator(".board").nth(picture).locator(".next h4")).to_have_text("Next word after ball")


def test_the_mlp_has_its_own_picture_without_heads(page, server, bundled, vocab):
    open_picture(page, server, more="&model=MLP")
    expect(page.locator(".board .lane")).to_have_count(0)
    expect(page.get_by_role("button", name="all 64 slots side by side")).to_be_visible()
    probabilities = next_probabilities(bundled("mlp_seed11"), encode_prompt(TEXT, vocab).ids)
    best = next_words(probabilities, vocab).iloc[0]
    assert likeliest(page) == (best["word"], f"{best['probability']:.3f}")
    expect(page.locator(".steps button")).to_have_count(5)


def test_a_browser_that_cannot_fetch_the_model_says_so_and_the_servers_pictures_remain(page, server):
    page.route("**/media/*.bin", lambda route: route.abort())
    page.goto(f"{server}/?form=model")
    expect(page.locator(".notice")).to_contain_text("read the model itself (the server could not be reached)")
    page.get_by_role("button", name="cells", exact=True).press("Enter")
    expect(page.locator(".square canvas").first).to_be_visible()


def abort_scripts(route) -> None:
    if route.request.resource_type == "fetch" and not route.request.url.endswith(".bin"):
        route.abort()
    else:
        route.continue_()


@pytest.mark.parametrize("form", ["model", "cells"])
def test_where_the_pictures_script_does_not_come_that_is_said(page, server, form):
    page.route("**/media/*", abort_scripts)
    page.goto(f"{server}/?form={form}")
    expect(page.get_by_text("The picture's script could not be fetched.")).to_be_visible()


def test_with_every_number_of_heads_the_next_word_is_the_models(page, server, bundled, vocab):
    for choice in ("1", "2", "4", "8", "16"):
        open_picture(page, server, more=f"&model={choice}")
        model = bundled(Bundled(Variant.parse(choice), 11).file.removesuffix(".npz"))
        assert likeliest(page) == expected(model, vocab, TEXT), choice
