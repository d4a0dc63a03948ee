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
    expect(page.locator(".js-plotly-plot")).to_have_count(4)
    expect(page.get_by_text("Four heads minus one head, seed by seed")).to_be_visible()
    page.get_by_text("Add a comparison of your own").click()
    wrong = {"name": "comparison.json", "mimeType": "application/json", "buffer": b'{"runs": {}}'}
    page.locator("input[type=file]").set_input_files(wrong)
    expect(page.get_by_text("aggregate is missing")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(4)
