"""What the picture of the whole model knows: `block_state.js` in node.

With real models of three head counts, and one with a vocabulary of its own.
"""

import torch

from tests.node import node, run_tests, write_plain_json
from wordlm.ablation import switches
from wordlm.bundled import Bundled
from wordlm.checkpoints import open_checkpoint, parameter_bytes
from wordlm.inspection import inspect_ids, next_probabilities
from wordlm.models import build_model
from wordlm.text import SPECIALS, Vocab, encode_prompt
from wordlm.ui.browser.model.layout import layout_of, tokenizer_tables
from wordlm.variants import Variant

TEXT = "lily had a big red ball . she liked to play with the"


def test_what_is_drawn_belongs_together_whatever_comes_late_twice_or_never(vocab, tmp_path):
    node()
    small = Vocab((*SPECIALS, "lily", "ball", "the", "dog", "had"))
    models = {
        choice: (open_checkpoint(Bundled(Variant.parse(choice), 11).path, vocab)[1], vocab)
        for choice in ("1", "4", "16")
    }
    models["own"] = (build_model("multihead", vocab_size=len(small), seed=5), small)
    written = {}
    for choice, (model, words) in models.items():
        (tmp_path / f"{choice}.bin").write_bytes(parameter_bytes(model))
        prompt = encode_prompt(TEXT, words)
        off = (2, 10) if choice == "16" else (0,)
        with torch.inference_mode():
            written[choice] = {
                "layout": layout_of(model),
                "itos": list(words.itos),
                "vocabulary": words.sha256,
                "weights": inspect_ids(model, prompt.ids).weights[:, -1].ravel().tolist(),
                "probabilities": next_probabilities(model, prompt.ids).tolist(),
                "off": off,
                "without": next_probabilities(model, prompt.ids, **switches(model, off)).tolist(),
            }
    write_plain_json(tmp_path / "state.json", {"text": TEXT, "tables": tokenizer_tables(), "models": written})
    run_tests("block_state.test.js", tmp_path)
