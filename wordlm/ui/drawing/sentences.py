"""Sentences that several pages say, and the strip of checks."""

import html

import numpy as np
import streamlit as st

from wordlm.inspection import Checks
from wordlm.numbers import counted, scientific, written
from wordlm.text import UNK, EncodedPrompt
from wordlm.ui.drawing.charts import head_hue
from wordlm.ui.drawing.escape import for_markdown, label_html, shortened


def say_what_was_read(prompt: EncodedPrompt) -> None:
    """Say how the prompt was read: words, padding, unknown words, dropped words."""
    words = len(prompt.ids) - (prompt.positions[0] == 0)
    if prompt.positions[-1] == 0:
        st.caption("The prompt is empty: the model sees the start mark `<BOS>` alone. Type some words above.")
        return
    start = " and the start mark" if prompt.positions[0] == 0 else ""
    padding = f"{prompt.padding} {'is' if prompt.padding == 1 else 'are'} padding"
    said = [f"{counted(words, 'word')}{start} in {prompt.context_len} slots; {padding}"]
    if prompt.unknown:
        unknown = [word for word, id_ in zip(prompt.typed, prompt.ids, strict=True) if id_ == UNK]
        shown = ", ".join(for_markdown(shortened(word)) for word in unknown[:8]) + (", …" if len(unknown) > 8 else "")
        said.append(f"{prompt.unknown} unknown to the vocabulary, read as `<UNK>`: {shown}")
    if prompt.dropped:
        several = f"earliest {prompt.dropped:,} positions did not fit and were dropped, the start mark first"
        said.append("the start mark did not fit and was dropped" if prompt.dropped == 1 else f"the {several}")
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


def see_for_yourself() -> None:
    """Lead to the page where heads are switched off."""
    st.page_link("pages/switch_off.py", label="Weights are evidence, not proof: switch a head off", icon=FORWARD)
