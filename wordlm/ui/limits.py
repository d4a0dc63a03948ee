"""What one visitor may make the server do: every length, size and count, in one place.

Each limit is set by an environment variable that bears its name, `WORDLM_PROMPT=8000`; whoever meets one reads its
sentence. What the models and files themselves cannot exceed stands with them, in the core.
"""

import logging
import math
import os
import re
from dataclasses import dataclass

from wordlm.models import parameter_count
from wordlm.numbers import count

MB = 2**20
"""What Streamlit calls a megabyte."""

wrong: list[str] = []
"""What is wrong with the environment, a sentence each; then no page is drawn."""


@dataclass(frozen=True)
class Limit:
    """A limit, and what is said where it is met."""

    most: int
    said: str
    """With `{most}` and, where the caller knows it, `{had}`."""

    def __call__(self, had: int | str = "") -> str:
        """Return the sentence for whoever meets the limit."""
        return self.said.format(most=count(self.most), had=count(had) if isinstance(had, int) else had)


@dataclass(frozen=True)
class TextLimit(Limit):
    """A limit to the characters of a typed text. What is beyond stays in its box and is not read."""

    keeps_end: bool = False
    """Whether the end is read rather than the beginning, as by a model that reads the latest words."""

    def cut(self, text: str) -> str:
        """Return what is read of a text: all of it, or its end or beginning, cut between two words where there are."""
        if len(text) <= self.most:
            return text
        if self.keeps_end:
            kept = text[-self.most :]
            return re.split(r"[\s,]", kept, maxsplit=1)[-1] or kept
        return re.sub(r"[^\s,]*\Z", "", text[: self.most]) or text[: self.most]


def _set(name: str, default: int) -> int:
    """Return what the environment sets a limit to, or its default."""
    text = os.environ.get(variable := f"WORDLM_{name}")
    if text is None:
        return default
    if re.fullmatch(r"[0-9]{1,12}", text) and int(text):
        return int(text)
    wrong.append(f"The environment variable {variable} must be a whole number of at least 1, but is {text!r}")
    return default


def _text(name: str, default: int, what: str, *, keeps_end: bool = False) -> TextLimit:
    part = "last" if keeps_end else "first"
    said = f"{what} has {{had}} characters; the {part} {{most}} are read."
    return TextLimit(_set(name, default), said, keeps_end)


# What is typed, in characters

PROMPT = _text("PROMPT", 4_000, "The prompt", keeps_end=True)
"""64 positions are read; but every word is scored, and each has a row of its own where heads are profiled."""
FIELD = _text("FIELD", 4_000, "A text on this page")
"""Of any other field."""
SCORED_TEXT = _text("SCORED_TEXT", 100_000, "The text")
PROBABILITIES = _text("PROBABILITIES", 200_000, "What stands for the probabilities")
SCORED_WORDS = Limit(_set("SCORED_WORDS", 10_000), "The text has {had} words; the first {most} are scored.")
ADDRESS_TEXT = Limit(_set("ADDRESS_TEXT", 2_000), "{had}, which is too long for an address")
"""Of one text in an address, as quoted; servers refuse addresses of some 10,000 or more."""

# What is brought along

TRAINING_TEXT = Limit(
    _set("TRAINING_TEXT", 5_000_000), "the pasted text has {had} bytes, at most {most} can be learned from"
)
"""In bytes; an upload may have as many."""
_TOO_LARGE = "The file has {had} bytes, at most {most} MB can be opened."
TEXT_MB = Limit(math.ceil(TRAINING_TEXT.most / MB), _TOO_LARGE)
COMPARISON_MB = Limit(_set("COMPARISON_MB", 5), _TOO_LARGE)
LARGEST_MODEL = max(4 * parameter_count(kind) for kind in ("mlp", "attention"))
"""In bytes: the parameters, four bytes each, of the largest model that can be opened."""
MODEL_MB = Limit(_set("MODEL_MB", math.ceil(LARGEST_MODEL / MB) + 1), _TOO_LARGE)
"""One more than the parameters: a vocabulary and the history of a training take some 0.1 MB."""
UPLOAD_MB = max(TEXT_MB.most, COMPARISON_MB.most, MODEL_MB.most)
"""`server.maxUploadSize` in the configuration: what the server takes of any file, whatever its page says."""
MESSAGE_MB = 4 * TEXT_MB.most
"""`server.maxMessageSize` there: a pasted text comes together with what stands in all other boxes."""
OWN_MODELS = Limit(
    _set("OWN_MODELS", 3), "They join the bundled ones in the model control: at most {most}, then the oldest goes."
)
"""A model takes 5 MB, an MLP 9 MB."""

# Training

STEPS = Limit(_set("STEPS", 6_000), "A training has at most {most} updates.")
VALIDATIONS = Limit(_set("VALIDATIONS", 40), "A training has at most {most} validations.")
"""The picture of the heads is kept at each."""
LINE = Limit(_set("LINE", 8), "{most} trainings are in line already: try again in a few minutes")
LINE_EACH = Limit(
    _set("LINE_EACH", 2),
    "{most} trainings of yours are in line already, from other tabs: stop one of them, or wait for its end",
)
"""Of one browser, so that its tabs do not fill the line for everybody."""

for _sentence in wrong:
    logging.getLogger(__name__).error("%s.", _sentence)
