"""The numbers behind a picture, which stand open or not."""

from collections.abc import Callable

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from wordlm.ui.drawing.charts import MENU
from wordlm.ui.drawing.tables import number_table
from wordlm.ui.frame import widgets


def picture_over_numbers(
    figure: go.Figure, table: pd.DataFrame, name: str, *, alt: str, index: bool = False, decimals: int = 3
) -> None:
    """Draw a figure and, to be opened below it, the same numbers as a table. `name` is one of `parameters.TABLES`."""
    st.plotly_chart(figure, key=name, config=MENU, alt=alt)
    in_numbers(name, lambda: number_table(table, alt=alt, index=index, decimals=decimals))


def in_numbers(name: str, draw: Callable[[], None], label: str = "In numbers") -> None:
    """Offer the numbers behind a picture, one of `parameters.TABLES`; `draw` is called once they are opened."""
    place = widgets.expander(f"table_{name}", label, type="compact")
    if place.open:
        with place:
            draw()
