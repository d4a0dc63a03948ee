"""How long the browser's own forward pass takes: `python -m tests.benchmarks.browser_forward`.

A text of more than 64 words in node, beside the same steps of the server: `inspect_ids` and `rows_of` in PyTorch, and
`encode_prompt`. Milliseconds, median and 95th percentile; warm-up is left out. A browser also draws, which is not here.
"""

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from tests.benchmarks.load import percentile
from tests.node import NODE, write_plain_json
from wordlm.checkpoints import parameter_bytes
from wordlm.files import REPOSITORY
from wordlm.inspection import inspect_ids, next_probabilities, rows_of
from wordlm.text import encode_prompt
from wordlm.ui.browser.model.layout import layout_of, tokenizer_tables
from wordlm.ui.state.resources import checkpoint, model_of, vocabulary

TEXT = " ".join(["One day a little dog found a red hat in the big park and he was very happy ."] * 6)
ROUNDS = 300
MODELS = ("1", "4", "16", "MLP")


def in_node(choice: str) -> dict[str, list[float]]:
    """Return the milliseconds of each step in node."""
    model = model_of(checkpoint(choice, 11))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "weights.bin").write_bytes(parameter_bytes(model))
        given = {"tables": tokenizer_tables(), "itos": vocabulary().itos, "text": TEXT, "rounds": ROUNDS}
        write_plain_json(folder / "bench.json", given | {"layout": layout_of(model)})
        done = subprocess.run(
            [NODE, str(REPOSITORY / "tests" / "js" / "forward.bench.js")],
            env=os.environ | {"WORDLM_FIXTURES": name},
            capture_output=True,
            check=True,
        )
    return json.loads(done.stdout)


def milliseconds(action: Callable[[], object]) -> list[float]:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()
        times.append(1e3 * (time.perf_counter() - start))
    return times[ROUNDS // 5 :]


def in_python(choice: str) -> dict[str, list[float]]:
    """Return the milliseconds of the same steps on the server."""
    model, vocab = model_of(checkpoint(choice, 11)), vocabulary()
    prompt = encode_prompt(TEXT, vocab)
    times = {"cut the text": milliseconds(lambda: encode_prompt(TEXT, vocab))}
    if choice == "MLP":
        return times | {"one reading": milliseconds(lambda: next_probabilities(model, prompt.ids))}
    return times | {
        "one reading": milliseconds(lambda: inspect_ids(model, prompt.ids)),
        "rows of all words": milliseconds(lambda: rows_of(model, prompt)),
    }


def main() -> None:
    if NODE is None:
        raise SystemExit("node is not here: install Node.js 18 or newer")
    version = subprocess.run([NODE, "--version"], capture_output=True, encoding="utf-8", check=True).stdout.strip()
    print(
        f"{len(encode_prompt(TEXT, vocabulary()).ids)} words, node {version}, torch {torch.__version__}, milliseconds"
    )
    print(f"{'model':6} {'step':20} {'node':>8} {'p95':>8} {'PyTorch':>9} {'p95':>8}")
    for choice in MODELS:
        ours, theirs = in_node(choice), in_python(choice)
        for step, times in ours.items():
            cells = [
                f"{statistics.median(found):8.2f} {percentile(found, 0.95):8.2f}" if found else f"{'–':>8} {'–':>8}"
                for found in (times, theirs.get(step, []))
            ]
            print(f"{choice:6} {step:20} {cells[0]}  {cells[1]}")


if __name__ == "__main__":
    main()
