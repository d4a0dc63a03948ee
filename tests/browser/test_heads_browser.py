"""Clicking, toggling, switching off, sharing: the explorer's pages as a visitor uses them."""

import re
import zipfile

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import choose, settled

ODD_PROMPT = "<s> </script> $x$ *a* :smile: &lt; _b_"
ODD_TOKENS = ["<", "s", ">", "<", "/", "script", ">", "$", "x", "$", "*", "a", "*"]
ODD_TOKENS += [":", "smile", ":", "&", "lt", ";", "_", "b", "_"]


def prompt_box(page: Page):
    return page.get_by_role("textbox", name="Prompt")


def answer(page: Page):
    """The line beside the picture that says what was pressed."""
    return page.locator(".answer")


def word(page: Page, name: str):
    return page.locator(".strip .word", has_text=re.compile(f"^{re.escape(name)}$")).last


def click_cell(page: Page, head: int, query: int, key: int, of: int) -> None:
    """Click the middle of one cell of a head's square; `of` is the number of positions."""
    canvas = page.locator(".square canvas").nth(head - 1)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] * (key + 0.5) / of, "y": box["height"] * (query + 0.5) / of})


def test_cells_words_and_numbers_of_heads_are_pressed_in_turn_and_answered_beside_the_picture(page, server):
    page.goto(f"{server}/?form=cells")
    expect(answer(page)).to_contain_text("head 1: 7 · hat looks at")
    click_cell(page, head=2, query=6, key=3, of=8)
    expect(answer(page)).to_contain_text("head 2: 6 · red looks at 3 · dog")
    expect(answer(page)).to_contain_text(re.compile(r"= softmax of −?\d+\.\d\d over 7 scores"))
    expect(word(page, "red")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".square.chosen b")).to_have_text("head 2")
    page.locator(".strip .cell[data-head='3'][data-key='1']").click()
    expect(answer(page)).to_contain_text("head 4: 6 · red looks at 1 · a")

    word(page, "little").press("Enter")
    expect(answer(page)).to_contain_text("2 · little looks at")
    word(page, "little").press("ArrowRight")
    page.keyboard.press("Enter")
    expect(answer(page)).to_contain_text("3 · dog looks at")
    expect(page.get_by_text("After dog the likeliest word is")).to_be_visible()
    expect(page.locator(".next h4")).to_have_text("Next word after dog")

    for heads in ("1", "8"):
        choose(page, "model", heads)
        expect(page.locator(".strip .name")).to_have_count(int(heads))
    expect(page.locator(".square canvas")).to_have_count(9)  # one large, and all of them small
    page.locator(".many figcaption button").nth(4).press("Enter")
    expect(page.locator(".squares > .square b")).to_have_text("head 5")


def test_a_head_switched_off_in_the_picture_changes_the_next_words_at_once(page, server):
    page.goto(f"{server}/?form=cells")
    first = page.locator(".next li .number").first
    expect(first).to_have_text(re.compile(r"^0\.\d{3}$"))
    page.get_by_role("switch", name="head 2 on").press("Space")
    expect(first).to_have_text(re.compile(r"^0\.\d{3} \(was 0\.\d{3}\)$"))
    expect(page.locator(".next h4")).to_have_text("Next word after hat without head 2")
    expect(page.locator(".square.off")).to_have_count(1)
    expect(page).to_have_url(re.compile("without=2"))


def test_the_same_weights_are_seen_as_lines(page, server):
    page.goto(f"{server}/?form=cells")
    page.get_by_role("button", name="lines", exact=True).press("Enter")
    expect(page.locator("svg.lines path").first).to_be_attached()
    expect(page).to_have_url(re.compile("form=lines"))
    colours = page.locator("svg.lines path").evaluate_all(
        "(all) => [...new Set(all.map((p) => p.getAttribute('stroke')))]"
    )
    assert len(colours) == 4
    page.get_by_role("switch", name="head 1 on").press("Space")
    expect(page.locator(f"svg.lines path[stroke='{colours[0]}']")).to_have_count(0)


def test_a_copied_link_opens_the_same_view_in_a_new_session(browser, server):
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{server}/?form=cells&prompt=one+big+bear")
    choose(page, "model", "4")
    click_cell(page, head=3, query=2, key=1, of=4)
    expect(answer(page)).to_contain_text("head 3: 2 · big looks at 1 · one")
    sentence = answer(page).inner_text()
    settled(page)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Link copied.")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    context.close()

    fresh = browser.new_context(viewport={"width": 390, "height": 844})
    page = fresh.new_page()
    page.goto(link)
    expect(answer(page)).to_have_text(sentence)
    expect(page.locator(".strip .name")).to_have_count(4)
    fresh.close()


def test_on_a_projector_labels_are_large_keys_choose_the_head_and_the_frame_is_away(browser, server):
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.goto(f"{server}/?form=cells&present=true&note=What+does+head+2+do%3F")
    expect(page.locator(".note")).to_have_text("What does head 2 do?")
    expect(prompt_box(page)).to_be_hidden()
    expect(page.locator(".strip .word").first).to_be_visible()
    sizes = page.locator(".strip .word, .name, .answer, .next li, .rows, .columns, .legend").evaluate_all(
        "(all) => all.map((e) => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 20
    page.keyboard.press("c")
    expect(answer(page)).to_contain_text("head 3: 7 · hat looks at")
    page.get_by_role("button", name="Leave the projection").click()
    expect(prompt_box(page)).to_be_visible()
    context.close()


def test_odd_words_are_intact_in_labels_table_export_and_report(browser, page, server, tmp_path):
    page.goto(f"{server}/?form=cells")
    prompt_box(page).fill(ODD_PROMPT)
    expect(page.locator(".strip .word")).to_have_text(["<BOS>", *ODD_TOKENS])
    page.get_by_role("tab", name="In numbers").click()
    table = page.get_by_test_id("stDataFrame").first
    expect(table.locator("th", has_text="5 · /")).to_be_attached()
    with page.expect_download() as download:
        page.locator(".st-key-tables button").click()
    assert download.value.suggested_filename == "explore-4-heads-s-script-x-a-smile-lt-b.zip"
    with zipfile.ZipFile(download.value.path()) as archive:
        text = archive.read("weights-of-the-chosen-query.csv").decode("utf-8-sig")
    assert text.startswith(",sum,0 · <BOS>,1 · <,2 · s,3 · >,4 · <,5 · /,6 · script,7 · >,8 · $,9 · x,10 · $,11 · *")

    with page.expect_download() as download:
        page.locator(".st-key-report button").click()
    download.value.save_as(tmp_path / "report.html")
    report = browser.new_page()
    requests = []
    report.on("request", lambda request: requests.append(request.url))
    report.goto((tmp_path / "report.html").as_uri())
    expect(report.locator("bdi").first).to_have_text(ODD_PROMPT)
    expect(report.locator("th", has_text="5 · /").first).to_be_visible()
    expect(report.locator("svg[role=img] text", has_text="script")).to_have_count(5)  # four columns, one row
    with page.expect_download() as download:
        page.locator(".st-key-picture button").click()
    assert download.value.suggested_filename == "explore-4-heads-s-script-x-a-smile-lt-b.svg"
    download.value.save_as(tmp_path / "picture.svg")
    report.goto((tmp_path / "picture.svg").as_uri())
    expect(report.locator("text", has_text="script")).to_have_count(5)
    assert all(url.startswith(("file:", "blob:", "data:")) for url in requests)
    report.close()


def test_choices_survive_a_walk_through_all_pages(page, server):
    page.goto(f"{server}/?form=cells")
    prompt_box(page).fill("one big bear")
    expect(answer(page)).to_contain_text("3 · bear looks at")
    choose(page, "model", "4")
    click_cell(page, head=3, query=2, key=1, of=4)
    expect(answer(page)).to_contain_text("head 3: 2 · big looks at 1 · one")
    page.get_by_text("Colours and more").click()
    page.locator("select[data-focus=scale]").select_option("logarithmic")
    legend = page.locator(".legend", has_text="weight, logarithmic")
    expect(legend).to_be_visible()
    for title in ("Compare heads", "Switch heads off", "Perplexity", "Generate", "Benchmark", "Explore"):
        page.get_by_role("link", name=title, exact=True).first.click()
        expect(page).to_have_title(f"{title} · Attention explorer")
        if title not in ("Perplexity", "Benchmark"):
            expect(prompt_box(page)).to_have_value("one big bear")
            expect(page.locator(".st-key-model").get_by_role("radio", name="4", exact=True)).to_be_checked()
        settled(page)
    expect(answer(page)).to_contain_text("head 3: 2 · big looks at 1 · one")
    expect(legend).to_be_visible()


def test_a_weight_is_followed_to_the_tab_that_shows_how_it_is_made(page, server):
    page.goto(f"{server}/?form=cells&tab=Shapes")
    expect(page.get_by_role("tab", name="Shapes")).to_have_attribute("aria-selected", "true")
    page.get_by_role("button", name="How is it made?").press("Enter")
    expect(page.get_by_role("tab", name="One weight")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".chain")).to_be_in_viewport()
    expect(page).not_to_have_url(re.compile("tab="))  # the default


def bottom(page: Page, selector: str) -> float:
    return max(box["y"] + box["height"] for one in page.locator(selector).all() if (box := one.bounding_box()))


LONG = "once upon a time there was a little girl named lily who liked to play with her red ball outside"


@pytest.mark.parametrize("prompt", ["the little dog saw a", LONG, f"{LONG} and {LONG} and {LONG}"])
@pytest.mark.parametrize("heads", ["4", "16"])
def test_strip_answer_squares_and_next_words_fit_the_first_screen(browser, server, prompt, heads):
    for size, present in (((1366, 768), "false"), ((1280, 720), "true")):
        context = browser.new_context(viewport={"width": size[0], "height": size[1]})
        page = context.new_page()
        page.goto(f"{server}/?form=cells&prompt={prompt.replace(' ', '+')}&model={heads}&present={present}")
        expect(page.locator(".strip .name").first).to_be_visible()
        settled(page)
        for part in (".strip", ".answer", ".square canvas", ".plot .picked", ".next"):
            assert bottom(page, part) <= size[1], f"{part} at {size}"
        context.close()


def test_in_a_long_prompt_the_chosen_words_stand_at_the_edges_of_the_square(page, server):
    page.goto(
        f"{server}/?form=cells&prompt={(LONG + ' and ' + LONG).replace(' ', '+')}&query=4+·+time&key=2+·+upon&head=3"
    )
    expect(page.locator(".rows bdi:not(:empty)")).to_have_text(["time"])
    expect(page.locator(".columns bdi:not(:empty)")).to_have_text(["upon"])
