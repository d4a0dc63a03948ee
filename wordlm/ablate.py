"""Measure what each head is worth on the test set: `python -m wordlm.ablate`.

For every attention checkpoint: the test loss with no head off, each head off, all off, and for up to four heads
every subset, each with zeros and with mean messages in the place of a head that is off. Exact over all test
targets; the increase has a paired bootstrap interval over stories. Writes one JSON file.
"""

from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from wordlm.ablation import all_subsets, mean_messages, paired_interval, shapley_values, subset_losses
from wordlm.checkpoints import open_models_with_heads
from wordlm.commands import measure_heads
from wordlm.data import Corpus, make_all_windows
from wordlm.files import sha256_file
from wordlm.models import CausalAttentionLM

MOST_HEADS_FOR_ALL_SUBSETS = 4


def chosen_subsets(heads: int) -> list[tuple[int, ...]]:
    """Return the sets of heads to switch off: every one for few heads, else none, one at a time, all."""
    if heads <= MOST_HEADS_FOR_ALL_SUBSETS:
        return all_subsets(heads)
    return [(), *((head,) for head in range(heads)), tuple(range(heads))]


def measure(model: CausalAttentionLM, windows: dict) -> dict[str, Any]:
    """Return the losses of one model: the content of one entry of `ablation.json`."""
    contexts, targets = windows["test"]
    story = contexts.story_of(torch.arange(len(contexts))).numpy()
    mean = mean_messages(model, windows["validation"][0])
    subsets = chosen_subsets(model.heads)
    losses = subset_losses(model, contexts, targets, subsets, {"zero": None, "mean": mean})
    baseline = losses["zero", ()].double().numpy()
    result: dict[str, Any] = {"heads": model.heads, "loss": float(baseline.mean()), "mean_messages": mean.tolist()}
    for fill in ("zero", "mean"):
        result[fill] = []
        for off in subsets:
            increase = losses[fill, off].double().numpy() - baseline
            result[fill].append(
                {
                    "off": list(off),
                    "loss": float(losses[fill, off].double().mean()),
                    "increase": float(increase.mean()),
                    "interval": paired_interval(increase, story) if off else (0.0, 0.0),
                }
            )
        if model.heads <= MOST_HEADS_FOR_ALL_SUBSETS:
            loss_without = {tuple(entry["off"]): entry["loss"] for entry in result[fill]}
            result[f"shapley_{fill}"] = shapley_values(model.heads, loss_without)
    return result


def measure_all(heads_dir: Path, corpus: Corpus) -> dict[str, Any]:
    """Measure every checkpoint in `heads_dir` that has heads, as `open_models_with_heads` finds them."""
    with_heads = open_models_with_heads(heads_dir, corpus.vocab)
    windows = make_all_windows(corpus)
    _, targets = windows["test"]
    checkpoints = {}
    for path, (metadata, model) in tqdm(with_heads.items(), unit="checkpoint"):
        checkpoints[path.stem] = {"sha256": sha256_file(path), "seed": metadata.get("seed")} | measure(model, windows)
    return {
        "split": "test",
        "targets": len(targets),
        "stories": len(corpus.splits["test"].starts) - 1,
        "data_sha256": corpus.digest,
        "mean_over": f"{len(windows['validation'][1]):,} validation targets",
        "interval": "95 %, paired bootstrap over stories, 2,000 resamples, seed 0",
        "checkpoints": checkpoints,
    }


def main() -> None:
    result = measure_heads(__doc__, "work/ablation.json", measure_all)
    for name, entry in result["checkpoints"].items():
        single = {e["off"][0]: e["increase"] for e in entry["zero"] if len(e["off"]) == 1}
        print(f"{name:22} {entry['loss']:.4f}  " + " ".join(f"-h{h + 1} {v:+.4f}" for h, v in single.items()))


if __name__ == "__main__":
    main()
