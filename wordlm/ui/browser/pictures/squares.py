"""The heads' squares as an SVG file of its own: for a report, a slide, a printed page.

Its colours and words are those of `heads.js`, which draws the same on the screen; `tests/test_squares.py` holds the
two together.
"""

import html
import math
from collections import defaultdict

import numpy as np

from wordlm.numbers import short
from wordlm.text import EncodedPrompt
from wordlm.ui.browser.pictures.heads import Look, Pane
from wordlm.ui.drawing.escape import shortened

CHOSEN, INK, EVEN = "#C2410C", "#222222", "#808080"
SCALES = {
    "root": ("square root", (0, 0.05, 0.25, 0.5, 1)),
    "even": ("against looking evenly", (1, 2, 4, 8, 16)),
    "absolute": ("0 to 1", (0, 0.25, 0.5, 0.75, 1)),
    "per view": ("0 to the largest", (0, 0.25, 0.5, 0.75, 1)),
    "logarithmic": ("logarithmic", (0.0001, 0.001, 0.01, 0.1, 1)),
}
"""Each scale's name and the weights of its legend; those of "per view" are shares of the largest."""
_WIDEST, _GAP, _LETTER, _TITLE = 1340, 16, 6.2, 34


def squares_svg(title: str, prompt: EncodedPrompt, weights: np.ndarray, panes: list[Pane], look: Look) -> str:
    """Return a square a pane as SVG: row = the word that looks, column = the word that is looked at.

    `weights` (P, n, n) are 0 above the diagonal; the row of the query is outlined. Words keep a readable size at any
    length of the prompt: the squares grow with it, and fewer stand in a row.
    """
    n, shown = len(prompt.ids), shown_rows(weights, look.first)
    # The first row has one key and weight 1 in every prompt; it would set the largest everywhere.
    largest = float(np.nanmax(np.abs(shown[:, 1:]), initial=0.0)) or 1.0
    cell = min(44.0, max(9.5, 300 / n))
    font, side = min(11.0, cell), cell * n
    words = [shortened(word) for word in prompt.typed]
    room = 10 + _LETTER * max(map(len, words))
    columns = int(max(1, min(len(panes), (_WIDEST - room) // (side + _GAP))))
    high = _TITLE + side + room
    height, width = _TITLE + math.ceil(len(panes) / columns) * high, max(760, room + columns * (side + _GAP))
    parts = []
    for place, (pane, rows) in enumerate(zip(panes, shown, strict=True)):
        line, column = divmod(place, columns)
        parts += [
            f'<g transform="translate({room + column * (side + _GAP):.1f} {2 * _TITLE + line * high:.1f})">',
            _square(pane, rows, look, largest, cell),
            _words(words, look.key if place == look.head else -1, cell, below=True),
            _words(words, look.query, cell, below=False) if column == 0 else "",
            "</g>",
        ]
    parts.append(f'<g transform="translate(0 {height:.1f})">{_legend(prompt, panes, look, largest)}</g>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height + 44:.0f}" width="{width:.0f}" '
        f'height="{height + 44:.0f}" role="img" aria-label="{_text(title)}" font-family="system-ui, sans-serif" '
        f'font-size="{font:.1f}" fill="{INK}"><rect width="100%" height="100%" fill="#FFFFFF"/>'
        f'<text x="4" y="20" font-size="15" font-weight="600">{_text(title)}</text>{"".join(parts)}</svg>'
    )


def shown_rows(weights: np.ndarray, first: str) -> np.ndarray:
    """Return what is shown of the rows: all, without the first key, or that with the rest scaled up to 1."""
    rows = np.where(np.tril(np.ones(weights.shape[1:], bool)), weights, np.nan)
    if first == "shown":
        return rows
    if first.endswith("up"):
        rest = np.nansum(rows[:, :, 1:], axis=2, keepdims=True)
        rows = np.divide(rows, rest, out=rows, where=rest > 0)
    rows[:, 1:, 0] = np.nan
    return rows


def colour(
    weight: float, keys: int, hue: str, scale: str, largest: float, negative: str | None = None
) -> tuple[str, float] | None:
    """Return a weight's hue and its opacity, None for no colour; `keys` is how many words the row can look at.

    Nothing is the page's own background. Against looking evenly, grey is less than even. A difference has a hue of its
    own where it is `negative`.
    """
    if negative is not None and scale == "even":
        scale = "root"
    if negative is not None and weight < 0:
        weight, hue = -weight, negative
    if not weight >= 0:
        return None
    if scale == "even" and weight * keys < 1:
        return EVEN, 0.35 * (1 - weight * keys)
    match scale:
        case "root":
            share = math.sqrt(weight)
        case "even":
            share = math.log2(max(weight * keys, 1)) / 4
        case "absolute":
            share = weight
        case "per view":
            share = weight / largest
        case _:
            share = 1 + math.log10(max(weight, 1e-4)) / 4
    return hue, min(1.0, max(0.0, share))


def _square(pane: Pane, rows: np.ndarray, look: Look, largest: float, cell: float) -> str:
    """Return a square: cells of one colour are one path, which keeps the file small."""
    n, gap = len(rows), 1 if cell > 9.6 else 0
    steps = "".join(f"V{(i + 1) * cell:.1f}H{(i + 2) * cell if i < n - 1 else 0:.1f}" for i in range(n))
    parts = [f'<path d="M0 0H{cell:.1f}{steps}Z" fill="{EVEN}" fill-opacity="0.09"/>']
    cells = defaultdict(list)
    for query in range(n):
        for key in range(query + 1):
            tint = colour(float(rows[query, key]), query + 1, pane.hue, look.scale, largest, pane.negative)
            if tint is not None and tint[1] >= 0.0005:
                cells[tint[0], f"{tint[1]:.3f}"].append(f"M{key} {query}")
    long = f"{1 - gap / cell:.2f}"
    size = f"h{long}v{long}h-{long}z"
    faded = "" if pane.on else ' opacity="0.25"'
    parts.append(f'<g transform="scale({cell:.2f})"{faded}>')
    for (hue, opacity), corners in cells.items():
        parts.append(
            f'<path fill="{hue}" fill-opacity="{opacity}" d="{"".join(corner + size for corner in corners)}"/>'
        )
    parts.append(
        f'</g><rect x="0.5" y="{look.query * cell + 0.5:.1f}" width="{(look.query + 1) * cell - 1:.1f}" '
        f'height="{cell - 1:.1f}" fill="none" stroke="{CHOSEN}" stroke-width="1.5"/>'
        f'<rect y="-16" width="10" height="10" fill="{pane.hue}"/>'
        f'<text x="15" y="-7" font-size="12" font-weight="600">{_text(pane.title)}{"" if pane.on else ", off"}</text>'
    )
    return "".join(parts)


def _words(words: list[str], chosen: int, cell: float, *, below: bool) -> str:
    """Return the words of an axis, from above to below, or under the square from left to right."""
    parts = []
    for place, word in enumerate(words):
        middle = (place + 0.5) * cell
        where = (
            f'transform="translate({middle:.1f} {len(words) * cell + 6:.1f}) rotate(90)"'
            if below
            else f'x="-6" y="{middle:.1f}" text-anchor="end"'
        )
        bold = f' font-weight="700" fill="{CHOSEN}"' if place == chosen else ""
        parts.append(f'<text {where} dominant-baseline="central"{bold}>{_text(word)}</text>')
    return "".join(parts)


def _legend(prompt: EncodedPrompt, panes: list[Pane], look: Look, largest: float) -> str:
    name, ticks = SCALES[look.scale]
    pane = panes[min(look.head, len(panes) - 1)]
    said = [
        f"Row: the word that looks; outlined: {prompt.labels[look.query]}. Column: the word that is looked at.",
        f"Colour: weight, {name}.",
    ]
    if look.first != "shown":
        said.append(f"First column {look.first}.")
    if panes[-1].negative is not None:
        said.append(f"{panes[-1].title}: in the hue of A where A looks more, in that of B where B does.")
    parts = [f'<text x="4" y="12">{" ".join(map(_text, said))}</text>']
    for place, tick in enumerate(ticks):
        weight = tick * largest if look.scale == "per view" else tick / 10 if look.scale == "even" else tick
        hue, opacity = colour(weight, 10, pane.hue, look.scale, largest) or ("none", 0)
        label = f"{tick} ×" if look.scale == "even" else short(weight, 2)
        parts.append(
            f'<rect x="{4 + 76 * place}" y="22" width="14" height="14" fill="{hue}" fill-opacity="{opacity:.3f}" '
            f'stroke="{EVEN}"/><text x="{23 + 76 * place}" y="33">{label}</text>'
        )
    return "".join(parts)


def _text(word: str) -> str:
    """Escape a text; what cannot be printed has no place in XML."""
    return html.escape("".join(character for character in word if character.isprintable()))
