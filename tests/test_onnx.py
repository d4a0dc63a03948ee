"""The exported files against PyTorch."""

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper

from wordlm.checkpoints import open_checkpoint
from wordlm.engines import OnnxEngine, TorchEngine, warm_up
from wordlm.export_onnx import export
from wordlm.files import ARTIFACTS, sha256_file
from wordlm.generation import Decoding, generate
from wordlm.likeness import LIKENESS_TEXTS
from wordlm.scoring import prefix_windows
from wordlm.text import BOS, encode_prompt, left_pad, tokenize

NAMES = sorted(path.stem for path in (ARTIFACTS / "onnx").iterdir())
# The two engines add float32 numbers in another order.
ROUNDING = 1e-4
# Of logits of several hundred, which word salad brings about in the MLP; float32 has 7 digits.
RELATIVE_ROUNDING = 3e-6


@pytest.fixture(params=NAMES)
def pair(request):
    checkpoint = ARTIFACTS / "heads" / f"{request.param}.npz"
    return open_checkpoint(checkpoint)[1], ARTIFACTS / "onnx" / f"{request.param}.onnx", checkpoint


def test_logits_agree_over_many_contexts(pair, vocab):
    model, path, _ = pair
    texts = [vocab.encode(tokenize(text)) for text in [*LIKENESS_TEXTS, " ".join(LIKENESS_TEXTS)]]
    contexts = np.concatenate([prefix_windows(text)[:].numpy() for text in texts])
    engine = OnnxEngine(path)
    with torch.inference_mode():
        expected = model(torch.from_numpy(contexts)).numpy()
    one_by_one = np.stack([engine.logits(context[None]) for context in contexts])
    together = engine._session.run(None, {"ids": contexts})[0]
    assert len(contexts) > 250
    np.testing.assert_allclose(one_by_one, expected, atol=ROUNDING, rtol=0)
    np.testing.assert_allclose(together, expected, atol=ROUNDING, rtol=0)


def test_logits_agree_on_word_salad_of_every_length(pair, vocab):
    model, path, _ = pair
    rng = np.random.default_rng(0)
    lengths = [0, 1, 2, 5, 30, 62, 63, 64] * 6
    contexts = np.concatenate([left_pad([BOS, *rng.integers(4, len(vocab), n)][-64:]) for n in lengths])
    with torch.inference_mode():
        expected = model(torch.from_numpy(contexts)).numpy()
    shown = OnnxEngine(path)._session.run(None, {"ids": contexts})[0]
    np.testing.assert_allclose(shown, expected, atol=ROUNDING, rtol=RELATIVE_ROUNDING)


@pytest.mark.parametrize("text", ["once upon a time", "a little dog found a red hat", ""])
def test_both_engines_write_the_same_greedy_story(pair, vocab, text):
    model, path, _ = pair
    ids = encode_prompt(text, vocab).ids
    first, second = (generate(engine, ids, Decoding(80)) for engine in (TorchEngine(model), OnnxEngine(path)))
    assert first.new_ids == second.new_ids
    assert first.stop == second.stop


def test_the_weights_can_be_read_back(pair):
    """Bit for bit; the exporter keeps some transposed, and those of the heads cut into (heads, width, 64)."""
    model, path, _ = pair
    stored = [numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer]

    def is_stored(value: np.ndarray) -> bool:
        shapes = [a for a in stored if a.size == value.size]
        turned = [a.swapaxes(-1, -2) for a in shapes if a.ndim > 1]
        return any(np.array_equal(value, a.reshape(value.shape)) for a in [*shapes, *turned])

    missing = [name for name, value in model.state_dict().items() if not is_stored(value.numpy())]
    assert missing == []


def test_metadata_names_kind_heads_vocabulary_and_checkpoint(pair, vocab):
    _, path, checkpoint = pair
    metadata = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    assert metadata["kind"] == checkpoint.stem.split("_")[0]
    assert metadata["heads"] == {"mlp": "None", "attention": "1", "multihead": "4"}[metadata["kind"]]
    assert metadata["vocab_sha256"] == vocab.sha256
    assert metadata["checkpoint_sha256"] == sha256_file(checkpoint)


@pytest.mark.filterwarnings("ignore")  # the exporter's own deprecations
def test_exporting_again_gives_the_same_logits(tmp_path):
    export(ARTIFACTS / "heads" / "attention_seed11.npz", tmp_path / "again.onnx")
    again, bundled = OnnxEngine(tmp_path / "again.onnx"), OnnxEngine(ARTIFACTS / "onnx" / "attention_seed11.onnx")
    context = left_pad([BOS, 9, 8, 7])
    np.testing.assert_allclose(again.logits(context), bundled.logits(context), rtol=1e-5, atol=1e-5)
    assert warm_up(again) > 0
