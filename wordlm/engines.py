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

from wordlm.models import LanguageModel
from wordlm.text import BOS, left_pad

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


class OnnxEngine:
    """The exported model in ONNX Runtime. One thread: a call is too short to share out."""

    name = "ONNX Runtime"
    device = "cpu"
    threads = 1

    def __init__(self, path: str | Path) -> None:
        """Open an exported model. Raises `ValueError` when the file is no whole ONNX model."""
        start = time.perf_counter()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = self.threads
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except _LOADING_ERRORS as error:
            raise ValueError(f"{path} is no whole ONNX model: {error}") from error
        self.made_from: str | None = self._session.get_modelmeta().custom_metadata_map.get("checkpoint_sha256")
        """The SHA-256 of the checkpoint that was exported."""
        self.load_seconds = time.perf_counter() - start

    def logits(self, context: np.ndarray) -> np.ndarray:
        """Return the logits (V,) of the word after `context` (1, 64) int64."""
        return self._session.run(["logits"], {"ids": context})[0][0]


def warm_up(engine: TorchEngine | OnnxEngine) -> float:
    """Make a few calls that no timing should hold, and return their seconds."""
    start = time.perf_counter()
    for _ in range(WARM_UP_CALLS):
        engine.logits(left_pad([BOS]))
    return time.perf_counter() - start
