"""One HTML file that holds a view: it opens offline and needs nothing beside it."""

import datetime
import html

import pandas as pd
import plotly.graph_objects as go

from wordlm.ui.drawing.charts import MENU
from wordlm.ui.drawing.tables import table_texts
from wordlm.ui.state.resources import Checkpoint, weights_digest

# The app's own charts save PNG; those of the report save SVG.
_MENU = MENU | {"toImageButtonOptions": {"format": "svg"}, "responsive": True}
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; overflow-wrap: anywhere; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 0.5rem 0 1.5rem; }
td, th { padding: 0.2rem 0.6rem; border-bottom: 1px solid #ddd; text-align: right; }
.table { overflow-x: auto; }
svg[role="img"] { max-width: 100%; height: auto; }
"""


def html_report(
    title: str,
    text: str,
    checkpoints: list[Checkpoint],
    tables: dict[str, pd.DataFrame],
    figures: dict[str, go.Figure],
    picture: str = "",
    *,
    today: datetime.date,
) -> str:
    """Return the report as one page: text, checkpoints with their digests, date, pictures, tables.

    `picture` is that of the heads' squares, as SVG, where the view has one.
    """
    parts = [f"<h1>{html.escape(title)}</h1>"]
    if text:
        parts.append(f'<p>Text: <b><bdi style="white-space: pre-wrap">{html.escape(text)}</bdi></b></p>')
    models = (
        f"<li>{html.escape(one.name)}: <code>{one.file}</code>, SHA-256 <code>{weights_digest(one)}</code></li>"
        for one in checkpoints
    )
    parts.append(f"<ul>{''.join(models)}</ul>" if checkpoints else "")
    parts.append(f"<p>Made on {today.isoformat()}. Row = query, column = key; weights are after the softmax.</p>")
    parts.append(picture)
    for place, (name, figure) in enumerate(figures.items()):
        # The first picture brings the drawing library along, 4 MB, so the file needs no network.
        drawn = with_room(figure).to_html(full_html=False, include_plotlyjs=place == 0, config=_MENU)
        parts.append(f"<h2>{html.escape(name)}</h2>{drawn}")
    for name, table in tables.items():
        rows = table_texts(table, 4).to_html(escape=True, border=0)
        parts.append(f'<h2>{html.escape(name)}</h2><div class="table">{rows}</div>')
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title>"
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>"
    )


def with_room(figure: go.Figure) -> go.Figure:
    """Return a figure whose axes make room for labels and titles, as Streamlit's theme lets those of a page do."""
    room = go.Figure(figure.to_dict())
    for axes in (room.update_xaxes, room.update_yaxes):
        axes(automargin=True, title_standoff=8)
    return room
