"""The figures of plain values: they are what Plotly accepts, which nobody checks as they are drawn."""

import numpy as np
import pandas as pd
import pytest

from wordlm.ui.drawing import charts

ODD = ["1 · <s>", "2 · </script>", "3 · $x$", "4 · *a*", "5 · &lt;", "6 · " + "m" * 200]
VALUES = np.array([0.5, 1e-7, 0.25, 3.0, 0.0, 1e9], dtype=np.float32)
INTERVALS = pd.DataFrame({"mean": VALUES, "low": VALUES / 2, "high": VALUES * 2}, index=ODD)
COLUMNS = ("mean", "low", "high")
SHARES = pd.DataFrame({"value": VALUES, "low": VALUES, "high": VALUES, "even": 0.25}, index=ODD)

FIGURES = {
    "rows of bars": lambda: charts.horizontal_bars(ODD, VALUES, "nats"),
    "pairs of bars": lambda: charts.paired_bars(ODD, {"<a>": VALUES, "b": VALUES}, "nats"),
    "pairs of rows": lambda: charts.paired_rows(ODD, {"<a>": VALUES, "b": VALUES}, "nats"),
    "points with intervals": lambda: charts.interval_points(INTERVALS, {"a": COLUMNS, "b": COLUMNS}, "nats"),
    "bars under a line": lambda: charts.bars_under_line(ODD, ("a", [None, *VALUES[1:].tolist()]), ("b", [1.0] * 6)),
    "curves of old": lambda: charts.past_curves({"<s>": [{"step": 1, "validation_loss": 4.0}]}),
    "a matrix": lambda: charts.matrix_heatmap(
        pd.DataFrame(np.eye(3), ODD[:3], ODD[:3]), rows="<query>", columns="key", unit="weight"
    ),
    "a bar a head": lambda: charts.head_bars(VALUES, "nats"),
    "rows of bars with marks": lambda: charts.bars_with_marks(
        ODD, ("<a>", VALUES), {"b": VALUES, "c": VALUES}, "cosine"
    ),
    "shares beside even weights": lambda: charts.beside_even({"a": SHARES, "b": SHARES}, "share"),
    "a map of points": lambda: charts.map_of_points(np.ones((6, 2)), ODD, [1, 0, 2, 3, 4, 5], ("x", "<y>")),
    "cosines": lambda: charts.cosine_heatmap(np.eye(3), "slot"),
    "bars with intervals": lambda: charts.interval_bars(INTERVALS, COLUMNS, "nats"),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_plotly_accepts_a_plain_figure(draw):
    figure = draw()
    assert figure.checked().to_dict()["data"]
    assert figure.to_dict()["layout"].keys() <= figure.checked().to_plotly_json()["layout"].keys()


def test_a_plain_figure_goes_into_a_report():
    page = charts.paired_bars(ODD, {"a": VALUES, "b": VALUES}, "nats").to_html(full_html=False, include_plotlyjs=False)
    assert '"type":"bar"' in page.replace(" ", "")


def test_plotly_would_refuse_a_value_that_is_none_of_its_own():
    from wordlm.ui.drawing.figure import PlainFigure

    with pytest.raises(ValueError, match="nonsense"):
        PlainFigure([{"type": "bar", "orientation": "nonsense"}], {}).checked()
