"""The trained models that come with this repository: which there are, and where their files stand."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from wordlm.files import artifact
from wordlm.variants import MLP, Variant

SEEDS = (11, 29, 47)
BUNDLED: dict[Variant, tuple[int, ...]] = {
    MLP: SEEDS[:1],
    Variant.with_heads(1): SEEDS,
    Variant.with_heads(2): SEEDS[:1],
    Variant.with_heads(4): SEEDS,
    Variant.with_heads(8): SEEDS[:1],
    Variant.with_heads(16): SEEDS[:1],
    **{Variant.with_heads(*heads): SEEDS[:1] for heads in ((4, 1), (4, 2), (8, 1), (8, 2))},
}
"""Each variant with the seeds that are here."""
EXPORTED = (MLP, Variant.with_heads(1), Variant.with_heads(4))
"""The variants that were exported to ONNX, at the first seed."""


class Trained:
    """A trained model by what it is: one of these, or a visitor's own, `wordlm.ui.state.own_models.Own`."""

    variant: Variant
    seed: int

    @property
    def title(self) -> str:
        """In words: "4 heads"."""
        return self.variant.title

    @property
    def heads(self) -> int | None:
        """None for an MLP, which has none."""
        return self.variant.heads

    @property
    def name(self) -> str:
        """With its seed: "4 heads, seed 11"."""
        return f"{self.title}, seed {self.seed}"


@dataclass(frozen=True)
class Bundled(Trained):
    """One of these models."""

    variant: Variant
    seed: int
    is_own: ClassVar[bool] = False

    @classmethod
    def nearest(cls, choice: str, seed: int) -> "Bundled":
        """Return the model of a `choice` at `seed`, or at the first seed that it has. Raises `ValueError`."""
        variant = Variant.parse(choice)
        if variant not in BUNDLED:
            raise ValueError(f"{choice!r} is none of {', '.join(v.choice for v in BUNDLED)}")
        return cls(variant, seed if seed in BUNDLED[variant] else BUNDLED[variant][0])

    @property
    def choice(self) -> str:
        """Its name in controls and links: "MLP", "4"."""
        return self.variant.choice

    @property
    def file(self) -> str:
        """The name of its checkpoint: "multihead_seed11.npz"."""
        return f"{self.variant.stem(self.seed)}.npz"

    @property
    def path(self) -> Path:
        """Where its checkpoint stands."""
        return artifact("heads", self.file)

    @property
    def onnx_path(self) -> Path:
        """Where its ONNX file stands, if it was exported."""
        return artifact("onnx", f"{self.variant.stem(self.seed)}.onnx")
