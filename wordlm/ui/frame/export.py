"""*Take away*: the buttons that take a view along, and what they make: tables, the picture, a report."""

import datetime
import io
import re
import zipfile
from collections.abc import Callable

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from wordlm.ui.drawing.report import html_report
from wordlm.ui.state.resources import Checkpoint


def as_csv(table: pd.DataFrame, *, index: bool) -> bytes:
    """Return a table as CSV in which no cell is a formula to a spreadsheet; such a text gets an apostrophe."""

    def safe(cell: object) -> object:
        # One character alone, as a token may be, is no formula.
        return f"'{cell}" if isinstance(cell, str) and len(cell) > 1 and cell[0] in "=+-@\t\r" else cell

    # With both characters at the end of a line, as RFC 4180 has it, a cell that holds either is put in quotes.
    return (
        table.map(safe).rename(index=safe, columns=safe).to_csv(index=index, lineterminator="\r\n").encode("utf-8-sig")
    )


Collected = tuple[dict[str, pd.DataFrame], dict[str, go.Figure]]
"""The tables and the figures of a view, each by its title."""


def take_away(
    file: str,
    title: str,
    text: str,
    checkpoints: list[Checkpoint],
    collect: Callable[[], Collected],
    more: Callable[[], None] = lambda: None,
    *,
    picture: Callable[[], str] | None = None,
) -> None:
    """Draw the buttons that take a view along, once a page, at its end; `more` draws further ones in their row.

    `file` is the stem of the files' names, see `file_stem`; `collect` and `picture`, which returns the heads' squares
    as SVG, are called on the press alone, outside of any session.
    """
    with st.container(key="take_away", horizontal=True, vertical_alignment="center"):
        st.markdown("**Take away**", width="content")
        st.download_button(
            "Tables (CSV, zipped)",
            lambda: as_zip(collect()[0]),
            f"{file}.zip",
            "application/zip",
            key="tables",
            on_click="ignore",
            icon=":material/table:",
        )
        if picture is not None:
            st.download_button(
                "Picture (SVG)",
                lambda: picture().encode(),
                f"{file}.svg",
                "image/svg+xml",
                key="picture",
                on_click="ignore",
                icon=":material/image:",
            )
        st.download_button(
            "Report (one HTML file)",
            lambda: html_report(
                title, text, checkpoints, *collect(), picture() if picture else "", today=datetime.date.today()
            ).encode(),
            f"{file}.html",
            "text/html",
            key="report",
            on_click="ignore",
            icon=":material/description:",
        )
        more()


def as_zip(tables: dict[str, pd.DataFrame]) -> bytes:
    """Return tables as one zip of CSV files, each named by its title."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for title, table in tables.items():
            named = not isinstance(table.index, pd.RangeIndex)
            archive.writestr(f"{file_stem(title)}.csv", as_csv(table, index=named))
    return packed.getvalue()


def file_stem(*parts: str) -> str:
    """Return a file's name that says what it holds: "explore-4-heads-a-little-dog"."""
    words = re.findall(r"[^\W_]+", " ".join(parts).lower())
    return "-".join(words)[:60].rstrip("-") or "view"
