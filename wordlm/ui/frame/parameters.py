"""Each parameter of the URL, declared once: its options or range, and its default.

A control takes these from here, and a link is checked against the same declaration.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from wordlm.ablation import Fill
from wordlm.bundled import EXPORTED, SEEDS
from wordlm.course import WIDTHS
from wordlm.profiles import NAMES, STORIES, TARGETS, WORDS
from wordlm.starts import AUTHORED
from wordlm.training import Precision, TrainConfig
from wordlm.ui import limits
from wordlm.ui.drawing.charts import FirstToken, Scale
from wordlm.ui.state.resources import MODELS

LAST, LARGEST = "the last word", "the one looked at most"
"""What moves with the typing, and stands for no word of its own."""
SETS = "_sets"
"""Ends the key of a control that sets a part of another parameter: how many keys and values a model's heads share."""


@dataclass(frozen=True)
class OneOf:
    """A choice of one. Without `options` they are known only when the control is drawn."""

    options: Sequence[Any] | None
    default: Any = None
    always: bool = False
    """Whether it stands in the address also where it is the default, since that differs from place to place."""

    def read(self, texts: list[str]) -> Any:
        """Return what a link says. Raises `ValueError` where that is not offered."""
        if self.options is None and texts[0]:
            return texts[0]
        return {as_text(option): option for option in self.options or ()}[texts[0]]


@dataclass(frozen=True)
class Several:
    """A choice of any number of things, also of none; they are known when the control is drawn."""

    default: Any = None
    always: bool = False

    def read(self, texts: list[str]) -> list[str]:
        """Return what a link says."""
        return [text for text in texts if text]


@dataclass(frozen=True)
class Number:
    """A number within a range; a whole one where the range is given in whole numbers."""

    low: float
    high: float
    default: float
    step: float | None = None
    always: bool = False

    def read(self, texts: list[str]) -> float:
        """Return what a link says. Raises `ValueError` where that is no such number."""
        number = float(texts[0])
        if not self.low <= number <= self.high or (isinstance(self.low, int) and not number.is_integer()):
            raise ValueError(f"{texts[0]} does not lie from {self.low} to {self.high}")
        return type(self.low)(number)


@dataclass(frozen=True)
class Switch:
    """On or off."""

    default: bool = False
    always: bool = False

    def read(self, texts: list[str]) -> bool:
        """Return what a link says. Raises `KeyError` where that is neither."""
        return {"true": True, "false": False}[texts[0]]


@dataclass(frozen=True)
class Text:
    """Anything that can be typed; `what` names it where it is too long for an address."""

    default: str = ""
    what: str = "all of the text"
    always: bool = False
    limit: limits.TextLimit = limits.FIELD
    """How much of it is read."""

    def read(self, texts: list[str]) -> str:
        """Return what a link says."""
        return texts[0]


_POWERS = tuple(2**k for k in range(6, 18))
_SHARED_OUT = (1, 2, 4, 8, 16, 32, 64)
_TRAIN = TrainConfig()
TABLES = (
    "weight",  # Explore
    *("surprisal", "blend", "distances", *(f"likeness_{seed}" for seed in SEEDS[1:])),  # Compare
    *("next_effect", "loss_effect", "worth", "subsets"),  # Switch heads off
    *("profile", "looks_at", "nearest"),  # Heads and words
    *("targets", "scored", "models", "differ", "units"),  # Perplexity
    *("report", "decisions"),  # Generate
    *("validations", "last_row", "own_beside"),  # Train
    *("runs", "best", "pairs", "sharing", "history", "baselines", "course", "conditions"),  # Benchmark
    *("wishes", "shapes", "growth", "doubled", "trio", "spread"),  # Learn
    *("masked", "reach", "without", "induction", "cost"),
)
"""What stands behind "In numbers", by the names of its parameters without `table_`."""


Parameter = OneOf | Several | Number | Switch | Text


PARAMETERS: dict[str, Parameter] = {
    # Every page that reads a prompt
    "prompt": Text("a little dog found a red hat", "all of the prompt", limit=limits.PROMPT),
    "model": OneOf(None, "4"),
    "seed": OneOf(SEEDS, SEEDS[0]),
    # Explore, Compare, Switch heads off
    "query": OneOf(None, LAST),
    "key": OneOf(None, LARGEST),
    "head": OneOf(None, "1"),
    "without": Several(()),
    "form": OneOf(("model", "cells", "lines"), "model"),
    "beside": OneOf(None, ""),
    "scale": OneOf(get_args(Scale), get_args(Scale)[0]),
    "first": OneOf(get_args(FirstToken), "shown"),
    "one_reading": Switch(),
    "tab": OneOf(("One weight", "In numbers", "Next words", "Shapes"), "One weight"),
    "present": Switch(),
    "note": Text("", "all of the line above the picture"),
    "word": Text(),
    "b_head": OneOf(None, "1"),
    "pane": OneOf(tuple("123456"), "1"),
    "compared": OneOf(("Surprise", "One head and four", "Across seeds", "In numbers"), "Surprise"),
    "b": OneOf(None, "1"),
    "b_seed": OneOf(SEEDS, SEEDS[0]),
    "off": Several(),
    "fill": OneOf(get_args(Fill), "zero"),
    # Heads and words
    "about": OneOf(("Heads", "Words"), "Heads"),
    "over": OneOf((STORIES, WORDS, NAMES), STORIES),
    "looks_at": OneOf(tuple(TARGETS), "the previous word"),
    "near": Text(),
    "vectors": OneOf(("what training added", "as the model reads them"), "what training added"),
    # Perplexity
    "probabilities": Text("0.5, 0.25, 0.125", "all of the probabilities", limit=limits.PROBABILITIES),
    "logarithms": Switch(),
    "added": OneOf(
        (0.0, 1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.0), 0.001
    ),
    "text": Text(
        "Once upon a time there was a little boy named Tom. Tom had a red boat. One day he took the boat to the river. "
        "The river was cold and fast. The boat went away, and Tom was sad. Then a big bird came and brought it back.",
        limit=limits.SCORED_TEXT,
    ),
    # Generate
    "engine": OneOf(("ONNX Runtime", "PyTorch", "PyTorch with a cache", "your browser"), "ONNX Runtime"),
    "way": OneOf(("WebAssembly", "WebGPU"), "WebAssembly"),
    "browser_model": OneOf(tuple(variant.choice for variant in EXPORTED), "4"),
    "writers": Several(),
    "start": OneOf(
        ("the prompt above", *AUTHORED, "a training story", "a held-out story"),
        "the prompt above",
    ),
    "story": Number(1, 10**6, 1),
    "opening": Number(3, 60, 20),
    "limit": Number(5, 200, 60),
    "temperature": Number(0.0, 2.0, 0.0, 0.1),
    "top_k": Number(0, 4000, 0),
    "top_p": Number(0.05, 1.0, 1.0, 0.05),
    "draw_seed": Number(0, 10**6, 0),
    "unknown": Switch(),
    # Train
    "learn_from": OneOf(("smoke stories", "6,000 stories", "a text of mine"), "smoke stories", always=True),
    "words": OneOf(("the bundled one", "its own"), "the bundled one"),
    "trained": OneOf(MODELS, "4"),
    "steps": Number(1, limits.STEPS.most, min(100, limits.STEPS.most), 50),
    "batch": Number(8, 2048, _TRAIN.batch_size, 64),
    "train_seed": Number(0, 10**6, _TRAIN.seed, 1),
    "rate": Number(0.00001, 1.0, _TRAIN.learning_rate, 0.001),
    "decay": Number(0.0, 1.0, _TRAIN.weight_decay, 0.001),
    "validations": Number(1, limits.VALIDATIONS.most, min(10, limits.VALIDATIONS.most), 1),
    "precision": OneOf(get_args(Precision), "fp32"),
    "through": Switch(),
    # Benchmark
    "source": OneOf(("ours", "yours", "both"), "both"),
    # Learn
    "part": OneOf(("course", "quiz", "glossary"), "course"),
    "chapter": OneOf(tuple(map(str, range(1, 10))), "1"),
    "term": Text(),
    "wish_subject": Number(0.0, 8.0, 4.0, 0.5),
    "wish_object": Number(0.0, 8.0, 4.0, 0.5),
    "course_width": OneOf((64, 128, 256, 512, 768, 1024), 512),
    "course_heads": Number(1, 16, 8),
    "course_x": Text("1, 2, -1, 0.5"),
    "course_projections": Text("1, 0, 0, 1\n0, 1, 1, 0\n0.5, 0, 2, 0\n0, -1, 0, 1"),
    "swapped": Switch(),
    "scale_width": OneOf(WIDTHS, 64),
    "scale_on": Switch(True),
    "mask_way": OneOf(("minus infinity before", "zero after", "none"), "minus infinity before"),
    "induction_seed": Number(0, 20, 0),
    "cost_length": OneOf(_POWERS, 4096),
    "cost_width": OneOf((64, 512, 1024, 2048, 4096, 8192), 4096),
    "cost_heads": OneOf(_SHARED_OUT, 32),
    "cost_groups": OneOf(_SHARED_OUT, 8),
    "cost_precision": OneOf((1, 2, 4), 2),
    "cost_layers": Number(1, 96, 32),
    "loss_first": Number(0.01, 1.0, 0.5, 0.01),
    "loss_second": Number(0.01, 1.0, 0.02, 0.01),
    # The tables behind the pictures, which stand open or not
    **{f"table_{name}": Switch() for name in TABLES},
}
"""Each parameter by its name in the URL, which is also the key of its control."""


def as_text(value: Any) -> str:
    """Return a value as `read` reads it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def options_of(name: str) -> Sequence[Any]:
    """Return the options of a choice that are declared with it. Raises `TypeError` where none are."""
    declared = PARAMETERS[name]
    if not isinstance(declared, OneOf) or declared.options is None:
        raise TypeError(f"{name} has no declared options")
    return declared.options


def range_of(name: str) -> Number:
    """Return the range of a number. Raises `TypeError` where the parameter is none."""
    declared = PARAMETERS[name]
    if not isinstance(declared, Number):
        raise TypeError(f"{name} is no number")
    return declared
