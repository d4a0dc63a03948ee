"""How an error of the package is told on a page."""

import pytest

from wordlm.ui.drawing.escape import as_sentence


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("the text holds no story", "The text holds no story."),
        ("ends already.", "Ends already."),
        ("8 trainings are in line", "8 trainings are in line."),
        ("work/data/x is missing", "work/data/x is missing."),
        ("batch_size must be at least 1", "batch_size must be at least 1."),
        ("bf16 is not offered", "bf16 is not offered."),
        ("", "."),
    ],
)
def test_a_message_is_a_sentence_and_a_name_stays_as_it_is(message, said):
    assert as_sentence(ValueError(message)).replace("\\", "") == said


def test_what_a_visitor_wrote_into_an_error_is_no_markup():
    assert as_sentence("the word *a* is unknown") == r"The word \*a\* is unknown\."
