"""Bring the stories to this machine: `python -m wordlm.prepare_data --profile {smoke,dgx}`.

`dgx` is the published subset of 6,000 stories. It is downloaded once from a pinned revision, checked against
its SHA-256, and cut; or it is cut from a local copy given with `--source`. `smoke` needs no network.
"""

import errno
from pathlib import Path
from typing import Any

import pooch
import requests

from wordlm.commands import CommandParser, errors_in_one_line
from wordlm.data import (
    SEPARATOR,
    SOURCE_BYTES,
    SOURCE_DATASET,
    SOURCE_FILE,
    SOURCE_LICENCE,
    SOURCE_REVISION,
    SOURCE_SHA256,
    SPLIT_SEED,
    SUBSET,
    Corpus,
    DataError,
    Profile,
    check_subset,
    corpus_from_stories,
    make_all_windows,
    stories_digest,
    stories_path,
)
from wordlm.files import artifact, atomic_path, write_json
from wordlm.smoke import smoke_stories

SOURCE_URL = f"https://huggingface.co/datasets/{SOURCE_DATASET}/resolve/{SOURCE_REVISION}/{SOURCE_FILE}"


def download_source(
    folder: Path, *, url: str = SOURCE_URL, sha256: str = SOURCE_SHA256, progressbar: Any = True
) -> Path:
    """Return the source file in `folder`, downloading it unless it is there and whole.

    The bytes go to a temporary file, which takes its place only when the checksum is right; a broken-off
    download starts anew. `progressbar` is what pooch takes: True, False, or an object with `total`, `update(bytes)`,
    `reset()` and `close()`. Raises `DataError`, one line that says what to do.
    """
    downloader = pooch.HTTPDownloader(progressbar=progressbar, timeout=30)
    again = f"try again, or pass a copy with --source (what is wanted: {url})"
    try:
        return Path(pooch.retrieve(url, f"sha256:{sha256}", fname=SOURCE_FILE, path=folder, downloader=downloader))
    except requests.exceptions.HTTPError as error:
        status = "no answer" if error.response is None else error.response.status_code
        raise DataError(f"the server refused the download ({status}): {again}") from error
    except requests.exceptions.ConnectionError as error:
        raise DataError(f"no connection, or it broke off: check the network, then {again}") from error
    except requests.exceptions.RequestException as error:
        raise DataError(f"the download failed ({type(error).__name__}): {again}") from error
    except OSError as error:
        raise _disk_error(folder, error) from error
    except ValueError as error:  # pooch: the checksum differs
        raise DataError(f"the downloaded file is not the pinned one (its SHA-256 differs): {again}") from error


def cut_subset(source: Path) -> list[str]:
    """Return records 1 to 6,000 of a source file or of a long enough beginning of it, unchecked."""
    try:
        records = source.read_bytes().decode("utf-8", errors="ignore").split(SEPARATOR)
    except OSError as error:
        raise DataError(f"{source} cannot be read ({error.strerror}): pass the path of {SOURCE_FILE}") from error
    # The last piece may be cut, so a separator must follow the last story wanted.
    if len(records) <= SUBSET.stop:
        raise DataError(
            f"{source} holds {max(0, len(records) - 2):,} whole stories after the first, {len(SUBSET):,} are needed: "
            f"pass a longer beginning of {SOURCE_FILE}"
        )
    return records[SUBSET.start : SUBSET.stop]


def prepare(profile: Profile, data_dir: Path, source: Path | None = None, *, progressbar: Any = True) -> Path:
    """Write the stories of `profile` below `data_dir` and return the file's path."""
    if profile == "smoke":
        stories = smoke_stories()
    else:
        stories = cut_subset(source or download_source(data_dir / profile, progressbar=progressbar))
        check_subset(stories)
    return _write_stories(stories, stories_path(data_dir, profile))


def pin_corpus(source: Path, data_dir: Path, artifacts: Path) -> None:
    """Write `corpus.json` and `vocab.json` from a source file: done once, when the subset is published."""
    stories = cut_subset(source)
    corpus = corpus_from_stories(stories, "dgx")
    corpus.vocab.save(artifacts / "vocab.json")
    write_json(artifacts / "corpus.json", describe_corpus(corpus, stories))
    _write_stories(stories, stories_path(data_dir, "dgx"))


def describe_corpus(corpus: Corpus, stories: list[str]) -> dict:
    """Return where the stories come from, their digest and counts: the content of `corpus.json`."""
    windows = make_all_windows(corpus)
    return {
        "dataset": SOURCE_DATASET,
        "revision": SOURCE_REVISION,
        "file": SOURCE_FILE,
        "file_bytes": SOURCE_BYTES,
        "file_sha256": SOURCE_SHA256,
        "licence": SOURCE_LICENCE,
        "records": [SUBSET.start, SUBSET.stop - 1],
        "subset_sha256": stories_digest(stories),
        "split_seed": SPLIT_SEED,
        "vocab_sha256": corpus.vocab.sha256,
        "vocab_size": len(corpus.vocab),
        "splits": {
            name: {"stories": len(corpus.splits[name].starts) - 1, "targets": len(targets)}
            for name, (_, targets) in windows.items()
        },
    }


def _write_stories(stories: list[str], path: Path) -> Path:
    try:
        with atomic_path(path) as temporary:
            temporary.write_bytes(SEPARATOR.join(stories).encode("utf-8"))
    except OSError as error:
        raise _disk_error(path.parent, error) from error
    return path


def _disk_error(folder: Path, error: OSError) -> DataError:
    if error.errno == errno.ENOSPC:
        return DataError(f"the disk that holds {folder} is full: free about 30 MB, or choose another --data-dir")
    return DataError(f"{folder} cannot be written ({error.strerror}): choose another --data-dir")


def main() -> None:
    parser = CommandParser(__doc__)
    parser.add_argument("--profile", choices=["smoke", "dgx"], required=True)
    parser.add_argument("--data-dir", type=Path, default=Path("work/data"))
    parser.add_argument("--source", type=Path, help=f"a local copy of {SOURCE_FILE}, or a beginning of it")
    parser.add_argument("--pin", action="store_true", help="publish: write artifacts/corpus.json and vocab.json anew")
    args = parser.parse_args()
    if args.source is not None and args.profile != "dgx":
        parser.error("--source is read for --profile dgx only; smoke makes its own stories")
    if args.pin and args.source is None:
        parser.error("--pin needs --profile dgx and --source")
    with errors_in_one_line():
        if args.pin:
            pin_corpus(args.source, args.data_dir, artifact())
        path = prepare(args.profile, args.data_dir, args.source)
        print(f"{path}: {len(path.read_text(encoding='utf-8').split(SEPARATOR)):,} stories")


if __name__ == "__main__":
    main()
