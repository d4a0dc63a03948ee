"""Tables whose numbers are written by our own rule and stay numbers: they sort, and a download holds them whole.

Streamlit's number formats know no limit, no power of ten and no minus sign but the hyphen. It does take the text of
each cell from a pandas Styler and keep the value beside it. A Styler makes these texts cell by cell, 25 ms for four
heads and 64 words; here they are made at once, 4 ms, and the Styler only carries them.

For that three methods stand in for others, two of them private to pandas: the ones that Streamlit's
`pandas_styler_utils` calls. No public way takes finished texts, and Streamlit knows a Styler by its exact type, so a
class of ours would not do. Where a new Streamlit asks for the texts in another way, tables show numbers in pandas'
own writing or none, and tests/test_tables.py fails; both packages are pinned for it.
"""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from wordlm.numbers import count, written


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


def written_table(table: pd.DataFrame, decimals: int, *, limits: bool = True) -> Styler:
    """Return what `st.dataframe` draws with the numbers of `table` written by `table_texts`."""
    texts, carried = table_texts(table, decimals, limits=limits), table.copy(deep=False)
    # Streamlit asks the table for its text, then the Styler for the cells that look otherwise: here there are none.
    object.__setattr__(carried, "astype", lambda dtype: texts if dtype is str else table.astype(dtype))
    styler: Any = Styler(carried)
    styler._compute = lambda: styler
    styler._translate = lambda *_: {}
    return styler


def table_texts(table: pd.DataFrame, decimals: int, *, limits: bool = True) -> pd.DataFrame:
    """Return the table as text; a missing number is empty.

    With `limits` a column of numbers from 0 to 1, weights or probabilities, gives the smallest as "< 0.001".
    Whole numbers have separators from 10,000 on, so that an id or a step looks like one.
    """
    texts = np.empty(table.shape, object)
    for place, (_, column) in enumerate(table.items()):
        if pd.api.types.is_integer_dtype(column.dtype) and column.hasnans:  # whole numbers, some of them missing
            texts[:, place] = ["" if pd.isna(value) else _whole(np.array([value]), 0, False)[0] for value in column]
            continue
        values = column.to_numpy()
        texts[:, place] = _WRITERS.get(values.dtype.kind, _as_text)(values, decimals, limits)
    return pd.DataFrame(texts, table.index, table.columns, dtype=object)


def _as_text(column: np.ndarray, decimals: int, limits: bool) -> list[str]:
    return ["" if value is None or value != value else str(value) for value in column.tolist()]


def _whole(column: np.ndarray, decimals: int, limits: bool) -> list[str]:
    return [count(value) if abs(value) >= 10_000 else count(value).replace(",", "") for value in column.tolist()]


def _floats(column: np.ndarray, decimals: int, limits: bool) -> list[str]:
    known = column[column == column]
    limit = limits and len(known) > 0 and known.min() >= 0 and known.max() <= 1
    plain, least = f"%.{decimals}f", 10.0 ** (-decimals if limit else 1 - decimals)
    return [  # the usual size at once: a text of 10,000 words has a long table
        plain % value if least <= value < 1000 else "" if value != value else written(value, decimals, limit=limit)
        for value in column.tolist()
    ]


_WRITERS = {"f": _floats, "i": _whole, "u": _whole}
