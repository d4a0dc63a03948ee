"""A word-level language model with one attention block, small enough to look into.

The names below are the public ones; see the module of each for the rest. A name is imported when it is first asked
for, so that the app can draw its frame before PyTorch is loaded, which takes seconds.
"""

import importlib

_HOMES = {
    "MLPLM": "models",
    "CausalAttentionLM": "models",
    "MultiHeadAttentionLM": "models",
    "TrainConfig": "training",
    "Vocab": "text",
    "build_corpus": "data",
    "build_model": "models",
    "count_parameters": "models",
    "encode_prompt": "text",
    "evaluate": "training",
    "load_model_npz": "checkpoints",
    "make_all_windows": "data",
    "read_json": "files",
    "save_model_npz": "checkpoints",
    "tokenize": "text",
    "train_model": "training",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
