"""What a model is, in every form in which code, files, links and people say it.

Here alone one form is turned into another. Shapes do not tell: checkpoints of 1 to 64 heads hold arrays of the same
names and shapes, and so do 4 heads that share one set of keys and values and 8 heads that share two.
"""

import re
from dataclasses import dataclass
from functools import lru_cache, total_ordering
from typing import Any, Literal, cast, get_args

from wordlm.numbers import counted

Kind = Literal["mlp", "attention", "multihead"]
KINDS: tuple[Kind, ...] = get_args(Kind)
DEFAULT_HEADS = 4


@total_ordering
@dataclass(frozen=True)
class Variant:
    """A kind of model and, where it has any, its numbers of heads.

    In order: the MLP, then from few heads to many, and with equal heads from few key-value heads to many.
    """

    kind: Kind
    heads: int | None
    """None for an MLP, which has none."""
    kv_heads: int | None = None
    """How many sets of keys and values the heads share (Ainslie et al. 2023); each head has its own unless given."""

    def __post_init__(self) -> None:
        if self.kv_heads is None:
            object.__setattr__(self, "kv_heads", self.heads)

    @classmethod
    def with_heads(cls, heads: int | None, kv_heads: int | None = None) -> "Variant":
        """Return the variant with this many heads; None is the MLP."""
        return cls("mlp" if heads is None else "attention" if heads == 1 else "multihead", heads, kv_heads)

    @classmethod
    def of_kind(cls, kind: Kind, heads: int | None = None, kv_heads: int | None = None) -> "Variant":
        """Return the variant that `build_model` builds for a kind.

        `heads` and `kv_heads` are for kind "multihead", 4 and as many as heads unless given.
        """
        if kind == "multihead":
            return cls(kind, heads or DEFAULT_HEADS, kv_heads)
        return cls(kind, 1 if kind == "attention" else None)

    @classmethod
    def stated(cls, kind: Any, heads: Any, kv_heads: Any = None) -> "Variant":
        """Return what a file says that its model is, in the words of `statement`.

        `heads` need not be stated for kind "attention", which has one.
        Raises `ValueError` when kind, heads or kv_heads is nothing of the sort.
        """
        if kind not in KINDS:
            raise ValueError(f"kind must be mlp, attention or multihead, got {kind!r}")
        for name, number in (("heads", heads), ("kv_heads", kv_heads)):
            if number is not None and (not isinstance(number, int) or isinstance(number, bool)):
                raise ValueError(f"{name} must be a whole number, got {number!r}")
        return cls(kind, 1 if kind == "attention" and heads is None else heads, kv_heads)

    @property
    def statement(self) -> dict[str, Any]:
        """What a file says of the model. Where nothing is shared, nothing is said of kv_heads."""
        return {"kind": self.kind, "heads": self.heads} | ({"kv_heads": self.kv_heads} if self.shares else {})

    @property
    def shares(self) -> bool:
        """Whether several heads read the same keys and values."""
        return self.kv_heads != self.heads

    @classmethod
    @lru_cache(256)  # asked for many times in every drawing of a page
    def parse(cls, choice: str) -> "Variant":
        """Return the variant of a `choice`. Raises `ValueError`."""
        heads, *kv_heads = choice.split("kv", 1)
        return cls.with_heads(None if choice == "MLP" else int(heads), *map(int, kv_heads))

    @classmethod
    def of_group(cls, group: str) -> "Variant":
        """Return the variant of a `group`. Raises `ValueError`."""
        found = re.fullmatch(r"(mlp|attention|multihead)(?:_h(\d+))?(?:_kv(\d+))?", group)
        variant = found and cls.of_kind(
            cast(Kind, found[1]), *(int(number) if number else None for number in found.groups()[1:])
        )
        if not variant or variant.group != group:
            raise ValueError(f"{group!r} is no group of models")
        return variant

    @property
    def choice(self) -> str:
        """In a control and in a link: "MLP", or the number of heads, "4"; with shared keys and values "4kv2"."""
        return "MLP" if self.heads is None else f"{self.heads}{self._shared('kv')}"

    @property
    def title(self) -> str:
        """In words: "MLP", "1 head", "4 heads", "4 heads, 2 kv"."""
        if self.heads is None:
            return "MLP"
        return counted(self.heads, "head") + (f", {self.kv_heads} kv" if self.shares else "")

    @property
    def group(self) -> str:
        """In `comparison.json`: the kind, with the numbers that are not the usual ones, "multihead_h8_kv2"."""
        usual = self.heads == Variant.of_kind(self.kind).heads
        return self.kind + ("" if usual else f"_h{self.heads}") + self._shared("_kv")

    def _shared(self, mark: str) -> str:
        return f"{mark}{self.kv_heads}" if self.shares else ""

    def stem(self, seed: int) -> str:
        """Return the stem of the files of this variant trained from `seed`: "multihead_h8_seed11"."""
        return f"{self.group}_seed{seed}"

    def __str__(self) -> str:
        if self.heads is None:
            return self.kind if self.kind == "mlp" else f"{self.kind} without a number of heads"
        return f"{self.kind} with {self.title}"

    def __lt__(self, other: "Variant") -> bool:
        return (self.heads or 0, self.kv_heads or 0) < (other.heads or 0, other.kv_heads or 0)


MLP = Variant("mlp", None)
