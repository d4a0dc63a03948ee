"""A figure of plain values, sent as it is.

Plotly checks each value that a figure is given and copies the whole again when it is sent: two thirds of what drawing
costs a page. The figures that are drawn anew with each prompt are plain; tests/test_charts.py has Plotly check them.

Streamlit and the report take any `BaseFigure` and ask it for `to_dict` alone, by way of `plotly.io`; so ours leaves
out the constructor, and with it all that the checks need. Where a new version asks for anything else, such as `data`
or `layout`, an `AttributeError` names it in the first page test that draws a chart.
"""

from typing import Any

import plotly.graph_objects as go
from plotly.basedatatypes import BaseFigure


class PlainFigure(BaseFigure):
    """What Streamlit and the report take for one of Plotly's figures. It must not be changed once it is drawn."""

    def __init__(self, data: list[dict[str, Any]], layout: dict[str, Any]) -> None:
        object.__setattr__(self, "_plain", {"data": data, "layout": layout})

    def to_dict(self) -> dict[str, Any]:
        """Return the figure itself, not a copy."""
        return self._plain

    def checked(self) -> go.Figure:
        """Return the same as one of Plotly's own figures. Raises `ValueError` where a value is none of Plotly's."""
        return go.Figure(self._plain)
