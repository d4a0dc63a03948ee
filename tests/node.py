"""Running the JavaScript of `wordlm/ui` in node."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from wordlm.files import REPOSITORY

NODE = shutil.which("node")
SCRIPTS = sorted((REPOSITORY / "wordlm" / "ui").rglob("*.js")) + sorted((REPOSITORY / "tests" / "js").glob("*.js"))


def node() -> str:
    """Return the path of node. Without it a test is skipped, or fails where nothing may be missing."""
    if NODE is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("node is not here: install Node.js 18 or newer")
    return NODE


class Numbers:
    """A file of float64 arrays one after the other, which JavaScript reads without parsing."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def add(self, array) -> list[int]:
        """Note an array down; return [offset, *shape]."""
        array = np.asarray(array, dtype="<f8")
        self._parts.append(array.tobytes())
        self._length += array.size
        return [self._length - array.size, *array.shape]

    def write(self, path: Path) -> None:
        path.write_bytes(b"".join(self._parts))


def write_plain_json(path: Path, value) -> None:
    """Write JSON in ASCII, in which lone surrogates have a form too."""
    path.write_text(json.dumps(value), encoding="ascii")


def run_tests(name: str, fixtures: Path) -> None:
    """Run one file of `tests/js` over what was written into `fixtures`."""
    done = subprocess.run(
        [node(), "--test", str(REPOSITORY / "tests" / "js" / name)],
        env=os.environ | {"WORDLM_FIXTURES": str(fixtures)},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
