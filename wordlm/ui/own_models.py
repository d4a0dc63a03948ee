"""Models that a visitor trained or brought along. They live in the visitor's session and go with it."""

import hashlib
import io
from dataclasses import dataclass
from typing import Any, BinaryIO

import streamlit as st

from wordlm.checkpoints import open_checkpoint, save_model_npz
from wordlm.models import LanguageModel
from wordlm.text import Vocab
from wordlm.ui.job import Job

MOST = 3
"""So many a visitor; a model takes 5 MB, an MLP 9 MB."""
JOB = "job"
_MODELS, _COUNT = "own_models", "own_models_made"


@dataclass(frozen=True)
class OwnModel:
    """One model of a visitor's, never written to disk."""

    name: str
    metadata: dict[str, Any]
    model: LanguageModel
    vocab: Vocab
    digest: str
    """SHA-256 of its weights and its vocabulary."""

    @property
    def heads(self) -> int | None:
        """The number of heads; None for an MLP."""
        return getattr(self.model, "heads", None)

    @property
    def seed(self) -> int:
        """The seed that its metadata states; 0 if that is no number."""
        seed = self.metadata.get("seed")
        return seed if isinstance(seed, int) else 0

    def npz(self) -> bytes:
        """Return the checkpoint as a file for `load_model_npz`."""
        file = io.BytesIO()
        save_model_npz(file, self.model, self.metadata)
        return file.getvalue()


def own_models() -> dict[str, OwnModel]:
    """Return the visitor's models by name, the oldest first."""
    return st.session_state.setdefault(_MODELS, {})


def keep(metadata: dict[str, Any], model: LanguageModel, vocab: Vocab) -> str:
    """Keep a model for this session and return its name; the oldest goes when there are too many.

    The same weights are kept once.
    """
    digest = hashlib.sha256(vocab.sha256.encode())
    for tensor in model.state_dict().values():
        digest.update(tensor.numpy().tobytes())
    models = own_models()
    for own in models.values():
        if own.digest == digest.hexdigest():
            return own.name
    st.session_state[_COUNT] = number = st.session_state.get(_COUNT, 0) + 1
    own = OwnModel(f"own {number}", metadata, model, vocab, digest.hexdigest())
    models[own.name] = own
    while len(models) > MOST:
        del models[next(iter(models))]
    return own.name


def keep_file(file: BinaryIO) -> str:
    """Open an uploaded `.npz`, keep its model and return the name. Raises `ValueError` with the array at fault."""
    return keep(*open_checkpoint(file))


def forget(name: str) -> None:
    """Let a model go."""
    own_models().pop(name, None)
    if st.session_state.get(JOB) is not None and st.session_state[JOB].kept_as == name:
        del st.session_state[JOB]


def keep_finished_training() -> None:
    """Keep the model of the visitor's training once it has ended, on whatever page the visitor is."""
    job: Job | None = st.session_state.get(JOB)
    if job is not None and job.model is not None and not job.kept_as:
        job.kept_as = keep(job.metadata, job.model, job.order.corpus.vocab)
