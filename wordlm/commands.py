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
from typing import NoReturn

from wordlm.data import DataError


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
    try:
        yield
    except (DataError, ValueError, OSError, *also) as error:
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
