"""How fast training is: `python -m tests.benchmarks.training`.

Against a plain eager loop of the same model written straight from the definition: every query attends, the windows
are one int64 array, AdamW as it comes. Both make the same updates from the same start on the same batches, in
turns of a few, and are then scored on the same validation targets. Beside it, how long the step's matrix products
alone would take at the machine's speed for large ones, measured in the same run.

With `--full` (the default where there is a CUDA device) each kind is also trained for 6,000 updates on the device.
"""

import math
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from wordlm.commands import CommandParser, errors_in_one_line, whole_number
from wordlm.data import Corpus, build_corpus, make_all_windows
from wordlm.models import CausalAttentionLM, LanguageModel, build_model
from wordlm.training import Precision, TrainConfig, choose_device, evaluate, make_optimizer, train_model, train_step
from wordlm.variants import KINDS, Kind

TURN = 10  # updates


class PlainAttention(nn.Module):
    """Vaswani et al. 2017, section 3.2, for all queries; the last one is read out. Holds the parameters of `model`."""

    def __init__(self, model: CausalAttentionLM) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        m, (B, T) = self.model, ids.shape
        E = m.token_embedding(ids) + m.position_embedding(torch.arange(T, device=ids.device))
        Q, K, V = (W(E).view(B, T, m.heads, -1).transpose(1, 2) for W in (m.W_Q, m.W_K, m.W_V))
        scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
        weights = scores.masked_fill(~m.visible(ids)[:, None], -math.inf).softmax(-1)
        contextual = E + m.W_O((weights @ V).transpose(1, 2).flatten(2))
        return m.vocab_head(torch.relu(m.hidden_layer(contextual[:, -1])))


class PlainMLP(nn.Module):
    """Bengio et al. 2003: embeddings side by side, one hidden layer. Holds the parameters of `model`."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        m = self.model
        return m.vocab_head(torch.relu(m.hidden_layer(m.token_embedding(ids).flatten(1))))


@dataclass
class Racer:
    """One of the two loops, and the seconds of its turns."""

    model: nn.Module
    seconds: list[float]

    def take_turn(self, updates) -> None:
        start = time.perf_counter()
        updates()
        self.seconds.append(time.perf_counter() - start)

    @property
    def rate(self) -> float:
        """Updates a second in the median turn."""
        return TURN / sorted(self.seconds)[len(self.seconds) // 2]


def race(
    kind: Kind, precision: Precision, data: dict, plain_contexts: Tensor, config: TrainConfig
) -> tuple[Racer, Racer]:
    """Train both loops in turns on the same batches, and return them with their models trained."""
    words = int(max(data["train"][1].max(), 3999)) + 1
    ours, plain = Racer(build_model(kind, words, config.seed), []), Racer(build_model(kind, words, config.seed), [])
    form = PlainMLP(plain.model) if kind == "mlp" else PlainAttention(plain.model)
    our_optimizer = make_optimizer(ours.model, config)
    plain_optimizer = torch.optim.AdamW(form.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    contexts, targets = data["train"]
    rows = torch.Generator().manual_seed(config.seed)
    for _ in range(config.steps // TURN):
        batches = [torch.randint(len(targets), (config.batch_size,), generator=rows) for _ in range(TURN)]

        def our_updates(batches=batches) -> None:
            for batch in batches:
                train_step(ours.model, our_optimizer, contexts[batch], targets[batch], precision)

        def plain_updates(batches=batches) -> None:
            for batch in batches:
                loss = F.cross_entropy(form(plain_contexts[batch]), targets[batch])
                plain_optimizer.zero_grad()
                loss.backward()
                plain_optimizer.step()

        ours.take_turn(our_updates)
        plain.take_turn(plain_updates)
    return ours, plain


def matmul_flops(model: LanguageModel, batch: int) -> int:
    """Return the floating-point operations of one update's matrix products, as PyTorch counts them."""
    with FlopCounterMode(display=False) as counter:
        F.cross_entropy(model(torch.ones(batch, 64, dtype=torch.long)), torch.ones(batch, dtype=torch.long)).backward()
    return counter.get_total_flops()


def matmul_speed(dtype: torch.dtype) -> float:
    """Return floating-point operations a second of a large matrix product, the best of ten."""
    a, b = torch.randn(1024, 4096, dtype=dtype), torch.randn(4096, 1024, dtype=dtype)
    best = math.inf
    for _ in range(10):
        start = time.perf_counter()
        a @ b
        best = min(best, time.perf_counter() - start)
    return 2 * 1024 * 4096 * 1024 / best


def has_bf16() -> bool:
    """Whether the processor multiplies in bfloat16 clearly faster than in float32."""
    return matmul_speed(torch.bfloat16) > 1.5 * matmul_speed(torch.float32)


def compare_steps(corpus: Corpus, config: TrainConfig) -> None:
    """Print updates a second and losses of both loops, and what the matrix products alone would take."""
    data = make_all_windows(corpus)
    contexts, _ = data["train"]
    validation = tuple(part[: 20 * 1024] for part in data["validation"])
    plain_contexts = contexts[:]
    held = sum(t.nbytes for t in (corpus.splits["train"].ids, corpus.splits["train"].starts, data["train"][1]))
    materialised = plain_contexts.nbytes + data["train"][1].nbytes
    print(
        f"data: {held / 1e6:.1f} MB held, {materialised / 1e6:.1f} MB as int64 windows and targets: "
        f"1/{materialised / held:.0f}"
    )
    precisions: tuple[Precision, ...] = ("fp32", "bf16") if has_bf16() else ("fp32",)
    print(f"{torch.get_num_threads()} threads; batches of {config.batch_size}, {config.steps} updates\n")
    print(
        f"{'model':10} {'':5} {'plain/s':>8} {'ours/s':>8} {'ratio':>6}  {'plain loss':>10} {'our loss':>9}  "
        f"{'ms':>6} {'products ms':>11} {'share':>6}"
    )
    for kind in KINDS:
        flops = matmul_flops(build_model(kind, len(corpus.vocab)), config.batch_size)
        for precision in precisions:
            ours, plain = race(kind, precision, data, plain_contexts, config)
            losses = [evaluate(racer.model, *validation) for racer in (plain, ours)]
            limit = flops / matmul_speed(torch.float32 if precision == "fp32" else torch.bfloat16)
            print(
                f"{kind:10} {precision:5} {plain.rate:8.1f} {ours.rate:8.1f} {ours.rate / plain.rate:6.2f}  "
                f"{losses[0]:10.4f} {losses[1]:9.4f}  {1e3 / ours.rate:6.1f} {1e3 * limit:11.1f} "
                f"{100 * limit * ours.rate:5.0f}%",
                flush=True,
            )


def train_in_full(corpus: Corpus) -> None:
    """Print seconds and losses of the published protocol on the device that is found."""
    device, reason = choose_device()
    print(f"\n6,000 updates of 512 on {device} ({reason})")
    data = make_all_windows(corpus)
    for kind in KINDS:
        model = build_model(kind, len(corpus.vocab), 11)
        result, _ = train_model(model, *data["train"], *data["validation"], TrainConfig())
        test = evaluate(model.to(result["device"]), *data["test"])
        print(
            f"{kind:10} {result['runtime_seconds']:8.1f} s  validation {result['validation_loss']:.4f} at step "
            f"{result['selected_step']}, test {test:.4f}",
            flush=True,
        )


def main() -> None:
    parser = CommandParser(__doc__)
    parser.add_argument("--data-dir", type=Path, default=Path("work/data"))
    parser.add_argument("--profile", choices=["smoke", "dgx"], default="dgx")
    parser.add_argument("--steps", type=whole_number(TURN, 1_000_000), default=300)
    parser.add_argument("--full", action="store_true", default=torch.cuda.is_available())
    args = parser.parse_args()
    with errors_in_one_line():
        corpus = build_corpus(args.data_dir, args.profile)
    compare_steps(corpus, TrainConfig(steps=args.steps))
    if args.full:
        train_in_full(corpus)


if __name__ == "__main__":
    main()
