"""What goes to the browser and what comes back: every message as a type. `messages.js` says the same to the scripts.

`tests/test_messages.py` holds the two together. What comes back is checked against its type before anything reads it.
"""

from typing import NotRequired, TypedDict


class OfferedFile(TypedDict):
    """Bytes that the browser fetches as it fetches a picture."""

    url: str
    digest: str
    """Their SHA-256, under which the browser keeps them, and by which it knows a damaged copy."""
    bytes: int
    keep: bool
    """Whether the browser keeps them beyond this visit; never what is a visitor's own."""


class Layout(TypedDict):
    """What `readModel` needs beside the bytes of a model's parameters."""

    kind: str
    heads: int | None
    kvHeads: int | None
    vocabSize: int
    contextLen: int
    dModel: int
    hidden: int
    arrays: dict[str, list[int]]
    """By name of the parameter: [offset in floats, *shape]."""


class OfferedModel(TypedDict):
    """A model that the browser may fetch and read with."""

    title: str
    weights: OfferedFile
    layout: Layout
    vocabulary: OfferedFile


class Place(TypedDict):
    """A word of the text."""

    label: str
    """As "3 · dog"."""
    position: int


class Chosen(TypedDict):
    """What is chosen in a picture. A message says all that its picture lets one choose, never a change alone."""

    query: NotRequired[Place | None]
    """The word that looks; null for the last word, which moves with the typing."""
    key: NotRequired[Place | None]
    """The word that is looked at; null for the one that is looked at most."""
    head: NotRequired[int]
    """From 0, as are those that are `off`."""
    off: NotRequired[list[int]]
    form: NotRequired[str]
    """One of "model", "cells", "lines"."""
    beside: NotRequired[str]
    """The model below the first one, as it is chosen; empty for none."""
    scale: NotRequired[str]
    first: NotRequired[str]
    prompt: NotRequired[str | None]
    """A text that was written in the picture; null where there is none."""
    word: NotRequired[str | None]
    """A next word that is asked about below the picture."""
    made: NotRequired[bool]
    """Whether the making of the chosen weight is asked for."""


class Said(Chosen):
    """What a picture tells the server."""

    at: int
    """The number of the message; a later one replaces it."""


class Confirm(TypedDict):
    """The server's own numbers, for what it read."""

    text: str
    position: int
    off: list[int]
    words: list[tuple[int, float]]
    """The likeliest next words by their ids, with their probabilities."""
    weights: list[float] | None
    """(H, n), row by row."""


class BlockData(TypedDict):
    """What the whole model's picture is given."""

    heard: NotRequired[int]
    """The number of the last message that the server heard of this picture."""
    chosen: Chosen
    text: str
    follows: bool
    """Whether the picture follows the prompt box, and a word may be written behind its text."""
    models: list[OfferedModel]
    others: list[tuple[str, str]]
    """What may stand below the first model: (choice, title)."""
    forms: bool
    """Whether the picture can be exchanged for cells or lines."""
    welcome: bool
    """Whether the steps play by themselves, once a page."""
    large: bool
    hues: list[str]
    confirm: Confirm


class DrawnWord(TypedDict):
    """A word of the text as the heads' picture draws it."""

    label: str
    position: int
    typed: str
    token: str
    id: int
    sort: str
    """One of "unknown", "special", or empty."""


class DrawnHead(TypedDict):
    """A pane of the heads' picture."""

    title: str
    hue: str
    on: bool
    negative: str | None
    """The hue of numbers below 0, where the pane shows a difference."""


class DrawnNext(TypedDict):
    """A likely next word: its probability, and where something was changed that `after` it."""

    word: str
    before: float
    after: float | None


class HeadsData(TypedDict):
    """What the heads' picture, cells or lines, is given."""

    heard: NotRequired[int]
    chosen: Chosen
    words: list[DrawnWord]
    heads: list[DrawnHead]
    direction: str
    rows: str
    """The rows of all heads, float32 in base64: row i of a head has i + 1 weights."""
    scores: list[list[float]] | None
    """(P, query + 1), before the softmax."""
    beyond: list[float] | None
    """(P,), what the query's row gives to words that are not in the picture."""
    reads: int
    query: int
    head: int
    key: int
    form: str
    scale: str
    first: str
    large: bool
    switches: bool
    compared: bool
    without: str
    """The heads that are off, in words."""
    next: list[DrawnNext]
