"""What the browser computes is what the model computes: `forward.js` in node against PyTorch."""

import subprocess

import numpy as np
import pytest
import torch

from tests.node import SCRIPTS, Numbers, node, run_tests, write_plain_json
from wordlm.ablation import switches
from wordlm.bundled import BUNDLED, Bundled
from wordlm.checkpoints import open_checkpoint, parameter_bytes
from wordlm.files import artifact, read_json
from wordlm.inspection import next_probabilities, next_words, rows_as_last, rows_of
from wordlm.models import MLPLM, switch_heads
from wordlm.text import UNK, encode_prompt
from wordlm.ui.browser.model.layout import layout_of

MODELS = [Bundled(variant, seed) for variant, seeds in BUNDLED.items() for seed in seeds]
_LONG = 12 * "One day a little dog found a red hat in the big park and he was very happy . "
PROMPTS = [
    "a little dog found a red hat",
    "",
    "the",
    "Once upon a time, there was a little girl named",
    "cat cat cat cat cat cat cat cat",
    "the cat and the cat and the cat",
    "zyzzyva quokka xylem",
    "the zyzzyva's hat",
    "<s> </script> $x$ *a* :smile: &lt; _b_",
    "don’t “stop” … it`s ﬁne",
    "שלום cat, مرحبا dog",
    "👩\u200d🚀 found a 🐶!",
    "Ｈｅｌｌｏ 𝐇𝐞𝐥𝐥𝐨 e\u0301t\u00e9",
    "5 cats, 3.5 dogs and 1,000 birds",
    "!?.,;:",
    " ".join(_LONG.split()[:62]),
    " ".join(_LONG.split()[:63]),  # with the start mark just as many as fit
    " ".join(_LONG.split()[:64]),
    " ".join(_LONG.split()[5:110]),
    " ".join(_LONG.split()[3:203]),
]
assert len(PROMPTS) == 20


def steps(model, prompt) -> dict[str, torch.Tensor]:
    """Return every step of the prompt's own reading for its last word, by its name in `forward.js`."""
    n, ids = len(prompt.ids), torch.from_numpy(prompt.input_ids)
    with torch.inference_mode():
        details = model.forward_details(ids)
        if isinstance(model, MLPLM):
            found = {"E": details["E"][0, -n:]}
            before = model.hidden_layer(details["E"].flatten(1))[0]
        else:
            found = {
                "E": details["E"][0, -n:],
                "q": details["Q"][0, :, -1],
                "keys": details["K"][0, :, -n:],
                "values": details["V"][0, :, -n:],
                "scores": details["scores"][0, :, -1, -n:],
                "weights": details["weights"][0, :, -1, -n:],
                "messages": details["messages"][0, -1].view(model.heads, -1),
                "update": model.W_O(details["messages"][0, -1]),
                "contextual": details["contextual"][0, -1],
            }
            before = model.hidden_layer(details["contextual"][0, -1])
    logits = details["logits"][0]
    return found | {
        "preactivations": before,
        "hidden": torch.relu(before),
        "logits": logits,
        "probabilities": logits.double().softmax(-1),
    }


def shares_by_gradient(model, details: dict[str, torch.Tensor], word: int) -> dict:
    """Return what each part does to a word rather than to the others, in float64.

    With its gates and its probabilities held, the network is linear, so a part is its size times the slope of the
    word's logit less the mean logit.
    """
    e = details["E"][-1].double().requires_grad_()
    pairs = (details["weights"][..., None] * details["values"]).double().requires_grad_()  # (H, n, M)
    layers = model.W_O, model.hidden_layer, model.vocab_head
    W_O, W, bias, W_word, bias_word = (p.detach().double() for layer in layers for p in layer.parameters())
    bias, bias_word = bias.requires_grad_(), bias_word.requires_grad_()
    contextual = e + W_O @ pairs.sum(1).flatten()
    logits = W_word @ torch.relu(W @ contextual + bias) + bias_word
    held = logits.softmax(-1).detach()
    parts = e, pairs, bias, bias_word
    slopes = torch.autograd.grad(logits[word] - held @ logits, parts)
    own, by_pair, hidden, last = ((part * slope).detach() for part, slope in zip(parts, slopes, strict=True))
    return {
        "word": word,
        "own": own.sum().item(),
        "pairs": by_pair.sum(-1),
        "biases": (hidden.sum() + last.sum()).item(),
        "entropy": torch.special.entr(held).sum().item(),
        "logProbability": logits.log_softmax(-1)[word].item(),
    }


def without_heads(model, prompt, mean, numbers: Numbers) -> list[dict]:
    """Return what a reading becomes without heads: each alone, the first and the last, all."""
    H, ids, found = model.heads, torch.from_numpy(prompt.input_ids), []
    with torch.inference_mode():
        e, per_head = model.last_slot(ids)
        for off in sorted({(0, H - 1), tuple(range(H)), *((head,) for head in range(H))}):
            for fill, messages in (("zero", None), ("mean", mean)):
                off_now = switches(model, off, messages)
                expected = {
                    "messages": switch_heads(per_head, **off_now)[0],
                    "logits": model.read_out(e, per_head, **off_now)[0],
                    "probabilities": torch.from_numpy(next_probabilities(model, prompt.ids, **off_now)),
                }
                places = {name: numbers.add(step) for name, step in expected.items()}
                found.append({"off": off, "fill": fill, "expected": places})
    return found


def write_fixtures(one: Bundled, vocab, folder) -> None:
    _, model, _ = open_checkpoint(one.path, vocab)
    numbers, prompts = Numbers(), []
    stored = read_json(artifact("heads", "ablation.json"))["checkpoints"].get(one.variant.stem(one.seed))
    mean = stored and torch.tensor(stored["mean_messages"])
    for place, text in enumerate(PROMPTS):
        prompt = encode_prompt(text, vocab)
        found = steps(model, prompt)
        likeliest = next_words(found["probabilities"].numpy(), vocab, 10)["id"].tolist()
        entry = {
            "text": text,
            "ids": prompt.ids,
            "typed": prompt.typed,
            "labels": prompt.labels,
            "expected": {name: numbers.add(step) for name, step in found.items()},
            "likeliest": likeliest,
        }
        if one.heads is not None:
            n, rows = len(prompt.ids), rows_of(model, prompt)
            entry |= {
                "reach": prompt.reach,
                "rows": {
                    "asLast": numbers.add(rows_as_last(model, prompt.reach, n)),
                    "weights": numbers.add(rows.weights),
                    "beyond": numbers.add(rows.beyond),
                },
                "switched": without_heads(model, prompt, mean, numbers) if place % 3 == 0 else [],
                "shared": [
                    share | {"pairs": numbers.add(share["pairs"])}
                    for share in (shares_by_gradient(model, found, word) for word in (*likeliest[:3], UNK, 3999))
                ],
            }
        prompts.append(entry)
    layout = {"layout": layout_of(model), "itos": list(vocab.itos), "prompts": prompts}
    write_plain_json(folder / "forward.json", layout | ({} if mean is None else {"meanMessages": numbers.add(mean)}))
    numbers.write(folder / "forward.bin")
    (folder / "weights.bin").write_bytes(parameter_bytes(model))


@pytest.mark.parametrize("one", MODELS, ids=lambda one: one.variant.stem(one.seed))
def test_the_browser_reads_shares_out_and_switches_off_as_the_model_does(one, vocab, tmp_path):
    node()
    write_fixtures(one, vocab, tmp_path)
    run_tests("forward.test.js", tmp_path)
    run_tests("block.test.js", tmp_path)


def test_no_sentence_of_the_picture_has_a_known_fault(tmp_path):
    run_tests("sentences.test.js", tmp_path)


@pytest.mark.parametrize("stem", ["mlp_seed11", "multihead_seed11"])
def test_the_bytes_hold_every_parameter_where_the_layout_says(bundled, stem):
    model = bundled(stem)
    numbers, layout = np.frombuffer(parameter_bytes(model), "<f4"), layout_of(model)
    for name, tensor in model.state_dict().items():
        offset, *shape = layout["arrays"][name]
        np.testing.assert_array_equal(numbers[offset : offset + tensor.numel()].reshape(shape), tensor.numpy())
    assert len(numbers) == sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_every_script_is_a_module_without_a_mistake_in_its_syntax(path):
    checked = [node(), "--check", "--input-type=module", "-"]
    done = subprocess.run(checked, input=path.read_bytes(), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
