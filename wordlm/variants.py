"""What a model is, in every form in which code, files, links and people say it.

Here alone one form is turned into another. Shapes do not tell: checkpoints of 1 to 64 heads hold arrays of the same
names and shapes.
"""

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Any, Literal, get_args

Kind = Literal["mlp", "attention", "multihead"]
KINDS: tuple[Kind, ...] = get_args(Kind)
DEFAULT_HEADS = 4


@total_ordering
@dataclass(frozen=True)
class Variant:
    """A kind of model and, where it has any, its number of heads. In order: the MLP, then from few heads to many."""

    kind: Kind
    heads: int | None
    """None for an MLP, which has none."""

    @classmethod
    def with_heads(cls, heads: int | None) -> "Variant":
        """Return the variant with this many heads; None is the MLP."""
        return cls("mlp", None) if heads is None else cls("attention" if heads == 1 else "multihead", heads)

    @classmethod
    def of_kind(cls, kind: Kind, heads: int | None = None) -> "Variant":
        """Return the variant that `build_model` builds for a kind; `heads` is for kind "multihead", 4 unless given."""
        return cls(kind, (heads or DEFAULT_HEADS) if kind == "multihead" else 1 if kind == "attention" else None)

    @classmethod
    def stated(cls, kind: Any, heads: Any) -> "Variant":
        """Return what a file says that its model is; `heads` need not be stated for kind "attention", which has one.

        Raises `ValueError` when kind or heads is nothing of the sort.
        """
        if kind not in KINDS:
            raise ValueError(f"kind must be mlp, attention or multihead, got {kind!r}")
        if heads is not None and (not isinstance(heads, int) or isinstance(heads, bool)):
            raise ValueError(f"heads must be a whole number, got {heads!r}")
        return cls(kind, 1 if kind == "attention" and heads is None else heads)

    @classmethod
    def parse(cls, choice: str) -> "Variant":
        """Return the variant of a `choice`. Raises `ValueError`."""
        return cls.with_heads(None if choice == "MLP" else int(choice))

    @classmethod
    def of_group(cls, group: str) -> "Variant":
        """Return the variant of a `group`. Raises `ValueError`."""
        found = re.fullmatch(r"(mlp|attention|multihead)(?:_h(\d+))?", group)
        variant = found and cls.of_kind(found[1], int(found[2]) if found[2] else None)
        if not variant or variant.group != group:
            raise ValueError(f"{group!r} is no group of models")
        return variant

    @property
    def choice(self) -> str:
        """In a control and in a link: "MLP", or the number of heads."""
        return "MLP" if self.heads is None else str(self.heads)

    @property
    def title(self) -> str:
        """In words: "MLP", "1 head", "4 heads"."""
        return "MLP" if self.heads is None else f"{self.heads} head{'s' * (self.heads != 1)}"

    @property
    def group(self) -> str:
        """In `comparison.json`: the kind, with the number of heads where it is not the usual one."""
        usual = self == Variant.of_kind(self.kind)
        return self.kind if usual else f"{self.kind}_h{self.heads}"

    def stem(self, seed: int) -> str:
        """Return the stem of the files of this variant trained from `seed`: "multihead_h8_seed11"."""
        return f"{self.group}_seed{seed}"

    def __str__(self) -> str:
        if self.heads is None:
            return self.kind if self.kind == "mlp" else f"{self.kind} without a number of heads"
        return f"{self.kind} with {self.title}"

    def __lt__(self, other: "Variant") -> bool:
        return (self.heads or 0) < (other.heads or 0)


MLP = Variant("mlp", None)
