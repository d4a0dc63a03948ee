"""Training a model to predict the next word, and scoring it.

The loop does not know who calls it: it hands `Progress` to a callback, asks `should_stop()`, and prints
nothing.
"""

import copy
import math
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wordlm.data import Windows

Precision = Literal["fp32", "bf16"]
EVALUATION_BATCH = 512


@dataclass(frozen=True)
class TrainConfig:
    """The settings of one run; the defaults are the published protocol.

    `precision` "bf16" computes the matrix products in bfloat16 and keeps weights and loss in float32: about
    twice as fast where the processor has it, and used for short training only.
    """

    steps: int = 6000
    batch_size: int = 512
    learning_rate: float = 0.003
    weight_decay: float = 0.001
    seed: int = 11
    eval_every: int = 750
    precision: Precision = "fp32"

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size", "eval_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be above 0, got {self.learning_rate}")
        if not self.weight_decay >= 0:
            raise ValueError(f"weight_decay must be at least 0, got {self.weight_decay}")
        if self.precision not in ("fp32", "bf16"):
            raise ValueError(f"precision must be fp32 or bf16, got {self.precision!r}")


@dataclass(frozen=True)
class Progress:
    """One moment of a run. Losses are in nats per token."""

    step: int
    """Updates made so far; 0 before the first."""
    train_loss: float | None
    """Mean over the batch of the last update."""
    validation_loss: float | None
    """Over all validation targets, where this step was validated."""
    seconds: float
    """Since the run began."""


class NonFiniteLoss(ArithmeticError):
    """The loss became infinite or NaN; no update was made from there."""


def finite(loss: float, name: str) -> float:
    """Return the loss called `name`. Raises `NonFiniteLoss`."""
    if not math.isfinite(loss):
        raise NonFiniteLoss(f"the {name} became {loss}: try a smaller learning rate")
    return loss


def choose_device(requested: str = "auto") -> tuple[torch.device, str]:
    """Return the device to use and the reason in words. "auto" is CUDA, then MPS, then the CPU.

    Raises `ValueError` for a device that PyTorch does not find here.
    """
    if requested != "auto":
        present = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
        kind, _, number = requested.partition(":")
        if not (number or "0").isdecimal() or int(number or 0) >= present.get(kind, 0):
            raise ValueError(f"the device {requested!r} was asked for, but PyTorch finds none here: use auto or cpu")
        return torch.device(requested), "asked for"
    if torch.cuda.is_available():
        return torch.device("cuda"), f"PyTorch finds a CUDA device: {torch.cuda.get_device_name()}"
    if torch.backends.mps.is_available():
        return torch.device("mps"), "PyTorch finds Apple's GPU (MPS)"
    return torch.device("cpu"), "PyTorch finds neither CUDA nor MPS"


def describe_environment(device: torch.device) -> dict[str, Any]:
    """Return what the runtimes depend on."""
    return {
        "accelerator": device.type,
        "cuda_available": torch.cuda.is_available(),
        "cuda_version": torch.version.cuda,
        "mps_available": torch.backends.mps.is_available(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
    }


def autocast(device: torch.device, precision: Precision) -> torch.autocast:
    """Return the context in which matrix products have `precision`."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")


def make_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """Return AdamW over all parameters, its update fused into one pass."""
    return torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay, fused=True)


def train_step(
    model: nn.Module, optimizer: torch.optim.Optimizer, contexts: Tensor, targets: Tensor, precision: Precision
) -> float:
    """Make one update on a batch (B, T), (B,) and return its loss. A loss that is not finite raises first."""
    with autocast(contexts.device, precision):
        logits = model(contexts)
    loss = F.cross_entropy(logits.float(), targets)
    value = finite(loss.item(), "loss")
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return value


@torch.inference_mode()
def evaluate(
    model: nn.Module,
    contexts: Windows | Tensor,
    targets: Tensor,
    *,
    batch_size: int = EVALUATION_BATCH,
    precision: Precision = "fp32",
) -> float:
    """Return the cross-entropy in nats per token: the sum of -ln p(target) over all targets, divided once.

    `contexts` (N, T), `targets` (N,). The result does not depend on `batch_size`.
    """
    if len(targets) == 0:
        raise ValueError("there are no targets to score")
    device = next(model.parameters()).device
    total = torch.zeros((), dtype=torch.float64)
    for start in range(0, len(targets), batch_size):
        batch = slice(start, start + batch_size)
        with autocast(device, precision):
            logits = model(contexts[batch].to(device))
        losses = F.cross_entropy(logits.float(), targets[batch].to(device), reduction="none")
        total += losses.cpu().double().sum()
    return (total / len(targets)).item()


def train_model(
    model: nn.Module,
    train_contexts: Windows | Tensor,
    train_targets: Tensor,
    val_contexts: Windows | Tensor,
    val_targets: Tensor,
    config: TrainConfig,
    *,
    device: str = "auto",
    on_progress: Callable[[Progress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> tuple[dict[str, Any], list[Progress]]:
    """Train `model` in place with AdamW on batches drawn with replacement, and keep its best validation step.

    Returns `(result, history)`. `result` holds `validation_loss`, `selected_step`, `runtime_seconds`,
    `stopped`, `device`, `device_reason`, `environment`, `config`; `history` one `Progress` for each validation.
    Validation runs every `eval_every` steps and after the last one. When `should_stop()` turns true the run ends before
    the next update; if nothing was validated yet, that is done first, so there is always a best step. The
    model is left at it, on the CPU. The batches depend on the seed alone, not on the model or the device.

    Raises `NonFiniteLoss` when a loss, also that of a validation, is no longer a number; the model is then at its best
    step so far.
    """
    start = time.perf_counter()
    target_device, reason = choose_device(device)
    model.to(target_device).train()
    train_contexts, train_targets = train_contexts.to(target_device), train_targets.to(target_device)
    val_contexts, val_targets = val_contexts.to(target_device), val_targets.to(target_device)
    optimizer = make_optimizer(model, config)
    rows = torch.Generator().manual_seed(config.seed)
    history: list[Progress] = []
    best = math.inf, 0  # the lowest validation loss, and its step
    best_state = copy.deepcopy(model.state_dict())
    report = on_progress or (lambda progress: None)

    def validate(step: int, train_loss: float | None) -> Progress:
        nonlocal best, best_state
        model.eval()
        loss = finite(evaluate(model, val_contexts, val_targets, precision=config.precision), "validation loss")
        model.train()
        progress = Progress(step, train_loss, loss, time.perf_counter() - start)
        history.append(progress)
        if loss < best[0]:
            best, best_state = (loss, step), copy.deepcopy(model.state_dict())
        return progress

    stopped = False
    step, loss = 0, None
    report(Progress(0, None, None, 0.0))
    try:
        for step in range(1, config.steps + 1):
            if should_stop is not None and should_stop():
                stopped, step = True, step - 1
                break
            batch = torch.randint(len(train_targets), (config.batch_size,), generator=rows).to(target_device)
            loss = train_step(model, optimizer, train_contexts[batch], train_targets[batch], config.precision)
            if step % config.eval_every == 0 or step == config.steps:
                report(validate(step, loss))
            else:
                report(Progress(step, loss, None, time.perf_counter() - start))
        if not history:
            report(validate(step, loss))
    finally:
        model.load_state_dict(best_state)
        model.cpu().eval()

    validation_loss, selected_step = best
    result = {
        "validation_loss": validation_loss,
        "selected_step": selected_step,
        "runtime_seconds": time.perf_counter() - start,
        "stopped": stopped,
        "device": str(target_device),
        "device_reason": reason,
        "environment": describe_environment(target_device),
        "config": asdict(config),
    }
    return result, history


def measure_pace(
    model: nn.Module,
    train_contexts: Windows | Tensor,
    train_targets: Tensor,
    val_contexts: Windows | Tensor,
    val_targets: Tensor,
    config: TrainConfig,
    *,
    device: str = "auto",
    updates: int = 3,
) -> tuple[float, float]:
    """Return the seconds of one update and of one validation, from a few updates and a part of a validation.

    `model` is changed: give one that is not needed.
    """
    target_device, _ = choose_device(device)
    model.to(target_device)
    optimizer = make_optimizer(model, config)
    batch = torch.arange(config.batch_size) % len(train_targets)
    contexts, targets = train_contexts[batch].to(target_device), train_targets[batch].to(target_device)
    seconds = []
    for _ in range(1 + updates):  # the first one pays for buffers
        start = time.perf_counter()
        train_step(model, optimizer, contexts, targets, config.precision)
        seconds.append(time.perf_counter() - start)
    part = min(len(val_targets), 2 * EVALUATION_BATCH)
    start = time.perf_counter()
    evaluate(model, val_contexts[:part], val_targets[:part], precision=config.precision)
    validation = (time.perf_counter() - start) * len(val_targets) / part
    return statistics.median(seconds[1:]), validation
