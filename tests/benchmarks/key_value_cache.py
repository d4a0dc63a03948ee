"""What the cache of keys and values saves: `python -m tests.benchmarks.key_value_cache`.

One word a call, with and without the cache, in turn; the median call of each, and their ratio. Fresh models: the time
does not depend on the values. At 64 slots they are the models of this project; longer contexts show where a cache pays.
"""

import statistics
import time

import numpy as np

from wordlm.engines import CachedTorchEngine, TorchEngine
from wordlm.models import D_MODEL, HIDDEN, MultiHeadAttentionLM
from wordlm.text import CONTEXT_LEN, VOCAB_SIZE

HEADS = ((1, 1), (4, 4), (4, 2), (4, 1), (8, 8), (8, 4), (8, 2), (8, 1))
LENGTHS = (CONTEXT_LEN, 1024, 4096)
CALLS = 60
ROUNDS = 7


def measure(heads: int, kv_heads: int, length: int, rounds: int = ROUNDS) -> tuple[float, float, int]:
    """Return the seconds of a call without and with the cache, and the bytes that the cache holds for a word."""
    model = MultiHeadAttentionLM(VOCAB_SIZE, length, D_MODEL, HIDDEN, heads, kv_heads=kv_heads).eval()
    ids = np.random.default_rng(0).integers(4, VOCAB_SIZE, length + CALLS)
    plain, cached = TorchEngine(model), CachedTorchEngine(model)
    times: dict[TorchEngine, list[float]] = {plain: [], cached: []}
    for _ in range(rounds):
        for engine, taken in times.items():
            engine.logits(ids[None, :length])  # fills the cache, which a story does once
            for start in range(1, CALLS + 1):
                context = ids[None, start : start + length]
                before = time.perf_counter()
                engine.logits(context)
                taken.append(time.perf_counter() - before)
    without, with_it = (statistics.median(taken) for taken in times.values())
    return without, with_it, cached.cache.bytes_held // length


def main() -> None:
    print(f"{'slots':>6} {'heads':>5} {'kv':>3} {'bytes a word':>12} {'without':>9} {'with it':>9}  ratio")
    for length in LENGTHS:
        for heads, kv_heads in HEADS:
            without, with_it, kept = measure(heads, kv_heads, length)
            print(
                f"{length:6} {heads:5} {kv_heads:3} {kept:12} {1e3 * without:6.3f} ms {1e3 * with_it:6.3f} ms "
                f"{without / with_it:6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
