"""What can go wrong around the app, in one table: each fault has a clear sentence on the page concerned, and the other
pages go on.

Elsewhere, beside the code they concern: a killed or full-disk download and a wrong checksum (test_prepare_data), a
comparison killed in the middle and a folder of another configuration (test_comparison), a worker killed on a cluster
(test_cluster), a crash, a NaN and a visitor who vanishes in a training (test_job), damaged uploads (test_checkpoints,
test_train_page, test_benchmark_page).
"""

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.pages.screen import Screen
from wordlm import files
from wordlm.files import ARTIFACTS, REPOSITORY, read_json, write_json
from wordlm.ui.state.resources import forget_all

RESTORE = "git checkout artifacts"


def missing(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def truncated(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes((ARTIFACTS / name).read_bytes()[:20_000])


def swapped(name: str, other: str) -> Callable[[Path], None]:
    return lambda folder: shutil.copy(ARTIFACTS / other, folder / name)


def edited(name: str, edit: Callable[[dict], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        content = read_json(ARTIFACTS / name)
        edit(content)
        write_json(folder / name, content)

    return damage


def restated(name: str, other: str, old: str, new: str) -> Callable[[Path], None]:
    """Put checkpoint `other` in the place of `name`, with `old` in its metadata replaced."""

    def damage(folder: Path) -> None:
        with np.load(ARTIFACTS / other) as file:
            arrays = dict(file)
        arrays["metadata"] = np.array(str(arrays["metadata"]).replace(old, new))
        with open(folder / name, "wb") as target:
            np.savez(target, **arrays)

    return damage


@dataclass(frozen=True)
class Fault:
    """A fault, the page concerned and its settings, what it says, and a page that goes on."""

    name: str
    damage: Callable[[Path], object]
    page: str
    said: str
    elsewhere: str
    settings: tuple[tuple[str, str], ...] = ()
    press: str = ""


FOUR = "heads/multihead_seed11.npz"
FAULTS = [
    Fault("checkpoint missing", missing(FOUR), "explore", f"artifacts/{FOUR} is missing", "benchmark"),
    Fault("checkpoint truncated", truncated(FOUR), "explore", f"artifacts/{FOUR} is damaged", "benchmark"),
    Fault(
        "checkpoint of another kind",
        swapped(FOUR, "heads/attention_seed11.npz"),
        "explore",
        "it holds attention with 1 head, seed 11",
        "benchmark",
    ),
    Fault(
        "checkpoint of another seed",
        swapped(FOUR, "heads/multihead_seed29.npz"),
        "compare",
        "it holds multihead with 4 heads, seed 29",
        "benchmark",
    ),
    Fault(
        "checkpoint of another vocabulary",
        restated(FOUR, FOUR, '"vocab_sha256": "', '"vocab_sha256": "0'),
        "explore",
        "names another vocabulary",
        "benchmark",
    ),
    Fault("vocabulary missing", missing("vocab.json"), "explore", "artifacts/vocab.json is missing", "benchmark"),
    Fault(
        "vocabulary changed",
        edited("vocab.json", lambda content: content["itos"].reverse()),
        "explore",
        "artifacts/vocab.json is damaged",
        "benchmark",
    ),
    Fault("comparison missing", missing("heads/comparison.json"), "benchmark", "comparison.json is missing", "explore"),
    Fault("comparison truncated", truncated("heads/comparison.json"), "benchmark", "is damaged", "explore"),
    Fault(
        "comparison without a field",
        edited("heads/comparison.json", lambda content: content.pop("aggregate")),
        "benchmark",
        "aggregate is missing",
        "explore",
    ),
    Fault("course results missing", missing("course.json"), "benchmark", "course.json is missing", "explore"),
    Fault(
        "course results without a field",
        edited("course.json", lambda content: content["aggregate"]["mlp"].pop("test_loss")),
        "benchmark",
        "aggregate.mlp.test_loss is missing",
        "explore",
    ),
    Fault("ablation missing", missing("heads/ablation.json"), "switch_off", "ablation.json is missing", "explore"),
    Fault(
        "ablation without a field",
        edited("heads/ablation.json", lambda content: content.pop("targets")),
        "switch_off",
        "ablation.json is damaged",
        "explore",
    ),
    Fault(
        "ablation of other weights",
        edited("heads/ablation.json", lambda c: c["checkpoints"]["multihead_seed11"].update(sha256="0")),
        "switch_off",
        "it was measured on other weights",
        "explore",
    ),
    Fault("profiles missing", missing("heads/profiles.json"), "heads_and_words", "profiles.json is missing", "explore"),
    Fault(
        "profiles without a measure",
        edited(
            "heads/profiles.json",
            lambda c: c["checkpoints"]["multihead_seed11"]["profiles"]["test stories"]["measures"].pop("itself"),
        ),
        "heads_and_words",
        "profiles.json is damaged",
        "switch_off",
    ),
    Fault(
        "profiles of other weights",
        edited("heads/profiles.json", lambda c: c["checkpoints"]["multihead_seed11"].update(sha256="0")),
        "heads_and_words",
        "it was measured on other weights",
        "explore",
    ),
    Fault(
        "export missing",
        missing("onnx/multihead_seed11.onnx"),
        "generate",
        "artifacts/onnx/multihead_seed11.onnx is missing",
        "explore",
        press="Write",
    ),
    Fault(
        "export truncated",
        truncated("onnx/multihead_seed11.onnx"),
        "generate",
        "it is no whole ONNX model",
        "explore",
        press="Write",
    ),
    Fault(
        "export of another model",
        swapped("onnx/multihead_seed11.onnx", "onnx/attention_seed11.onnx"),
        "generate",
        "it says that it is attention with 1 head, what is wanted is multihead with 4 heads",
        "explore",
        press="Write",
    ),
    Fault(
        "export of other weights",
        restated(FOUR, "heads/multihead_seed29.npz", '"seed": 29', '"seed": 11'),
        "generate",
        "it does not belong to the multihead_seed11.npz that is here",
        "benchmark",
        press="Write",
    ),
    Fault(
        "export of another model for the browser",
        swapped("onnx/attention_seed11.onnx", "onnx/multihead_seed11.onnx"),
        "generate",
        "it says that it is multihead with 4 heads, what is wanted is attention with 1 head",
        "explore",
        settings=(("engine", "your browser"),),
    ),
    Fault(
        "export missing for the browser",
        missing("onnx/attention_seed11.onnx"),
        "generate",
        "artifacts/onnx/attention_seed11.onnx is missing",
        "explore",
        settings=(("engine", "your browser"),),
    ),
]


@pytest.fixture
def artifacts(tmp_path, monkeypatch):
    """A copy of the artifacts in which files can be damaged, and empty caches before and after."""
    folder = tmp_path / "artifacts"
    shutil.copytree(ARTIFACTS, folder)
    monkeypatch.setattr("wordlm.files.ARTIFACTS", folder)
    forget_all()
    yield folder
    forget_all()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_of_the_artifacts_is_told_where_it_matters_and_other_pages_go_on(artifacts, fault):
    fault.damage(artifacts)
    screen = Screen(fault.page, None, dict(fault.settings))
    if fault.press:
        next(button for button in screen.app.button if button.label == fault.press).click().run()
    said = screen.text.replace("\\", "")
    assert not screen.app.exception, "no traceback reaches a visitor"
    assert "This page cannot be shown." in said
    assert fault.said in said
    assert RESTORE in said
    assert str(artifacts) not in said, "no path of the machine is told"

    elsewhere = Screen(fault.elsewhere, None, {})
    assert "This page cannot be shown." not in elsewhere.text
    assert elsewhere.app.get("download_button"), "it is drawn to its end, where a view is taken along"

    shutil.rmtree(artifacts)
    shutil.copytree(ARTIFACTS, artifacts)
    mended = Screen(fault.page, None, dict(fault.settings))
    assert "This page cannot be shown." not in mended.text, "once the file is back, so is the page"


def test_a_full_disk_leaves_the_old_file_whole(tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    write_json(path, {"old": True})

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        write_json(path, {"new": True})
    monkeypatch.undo()
    assert read_json(path) == {"old": True}
    assert os.listdir(tmp_path) == ["result.json"]


def test_a_process_killed_while_saving_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "result.json"
    write_json(path, {"old": True})
    program = (
        "import sys\nfrom wordlm.files import atomic_path\n"
        f"with atomic_path({str(path)!r}) as temporary:\n"
        "    temporary.write_text('half')\n    print('half', flush=True)\n    sys.stdin.read()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", program], **pipes, cwd=REPOSITORY)
    assert process.stdout.readline() == b"half\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert read_json(path) == {"old": True}


def test_a_server_stopped_in_the_middle_of_a_training_ends_at_once_and_starts_again():
    """The trainer's thread must not keep the process alive."""
    program = (
        "import atexit\n"
        "from wordlm.data import corpus_from_stories\nfrom wordlm.smoke import smoke_stories\n"
        "from wordlm.text import encode_prompt\nfrom wordlm.training import TrainConfig\n"
        "from wordlm.jobs import Order, Trainer\nfrom wordlm.variants import Variant\n"
        "corpus = corpus_from_stories(smoke_stories(), 'smoke')\n"
        "prompt = encode_prompt('a', corpus.vocab)\n"
        "order = Order(Variant.with_heads(1), TrainConfig(), corpus, 'smoke stories', prompt)\n"
        # What is registered first is called last, after the trainer's own.
        "atexit.register(lambda: print(job.state.value, job.ending.name, len(job.losses) < order.config.steps))\n"
        "job = Trainer(lambda owner: True).submit(order, 'ann')\n"
        "while not job.losses and not job.ended.wait(0.01): pass\n"
        "print('training', flush=True)\n"
    )
    for start in ("first", "second"):
        command = [sys.executable, "-c", program]
        with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"training\n", f"the {start} start"
            try:
                said, complaint = process.communicate(timeout=300)
            finally:
                process.kill()
        assert said == b"stopped SHUTDOWN True\n", "long before all its updates"
        assert (process.returncode, complaint) == (0, b"")
