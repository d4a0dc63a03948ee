"""Models that a visitor trained or brought along. They live in the visitor's session and go with it."""

import hashlib
import io
import weakref
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

import streamlit as st

from wordlm.bundled import Trained
from wordlm.checkpoints import open_checkpoint, save_model_npz
from wordlm.jobs import Job
from wordlm.models import LanguageModel, variant_of
from wordlm.text import Vocab
from wordlm.ui.limits import OWN_MODELS
from wordlm.variants import Variant

JOB = "job"
REPLAY = "replay"
"""Which step of the training's heads is looked at."""
_MODELS, _COUNT, _KEPT_AS, _DONE_WITH = "own_models", "own_models_made", "job_kept_as", "job_done_with"


@dataclass(frozen=True)
class Own(Trained):
    """Which of a visitor's models."""

    choice: str
    """Its name in controls: "own 1"."""
    variant: Variant
    seed: int
    """As its metadata states it; 0 if it does not."""
    digest: str
    """SHA-256 of its kind, its vocabulary and its parameters: two visitors' models of one name are never taken for each
    other."""
    is_own: ClassVar[bool] = True

    @property
    def title(self) -> str:
        """In words: "own 1 (4 heads)"."""
        return f"{self.choice} ({self.variant.title})"

    @property
    def file(self) -> str:
        """The name of the file that it is downloaded as."""
        return f"{self.choice.replace(' ', '_')}.npz"


class OwnModelGone(LookupError):
    """An own model is asked for after its session let it go. The message is one sentence that says what to do."""


@dataclass(frozen=True, eq=False)
class Weights:
    """What an own model reads with."""

    model: LanguageModel
    vocab: Vocab


_held: weakref.WeakValueDictionary[str, Weights] = weakref.WeakValueDictionary()
"""Of all sessions, by digest. The sessions alone keep them, so that the last one takes them with it."""


def weights_of(key: Own) -> Weights:
    """Return what an own model reads with, also where there is no session to ask. Raises `OwnModelGone`."""
    try:
        return _held[key.digest]
    except KeyError:
        raise OwnModelGone(
            f"{key.title} is no longer here: open its file on the Train page, or train it again"
        ) from None


@dataclass(frozen=True)
class OwnModel:
    """One model of a visitor's, never written to disk."""

    key: Own
    metadata: dict[str, Any]
    weights: Weights

    @property
    def name(self) -> str:
        """Its name in controls."""
        return self.key.choice

    def npz(self) -> bytes:
        """Return the checkpoint as a file for `load_model_npz`."""
        file = io.BytesIO()
        save_model_npz(file, self.weights.model, self.metadata)
        return file.getvalue()


def own_models() -> dict[str, OwnModel]:
    """Return the visitor's models by name, the oldest first."""
    return st.session_state.setdefault(_MODELS, {})


def keep(metadata: dict[str, Any], model: LanguageModel, vocab: Vocab) -> str:
    """Keep a model for this session and return its name; the oldest goes when there are too many.

    The same weights are kept once.
    """
    variant = variant_of(model)
    digest = hashlib.sha256(f"{variant} {vocab.sha256}".encode())
    for tensor in model.state_dict().values():
        digest.update(tensor.numpy().tobytes())
    models = own_models()
    for own in models.values():
        if own.key.digest == digest.hexdigest():
            return own.name
    st.session_state[_COUNT] = number = st.session_state.get(_COUNT, 0) + 1
    key = Own(f"own {number}", variant, metadata.get("seed") or 0, digest.hexdigest())
    own = OwnModel(key, metadata, _held.setdefault(key.digest, Weights(model, vocab)))
    models[own.name] = own
    while len(models) > OWN_MODELS.most:
        del models[next(iter(models))]
    return own.name


def keep_file(file: BinaryIO) -> str:
    """Open an uploaded `.npz`, keep its model and return the name. Raises `ValueError` with the array at fault."""
    return keep(*open_checkpoint(file))


def forget(name: str) -> None:
    """Let a model go, and the training that it came from."""
    own_models().pop(name, None)
    if (job := job_of_visitor()) is not None and st.session_state.get(_KEPT_AS) == name:
        be_done_with(job.token)
        del st.session_state[JOB]


def job_of_visitor() -> Job | None:
    """Return the visitor's latest training."""
    return st.session_state.get(JOB)


def take_up(job: Job) -> None:
    """Make a job the visitor's training: one just asked for, or one of this tab before it was loaded anew."""
    st.session_state[JOB] = job
    for key in (_KEPT_AS, REPLAY):
        st.session_state.pop(key, None)


def be_done_with(token: str) -> None:
    """Remember that the training with this token was removed or is gone, so that the browser forgets it."""
    st.session_state[_DONE_WITH] = token


def done_with() -> str | None:
    """Return the token of the training that the browser may forget."""
    return st.session_state.get(_DONE_WITH)


def keep_finished_training() -> None:
    """Keep the model of the visitor's training once it has ended, on whatever page the visitor is."""
    job = job_of_visitor()
    if job is not None and job.model is not None and job.metadata is not None and _KEPT_AS not in st.session_state:
        st.session_state[_KEPT_AS] = keep(job.metadata, job.model, job.order.corpus.vocab)


def model_of_training() -> OwnModel | None:
    """Return the model that came of the visitor's training; None before it has ended, and once it is removed."""
    return own_models().get(st.session_state.get(_KEPT_AS, ""))
