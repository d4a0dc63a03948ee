"""How long scoring a text takes: `python -m tests.benchmarks.scoring`.

A text of 5,000 words under all bundled kinds (MLP, 1, 2, 4, 8, 16 heads), as the Perplexity page scores it. As a
reference the plain form, `forward_details`, on the same windows, of which only a part is run and scaled up.
"""

import time

import torch

from wordlm.scoring import BATCH, prefix_windows, score_words
from wordlm.ui.state.resources import MODELS, checkpoint, model_of, one_for_each_heads, vocabulary

WORDS = 5000
REFERENCE_WORDS = 256


def measure() -> dict[str, tuple[float, float]]:
    """Return the seconds for the text and those of the reference, by model."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(4, len(vocabulary()), (WORDS,), generator=generator).tolist()
    times = {}
    for name in one_for_each_heads(MODELS, "4"):
        model = model_of(checkpoint(name, 11))
        score_words(model, ids[:BATCH])  # warm-up
        start = time.perf_counter()
        score_words(model, ids)
        seconds = time.perf_counter() - start
        contexts = prefix_windows(ids[:REFERENCE_WORDS])
        start = time.perf_counter()
        with torch.inference_mode():
            for place in range(0, REFERENCE_WORDS, 64):
                model.forward_details(contexts[place : place + 64])["logits"].log_softmax(-1)
        times[name] = seconds, (time.perf_counter() - start) * WORDS / REFERENCE_WORDS
    return times


def main() -> None:
    print(f"{'model':6} {'seconds':>8} {'reference':>10} {'ratio':>6}")
    times = measure()
    for name, (seconds, reference) in times.items():
        print(f"{name:6} {seconds:8.2f} {reference:10.2f} {reference / seconds:6.1f}")
    print(f"all    {sum(seconds for seconds, _ in times.values()):8.2f}")


if __name__ == "__main__":
    main()
