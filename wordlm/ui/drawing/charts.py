"""Figures. Arrays and words in, one figure out; no Streamlit, no model, no cache."""

import itertools
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wordlm.numbers import written
from wordlm.ui.drawing.escape import for_plotly, shortened
from wordlm.ui.drawing.figure import PlainFigure

Scale = Literal["root", "even", "absolute", "per view", "logarithmic"]
"""What a colour says of a weight: see `SCALES` in `heads.js` and `squares.py`, the first is the default."""
FirstToken = Literal["shown", "left out", "left out, rest scaled up"]

# Okabe and Ito (2008), without black; from the eighth head on the same hues darker, from the fifteenth lighter.
_HUES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B8A800")


def head_hue(head: int) -> str:
    """Return the hue of a head (from 0), the same one everywhere, as "#rrggbb"."""
    toward, share = ((0, 0.0), (0, 0.4), (255, 0.5))[head // len(_HUES) % 3]
    hue = _HUES[head % len(_HUES)]
    mixed = (round(int(hue[i : i + 2], 16) * (1 - share) + toward * share) for i in (1, 3, 5))
    return "#" + "".join(f"{channel:02X}" for channel in mixed)


MENU = {"displaylogo": False, "modeBarButtons": [["toImage"]]}
"""Plotly's menu on every chart: the picture as a file, nothing that moves the view."""

QUIET = [[0, "rgba(0, 114, 178, 0)"], [1, "rgba(0, 114, 178, 0.6)"]]
"""From the page's own background to a hue, so that what is small is quiet; numbers stay readable on all of it."""
SIGNED = [[0, "rgba(213, 94, 0, 1)"], [0.5, "rgba(128, 128, 128, 0)"], [1, "rgba(0, 114, 178, 1)"]]
"""From one hue below 0 through the page's own background to another above."""
ACCENT = "#1F78C1"
SECOND = "#D55E00"
MARGIN_UNDER_LEGEND = {"l": 8, "r": 8, "t": 28, "b": 8}
LEGEND_ABOVE = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
ASTRAY = 4.0
"""So many times the first loss is far above it."""


def horizontal_bars(names: list[str], values: np.ndarray, axis_title: str, *, decimals: int = 4) -> PlainFigure:
    """Draw one horizontal bar a name, the first on top, with its number at the end."""
    bars = {
        "type": "bar",
        "x": values.tolist(),
        "y": [for_plotly(name) for name in names],
        "orientation": "h",
        "text": [written(value, decimals) for value in values],
        "textposition": "outside",
        "cliponaxis": False,
        "hovertemplate": f"%{{y}}: {axis_title} %{{x:.5~g}}<extra></extra>",
        "marker": {"color": ACCENT},
    }
    layout = {
        "height": 60 + 28 * len(names),
        "margin": {"l": 8, "r": 84, "t": 8, "b": 8},
        "bargap": 0.25,
        "xaxis": {"title": {"text": axis_title}, "rangemode": "tozero", "fixedrange": True},
        "yaxis": {"autorange": "reversed", "type": "category", "ticklabelstandoff": 6, "fixedrange": True},
    }
    return PlainFigure([bars], layout)


def bars_with_marks(
    names: list[str], bars: tuple[str, np.ndarray], marks: dict[str, np.ndarray], axis_title: str
) -> PlainFigure:
    """Draw one horizontal bar a name, the first on top, and on each row a mark for each of at most two others."""
    drawn = horizontal_bars(names, bars[1], axis_title, decimals=3).to_dict()
    traces = [drawn["data"][0] | {"name": bars[0], "text": None}]  # a number at its end would cover a mark
    for (name, values), symbol in zip(marks.items(), ("line-ns-open", "diamond"), strict=False):
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": values.tolist(),
                "y": traces[0]["y"],
                "name": name,
                "marker": {"symbol": symbol, "size": 16 if symbol == "line-ns-open" else 8, "color": SECOND},
                "hovertemplate": f"{name}: %{{x:.3f}}<extra></extra>",
            }
        )
        traces[-1]["marker"]["line"] = {"width": 3, "color": SECOND}
    return PlainFigure(traces, drawn["layout"] | {"margin": MARGIN_UNDER_LEGEND, "legend": LEGEND_ABOVE})


_ASIDE = ("top center", "bottom center", "middle right", "middle left")
"""Names take turns, so that few cover each other."""
MOST_NAMED = 6


def map_of_points(places: np.ndarray, names: list[str], marked: list[int], axes: tuple[str, str]) -> PlainFigure:
    """Draw `places` (N, 2) as quiet points with names on hover; those `marked`, first of all the first, with theirs."""
    shown = [for_plotly(name) for name in names]
    everything = {
        "type": "scatter",
        "mode": "markers",
        "x": np.round(places[:, 0], 3).tolist(),
        "y": np.round(places[:, 1], 3).tolist(),
        "text": shown,
        "marker": {"size": 4, "color": "#888888", "opacity": 0.4},
        "hovertemplate": "%{text}<extra></extra>",
    }
    named = everything | {
        "mode": "markers+text",
        "x": [everything["x"][place] for place in marked],
        "y": [everything["y"][place] for place in marked],
        "text": [shown[place] if rank < MOST_NAMED else "" for rank, place in enumerate(marked)],
        "hovertext": [shown[place] for place in marked],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "textposition": [_ASIDE[place % len(_ASIDE)] for place in range(len(marked))],
        "marker": {"size": 8, "color": [SECOND] + [ACCENT] * (len(marked) - 1)},
    }
    axis = {"fixedrange": True, "zeroline": False, "showticklabels": False, "showgrid": False}
    layout: dict[str, Any] = {
        "height": 440,
        "showlegend": False,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "hovermode": "closest",
    }
    layout |= {name: axis | {"title": {"text": title}} for name, title in zip(("xaxis", "yaxis"), axes, strict=True)}
    return PlainFigure([everything, named], layout)


def cosine_heatmap(matrix: np.ndarray, title: str) -> PlainFigure:
    """Draw cosines (N, N) from one hue below 0 to another above; the diagonal, always 1, does not set the scale."""
    apart = matrix[~np.eye(len(matrix), dtype=bool)]
    reach = float(np.abs(apart).max()) if len(apart) else 1.0
    trace = {
        "type": "heatmap",
        "z": np.round(matrix, 3).tolist(),
        "zmin": -reach,
        "zmax": reach,
        "colorscale": SIGNED,
        "colorbar": {"thickness": 12, "title": {"text": "cosine", "side": "right"}, "outlinewidth": 0},
        "hovertemplate": f"{title} %{{y}} and %{{x}}: %{{z:.3f}}<extra></extra>",
    }
    axis = {"title": {"text": title}, "fixedrange": True, "showgrid": False, "zeroline": False, "constrain": "domain"}
    layout = {"xaxis": axis, "yaxis": axis | {"autorange": "reversed", "scaleanchor": "x"}, "height": 440}
    return PlainFigure([trace], layout | {"margin": {"l": 8, "r": 8, "t": 8, "b": 8}})


def matrix_heatmap(matrix: pd.DataFrame, *, rows: str, columns: str, unit: str) -> PlainFigure:
    """Draw a small matrix of values from 0 to 1; up to 64 cells have their numbers, more a colour bar."""
    values = matrix.to_numpy(float)
    numbered = values.size <= 64
    trace = {
        "type": "heatmap",
        "x": [for_plotly(str(name)) for name in matrix.columns],
        "y": [for_plotly(str(name)) for name in matrix.index],
        "z": values.tolist(),
        "zmin": 0,
        "zmax": 1,
        "colorscale": QUIET,
        "xgap": 1,
        "ygap": 1,
        "showscale": not numbered,
        "colorbar": {"thickness": 12, "title": {"text": unit, "side": "right"}, "outlinewidth": 0},
        "hovertemplate": f"{rows} %{{y}}, {columns} %{{x}}: %{{z:.3~g}}<extra></extra>",
    }
    axis = {"type": "category", "showgrid": False, "ticks": "", "fixedrange": True, "automargin": True}
    layout = {
        "annotations": _cell_numbers(trace["x"], trace["y"], values) if numbered else [],
        "xaxis": axis | {"title": {"text": f"{columns} (in the cells: {unit})" if numbered else columns}},
        "yaxis": axis | {"title": {"text": rows}, "autorange": "reversed"},
        "height": max(240, 90 + 34 * len(values)),
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
    }
    return PlainFigure([trace], layout)


def _cell_numbers(columns: list[str], rows: list[str], values: np.ndarray) -> list[dict]:
    """Return each cell's number."""
    return [
        {"x": column, "y": row, "text": written(value, 3), "showarrow": False}
        for row, line in zip(rows, values, strict=True)
        for column, value in zip(columns, line, strict=True)
    ]


def paired_bars(labels: list[str], series: dict[str, np.ndarray], axis_title: str) -> PlainFigure:
    """Draw two series of bars side by side over the same labels, which must differ."""
    names, step = [for_plotly(label) for label in labels], -(-len(labels) // 40)
    short = [for_plotly(shortened(label)) for label in labels]
    layout: dict[str, Any] = {"height": 300, "barmode": "group", "margin": MARGIN_UNDER_LEGEND, "legend": LEGEND_ABOVE}
    layout["xaxis"] = {"type": "category", "tickvals": names[::step], "ticktext": short[::step], "fixedrange": True}
    layout["yaxis"] = {"title": {"text": axis_title}, "rangemode": "tozero", "fixedrange": True}
    return PlainFigure([_bars(names, *one, "x", "y") for one in _in_two_hues(series)], layout)


def paired_rows(labels: list[str], series: dict[str, np.ndarray], axis_title: str) -> PlainFigure:
    """Draw one or two series of horizontal bars, one above the other for each label, the first label on top."""
    names = [for_plotly(label) for label in labels]
    short = [for_plotly(shortened(label)) for label in labels]
    layout: dict[str, Any] = {"height": 300, "barmode": "group", "margin": MARGIN_UNDER_LEGEND, "legend": LEGEND_ABOVE}
    layout["xaxis"] = {"title": {"text": axis_title}, "rangemode": "tozero", "fixedrange": True}
    layout["yaxis"] = {"type": "category", "tickvals": names, "ticktext": short, "fixedrange": True}
    layout["yaxis"] |= {"autorange": "reversed", "ticklabelstandoff": 6}
    return PlainFigure([_bars(names, *one, "y", "x") for one in _in_two_hues(series)], layout)


def _in_two_hues(series: dict[str, np.ndarray]) -> list[tuple[str, np.ndarray, str]]:
    return [(name, values, hue) for (name, values), hue in zip(series.items(), (ACCENT, SECOND), strict=False)]


def _bars(names: list[str], name: str, values: np.ndarray, hue: str, place: str, length: str) -> dict:
    """Return one series of bars; `place` is the axis of the names, `length` that of the values."""
    return {
        "type": "bar",
        place: names,
        length: values.tolist(),
        "orientation": "h" if length == "x" else "v",
        "name": for_plotly(name),
        "marker": {"color": hue},
        "hovertemplate": f"%{{{place}}}<br>{for_plotly(name)}: %{{{length}:.5~g}}<extra></extra>",
    }


def bars_under_line(
    labels: list[str], bars: tuple[str, list[float | None]], line: tuple[str, list[float | None]]
) -> PlainFigure:
    """Draw one bar a label and over them a line; each a name and its values, None where there is no height."""
    names, step = [for_plotly(label) for label in labels], -(-len(labels) // 40)
    hover: dict[str, Any] = {"x": names, "hovertemplate": "%{x}: %{y:.5~g}"}
    traces: list[dict[str, Any]] = [
        hover | {"type": "bar", "name": bars[0], "y": bars[1], "marker": {"color": ACCENT}},
        hover | {"type": "scatter", "mode": "lines+markers", "name": line[0], "y": line[1]},
    ]
    traces[1] |= {"line": {"color": SECOND, "width": 2}, "marker": {"size": 8}}
    layout: dict[str, Any] = {"height": 260, "margin": MARGIN_UNDER_LEGEND, "legend": LEGEND_ABOVE, "bargap": 0.4}
    layout["xaxis"] = {"type": "category", "tickvals": names[::step], "fixedrange": True}
    layout["yaxis"] = {"title": {"text": "nats"}, "rangemode": "tozero", "fixedrange": True}
    return PlainFigure(traces, layout)


def interval_points(table: pd.DataFrame, groups: dict[str, tuple[str, str, str]], axis_title: str) -> PlainFigure:
    """Draw a mean with its interval for each row of `table`, one mark for each of `groups`.

    `groups` maps a name to the columns (mean, low, high).
    """
    marks = (("circle", ACCENT), ("diamond", SECOND))
    traces = [
        {
            "type": "scatter",
            "x": list(map(str, table.index)),
            "y": table[mean].tolist(),
            "error_y": _interval(table, mean, low, high),
            "mode": "markers",
            "name": name,
            "marker": {"symbol": symbol, "color": hue, "size": 9},
            "hovertemplate": "%{x}, " + name + ": %{y:.5~g}<extra></extra>",
        }
        for (name, (mean, low, high)), (symbol, hue) in zip(groups.items(), marks, strict=True)
    ]
    layout: dict[str, Any] = {
        "height": 300,
        "scattermode": "group",
        "margin": MARGIN_UNDER_LEGEND,
        "legend": LEGEND_ABOVE,
    }
    layout["xaxis"] = {"type": "category", "fixedrange": True}
    layout["yaxis"] = {"title": {"text": axis_title}, "zeroline": True, "fixedrange": True}
    return PlainFigure(traces, layout)


def beside_even(groups: dict[str, pd.DataFrame], axis_title: str) -> PlainFigure:
    """Draw for each of one or two groups its `value` with `low` and `high`, and a line where even weights lie.

    Each table has a row a head and the column `even` beside these three.
    """
    traces = []
    for (name, table), (symbol, hue) in zip(groups.items(), (("circle", ACCENT), ("diamond", SECOND)), strict=False):
        place = {"type": "scatter", "mode": "markers", "x": list(map(str, table.index)), "offsetgroup": name}
        even = {"symbol": "line-ew-open", "size": 24, "color": "#888888", "line": {"width": 3}}
        traces += [
            place
            | {
                "y": table["even"].tolist(),
                "name": f"even weights, {name}",
                "marker": even,
                "showlegend": False,
                "hovertemplate": f"even weights, {name}: %{{y:.3f}}<extra></extra>",
            },
            place
            | {
                "y": table["value"].tolist(),
                "error_y": _interval(table, "value", "low", "high"),
                "name": f"{name} (line: even weights)",
                "marker": {"symbol": symbol, "color": hue, "size": 9},
                "hovertemplate": f"%{{x}}, {name}: %{{y:.3f}}<extra></extra>",
            },
        ]
    layout: dict[str, Any] = {
        "height": 300,
        "scattermode": "group",
        "margin": MARGIN_UNDER_LEGEND,
        "legend": LEGEND_ABOVE,
    }
    layout["xaxis"] = {"type": "category", "fixedrange": True}
    layout["yaxis"] = {"title": {"text": axis_title}, "rangemode": "tozero", "fixedrange": True}
    return PlainFigure(traces, layout)


def interval_bars(table: pd.DataFrame, columns: tuple[str, str, str], axis_title: str) -> PlainFigure:
    """Draw a bar with its interval for each row of `table`, one a head; `columns` names (mean, low, high)."""
    drawn = head_bars(table[columns[0]].to_numpy(), axis_title).to_dict()
    (bars,) = drawn["data"]
    interval = _interval(table, *columns) | {"thickness": 2, "width": 6, "color": "#888888"}
    return PlainFigure([bars | {"error_y": interval}], drawn["layout"])


def head_bars(values: np.ndarray, axis_title: str) -> PlainFigure:
    """Draw one bar a head in its hue."""
    bars = {
        "type": "bar",
        "x": [f"head {head + 1}" for head in range(len(values))],
        "y": values.tolist(),
        "marker": {"color": [head_hue(head) for head in range(len(values))]},
        "hovertemplate": "%{x}: %{y:.5~g}<extra></extra>",
    }
    layout: dict[str, Any] = {"height": 260, "margin": {"l": 8, "r": 8, "t": 8, "b": 8}, "bargap": 0.4}
    layout["xaxis"] = {"type": "category", "fixedrange": True}
    layout["yaxis"] = {"title": {"text": axis_title}, "rangemode": "tozero", "fixedrange": True}
    return PlainFigure([bars], layout)


def _interval(table: pd.DataFrame, mean: str, low: str, high: str) -> dict:
    return {
        "type": "data",
        "symmetric": False,
        "array": (table[high] - table[mean]).tolist(),
        "arrayminus": (table[mean] - table[low]).tolist(),
    }


def loss_curves(losses: list[float], validations: dict[int, float], kept: int | None = None) -> go.Figure:
    """Draw the training loss of each update, thin, and smoothed, the validation losses by step, and the step kept.

    All of every curve is shown; where one rises far above the first loss, the axis is logarithmic and says so.
    """
    steps = np.arange(1, len(losses) + 1)
    # An exponential mean over about a twentieth of the run; more points than pixels would only slow the page.
    smoothed = pd.Series(losses, dtype=float).ewm(span=max(3, len(losses) / 20)).mean().to_numpy()
    shown = slice(None, None, max(1, len(losses) // 600))
    faint, strong = {"color": "#888888", "width": 1}, {"color": ACCENT, "width": 2}
    hover = "step %{x}: %{written(y)}<extra></extra>"
    figure = go.Figure(
        [
            go.Scatter(x=steps[shown], y=np.array(losses)[shown], name="training", line=faint, hovertemplate=hover),
            go.Scatter(x=steps[shown], y=smoothed[shown], name="smoothed", line=strong, hovertemplate=hover),
            go.Scatter(
                x=list(validations),
                y=list(validations.values()),
                name="validation",
                mode="lines+markers",
                line={"color": SECOND, "width": 2},
                marker={"size": 8},
                hovertemplate=hover,
            ),
        ]
    )
    figure.update_layout(height=320, margin={"l": 8, "r": 8, "t": 28, "b": 8}, legend=LEGEND_ABOVE)
    figure.update_xaxes(title="updates", rangemode="tozero", fixedrange=True)
    figure.update_yaxes(title="loss, nats per token", fixedrange=True)
    seen = [*losses, *validations.values()]
    if losses and max(seen) > ASTRAY * losses[0]:  # on an even axis it would flatten all the rest
        figure.update_yaxes(type="log", title="loss, nats per token (logarithmic)")
    if kept is not None:
        room = "top left" if kept > len(losses) / 2 else "top right"
        figure.add_vline(
            x=kept, line={"color": "#888888", "dash": "dot"}, annotation_text="kept", annotation_position=room
        )
    return figure


def past_curves(histories: dict[str, list[dict]]) -> PlainFigure:
    """Draw the validation losses of runs of old, greyed, each a name and its validations with `step` and loss."""
    traces = [
        {
            "type": "scatter",
            "x": [entry["step"] for entry in history],
            "y": [entry["validation_loss"] for entry in history],
            "mode": "lines+markers",
            "name": name,
            "line": {"color": "#888888", "width": 2, "dash": dash},
            "hovertemplate": f"{for_plotly(name)}, update %{{x}}: %{{y:.5~g}}<extra></extra>",
        }
        for (name, history), dash in zip(histories.items(), itertools.cycle(("solid", "dash", "dot")), strict=False)
    ]
    layout: dict[str, Any] = {"height": 320, "margin": MARGIN_UNDER_LEGEND, "legend": LEGEND_ABOVE}
    layout["xaxis"] = {"title": {"text": "updates"}, "rangemode": "tozero", "fixedrange": True}
    layout["yaxis"] = {"title": {"text": "validation loss, nats per token"}, "fixedrange": True}
    return PlainFigure(traces, layout)


def named_lines(x: list[float], lines: dict[str, list[float]]) -> go.Figure:
    """Draw several lines over the same places, each with a hue and a name."""
    return go.Figure(
        [
            go.Scatter(x=x, y=values, name=name, line={"color": head_hue(place)})
            for place, (name, values) in enumerate(lines.items())
        ]
    )


def lines_by_width(table: pd.DataFrame, axis_title: str) -> go.Figure:
    """Draw the columns of `table` after its first, the width, against it."""
    figure = named_lines(table.iloc[:, 0].tolist(), {name: table[name].tolist() for name in table.columns[1:]})
    figure.update_layout(height=280, margin={"l": 8, "r": 8, "t": 28, "b": 8}, legend=LEGEND_ABOVE)
    figure.update_xaxes(type="log", title="width", tickvals=table.iloc[:, 0].tolist(), fixedrange=True)
    figure.update_yaxes(title=axis_title, rangemode="tozero", fixedrange=True)
    return figure
