"""A word-level language model with one attention block, small enough to look into.

The names below are the public ones; see the module of each for the rest.
"""

from wordlm.checkpoints import load_model_npz, save_model_npz
from wordlm.data import build_corpus, make_all_windows
from wordlm.files import read_json
from wordlm.models import MLPLM, CausalAttentionLM, MultiHeadAttentionLM, build_model, count_parameters
from wordlm.text import Vocab, encode_prompt, tokenize
from wordlm.training import TrainConfig, evaluate, train_model

__all__ = [
    "MLPLM",
    "CausalAttentionLM",
    "MultiHeadAttentionLM",
    "TrainConfig",
    "Vocab",
    "build_corpus",
    "build_model",
    "count_parameters",
    "encode_prompt",
    "evaluate",
    "load_model_npz",
    "make_all_windows",
    "read_json",
    "save_model_npz",
    "tokenize",
    "train_model",
]
