"""What the package's commands share: how they read arguments, and how they end when something is wrong.

With wrong input a command prints one line that says what to do, ends with a status that is not 0, and has written
nothing.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from wordlm.checkpoints import list_checkpoints
from wordlm.data import Corpus, DataError, build_corpus
from wordlm.files import artifact, write_json


class CommandParser(argparse.ArgumentParser):
    """Reads a command's arguments; `doc` is its module's docstring."""

    def __init__(self, doc: str | None) -> None:
        super().__init__(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message: str) -> NoReturn:
        """End with the message alone; argparse would put the usage of every option above it."""
        self.exit(2, f"error: {message} (--help lists the options)\n")


@contextmanager
def errors_in_one_line(*also: type[Exception]) -> Iterator[None]:
    """End the process with one line for wrong input, for what a file or disk refuses, and for errors of type `also`."""
    expected: tuple[type[Exception], ...] = (DataError, ValueError, OSError, *also)
    try:
        yield
    except expected as error:
        sys.exit("error: " + " ".join(str(error).split()))
    except KeyboardInterrupt:
        sys.exit("stopped")


def whole_number(low: int, high: int) -> Callable[[str], int]:
    """Return a reader of whole numbers from `low` to `high` for `add_argument(type=...)`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = low - 1
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{text} is no whole number from {low:,} to {high:,}")
        return number

    return read


def check_target(path: Path) -> None:
    """Raise `ValueError` where the file `path` could not be written. Makes nothing: the work is yet to be done."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder, a file is to be written there")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir():
        raise ValueError(f"{path} cannot be written: {folder} is no folder")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path} cannot be written: {folder} may not be written to")


def measure_heads(doc: str | None, output: str, measure: Callable[[Path, Corpus], dict[str, Any]]) -> dict[str, Any]:
    """Run a command that measures the heads of every checkpoint in a folder; write the result to a file and return it.

    `output` is where it is written unless `--output` says otherwise; `measure` gets the folder and the stories.
    """
    parser = CommandParser(doc)
    parser.add_argument("--data-dir", type=Path, default=Path("work/data"))
    parser.add_argument("--profile", choices=["smoke", "dgx"], default="dgx")
    parser.add_argument("--heads-dir", type=Path, default=artifact("heads"))
    parser.add_argument("--output", type=Path, default=Path(output))
    args = parser.parse_args()
    with errors_in_one_line():
        check_target(args.output)
        list_checkpoints(args.heads_dir)  # reading the stories takes longer
        result = measure(args.heads_dir, build_corpus(args.data_dir, args.profile))
        write_json(args.output, result)
        return result
