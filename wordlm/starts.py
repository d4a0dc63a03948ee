"""Beginnings to write on from: authored ones, and the openings of real stories where these are present."""

from dataclasses import dataclass

from wordlm.data import StoryStream
from wordlm.text import Vocab

AUTHORED = (
    "Once upon a time there was a little girl who had a red ball.",
    "One day, a big dog and a small cat went to the park. The dog said,",
    "Tom was sad because he lost his hat. His mom",
    "The bird sang a song. Then it saw a shiny",
    "The enzyme catalyses the hydrolysis of the substrate, and the reaction rate",
)
"""Written for this project. The last one lies far outside what the model has read, and so do most of its words."""


@dataclass(frozen=True)
class Opening:
    """The first words of a real story and the words that follow there."""

    words: list[str]
    continuation: list[str]


def opening_of(stream: StoryStream, vocab: Vocab, story: int, length: int) -> Opening:
    """Cut story number `story` (from 0) of a split after `length` words."""
    start, end = stream.starts[story].item(), stream.starts[story + 1].item()
    words = vocab.decode(stream.ids[start + 1 : end - 1].tolist())
    return Opening(words[:length], words[length:])


@dataclass(frozen=True)
class Example:
    """A prompt on which the heads really differ."""

    title: str
    text: str


EXAMPLES = (
    Example("a name that comes again", "Lily has a cat . The cat likes Lily . Lily likes the"),
    Example("a thing named twice", "The bear had honey . The bee wanted the honey so the"),
    Example("a pronoun", "Mom made a cake . She put it on the"),
)
"""Of some twenty that were tried, those with the largest mean Jensen-Shannon distance between the four heads' rows of
the last word, one of each sort: `python -m tests.benchmarks.examples` prints it for each."""
