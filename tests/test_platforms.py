"""The app and the package where the system is another one than Linux: what only Linux has is absent."""

import ast
import ctypes
import os
import signal
import sys
from pathlib import PureWindowsPath

import pytest

from tests.pages.screen import Screen
from wordlm.files import REPOSITORY, atomic_path, give_back_memory, read_json, write_json
from wordlm.ui.frame.shell import PAGES
from wordlm.ui.state import resources
from wordlm.variants import Variant

# What the os module of Windows lacks, and what of it that of macOS lacks too.
NOT_ON_WINDOWS = [
    *("fork", "forkpty", "getuid", "geteuid", "getgid", "getegid", "getloadavg", "uname", "sysconf", "chown", "fchown"),
    *("fchmod", "killpg", "getpgid", "setsid", "mkfifo", "nice", "posix_fadvise", "sched_getaffinity", "sendfile"),
]
MODULES_NOT_ON_WINDOWS = ["fcntl", "grp", "pwd", "resource", "termios"]


class NoLibraryByNoName:
    """`ctypes.CDLL` as Windows has it."""

    def __init__(self, name, *args, **kwargs) -> None:
        if name is None:
            raise TypeError("bad argument type for built-in operation")
        raise OSError(f"{name} is not here")


class NoTrim:
    """`ctypes.CDLL` as macOS and musl have it: the C library opens, and lacks `malloc_trim`."""

    def __init__(self, name, *args, **kwargs) -> None:
        pass


@pytest.fixture
def windows(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", NoLibraryByNoName)
    for name in NOT_ON_WINDOWS:
        monkeypatch.delattr(os, name, raising=False)
    for name in ("SIGKILL", "SIGHUP", "SIGALRM", "SIGUSR1"):
        monkeypatch.delattr(signal, name, raising=False)
    for name in MODULES_NOT_ON_WINDOWS:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize("library", [NoLibraryByNoName, NoTrim])
def test_memory_is_left_to_the_system_where_its_c_library_gives_none_back(monkeypatch, library):
    monkeypatch.setattr(ctypes, "CDLL", library)
    give_back_memory()


@pytest.mark.parametrize("page", PAGES)
def test_every_page_runs_without_the_calls_that_windows_lacks(windows, page):
    screen = Screen(page, None, {"prompt": "a small red dog"})
    assert not screen.app.exception
    assert "This page cannot be shown." not in screen.text


def test_a_training_ends_well_without_the_calls_that_windows_lacks(windows, smoke_corpus):
    from wordlm.jobs import Order, State, Trainer
    from wordlm.text import encode_prompt
    from wordlm.training import TrainConfig

    prompt = encode_prompt("a dog", smoke_corpus.vocab)
    config = TrainConfig(steps=3, batch_size=8, eval_every=2)
    job = Trainer(lambda owner: True).submit(Order(Variant.with_heads(1), config, smoke_corpus, "smoke", prompt), "ann")
    assert job.ended.wait(60)
    assert job.state is State.FINISHED, job.reason


def test_files_are_written_whole_without_the_calls_that_windows_lacks(tmp_path, windows):
    write_json(tmp_path / "a.json", {"word": "café"})
    write_json(tmp_path / "a.json", {"word": "naïve"})
    with atomic_path(tmp_path / "b.bin") as temporary:
        temporary.write_bytes(b"b")
    assert read_json(tmp_path / "a.json") == {"word": "naïve"}
    assert b"\r" not in (tmp_path / "a.json").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.bin"]


@pytest.mark.parametrize("error", [ValueError, lambda text: OSError(13, "Permission denied", text)])
def test_a_fault_on_windows_names_the_file_as_git_does_and_no_path_of_the_machine(monkeypatch, error):
    folder = PureWindowsPath(r"C:\Users\Ann\explorer\artifacts")
    monkeypatch.setattr("wordlm.files.ARTIFACTS", folder)
    path = folder / "heads" / "mlp_seed11.npz"
    with pytest.raises(resources.ArtifactError) as told, resources.reading(path):
        raise error(str(path))
    assert str(told.value).startswith("artifacts/heads/mlp_seed11.npz is ")
    assert "Ann" not in str(told.value)


FOLDERS = ("wordlm", "pages", "tests")
SOURCES = [REPOSITORY / "app.py", *sorted(path for name in FOLDERS for path in (REPOSITORY / name).rglob("*.py"))]


def opens_text_without_an_encoding(call: ast.Call) -> bool:
    """Whether a call reads or writes text in whatever encoding the system has."""
    given = {keyword.arg for keyword in call.keywords}
    match call.func:
        case ast.Attribute(attr="read_text"):
            return not call.args and "encoding" not in given
        case ast.Attribute(attr="write_text"):
            return len(call.args) < 2 and "encoding" not in given
        case ast.Name(id="open"):
            modes = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
            binary = any("b" in str(ast.literal_eval(mode)) for mode in modes)
            return not binary and "encoding" not in given
    return False


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_no_text_file_is_opened_in_the_encoding_that_a_system_happens_to_have(path):
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    assert [call.lineno for call in calls if opens_text_without_an_encoding(call)] == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("path.read_text()", True),
        ("path.write_text(text)", True),
        ("open(path)", True),
        ("open(path, 'w')", True),
        ("open(path, 'rb')", False),
        ("open(path, mode='wb')", False),
        ("open(path, encoding='utf-8')", False),
        ("path.read_text(encoding='utf-8')", False),
    ],
)
def test_the_search_for_missing_encodings_finds_them(source, found):
    assert opens_text_without_an_encoding(ast.parse(source).body[0].value) is found


def test_what_commands_print_can_be_encoded_on_windows():
    """Standard output that is piped has the code page there, cp1252 in the west."""
    for name in ("prepare_data", "run_head_comparison", "ablate", "export_onnx", "commands"):
        (REPOSITORY / "wordlm" / f"{name}.py").read_text(encoding="utf-8").encode("cp1252")
