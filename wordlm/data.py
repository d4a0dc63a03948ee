"""Stories, split by document, and the (context, target) windows cut from them.

Source: R. Eldan and Y. Li, *TinyStories* (2023), licence CDLA-Sharing-1.0. The subset is records 1 to 6,000
of the file named below; record 0 is cut at its start and skipped. `artifacts/corpus.json` pins the digest of
these stories, so everybody trains and tests on the same ones. Split: 4,800 / 600 / 600 stories.
"""

import hashlib
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from wordlm.files import artifact, read_json, text_of
from wordlm.text import BOS, CONTEXT_LEN, EOS, PAD, Vocab, tokenize

SOURCE_DATASET = "roneneldan/TinyStories"
SOURCE_REVISION = "f54c09fd23315a6f9c86f9dc80f725de7d8f9c64"
SOURCE_FILE = "TinyStoriesV2-GPT4-valid.txt"
SOURCE_BYTES = 22_502_601
SOURCE_SHA256 = "6874bae9a4c1a4e7edcf0e53b86c17817e9cf881fc75ff2368da457b80c0585d"
SOURCE_LICENCE = "CDLA-Sharing-1.0"

SEPARATOR = "<|endoftext|>"
SUBSET = range(1, 6001)  # records of the file
SPLIT_SEED = 2023
SPLITS = {"train": 0.8, "validation": 0.1, "test": 0.1}

FEWEST_STORIES = 3  # so that each split has one

Profile = Literal["smoke", "dgx"]


class DataError(RuntimeError):
    """Stories are missing or are not the ones expected. The message is one line that says what to do."""


@dataclass(frozen=True)
class StoryStream:
    """The stories of one split as one run of ids: BOS, words, EOS, BOS, words, EOS, ..."""

    ids: Tensor
    """(tokens,) int16, which holds any vocabulary of up to 32,768 words."""
    starts: Tensor
    """(stories + 1,) int64: where each story's BOS stands, and the end."""

    @classmethod
    def of(cls, stories: list[list[int]]) -> "StoryStream":
        """Join encoded stories."""
        lengths = torch.tensor([0, *(len(story) + 2 for story in stories)])
        flat = [i for story in stories for i in (BOS, *story, EOS)]
        return cls(torch.tensor(flat, dtype=torch.int16), lengths.cumsum(0))


@dataclass(frozen=True)
class Corpus:
    """Encoded stories and the vocabulary that they are encoded with."""

    profile: str
    """A `Profile`, or "text" for stories that somebody brought along."""
    digest: str
    """SHA-256 of the stories' text, see `stories_digest`."""
    vocab: Vocab
    splits: dict[str, StoryStream]


class Windows:
    """The contexts of every target of a split; behaves like an (N, context_len) integer array.

    Row r is what a model reads before target r: BOS and what precedes the target in its story, cut on the
    left to `context_len`, or padded there with PAD. Rows are gathered from the token stream when asked for.
    Memory: 2 bytes a token and 8 a story, against 512 bytes a row if 64 int64 ids were stored; with the
    int64 targets beside it 10 bytes a target, 1/51.
    """

    def __init__(self, stream: StoryStream, context_len: int) -> None:
        self._ids = stream.ids
        self._starts = stream.starts
        self._stories = len(stream.starts) - 1
        # Every token but the BOS of its story is a target, so story s holds rows starts[s] - s and on.
        self._first_rows = stream.starts - torch.arange(len(stream.starts), device=stream.starts.device)
        self._reach = torch.arange(-context_len, 0, device=stream.ids.device)
        self.shape = (len(stream.ids) - self._stories, context_len)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Tensor | slice | int) -> Tensor:
        """Return the contexts of `rows`: (n, context_len) int64, or (context_len,) for one number."""
        if isinstance(rows, int):
            return self[torch.tensor([range(len(self))[rows]])][0]
        if isinstance(rows, slice):
            rows = torch.arange(*rows.indices(len(self)))
        rows = rows.to(self._ids.device)
        story = self.story_of(rows)
        places = (rows + story + 1)[:, None] + self._reach  # stream position of each slot
        before_story = places < self._starts[story][:, None]
        return self._ids[places.clamp(min=0)].long().masked_fill(before_story, PAD)

    def story_of(self, rows: Tensor) -> Tensor:
        """Return which story of the split each row belongs to, (n,) int64."""
        return torch.searchsorted(self._first_rows, rows, right=True) - 1

    def to(self, device: torch.device) -> "Windows":
        """Return the same windows with their stream on `device`."""
        return Windows(StoryStream(self._ids.to(device), self._starts.to(device)), self.shape[1])


def make_all_windows(corpus: Corpus, context_len: int = CONTEXT_LEN) -> dict[str, tuple[Windows, Tensor]]:
    """Return `{split: (contexts, targets)}` with every token of a story and its EOS as one target.

    `contexts` is a `Windows` of shape (N, context_len), `targets` (N,) int64.
    """
    windows = {}
    for name, stream in corpus.splits.items():
        is_target = torch.ones(len(stream.ids), dtype=torch.bool)
        is_target[stream.starts[:-1]] = False
        windows[name] = (Windows(stream, context_len), stream.ids[is_target].long())
    return windows


def split_stories(stories: list[list[str]], seed: int = SPLIT_SEED) -> dict[str, list[list[str]]]:
    """Shuffle tokenized stories and share them out by `SPLITS`; equal ones go to the same split.

    Of a few stories each split still gets one.
    """
    groups: dict[tuple[str, ...], int] = {}
    for story in stories:
        groups[tuple(story)] = groups.get(tuple(story), 0) + 1
    order = list(groups)
    random.Random(seed).shuffle(order)
    split: dict[str, list[list[str]]] = {name: [] for name in SPLITS}
    room = {name: max(1, round(share * len(stories))) for name, share in SPLITS.items()}
    room["train"] = max(1, min(room["train"], len(stories) - room["validation"] - room["test"]))
    for once in order:
        fits = (name for name in SPLITS if len(split[name]) + groups[once] <= room[name])
        split[next(fits, "train")].extend([list(once)] * groups[once])
    for part in split.values():
        if not part and split["train"][-1:] != split["train"][:1]:  # many equal ones may have taken its place
            last = split["train"][-1]
            part.extend(story for story in split["train"] if story == last)
            split["train"] = [story for story in split["train"] if story != last]
    return split


def stories_digest(stories: list[str]) -> str:
    """Return the SHA-256 of the stories joined by `SEPARATOR`, as UTF-8."""
    return hashlib.sha256(SEPARATOR.join(stories).encode("utf-8")).hexdigest()


def stories_path(data_dir: str | Path, profile: Profile) -> Path:
    """Return where `python -m wordlm.prepare_data` leaves the stories of a profile."""
    return Path(data_dir) / profile / "stories.txt"


def read_stories(data_dir: str | Path, profile: Profile) -> list[str]:
    """Read prepared stories. Raises `DataError` when they are missing, unreadable or not the pinned ones."""
    path = stories_path(data_dir, profile)
    if not path.is_file():
        raise DataError(
            f"{path} is missing: run python -m wordlm.prepare_data --profile {profile} --data-dir {data_dir}"
        )
    try:
        stories = path.read_bytes().decode("utf-8").split(SEPARATOR)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"byte {error.start:,} is no UTF-8"
        raise DataError(
            f"{profile}/{path.name} is damaged ({reason}): "
            f"python -m wordlm.prepare_data --profile {profile} writes it anew"
        ) from error
    if profile == "dgx":
        check_subset(stories)
    return stories


def check_subset(stories: list[str]) -> None:
    """Raise `DataError` unless `stories` are the ones pinned in `artifacts/corpus.json`."""
    pinned = read_json(artifact("corpus.json"))["subset_sha256"]
    found = stories_digest(stories)
    if found != pinned:
        raise DataError(
            f"these {len(stories):,} stories are not the pinned subset: their SHA-256 is {found[:12]}…, expected "
            f"{pinned[:12]}…; use {SOURCE_FILE} of {SOURCE_DATASET}, or let the command download it"
        )


def build_corpus(data_dir: str | Path, profile: Profile) -> Corpus:
    """Read, tokenize, split and encode the prepared stories of `profile`; about 3 seconds for "dgx".

    Raises `DataError` when they are missing or are not the pinned ones.
    """
    return corpus_from_stories(read_stories(data_dir, profile), profile)


def stories_in(content: bytes) -> list[str]:
    """Cut a text that somebody brought along into stories, at `SEPARATOR` or, if it has none, at blank lines.

    Raises `DataError` when it is not UTF-8 or holds fewer than `FEWEST_STORIES`.
    """
    try:
        text = text_of(content)
    except UnicodeDecodeError as error:
        raise DataError(f"the text is not UTF-8 (byte {error.start:,}): save it as UTF-8 and try again") from error
    pieces = text.split(SEPARATOR) if SEPARATOR in text else re.split(r"\n\s*\n", text.replace("\r\n", "\n"))
    stories = [piece.strip() for piece in pieces if tokenize(piece)]
    if len(stories) < FEWEST_STORIES:
        found = {0: "no story", 1: "one story"}.get(len(stories), f"{len(stories)} stories")
        raise DataError(
            f"the text holds {found}, at least {FEWEST_STORIES} are needed: "
            f"put a blank line or {SEPARATOR} between them"
        )
    return stories


def corpus_from_stories(stories: list[str], profile: str, vocab: Vocab | None = None) -> Corpus:
    """Split and encode, with `vocab` or, unless given, with the words of the training split.

    Raises `DataError` when equal stories leave a split empty.
    """
    split = split_stories([tokenize(story) for story in stories])
    for name, part in split.items():
        if not part:
            raise DataError(f"no story is left for {name}: too many are equal, at least {FEWEST_STORIES} must differ")
    vocab = vocab or Vocab.from_stories(split["train"])
    encoded = {name: StoryStream.of([vocab.encode(story) for story in part]) for name, part in split.items()}
    return Corpus(profile, stories_digest(stories), vocab, encoded)
