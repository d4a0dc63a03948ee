import datetime
import math

import numpy as np
import pandas as pd

from wordlm.files import ARTIFACTS, sha256_file
from wordlm.ui.drawing.charts import horizontal_bars
from wordlm.ui.drawing.report import html_report
from wordlm.ui.state.resources import checkpoint

ODD_PROMPT = "<s> </script> $x$ *a* :smile: &lt; _b_"


def report(tables, figures=None, picture="") -> str:
    chosen = [checkpoint("4", 11)]
    return html_report("A view", ODD_PROMPT, chosen, tables, figures or {}, picture, today=datetime.date(2026, 1, 2))


def test_a_report_names_prompt_model_digest_and_date():
    text = report({})
    assert "&lt;s&gt; &lt;/script&gt; $x$ *a* :smile: &amp;lt; _b_" in text
    assert "4 heads, seed 11" in text
    assert sha256_file(ARTIFACTS / "heads" / "multihead_seed11.npz") in text
    assert "2026-01-02" in text


def test_a_report_holds_the_numbers_of_its_tables():
    table = pd.DataFrame({"weight": [0.12345, 0.5], "key": ["1 · <s>", "2 · &lt;"]}, index=["head 1", "head 2"])
    text = report({"Weights": table})
    assert "1 · &lt;s&gt;" in text and "2 · &amp;lt;" in text
    assert "0.1235" in text and "0.5000" in text
    assert "<s>" not in text.split("<body>")[1]


def test_a_report_holds_the_numbers_of_its_pictures_and_no_link_to_elsewhere():
    figure = horizontal_bars(["0 · </script>", "1 · b"], np.array([0.4375, 0.25]), "probability")
    text = report({}, {"Next words": figure})
    call = text[text.index("Plotly.newPlot(") :]
    assert "</script>" in call  # the end of the call's own script ...
    assert "0 \\u00b7" in call.split("</script>")[0] and "0.4375" in call.split("</script>")[0]  # ... comes after it
    assert 'src="http' not in text
    assert len(text) > 1_000_000  # the drawing library is inside


def test_a_report_holds_the_squares_as_they_are_and_no_drawing_library_for_them():
    text = report({}, picture="<svg>squares</svg>")
    assert "<svg>squares</svg>" in text
    assert "<script" not in text


def test_a_report_writes_its_numbers_by_the_one_rule():
    text = report({"Weights": pd.DataFrame({"score": [-0.5, 1e-9, 1e300, math.nan], "steps": [1, 2, 3, 1320000]})})
    assert all(f"<td>{number}</td>" in text for number in ("−0.5000", "1\u00a0×\u00a010⁻⁹", "1\u00a0×\u00a010³⁰⁰"))
    assert "<td>1,320,000</td>" in text


def test_the_axes_of_a_reports_pictures_make_room_for_their_labels_and_the_page_fits_a_phone():
    text = report(
        {}, {"Next words": horizontal_bars(["a long name of a bar", "b"], np.array([0.4, 0.2]), "probability")}
    )
    assert '"yaxis":{' in text and text.count('"automargin":true') >= 2
    assert 'name="viewport" content="width=device-width' in text
