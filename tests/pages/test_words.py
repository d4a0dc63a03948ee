"""What the pages say: short sentences, and no table where nobody asked for numbers."""

import pytest

from tests.pages.test_learn_page import sentences

PAGES = ("switch_off", "heads_and_words", "perplexity", "generate", "train", "benchmark")


@pytest.mark.parametrize("page", PAGES)
def test_no_sentence_of_a_page_is_longer_than_25_words(open_page, page):
    app = open_page(page).app
    kinds = ("markdown", "caption", "info", "subheader")
    said = [element.value for kind in kinds for element in getattr(app, kind)]
    said += [widget.help for widget in (*app.segmented_control, *app.toggle, *app.slider, *app.pills) if widget.help]
    assert not [s for text in said for s in sentences(text) if len(s.split()) > 25]


@pytest.mark.parametrize("page", PAGES)
def test_every_heading_is_a_question(open_page, page):
    assert all(heading.value.endswith("?") for heading in open_page(page).app.subheader)


@pytest.mark.parametrize(
    ("page", "tables"), [("switch_off", 0), ("heads_and_words", 0), ("perplexity", 0), ("generate", 0), ("train", 0)]
)
def test_a_page_opens_without_a_table(open_page, page, tables):
    assert len(open_page(page).app.dataframe) == tables


@pytest.mark.parametrize("page", ["switch_off", "heads_and_words", "perplexity", "benchmark"])
def test_a_page_ends_with_one_take_away(open_page, page):
    app = open_page(page).app
    assert [text.value for text in app.markdown].count("**Take away**") == 1
    assert [b.proto.label for b in app.get("download_button")] == ["Tables (CSV, zipped)", "Report (one HTML file)"]
