"""What several pages draw: sentences, tables with their download, checks, the buttons to take a view along."""

import datetime
import html
import io
import re
import zipfile
from collections.abc import Callable

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from wordlm.inspection import Checks
from wordlm.numbers import count, scientific, written
from wordlm.text import UNK, EncodedPrompt
from wordlm.ui.drawing.charts import MENU, head_hue
from wordlm.ui.drawing.escape import for_markdown, label_html, shortened
from wordlm.ui.drawing.report import html_report
from wordlm.ui.drawing.tables import written_table
from wordlm.ui.frame import address
from wordlm.ui.state.resources import Checkpoint


def say_what_was_read(prompt: EncodedPrompt) -> None:
    """Say how the prompt was read: words, padding, unknown words, dropped words."""
    words = len(prompt.ids) - (prompt.positions[0] == 0)
    if prompt.positions[-1] == 0:
        st.caption("The prompt is empty: the model sees the start mark `<BOS>` alone. Type some words above.")
        return
    start = " and the start mark" if prompt.positions[0] == 0 else ""
    said = [f"{counted(words, 'word')}{start} in {prompt.context_len} slots; {prompt.padding} are padding"]
    if prompt.unknown:
        unknown = [word for word, id_ in zip(prompt.typed, prompt.ids, strict=True) if id_ == UNK]
        shown = ", ".join(for_markdown(shortened(word)) for word in unknown[:8]) + (", …" if len(unknown) > 8 else "")
        said.append(f"{prompt.unknown} unknown to the vocabulary, read as `<UNK>`: {shown}")
    if prompt.dropped:
        said.append(f"the earliest {prompt.dropped:,} positions did not fit and were dropped, the start mark first")
    st.caption(" · ".join(said))


def heads_in_words(rows: np.ndarray, reading: EncodedPrompt) -> None:
    """Say where each head looks most from the last word of a reading, each head with its hue.

    `rows` (H, n) are that word's weights.
    """
    said = []
    for head, row in enumerate(rows):
        key = int(row.argmax())
        said.append(
            f'<span><i style="background:{head_hue(head)}"></i>head {head + 1}: '
            f"<b>{label_html(reading.typed[-1])}</b> looks most at <b>{label_html(reading.labels[key])}</b>, "
            f"{html.escape(written(row[key], 3, limit=True))}</span>"
        )
    st.html(f'<div class="heads-said">{"".join(said)}</div>')


FORWARD = ":material/arrow_forward:"


def number_table(
    table: pd.DataFrame,
    *,
    alt: str,
    index: bool = False,
    decimals: int = 3,
    limits: bool = True,
    help: dict[str, str] | None = None,
) -> None:
    """Draw a table, its numbers as `written_table` writes them."""
    helps = {column: st.column_config.Column(help=text) for column, text in (help or {}).items()}
    st.dataframe(
        written_table(table, decimals, limits=limits), hide_index=not index, column_config=helps or None, alt=alt
    )


def text_table(table: pd.DataFrame, *, alt: str) -> None:
    """Draw a short table whole."""
    st.dataframe(written_table(table, 4, limits=False), hide_index=True, height="content", alt=alt)


def as_csv(table: pd.DataFrame, *, index: bool) -> bytes:
    """Return a table as CSV in which no cell is a formula to a spreadsheet; such a text gets an apostrophe."""

    def safe(cell: object) -> object:
        # One character alone, as a token may be, is no formula.
        return f"'{cell}" if isinstance(cell, str) and len(cell) > 1 and cell[0] in "=+-@\t\r" else cell

    # With both characters at the end of a line, as RFC 4180 has it, a cell that holds either is put in quotes.
    return (
        table.map(safe).rename(index=safe, columns=safe).to_csv(index=index, lineterminator="\r\n").encode("utf-8-sig")
    )


def check_strip(*checks: Checks, drawn: float | None = None) -> None:
    """Draw the laws that hold for what is on screen, each with its largest error over all that is shown.

    `drawn` is how far a picture's row is from that of the word's own reading, where both must agree.
    """
    # The largest for NumPy is NaN where any is: Python's max would pass over one that is not the first.
    row_sum, masked, forward = (
        float(np.max([getattr(c, law) for c in checks])) for law in ("row_sum", "masked", "forward")
    )
    laws = [
        (row_sum < Checks.TOLERANCE, f"every row of weights sums to 1 (largest error {scientific(row_sum)})"),
        (masked == 0, f"masked cells are exactly 0 (largest {scientific(masked)})"),
        (
            forward < Checks.TOLERANCE,
            f"the prediction rests on these very numbers (forward and forward_details differ by {scientific(forward)})",
        ),
    ]
    if drawn is not None:
        law = f"the picture's row is that of the word's own reading (largest difference {scientific(drawn)})"
        laws.append((drawn < Checks.TOLERANCE, law))
    holds = all(holds for holds, _ in laws)
    items = "".join(f"<li>{'✓' if holds else '✗ FAILS:'} {text}</li>" for holds, text in laws)
    said = f"✓ {len(laws)} checks hold" if holds else "✗ A check FAILS"
    st.html(
        f'<details class="checks" {"" if holds else "open"}><summary>{said}</summary>'
        f'<ul role="status" aria-label="checks">{items}</ul></details>'
    )


def counted(number: int, thing: str) -> str:
    """Return "1 update" or "1,200 updates"."""
    return f"{count(number)} {thing}{'' if number == 1 else 's'}"


def picture_over_numbers(
    figure: go.Figure, table: pd.DataFrame, name: str, *, alt: str, index: bool = False, decimals: int = 3
) -> None:
    """Draw a figure and, to be opened below it, the same numbers as a table. `name` is one of `address.TABLES`."""
    st.plotly_chart(figure, key=name, config=MENU, alt=alt)
    in_numbers(name, lambda: number_table(table, alt=alt, index=index, decimals=decimals))


def in_numbers(name: str, draw: Callable[[], None], label: str = "In numbers") -> None:
    """Offer the numbers behind a picture, one of `address.TABLES`; `draw` is called once they are opened."""
    place = address.expander(f"table_{name}", label, type="compact")
    if place.open:
        with place:
            draw()


def kept_upload(label: str, types: list[str], key: str) -> tuple[str, bytes] | None:
    """Let the visitor upload a file of at most 5 MB; return its name and content.

    Both are kept in the session, since Streamlit forgets an upload when the page is left.
    """
    kept = f"kept_{key}"

    def keep() -> None:
        file = st.session_state[key]
        st.session_state[kept] = None if file is None else (file.name, file.getvalue())

    st.file_uploader(label, type=types, max_upload_size=5, key=key, on_change=keep)
    upload = st.session_state.get(kept)
    if upload is not None:
        address.not_carried("the file that you chose")
    return upload


def see_for_yourself() -> None:
    """Lead to the page where heads are switched off."""
    st.page_link("pages/switch_off.py", label="Weights are evidence, not proof: switch a head off", icon=FORWARD)


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
    as SVG, are called on the press alone, where there is no session to ask.
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
