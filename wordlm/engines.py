"""Engines that run a trained model for generation: PyTorch, and ONNX Runtime on the exported file."""

import time
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from onnxruntime.capi.onnxruntime_pybind11_state import (
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    NoSuchFile,
    RuntimeException,
)

from wordlm.files import artifact
from wordlm.key_value_cache import KeyValueCache
from wordlm.models import CausalAttentionLM, LanguageModel
from wordlm.text import BOS, CONTEXT_LEN, Vocab, left_pad
from wordlm.variants import Variant

WARM_UP_CALLS = 3
_LOADING_ERRORS = (InvalidArgument, InvalidGraph, InvalidProtobuf, Fail, NoSuchFile, RuntimeException)


class TorchEngine:
    """The model as it is, in PyTorch."""

    name = "PyTorch"

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.device = str(next(model.parameters()).device)

    @property
    def threads(self) -> int:
        """The threads that PyTorch uses for one operation."""
        return torch.get_num_threads()

    def logits(self, context: np.ndarray) -> np.ndarray:
        """Return the logits (V,) of the word after `context` (1, 64) int64."""
        with torch.inference_mode():
            return self._model(torch.from_numpy(context).to(self.device))[0].cpu().numpy()


class CachedTorchEngine(TorchEngine):
    """The model in PyTorch, with the keys and values of the words so far kept for the next word of one story.

    A model without keys and values is run as it is.
    """

    name = "PyTorch with a cache"

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model)
        self.cache = KeyValueCache(model) if isinstance(model, CausalAttentionLM) else None

    def logits(self, context: np.ndarray) -> np.ndarray:
        """Return the logits (V,) of the word after `context` (1, 64) int64."""
        if self.cache is None:
            return super().logits(context)
        return self.cache.logits(torch.from_numpy(context[0]).to(self.device)).cpu().numpy()


class OnnxEngine:
    """The exported model in ONNX Runtime. One thread: a call is too short to share out."""

    name = "ONNX Runtime"
    device = "cpu"
    threads = 1

    def __init__(self, path: str | Path, wanted: Variant | None = None, *, vocab_sha256: str | None = None) -> None:
        """Open an exported model.

        `wanted` is what the caller takes it for, any model unless given; `vocab_sha256` the digest of the vocabulary
        that the ids will come from, the bundled one unless given. Raises `ValueError` naming the file when it is no
        whole ONNX model, none of ours, or by its own metadata another one.
        """
        start = time.perf_counter()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = self.threads
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except _LOADING_ERRORS as error:
            raise ValueError(f"{path} is no whole ONNX model: {error}") from error
        metadata = self._session.get_modelmeta().custom_metadata_map
        try:
            self._check_ends()
            self.variant = _stated_variant(metadata)
            """What the file says that it is."""
            if wanted is not None and self.variant != wanted:
                raise ValueError(f"it says that it is {self.variant}, what is wanted is {wanted}")
            if metadata.get("vocab_sha256") != (vocab_sha256 or Vocab.load(artifact("vocab.json")).sha256):
                raise ValueError("it names another vocabulary than the one in use")
        except ValueError as error:
            raise ValueError(f"{path} is another ONNX model: {error}") from error
        self.made_from: str | None = metadata.get("checkpoint_sha256")
        """The SHA-256 of the checkpoint that was exported."""
        self.load_seconds = time.perf_counter() - start

    def _check_ends(self) -> None:
        inputs, outputs = ([(end.name, end.type, len(end.shape)) for end in ends] for ends in self._ends())
        if inputs != [("ids", "tensor(int64)", 2)] or outputs != [("logits", "tensor(float)", 2)]:
            raise ValueError("it does not turn ids into logits")
        if (found := self._session.get_inputs()[0].shape[1]) != CONTEXT_LEN:
            raise ValueError(f"it reads {found} slots, not {CONTEXT_LEN}")

    def _ends(self) -> tuple[list, list]:
        return list(self._session.get_inputs()), list(self._session.get_outputs())

    def logits(self, context: np.ndarray) -> np.ndarray:
        """Return the logits (V,) of the word after `context` (1, 64) int64."""
        return self._session.run(["logits"], {"ids": context})[0][0]


def _stated_variant(metadata: dict[str, str]) -> Variant:
    counts = (metadata.get(name, "None") for name in ("heads", "kv_heads"))  # metadata of an ONNX file holds text only
    numbers = (int(count) if count.isdecimal() else None if count == "None" else count for count in counts)
    return Variant.stated(metadata.get("kind"), *numbers)


def warm_up(engine: TorchEngine | OnnxEngine) -> float:
    """Make a few calls that no timing should hold, and return their seconds."""
    start = time.perf_counter()
    for _ in range(WARM_UP_CALLS):
        engine.logits(left_pad([BOS]))
    return time.perf_counter() - start
