"""The Perplexity and Benchmark pages in a browser."""

from playwright.sync_api import expect

ODD_TEXT = "<s> </script> $x$ *a* :smile: &lt; _b_"


def test_a_list_gives_its_perplexity_and_an_odd_text_is_scored_as_typed(page, server):
    page.goto(f"{server}/perplexity")
    expect(page.get_by_test_id("stMetricValue").nth(2)).to_have_text("4.0000")
    box = page.get_by_role("textbox", name="Probabilities")
    box.fill("50%\n1/32")
    box.press("Control+Enter")
    expect(page.get_by_test_id("stMetricValue").nth(2)).to_have_text("8.0000")
    box.fill("0.5, 1.5")
    box.press("Control+Enter")
    expect(page.get_by_text("entry 2, 1.5, is above 1")).to_be_visible()

    box = page.get_by_role("textbox", name="Text", exact=True)
    box.fill(ODD_TEXT)
    box.press("Control+Enter")
    words = page.locator(".surprisal span")
    expect(words).to_have_text([*"<s></", "script", *">$x$*a*:", "smile", *":&", "lt", *";_b_"])
    expect(page.get_by_text("are unknown to the vocabulary")).to_be_visible()


def test_the_benchmark_shows_its_pictures_and_refuses_a_wrong_file(page, server):
    page.goto(f"{server}/benchmark")
    expect(page.locator(".js-plotly-plot")).to_have_count(6)
    expect(page.get_by_text("Four heads minus one head, seed by seed")).to_be_visible()
    page.get_by_text("Add a comparison of your own").click()
    wrong = {"name": "comparison.json", "mimeType": "application/json", "buffer": b'{"runs": {}}'}
    page.locator("input[type=file]").set_input_files(wrong)
    expect(page.get_by_text("aggregate is missing")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(6)


def test_a_hebrew_paragraph_runs_from_the_right_and_the_next_one_starts_its_own_line(page, server):
    page.goto(f"{server}/perplexity")
    box = page.get_by_role("textbox", name="Text", exact=True)
    box.fill("שלום עולם\n\na little dog")
    box.press("Control+Enter")
    words = page.locator(".surprisal span")
    expect(words).to_have_text(["שלום", "עולם", "a", "little", "dog"])
    first, second, a, little, _ = (word.bounding_box() for word in words.all())
    assert first["x"] > second["x"] and first["y"] == second["y"]
    assert a["x"] < little["x"] and a["y"] > first["y"] + first["height"]


def test_a_table_sorts_by_the_number_and_not_by_its_text(page, server):
    page.goto(f"{server}/perplexity?probabilities=-0.5 -300 -2 -10&logarithms=true&table_targets=true")
    table = page.get_by_test_id("stDataFrame").first
    column = table.locator("[role=gridcell][aria-colindex='2']")
    expect(column).to_have_text(["-0.5", "-300", "-2", "-10"])
    table.scroll_into_view_if_needed()
    place = table.bounding_box()
    page.mouse.click(place["x"] + 0.25 * place["width"], place["y"] + 17)  # the header is drawn, not an element
    expect(column).to_have_text(["-300", "-10", "-2", "-0.5"])
