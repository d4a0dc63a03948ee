"""What may import what, and which names are public."""

import ast
import subprocess
import sys

import pytest

import wordlm
from wordlm.files import REPOSITORY

CONTRACT = {
    "read_json",
    "tokenize",
    "Vocab",
    "encode_prompt",
    "build_corpus",
    "make_all_windows",
    "CausalAttentionLM",
    "MultiHeadAttentionLM",
    "MLPLM",
    "build_model",
    "count_parameters",
    "load_model_npz",
    "save_model_npz",
    "TrainConfig",
    "train_model",
    "evaluate",
}


def imported_modules(path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


PACKAGE = sorted((REPOSITORY / "wordlm").rglob("*.py"))
PAGES = sorted((REPOSITORY / "pages").glob("*.py"))


@pytest.mark.parametrize("path", PACKAGE, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_the_package_knows_nothing_of_pages_and_only_its_ui_of_streamlit(path):
    roots = {name.split(".")[0] for name in imported_modules(path)}
    assert not roots & {"pages", "app"}
    if "ui" not in path.relative_to(REPOSITORY).parts:
        assert "streamlit" not in roots
        assert not any(name.startswith("wordlm.ui") for name in imported_modules(path))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_call_wordlm_and_do_no_arithmetic_of_their_own(path):
    assert not {name.split(".")[0] for name in imported_modules(path)} & {"torch", "numpy"}


def test_importing_wordlm_does_not_import_streamlit():
    program = "import sys, wordlm, wordlm.run_head_comparison; sys.exit('streamlit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_the_names_that_users_know_are_there():
    assert set(wordlm.__all__) == CONTRACT
    assert all(hasattr(wordlm, name) for name in CONTRACT)
    from wordlm.run_head_comparison import build_model

    assert build_model is wordlm.build_model
