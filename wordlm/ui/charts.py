"""Figures. Arrays and words in, one figure out; no Streamlit, no model, no cache."""

from typing import Literal

import numpy as np
import plotly.graph_objects as go

from wordlm.ui.escape import for_plotly, shortened

Scale = Literal["absolute", "per view", "logarithmic"]

# Cividis is even in lightness for every kind of colour vision, and neither end vanishes on light or dark.
WEIGHT_COLOURS = "Cividis"
LOG_FLOOR = 1e-4

# Okabe and Ito (2008), without black; more than 7 heads take the hues again in a second, darker round.
HEAD_HUES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B8A800")
MENU = {"displaylogo": False, "modeBarButtons": [["toImage"]]}
"""Plotly's menu on every chart: the picture as a file, nothing that moves the view."""

PANELS_A_ROW = 4
PANEL_PIXELS = 230
LARGE_PANEL_PIXELS = 320
GAP_PIXELS = 30
LABEL_PIXELS = 14


def weight_heatmaps(
    weights: np.ndarray, labels: tuple[str, ...], heads: list[int], *, scale: Scale, query: int
) -> go.Figure:
    """Draw one heatmap a head, all on one colour scale; row = query, column = key, masked cells empty.

    `weights` (H, n, n); `labels` (n,) all different, since they are the categories of the axes; `heads` the
    heads to draw, from 0; `query` the row to mark.
    """
    n = len(labels)
    names = [for_plotly(label) for label in labels]
    columns = min(PANELS_A_ROW, len(heads))
    rows = -(-len(heads) // columns)
    panel = PANEL_PIXELS if columns > 2 else LARGE_PANEL_PIXELS
    inner_height = rows * panel + (rows - 1) * GAP_PIXELS
    gap = 1 if n <= 24 else 0  # between cells
    label_step = -(-n * LABEL_PIXELS // panel)
    shown = np.where(np.tril(np.ones((n, n), bool)), weights[heads], np.nan)
    colour_axis = _colour_axis(shown, scale)
    values = np.log10(np.maximum(shown, LOG_FLOOR)) if scale == "logarithmic" else shown

    traces, layout = [], {}
    for place, head in enumerate(heads):
        row, column = divmod(place, columns)
        axis = "" if place == 0 else str(place + 1)
        x0, x1 = _panel(column, columns, gap=0.02)
        y1, y0 = (1 - edge for edge in _panel(row, rows, gap=GAP_PIXELS / inner_height))
        traces.append(
            {
                "type": "heatmap",
                "x": names,
                "y": names,
                "z": values[place],
                "customdata": shown[place],
                "coloraxis": "coloraxis",
                "xaxis": f"x{axis}",
                "yaxis": f"y{axis}",
                "xgap": gap,
                "ygap": gap,
                "hoverongaps": False,
                "hovertemplate": f"head {head + 1}: <b>%{{y}}</b> looks at <b>%{{x}}</b>"
                "<br>weight %{customdata:.3f}<extra></extra>",
            }
        )
        lowest = place + columns >= len(heads)
        layout[f"xaxis{axis}"] = {"domain": [x0, x1], "anchor": f"y{axis}"} | _axis(
            labels, label_step, "key (looked at)" if lowest else None
        )
        layout[f"yaxis{axis}"] = {"domain": [y0, y1], "anchor": f"x{axis}", "autorange": "reversed"} | _axis(
            labels, label_step, "query (looks)" if column == 0 else None
        )
    layout["annotations"] = [_head_title(head, layout, place) for place, head in enumerate(heads)]
    layout["shapes"] = [_query_mark(place, query, n) for place in range(len(heads))]
    return go.Figure(
        {
            "data": traces,
            "layout": layout
            | {
                "coloraxis": colour_axis,
                "height": inner_height + 100,
                "margin": {"l": 8, "r": 8, "t": 28, "b": 8},
                "hoverlabel": {"align": "left"},
            },
        },
    )


def next_word_bars(words: list[str], probabilities: np.ndarray) -> go.Figure:
    """Draw the likeliest next words as horizontal bars, the likeliest on top; probability from 0 to the largest."""
    names = [f"{rank} · {for_plotly(word)}" for rank, word in enumerate(words, 1)]
    bars = go.Bar(
        x=probabilities,
        y=names,
        orientation="h",
        text=[f"{p:.3f}" for p in probabilities],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{y}: probability %{x:.4f}<extra></extra>",
        marker_color=HEAD_HUES[0],
    )
    figure = go.Figure(bars)
    figure.update_layout(height=60 + 26 * len(words), margin={"l": 8, "r": 48, "t": 8, "b": 8}, bargap=0.25)
    figure.update_xaxes(title="probability", rangemode="tozero")
    figure.update_yaxes(autorange="reversed", ticklabelstandoff=6)
    return figure


def _colour_axis(shown: np.ndarray, scale: Scale) -> dict:
    """Return the colour axis and, beside its bar, what the colours mean."""
    bar = {"thickness": 12, "title": {"side": "right"}, "outlinewidth": 0}
    bar |= {"lenmode": "pixels", "len": PANEL_PIXELS, "y": 1, "yanchor": "top"}
    if scale == "logarithmic":
        ticks = [-4, -3, -2, -1, 0]
        bar |= {"tickvals": ticks, "ticktext": ["≤ 0.0001", "0.001", "0.01", "0.1", "1"]}
        bar["title"] |= {"text": "weight, logarithmic"}
        return {"colorscale": WEIGHT_COLOURS, "cmin": -4, "cmax": 0, "colorbar": bar}
    # The first row has one key and weight 1 in every prompt; it would set the largest everywhere.
    largest = 1.0 if scale == "absolute" or shown.shape[1] == 1 else float(np.nanmax(shown[:, 1:]))
    bar["title"] |= {"text": "weight, 0 to 1" if scale == "absolute" else f"weight, 0 to {largest:.3f}, the largest"}
    return {"colorscale": WEIGHT_COLOURS, "cmin": 0, "cmax": largest, "colorbar": bar}


def _panel(place: int, count: int, gap: float) -> tuple[float, float]:
    width = (1 - gap * (count - 1)) / count
    return place * (width + gap), place * (width + gap) + width


def _axis(labels: tuple[str, ...], step: int, title: str | None) -> dict:
    """Return a category axis with every `step`-th label, or with none where it has no title."""
    return {
        "type": "category",
        "title": {"text": title, "standoff": 6} if title else None,
        "showticklabels": title is not None,
        "tickmode": "array",
        "tickvals": [for_plotly(label) for label in labels[::step]],
        "ticktext": [for_plotly(shortened(label)) for label in labels[::step]],
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
        "automargin": True,
        "ticks": "",
    }


def _head_title(head: int, layout: dict, place: int) -> dict:
    axis = "" if place == 0 else str(place + 1)
    return {
        "text": f'<span style="color:{HEAD_HUES[head % len(HEAD_HUES)]}">■</span> head {head + 1}',
        "x": layout[f"xaxis{axis}"]["domain"][0],
        "y": layout[f"yaxis{axis}"]["domain"][1],
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
    }


def _query_mark(place: int, query: int, n: int) -> dict:
    axis = "" if place == 0 else str(place + 1)
    return {
        "type": "rect",
        "xref": f"x{axis}",
        "yref": f"y{axis}",
        "x0": -0.5,
        "x1": query + 0.5,
        "y0": query - 0.5,
        "y1": query + 0.5,
        "line": {"color": "#E4572E", "width": 2},
    }
