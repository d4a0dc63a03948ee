"""Clicking, toggling, switching off, sharing: the explorer's pages as a visitor uses them."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import choose

ODD_PROMPT = "<s> </script> $x$ *a* :smile: &lt; _b_"
ODD_TOKENS = ["<", "s", ">", "<", "/", "script", ">", "$", "x", "$", "*", "a", "*"]
ODD_TOKENS += [":", "smile", ":", "&", "lt", ";", "_", "b", "_"]


def prompt_box(page: Page):
    return page.get_by_role("textbox", name="Prompt")


def weight_sentence(page: Page):
    return page.get_by_text(re.compile(r"^Head \d+: the weight of the key"))


def click_cell(page: Page, head: int, query: int, key: int, of: int) -> None:
    """Click the middle of one heatmap cell; `of` is the number of positions."""
    plot = page.locator("[class*=st-key-heads] .js-plotly-plot")
    expect(plot).to_have_count(1)
    expect(plot.locator(".heatmaplayer image").first).to_be_attached()
    layer = plot.locator(f".subplot.{'xy' if head == 1 else f'x{head}y{head}'}")
    plot.scroll_into_view_if_needed()
    box = layer.locator(".heatmaplayer image").bounding_box()
    page.mouse.click(box["x"] + box["width"] * (key + 0.5) / of, box["y"] + box["height"] * (query + 0.5) / of)


def test_cells_tokens_and_numbers_of_heads_are_pressed_in_turn(page, server):
    page.goto(server)
    expect(weight_sentence(page)).to_contain_text("Head 1")
    click_cell(page, head=2, query=6, key=3, of=8)
    expect(weight_sentence(page)).to_contain_text("Head 2: the weight of the key 3 · dog for the query 6 · red")
    expect(page.locator(".heads-said")).to_contain_text("head 1: red looks most at")
    click_cell(page, head=4, query=4, key=1, of=8)
    expect(weight_sentence(page)).to_contain_text("Head 4: the weight of the key 1 · a for the query 4 · found")

    token = page.locator(".st-key-tokens").get_by_role("button", name="little")
    token.press("Enter")
    expect(page.locator(".heads-said")).to_contain_text("little looks most at")
    expect(token).to_have_attribute("aria-pressed", "true")

    for heads in ("1", "8"):
        choose(page, "model", heads)
        expect(page.locator("[class*=st-key-heads] .annotation")).to_have_count(int(heads))
        expect(page.locator(".heads-said span")).to_have_count(int(heads))
    expect(page.locator(".heads-said")).to_contain_text("little looks most at")


def test_a_copied_link_opens_the_same_view_in_a_new_session(browser, server):
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{server}/?prompt=one+big+bear")
    choose(page, "model", "8")
    expect(page.locator(".heads-said span")).to_have_count(8)
    click_cell(page, head=3, query=2, key=1, of=4)
    expect(weight_sentence(page)).to_contain_text("Head 3: the weight of the key 1 · one for the query 2 · big")
    sentence = weight_sentence(page).inner_text()
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Link copied.")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    context.close()

    fresh = browser.new_context(viewport={"width": 1366, "height": 768})
    page = fresh.new_page()
    page.goto(link)
    expect(weight_sentence(page)).to_have_text(sentence)
    expect(page.locator(".heads-said span")).to_have_count(8)
    fresh.close()


def test_odd_words_are_intact_in_labels_table_export_and_report(browser, page, server, tmp_path):
    page.goto(server)
    prompt_box(page).fill(ODD_PROMPT)
    expect(page.locator(".st-key-tokens b")).to_have_text(["<BOS>", *ODD_TOKENS])
    expect(page.locator("[class*=st-key-heads] .ytick", has_text="16 · :").first).to_be_attached()
    table = page.get_by_test_id("stDataFrame").first
    expect(table.locator("th", has_text="5 · /")).to_be_attached()
    with page.expect_download() as download:
        page.locator(".st-key-csv_weights button").click()
    text = download.value.path().read_text(encoding="utf-8-sig")
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
    expect(report.locator(".js-plotly-plot .ytick", has_text="2 · s").first).to_be_attached()
    assert all(url.startswith(("file:", "blob:", "data:")) for url in requests)
    report.close()


def test_choices_survive_a_walk_through_all_pages(page, server):
    page.goto(server)
    prompt_box(page).fill("one big bear")
    expect(page.locator(".heads-said")).to_contain_text("bear looks most at")
    choose(page, "model", "8")
    expect(page.locator(".heads-said span")).to_have_count(8)
    click_cell(page, head=3, query=2, key=1, of=4)
    expect(weight_sentence(page)).to_contain_text("Head 3: the weight of the key 1 · one for the query 2 · big")
    choose(page, "scale", "logarithmic")
    picture = page.locator("[class*=st-key-heads] .js-plotly-plot", has_text="weight, logarithmic")
    expect(picture).to_be_visible()
    for title in ("Compare heads", "Switch heads off", "Perplexity", "Generate", "Benchmark", "Explore"):
        page.get_by_role("link", name=title, exact=True).first.click()
        expect(prompt_box(page)).to_have_value("one big bear")
        expect(page.locator(".st-key-model").get_by_role("radio", name="8", exact=True)).to_be_checked()
        if title == "Switch heads off":
            page.locator(".st-key-off").get_by_role("button", name="3", exact=True).click()
            expect(page.get_by_text("without heads 1, 3 it is")).to_be_visible()
    expect(weight_sentence(page)).to_contain_text("Head 3: the weight of the key 1 · one for the query 2 · big")
    expect(picture).to_be_visible()
