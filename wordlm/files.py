"""Reading and writing the project's files: JSON, digests, and writes that are all or nothing."""

import codecs
import ctypes
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
ARTIFACTS = REPOSITORY / "artifacts"


def artifact(*parts: str) -> Path:
    """Return the path of a bundled file. Everything asks here, so that a test can put others in their place."""
    return ARTIFACTS.joinpath(*parts)


def read_json(path: str | Path) -> Any:
    """Read a JSON file; a `ValueError` names the file when its text is no JSON."""
    try:
        return json.loads(text_of(Path(path).read_bytes()))
    except ValueError as error:  # JSON and UTF-8 errors are both ValueErrors
        raise ValueError(f"{path} is not valid JSON: {error}") from error


def text_of(content: bytes) -> str:
    """Decode a text as people save it: UTF-8 with or without a byte-order mark, or UTF-16, which has one.

    Raises `UnicodeDecodeError`, a `ValueError`, when it is neither.
    """
    utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if utf_16 else "utf-8-sig")


def write_json(path: str | Path, value: Any) -> None:
    """Write `value` as JSON, whole or not at all. NaN and infinity are refused: they are no JSON."""
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")  # the same bytes on every system


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` on success, delete it on failure.

    A reader sees the old file or the new one, never a part: renaming inside a folder is atomic.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def give_back_memory() -> None:
    """Hand memory that was freed back to the system; glibc would keep it, 100 MB after a short training.

    Elsewhere nothing is done: Windows does not open its C library by no name, those of macOS and musl do not trim.
    """
    with suppress(TypeError, OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def sha256_text(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def sha256_file(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
