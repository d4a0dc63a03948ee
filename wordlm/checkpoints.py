"""Saving and loading trained weights as `.npz`: arrays by their `state_dict` name, and JSON metadata.

A file from a stranger is safe to open: nothing is unpickled, and every array's size is checked against the
model before a byte of it is expanded.
"""

import copy
import io
import json
import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeVar

import msgspec
import numpy as np
import torch
from torch import nn

from wordlm.data import Corpus
from wordlm.files import artifact, atomic_path
from wordlm.models import D_MODEL, HIDDEN, CausalAttentionLM, LanguageModel, build_variant, variant_of
from wordlm.schemas import Count, Loss, checked
from wordlm.text import CONTEXT_LEN, PAD, VOCAB_SIZE, Vocab
from wordlm.variants import Variant

M = TypeVar("M", bound=LanguageModel)

METADATA = "metadata"
_HEADER_BYTES = 4096  # more than the .npy header of any array here
_METADATA_BYTES = 4 * 2**20


class _Metadata(msgspec.Struct):
    """What is said of a model, where it is said; `Variant.stated` reads its kind and heads."""

    seed: int | None = None
    selected_step: Count | None = None
    validation_loss: Loss | None = None
    vocab_sha256: str | None = None
    itos: Annotated[list[str], msgspec.Meta(max_length=VOCAB_SIZE)] | None = None


def save_model_npz(path: str | Path | BinaryIO, model: nn.Module, metadata: dict[str, Any]) -> None:
    """Write `model`'s parameters and `metadata` to `path`, whole or not at all, or to an open file."""
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}
    arrays[METADATA] = np.array(json.dumps(metadata))
    if not isinstance(path, str | Path):
        np.savez(path, **arrays)
        return
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **arrays)


def parameter_bytes(model: nn.Module) -> bytes:
    """Return all parameters one after the other as little-endian float32, in the order of the `state_dict`."""
    return b"".join(tensor.cpu().numpy().astype("<f4").tobytes() for tensor in model.state_dict().values())


def load_model_npz(
    path: str | Path | BinaryIO, model: M, *, vocab_sha256: str | None = None
) -> tuple[dict[str, Any], M]:
    """Load `path` into `model`; return its metadata and the same model.

    `vocab_sha256` is the digest of the vocabulary that the ids will come from, the bundled one unless given.
    Raises `ValueError` naming the file and the array when anything does not fit: no npz, an array missing,
    extra, wrongly shaped or not finite, weights so large that the model overflows, another kind or number of heads,
    another vocabulary. The model is then as it was.
    """
    name = path if isinstance(path, str | Path) else getattr(path, "name", path)
    expected = model.state_dict()
    with _opened(path) as archive:
        _check_members(name, archive, expected)
        metadata = _read_metadata(name, archive)
        _check_variant(name, metadata, variant_of(model))
        weights = {key: _read_weights(name, archive, key, tuple(t.shape)) for key, t in expected.items()}
    _check_vocabulary(name, metadata, vocab_sha256 or Vocab.load(artifact("vocab.json")).sha256)

    trial = copy.deepcopy(model).cpu()
    trial.load_state_dict(weights)
    _check_numbers(name, trial)
    model.load_state_dict(weights)
    return metadata, model


def read_metadata(path: str | Path | BinaryIO) -> dict[str, Any]:
    """Read the metadata of a checkpoint without its arrays. Raises `ValueError` as `load_model_npz`."""
    name = path if isinstance(path, str | Path) else getattr(path, "name", path)
    with _opened(path) as archive:
        member = next((info for info in archive.infolist() if info.filename == f"{METADATA}.npy"), None)
        if member is None:
            raise ValueError(f"{name}: array {METADATA} is missing")
        if member.file_size > _METADATA_BYTES:
            raise ValueError(f"{name}: array {METADATA} takes {member.file_size:,} bytes")
        return _read_metadata(name, archive)


@contextmanager
def _opened(path: str | Path | BinaryIO) -> Iterator[zipfile.ZipFile]:
    with open(path, "rb") if isinstance(path, str | Path) else nullcontext(path) as file:
        try:
            with _archive(file) as archive:
                yield archive
        # Of a file that could be opened, an OSError is a place outside of it to which a broken directory sends.
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
            raise ValueError(f"{getattr(path, 'name', path)} is no complete .npz file: {error}") from error


def _archive(file: BinaryIO) -> zipfile.ZipFile:
    """Open an archive whose members are packed as NumPy packs them. Raises `zipfile.BadZipFile`."""
    try:
        archive = zipfile.ZipFile(file)
    except ValueError as error:  # a name that is no UTF-8, a negative place
        raise zipfile.BadZipFile(str(error)) from error
    for member in archive.infolist():
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise zipfile.BadZipFile(f"{member.filename} has a compression that NumPy does not write")
    return archive


def _check_numbers(name: object, model: LanguageModel) -> None:
    """Raise `ValueError` where finite weights are so large that what the model computes of them is not.

    One forward pass tells, over the words with the longest embeddings, since there a product overflows first, and over
    PAD alone, which an MLP reads.
    """
    with torch.inference_mode():
        lengths = model.token_embedding.weight.norm(dim=1)
        longest = lengths[PAD + 1 :].argsort(descending=True) + PAD + 1
        places = torch.arange(CONTEXT_LEN)
        details = model.forward_details(torch.stack([longest[places % len(longest)], torch.full_like(places, PAD)]))
        details["log-probabilities"] = details["logits"].log_softmax(-1)
        if "scores" in details:
            details["scores"] = details["scores"].tril()  # above it they are masked, with -inf
            details["log-probabilities"] = details["logits_all"].log_softmax(-1)
    for what, values in {"lengths of the embeddings": lengths, **details}.items():
        if not values.isfinite().all():
            raise ValueError(f"{name}: the weights are too large, the model's {what} are not finite numbers")


def _check_members(name: object, archive: zipfile.ZipFile, expected: dict[str, torch.Tensor]) -> None:
    sizes = {info.filename.removesuffix(".npy"): info.file_size for info in archive.infolist()}
    limits = {key: tensor.numel() * 8 + _HEADER_BYTES for key, tensor in expected.items()}
    limits[METADATA] = _METADATA_BYTES
    for key in limits:
        if key not in sizes:
            raise ValueError(f"{name}: array {key} is missing")
    for key, size in sizes.items():
        if key not in limits:
            raise ValueError(f"{name}: array {key} is not part of this model")
        if size > limits[key]:
            raise ValueError(f"{name}: array {key} takes {size:,} bytes, at most {limits[key]:,} are expected")


def _check_variant(name: object, metadata: dict[str, Any], wanted: Variant) -> None:
    try:
        found = Variant.stated(*map(metadata.get, ("kind", "heads", "kv_heads")))
    except ValueError as error:
        raise ValueError(f"{name}: array {METADATA} describes no model: {error}") from error
    if found != wanted:
        raise ValueError(f"{name}: array {METADATA} says that this is {found}, the model to load it into is {wanted}")


def _check_vocabulary(name: object, metadata: dict[str, Any], wanted: str) -> None:
    if metadata.get("vocab_sha256") != wanted:
        raise ValueError(f"{name}: array {METADATA} names another vocabulary than the one in use")


def _read_array(name: object, archive: zipfile.ZipFile, key: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Read one array, whose size as a member of the archive was checked."""
    try:
        return _array_in(archive.read(f"{key}.npy"), shape)
    except (ValueError, KeyError, EOFError) as error:  # another format, a broken header, too few bytes
        raise ValueError(f"{name}: array {key} cannot be read: {error}") from error


def _array_in(content: bytes, shape: tuple[int, ...] | None) -> np.ndarray:
    """Return the array of an `.npy` file. What its header announces is checked before room is made for it."""
    found, fortran, dtype, start = _read_header(content)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are not unpickled")
    if shape is not None and found != shape:
        raise ValueError(f"its shape is {found}, the model needs {shape}")
    if math.prod(found) * dtype.itemsize > max(_METADATA_BYTES, 8 * math.prod(shape or ())):
        raise ValueError(f"its shape {found} is too large")
    return np.frombuffer(content, dtype, offset=start).reshape(found, order="F" if fortran else "C")


def _read_header(content: bytes) -> tuple[tuple[int, ...], bool, np.dtype, int]:
    """Return shape, whether in Fortran's order, type, and where the values start."""
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        return *read(file), file.tell()
    except Exception as error:  # NumPy evaluates a header as Python, and names no list of what that may raise
        raise ValueError(f"its header is broken: {error}") from error


def _read_weights(name: object, archive: zipfile.ZipFile, key: str, shape: tuple[int, ...]) -> torch.Tensor:
    array = _read_array(name, archive, key, shape)
    with np.errstate(over="ignore"):  # of a float64; it is then infinite
        cast = array.astype(np.float32) if array.dtype.kind == "f" else np.array(np.nan)
    if not np.isfinite(cast).all():
        raise ValueError(f"{name}: array {key} holds values that are not finite numbers of 32 bits")
    return torch.from_numpy(cast)


def _read_metadata(name: object, archive: zipfile.ZipFile) -> dict[str, Any]:
    text = str(_read_array(name, archive, METADATA))
    try:
        metadata = json.loads(text)
    except ValueError as error:  # also for a whole number of thousands of digits
        raise ValueError(f"{name}: array {METADATA} is not JSON: {error}") from error
    checked(metadata, _Metadata, f"{name}: array {METADATA}")
    return metadata


def list_checkpoints(folder: Path) -> list[Path]:
    """Return the `.npz` files of a folder by name. Raises `ValueError` when there is none."""
    paths = sorted(folder.glob("*.npz"))
    if not paths:
        raise ValueError(f"{folder} holds no .npz file" if folder.is_dir() else f"{folder} is no folder")
    return paths


def open_checkpoint(
    path: str | Path | BinaryIO, vocab: Vocab | None = None
) -> tuple[dict[str, Any], LanguageModel, Vocab]:
    """Build the model that a checkpoint's own metadata describes, load it, and make it ready to read only.

    Returns metadata, model and vocabulary: `vocab` where given, else the one that the file brings along, else
    the bundled one. Raises `ValueError` as `load_model_npz`.
    """
    name = path if isinstance(path, str | Path) else getattr(path, "name", path)
    metadata = read_metadata(path)
    vocab = vocab or _vocabulary_in(name, metadata) or Vocab.load(artifact("vocab.json"))
    _check_vocabulary(name, metadata, vocab.sha256)  # before a size that follows from it is found wrong
    try:
        model = build_variant(Variant.stated(*map(metadata.get, ("kind", "heads", "kv_heads"))), len(vocab))
    except ValueError as error:
        raise ValueError(f"{name}: array {METADATA} describes no model: {error}") from error
    metadata, model = load_model_npz(path, model, vocab_sha256=vocab.sha256)
    return metadata, model.requires_grad_(False).eval(), vocab


def _vocabulary_in(name: object, metadata: dict[str, Any]) -> Vocab | None:
    words = metadata.get("itos")
    if words is None:
        return None
    try:
        return Vocab(tuple(words))
    except ValueError as error:
        raise ValueError(f"{name}: array {METADATA} brings a broken vocabulary: {error}") from error


def describe_checkpoint(model: LanguageModel, corpus: Corpus, result: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a model trained on `corpus`; `result` is that of `train_model`.

    A vocabulary other than the bundled one goes along as `itos`, since nobody else could read the ids.
    """
    bundled = Vocab.load(artifact("vocab.json")).sha256 == corpus.vocab.sha256
    return {
        **variant_of(model).statement,
        "vocab_size": len(corpus.vocab),
        "context_len": CONTEXT_LEN,
        "d_model": D_MODEL,
        "hidden": HIDDEN,
        "seed": result["config"]["seed"],
        "config": result["config"],
        "selected_step": result["selected_step"],
        "validation_loss": result["validation_loss"],
        "vocab_sha256": corpus.vocab.sha256,
        "data_sha256": corpus.digest,
        "environment": result["environment"],
    } | ({} if bundled else {"itos": list(corpus.vocab.itos)})


def open_models_with_heads(folder: Path, vocab: Vocab) -> dict[Path, tuple[dict[str, Any], CausalAttentionLM]]:
    """Open every checkpoint in `folder` that has heads, whatever its name: metadata and model by its path.

    Raises `ValueError` when there is none with heads, one is damaged, or one has another vocabulary.
    """
    opened = {path: open_checkpoint(path, vocab)[:2] for path in list_checkpoints(folder)}
    with_heads = {path: (data, model) for path, (data, model) in opened.items() if isinstance(model, CausalAttentionLM)}
    if not with_heads:
        raise ValueError(f"{folder} holds no model with heads")
    return with_heads
