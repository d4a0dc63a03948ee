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


GROWING = {"Generation", "Job"}
"""What is written to while a story is written or a model is trained."""


def test_what_the_package_hands_around_cannot_be_changed():
    changeable = set()
    for path in (REPOSITORY / "wordlm").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                how = [ast.unparse(decorator) for decorator in node.decorator_list]
                if any("dataclass" in decorator and "frozen=True" not in decorator for decorator in how):
                    changeable.add(node.name)
    assert changeable == GROWING


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_leave_torch_and_numpy_to_the_package(path):
    assert not {name.split(".")[0] for name in imported_modules(path)} & {"torch", "numpy"}


def test_importing_wordlm_does_not_import_streamlit():
    """Every module but those of the screen, and every public name, which `wordlm` imports when it is asked for."""
    modules = [path.stem for path in (REPOSITORY / "wordlm").glob("*.py") if path.stem != "__init__"]
    assert "run_head_comparison" in modules
    program = (
        "import importlib, sys\nfrom wordlm import *\n"
        f"for name in {modules}: importlib.import_module(f'wordlm.{{name}}')\n"
        "print(*sorted(name for name in sys.modules if name.split('.')[0] in ('streamlit', 'pages', 'app')))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_the_names_that_users_know_are_there():
    assert set(wordlm.__all__) == CONTRACT
    assert all(hasattr(wordlm, name) for name in CONTRACT)
    from wordlm.run_head_comparison import build_model

    assert build_model is wordlm.build_model
