import errno
import io
import json
import math
import re
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wordlm.checkpoints import (
    describe_checkpoint,
    list_checkpoints,
    load_model_npz,
    open_checkpoint,
    read_metadata,
    save_model_npz,
)
from wordlm.files import ARTIFACTS
from wordlm.models import build_model, variant_of
from wordlm.text import PAD, SPECIALS, Vocab
from wordlm.variants import Variant


@pytest.fixture
def saved(tmp_path, vocab):
    path = tmp_path / "model.npz"
    save_model_npz(path, build_model("attention", seed=1), {"kind": "attention", "vocab_sha256": vocab.sha256})
    return path


def arrays_of(path) -> dict[str, np.ndarray]:
    with np.load(path) as file:
        return dict(file)


def test_a_saved_model_comes_back_with_its_metadata(saved):
    model = build_model("attention", seed=2)
    metadata, same = load_model_npz(saved, model)
    assert same is model
    assert metadata["kind"] == "attention"
    for name, value in build_model("attention", seed=1).state_dict().items():
        assert torch.equal(model.state_dict()[name], value)


def test_arrays_in_another_layout_precision_or_version_of_the_format_are_the_same_weights(saved):
    arrays = arrays_of(saved)
    arrays["W_Q.weight"] = np.asfortranarray(arrays["W_Q.weight"])
    arrays["vocab_head.weight"] = arrays["vocab_head.weight"].astype(float)
    with zipfile.ZipFile(saved, "w") as archive:
        for name, value in arrays.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, value, version=(2, 0))
    _, model = load_model_npz(saved, build_model("attention", seed=2))
    for name, value in build_model("attention", seed=1).state_dict().items():
        assert torch.equal(model.state_dict()[name], value), name


def test_a_model_can_be_written_to_and_read_from_an_open_file(vocab):
    file, model = io.BytesIO(), build_model("attention", seed=2)
    save_model_npz(file, build_model("attention", seed=1), {"kind": "attention", "vocab_sha256": vocab.sha256})
    metadata, _ = load_model_npz(file, model)
    assert metadata["kind"] == "attention"
    assert torch.equal(model.W_Q.weight, build_model("attention", seed=1).W_Q.weight)


@pytest.mark.parametrize("read", [read_metadata, open_checkpoint, lambda path: load_model_npz(path, attention())])
def test_metadata_of_up_to_4_mib_are_read_and_larger_ones_refused_before_they_are_unpacked(saved, read):
    characters = (4 * 2**20 - 128) // 4  # of 4 bytes each, after a header of 128
    metadata = str(arrays_of(saved)["metadata"])
    with_array("metadata", np.array(metadata.ljust(characters)))(saved)
    read(saved)
    with_array("metadata", np.array(metadata.ljust(characters + 1)))(saved)
    with pytest.raises(ValueError, match=r"model\.npz: array metadata takes 4,194,308 bytes"):
        read(saved)


def attention():
    return build_model("attention")


def test_a_file_without_metadata_is_refused(saved):
    arrays = arrays_of(saved)
    del arrays["metadata"]
    np.savez(saved, **arrays)
    with pytest.raises(ValueError, match="array metadata is missing"):
        open_checkpoint(saved)


def with_array(name, value):
    def damage(path):
        arrays = arrays_of(path)
        arrays[name] = value
        np.savez(path, **arrays)

    return damage


def without_array(path):
    arrays = arrays_of(path)
    del arrays["W_Q.weight"]
    np.savez(path, **arrays)


def with_nan(path):
    arrays = arrays_of(path)
    arrays["W_K.weight"][3, 4] = np.nan
    np.savez(path, **arrays)


def truncated(path):
    path.write_bytes(path.read_bytes()[:-2000])


def flipped_bytes(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def pickled(path):
    with_array("W_V.weight", np.array([object()], dtype=object))(path)


def bomb(path):
    """An array that unpacks to 200 MB from a few kB."""
    arrays = arrays_of(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in arrays.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, value if name != "W_O.weight" else np.zeros(25_000_000), version=(1, 0))


def announcing(dtype, side):
    """A header that promises many numbers, and none of them."""

    def damage(path):
        arrays = arrays_of(path)
        with zipfile.ZipFile(path, "w") as archive:
            for name, value in arrays.items():
                with archive.open(f"{name}.npy", "w") as file:
                    if name == "metadata":
                        header = {"descr": dtype, "fortran_order": False, "shape": (side, side)}
                        np.lib.format.write_array_header_1_0(file, header)
                    else:
                        np.lib.format.write_array(file, value, version=(1, 0))

    return damage


def in_every_header(place, value):
    """Write `value` at a place of every entry of the archive; it stands 2 bytes later in the directory at the end."""

    def damage(path):
        content = bytearray(path.read_bytes())
        for mark, at in ((b"PK\3\4", place), (b"PK\1\2", place + 2)):
            start = content.find(mark)
            while start >= 0:
                content[start + at] = value
                start = content.find(mark, start + 1)
        path.write_bytes(content)

    return damage


def compressed_and_broken(method=zipfile.ZIP_DEFLATED):
    def damage(path):
        arrays = arrays_of(path)
        with zipfile.ZipFile(path, "w", method) as archive:
            for name, value in arrays.items():
                with archive.open(f"{name}.npy", "w") as file:
                    np.lib.format.write_array(file, value, version=(1, 0))
            start = archive.getinfo("W_Q.weight.npy").header_offset + 30 + len("W_Q.weight.npy")
        content = bytearray(path.read_bytes())
        content[start : start + 40] = b"\xff" * 40
        path.write_bytes(content)

    return damage


def with_header(header: bytes):
    """An array whose header says something else."""

    def damage(path):
        with zipfile.ZipFile(path) as archive:
            members = {info.filename: archive.read(info) for info in archive.infolist()}
        content = np.lib.format.magic(1, 0) + len(header).to_bytes(2, "little") + header
        members["W_Q.weight.npy"] = content + members["W_Q.weight.npy"][128:]
        with zipfile.ZipFile(path, "w") as archive:
            for name, member in members.items():
                archive.writestr(name, member)

    return damage


def times(name, factor):
    def damage(path):
        with_array(name, arrays_of(path)[name] * np.float32(factor))(path)

    return damage


def one_value(name, value, place=(0, 0)):
    def damage(path):
        array = arrays_of(path)[name].astype(float)
        array[place] = value
        with_array(name, array)(path)

    return damage


def saying(**changes):
    """Metadata that says something else of the same arrays."""

    def damage(path):
        metadata = json.loads(str(arrays_of(path)["metadata"])) | changes
        with_array("metadata", np.array(json.dumps(metadata)))(path)

    return damage


DAMAGE = {
    "an array is missing": (without_array, "W_Q.weight is missing"),
    "an array is extra": (with_array("W_X.weight", np.zeros(3)), "W_X.weight is not part"),
    "an array has another shape": (
        with_array("W_Q.weight", np.zeros((64, 32), np.float32)),
        r"W_Q.weight cannot be read: its shape is \(64, 32\)",
    ),
    "an array is larger": (
        with_array("W_Q.weight", np.zeros((64, 65), np.float32)),
        r"W_Q.weight cannot be read: its shape is \(64, 65\), the model needs \(64, 64\)",
    ),
    "a value is NaN": (with_nan, "W_K.weight holds values that are not finite"),
    "values are integers": (with_array("W_K.weight", np.zeros((64, 64), np.int32)), "W_K.weight"),
    "values are yes or no": (
        with_array("W_K.weight", np.zeros((64, 64), bool)),
        "W_K.weight holds values that are not",
    ),
    "the file is cut short": (truncated, "no complete .npz"),
    "bytes were flipped": (flipped_bytes, "model.npz"),
    "an array is a pickle": (pickled, "W_V.weight cannot be read"),
    "an array is a bomb": (bomb, "W_O.weight takes 200,000,128 bytes, at most 36,864 are expected"),
    "a header announces too many": (announcing("<U1", 10**9), "metadata cannot be read: its shape .* is too large"),
    "a header announces too long ones": (announcing("<U1000", 1000), "metadata cannot be read: its shape .* is too la"),
    "the file is encrypted": (in_every_header(6, 1), "no complete .npz.*password"),
    "the file is packed in a way of its own": (in_every_header(8, 99), "no complete .npz.*compression"),
    "packed bytes are broken": (compressed_and_broken(), "no complete .npz.*decompressing"),
    "bytes packed by bzip2 are broken": (compressed_and_broken(zipfile.ZIP_BZIP2), "no complete .npz.*compression"),
    "bytes packed by LZMA are broken": (compressed_and_broken(zipfile.ZIP_LZMA), "no complete .npz.*compression"),
    "a header is no end of Python": (with_header(b"{'descr': '<f4', (\n"), "W_Q.weight cannot be read: its header"),
    "a header has a list as a key": (with_header(b"{[]: 1}\n"), "W_Q.weight cannot be read: its header"),
    "a header is nested deeply": (with_header(b"(" * 5000 + b"\n"), "W_Q.weight cannot be read: its header"),
    "a value is too large for 32 bits": (one_value("W_Q.weight", 1e300), "W_Q.weight holds values that are not"),
    "one word's embedding is too large": (one_value("token_embedding.weight", 3e38), "model's .* are not finite"),
    "one slot's embedding is too large": (one_value("position_embedding.weight", 3e38), "model's .* are not finite"),
    "the queries are too large": (times("W_Q.weight", 1e38), "model's .* are not finite"),
    "the values are too large": (times("W_V.weight", 1e38), "model's .* are not finite"),
    "one word's score is too large": (one_value("vocab_head.weight", 1e38, 7), "model's .* are not finite"),
    "a number has too many digits": (with_array("metadata", np.array("9" * 5000)), "metadata is not JSON"),
    "the vocabulary has a smaller digest": (saying(vocab_sha256="0" * 64), "metadata names another vocabulary"),
    "the vocabulary has a larger digest": (saying(vocab_sha256="f" * 64), "metadata names another vocabulary"),
    "the vocabulary is not named": (saying(vocab_sha256=None), "metadata names another vocabulary"),
    "the kind is another": (saying(kind="multihead", heads=1), "this is multihead with 1 head, the model to load it"),
    "the heads are others": (saying(heads=4), "this is attention with 4 heads"),
    "the kind is none": (saying(kind="transformer"), "kind must be mlp, attention or multihead, got 'transformer'"),
    "the kind is missing": (saying(kind=None), "kind must be mlp, attention or multihead, got None"),
    "the heads are no number": (saying(heads=True), "heads must be a whole number, got True"),
    "the metadata is no JSON": (with_array("metadata", np.array("{")), "metadata is not JSON"),
    "the metadata is no object": (with_array("metadata", np.array("3")), "array metadata: expected object, got int"),
    "the file is text": (lambda path: path.write_text("hello", encoding="utf-8"), "no complete .npz"),
    "the file is empty": (lambda path: path.write_bytes(b""), "no complete .npz"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_file_is_refused_by_name_and_leaves_the_model_as_it_was(saved, case):
    damage, message = DAMAGE[case]
    damage(saved)
    model = build_model("attention", seed=2)
    with pytest.raises(ValueError, match=message) as error:
        load_model_npz(saved, model)
    assert "model.npz" in str(error.value)
    for name, value in build_model("attention", seed=2).state_dict().items():
        assert torch.equal(model.state_dict()[name], value)


def test_an_mlp_whose_numbers_overflow_is_refused(tmp_path, vocab):
    model = build_model("mlp", seed=1)
    with torch.no_grad():
        model.token_embedding.weight[PAD] = 1e37  # read in every slot before the first word
        model.hidden_layer.weight[0] = 1e37
    save_model_npz(tmp_path / "model.npz", model, {"kind": "mlp", "vocab_sha256": vocab.sha256})
    with pytest.raises(ValueError, match=r"model\.npz: the weights are too large, the model's .* are not finite"):
        open_checkpoint(tmp_path / "model.npz")


@pytest.fixture(scope="module")
def small_checkpoints() -> list[bytes]:
    """One model of a vocabulary of its own, stored and packed in every way."""
    vocab, stored = Vocab((*SPECIALS, "a", "b")), io.BytesIO()
    metadata = {"kind": "attention", "vocab_sha256": vocab.sha256, "itos": list(vocab.itos)}
    save_model_npz(stored, build_model("attention", len(vocab), seed=1), metadata)
    files = [stored.getvalue()]
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        packed = io.BytesIO()
        with zipfile.ZipFile(stored) as old, zipfile.ZipFile(packed, "w", method) as new:
            for member in old.namelist():
                new.writestr(member, old.read(member))
        files.append(packed.getvalue())
    return files


def described_bytes(content: bytes) -> list[int]:
    """Return where the archive and the headers of the arrays say what the rest of the bytes are."""
    starts = [found.start() for found in re.finditer(rb"PK[\1\3\5][\2\4\6]|\x93NUMPY", content)]
    return sorted({place for start in starts for place in range(start, min(start + 140, len(content)))})


@settings(max_examples=300, deadline=None)
@given(data=st.data(), on_disk=st.booleans())
def test_whatever_bytes_of_a_checkpoint_are_others_it_opens_or_is_refused_by_name(
    small_checkpoints, tmp_path_factory, data, on_disk
):
    content = bytearray(data.draw(st.sampled_from(small_checkpoints)))
    place = st.sampled_from(described_bytes(content)) | st.integers(0, len(content) - 1)
    for at, value in data.draw(st.lists(st.tuples(place, st.integers(0, 255)), min_size=1, max_size=8)):
        content[at] = value
    file = io.BytesIO(content[: data.draw(st.sampled_from([len(content), None, -30, len(content) // 2]))])
    file.name = "sent.npz"
    if on_disk:
        path = tmp_path_factory.getbasetemp() / file.name
        path.write_bytes(file.getvalue())
        file = path
    try:
        model = open_checkpoint(file)[1]
    except ValueError as error:
        assert "sent.npz" in str(error)
    else:
        assert all(values.isfinite().all() for values in model.state_dict().values())


def test_another_kind_is_refused(saved):
    with pytest.raises(ValueError, match=r"model\.npz: array"):
        load_model_npz(saved, build_model("mlp"))


SIBLINGS = [
    ("multihead_h8_seed11", {"kind": "multihead"}, "multihead with 8 heads.*multihead with 4 heads"),
    ("multihead_seed11", {"kind": "multihead", "heads": 8}, "multihead with 4 heads.*multihead with 8 heads"),
    ("multihead_seed11", {"kind": "attention"}, "multihead with 4 heads.*attention with 1 head"),
    ("attention_seed11", {"kind": "multihead"}, "attention with 1 head.*multihead with 4 heads"),
    ("attention_seed11", {"kind": "multihead", "heads": 1}, "attention with 1 head.*multihead with 1 head"),
]


@pytest.mark.parametrize(("name", "other", "said"), SIBLINGS)
def test_weights_of_equal_shapes_are_never_read_as_those_of_another_model(name, other, said):
    model = build_model(**other, seed=2)
    with pytest.raises(ValueError, match=said) as error:
        load_model_npz(ARTIFACTS / "heads" / f"{name}.npz", model)
    assert f"{name}.npz" in str(error.value)
    for key, value in build_model(**other, seed=2).state_dict().items():
        assert torch.equal(model.state_dict()[key], value), "the model was changed"


@pytest.mark.parametrize(("kind", "heads"), [("mlp", None), ("attention", 1), ("multihead", 1), ("multihead", 16)])
def test_a_checkpoint_opens_as_the_model_that_its_metadata_states_whatever_its_name(tmp_path, vocab, kind, heads):
    path = tmp_path / "mlp_seed11.npz"
    model = build_model(kind, heads=heads if kind == "multihead" else None)
    save_model_npz(path, model, {"kind": kind, "heads": heads, "vocab_sha256": vocab.sha256})
    assert variant_of(open_checkpoint(path)[1]) == Variant(kind, heads) == variant_of(model)


def test_of_shared_keys_and_values_the_same_arrays_are_never_read_as_those_of_other_heads(tmp_path, vocab):
    path, model = tmp_path / "model.npz", build_model("multihead", seed=1, heads=4, kv_heads=1)
    save_model_npz(path, model, variant_of(model).statement | {"vocab_sha256": vocab.sha256})
    assert variant_of(open_checkpoint(path)[1]) == Variant("multihead", 4, 1)
    other = build_model("multihead", seed=2, heads=8, kv_heads=2)
    assert other.W_K.weight.shape == model.W_K.weight.shape
    with pytest.raises(ValueError, match=r"this is multihead with 4 heads, 1 kv, .* is multihead with 8 heads, 2 kv"):
        load_model_npz(path, other)


def test_a_multi_head_checkpoint_that_does_not_say_how_many_heads_is_refused(tmp_path, vocab):
    path = tmp_path / "model.npz"
    save_model_npz(path, build_model("multihead"), {"kind": "multihead", "vocab_sha256": vocab.sha256})
    with pytest.raises(ValueError, match="multihead without a number of heads"):
        open_checkpoint(path)


def test_a_model_of_somebody_else_s_is_not_loaded_into(saved):
    class Other(torch.nn.Module):
        pass

    with pytest.raises(ValueError, match="Other is none of this project's models"):
        variant_of(Other())


def test_saving_that_fails_in_the_middle_keeps_the_old_file_and_leaves_no_other(saved, monkeypatch):
    def full(file, **arrays):
        with file if hasattr(file, "write") else open(file, "wb") as target:
            target.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    before = saved.read_bytes()
    monkeypatch.setattr("wordlm.checkpoints.np.savez", full)
    with pytest.raises(OSError, match="No space left"):
        save_model_npz(saved, build_model("attention"), {})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "multihead", "heads": 3}, "metadata describes no model: heads must be at least 1 and divide"),
        ({"kind": "multihead", "heads": 4, "kv_heads": 3}, "metadata describes no model: kv_heads must be"),
        ({"itos": "abc"}, r"metadata\.itos: expected array \| null, got str"),
        ({"itos": [*SPECIALS, 7]}, r"metadata\.itos\[4\]: expected str, got int"),
        ({"itos": [*SPECIALS, *map(str, range(3997))]}, r"metadata\.itos: expected array of length <= 4000"),
        ({"seed": "11"}, r"metadata\.seed: expected int \| null, got str"),
        ({"selected_step": -1}, r"metadata\.selected_step: expected int >= 0"),
        ({"validation_loss": math.nan}, r"metadata\.validation_loss: expected float >= 0\.0"),
        ({"itos": [*SPECIALS, "a", "a"]}, "metadata brings a broken vocabulary: .* this one holds 'a' twice"),
        ({"itos": [*SPECIALS, "\ud800"]}, "metadata brings a broken vocabulary: .* surrogates not allowed"),
        ({"itos": [*SPECIALS]}, "metadata brings a broken vocabulary: .* at least one word beside the special ones"),
        ({"itos": ["a"]}, "metadata brings a broken vocabulary: a vocabulary starts with"),
    ],
)
def test_metadata_that_describe_no_model_are_refused_before_it_is_built(saved, changes, message):
    saying(**changes)(saved)
    with pytest.raises(ValueError, match=rf"model\.npz: array {message}"):
        open_checkpoint(saved)


def test_the_checkpoints_of_a_folder_are_listed_by_name(tmp_path):
    for name in ("b.npz", "a.npz", "c.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in list_checkpoints(tmp_path)] == ["a.npz", "b.npz"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"empty holds no \.npz file"):
        list_checkpoints(tmp_path / "empty")
    with pytest.raises(ValueError, match="nowhere is no folder"):
        list_checkpoints(tmp_path / "nowhere")


def vocabulary_of(size: int) -> Vocab:
    return Vocab((*SPECIALS, *(f"word{i}" for i in range(4, size))))


def test_a_checkpoint_brings_its_own_vocabulary_of_up_to_4000_words_along(tmp_path):
    for size, kind in ((7, "mlp"), (4000, "attention")):
        own, path = vocabulary_of(size), tmp_path / f"{size}.npz"
        model = build_model(kind, size, seed=1)
        save_model_npz(path, model, {"kind": kind, "vocab_sha256": own.sha256, "itos": list(own.itos)})
        _, opened, vocab = open_checkpoint(path)
        assert vocab == own
        assert torch.equal(opened.vocab_head.weight, model.vocab_head.weight)
        assert not opened.training
        assert not any(parameter.requires_grad for parameter in opened.parameters())


RESULT = {"config": {"seed": 5}, "selected_step": 20, "validation_loss": 3.5, "environment": {"torch": "2"}}


def test_a_vocabulary_other_than_the_bundled_one_is_described_with_its_words(vocab, smoke_corpus):
    others = [vocabulary_of(size) for size in range(5, 15)]
    assert min(other.sha256 for other in others) < vocab.sha256 < max(other.sha256 for other in others)
    for own in [vocab, *others]:
        model = build_model("multihead", len(own), seed=5, heads=2)
        told = describe_checkpoint(model, replace(smoke_corpus, vocab=own), RESULT)
        assert told.get("itos") == (None if own is vocab else list(own.itos))
        assert (told["kind"], told["heads"], told["vocab_size"], told["seed"]) == ("multihead", 2, len(own), 5)
        assert (told["vocab_sha256"], told["data_sha256"]) == (own.sha256, smoke_corpus.digest)
