"""Small pieces of a page: the row of tokens, a table with its download, the strip of checks."""

import pandas as pd
import streamlit as st

from wordlm.inspection import Checks, Inspection
from wordlm.text import SPECIALS, UNK, EncodedPrompt
from wordlm.ui.charts import HEAD_HUES
from wordlm.ui.escape import for_html, for_markdown


def token_row(prompt: EncodedPrompt) -> None:
    """Draw the kept tokens as typed, each with the id that the model reads."""
    st.html(f'<div class="tokens">{"".join(_token(prompt, i) for i in range(len(prompt.ids)))}</div>')


def _token(prompt: EncodedPrompt, i: int) -> str:
    id_ = prompt.ids[i]
    is_start = prompt.positions[i] == 0
    sort = " unknown" if id_ == UNK else " special" if is_start else ""
    note = f"{SPECIALS[UNK]} {id_}" if id_ == UNK else str(id_)
    return f'<span class="token{sort}"><b>{for_html(prompt.typed[i])}</b><small>{for_html(note)}</small></span>'


def say_what_was_read(prompt: EncodedPrompt) -> None:
    """Say how the prompt was read: words, padding, unknown words, dropped words."""
    words = len(prompt.ids) - (prompt.positions[0] == 0)
    if prompt.positions[-1] == 0:
        st.caption("The prompt is empty: the model sees the start mark `<BOS>` alone. Type some words above.")
        return
    said = [f"{words} word{'s' * (words != 1)} in {prompt.context_len} slots, {prompt.padding} of them padding"]
    if prompt.unknown:
        unknown = [word for word, id_ in zip(prompt.typed, prompt.ids, strict=True) if id_ == UNK]
        shown = ", ".join(for_markdown(word) for word in unknown[:8]) + (", …" if len(unknown) > 8 else "")
        said.append(f"{prompt.unknown} unknown to the vocabulary, read as `<UNK>`: {shown}")
    if prompt.dropped:
        said.append(f"the earliest {prompt.dropped:,} positions did not fit and were dropped, the start mark first")
    st.caption(" · ".join(said))


def heads_in_words(inspection: Inspection, prompt: EncodedPrompt, query: int) -> None:
    """Say where each head looks most from one query, each head with its hue."""
    said = []
    for head in range(inspection.heads):
        row = inspection.weights[head, query]
        key = int(row.argmax())
        said.append(
            f'<span><i style="background:{HEAD_HUES[head % len(HEAD_HUES)]}"></i>head {head + 1}: '
            f"<b>{for_html(prompt.typed[query])}</b> looks most at <b>{for_html(prompt.labels[key])}</b>, "
            f"{row[key]:.3f}</span>"
        )
    st.html(f'<div class="heads-said">{"".join(said)}</div>')


def number_table(table: pd.DataFrame, name: str, *, alt: str, index: bool = False) -> None:
    """Draw a table with three decimals and, under it, its download as CSV."""
    decimals = {
        column: st.column_config.NumberColumn(format="%.3f")
        for column in table.columns
        if pd.api.types.is_float_dtype(table[column])
    }
    st.dataframe(table, hide_index=not index, column_config=decimals, alt=alt)
    st.download_button(
        "Download as CSV",
        lambda: table.to_csv(index=index).encode("utf-8-sig"),
        f"{name}.csv",
        "text/csv",
        key=f"csv_{name}",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )


def check_strip(checks: Checks) -> None:
    """Draw the laws that hold for what is on screen, each with its largest error."""
    laws = [
        (checks.row_sum < checks.TOLERANCE, f"every row of weights sums to 1 (largest error {checks.row_sum:.1e})"),
        (checks.masked == 0, f"masked cells are exactly 0 (largest {checks.masked:.0e})"),
        (
            checks.forward < checks.TOLERANCE,
            f"the fast forward equals the one shown (largest difference {checks.forward:.1e})",
        ),
    ]
    items = "".join(f"<span>{'✓' if holds else '✗ FAILS:'} {text}</span>" for holds, text in laws)
    st.html(f'<div class="checks" role="status" aria-label="checks">{items}</div>')
