"""The runs of the comparison, and the engines that carry them out: this process, or a Ray cluster.

The runs are independent of each other. An engine gets runs, yields each as it finishes, and knows nothing of
files; which runs are left to do, and what is written, is the comparison's business and the same for both.
"""

import itertools
import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from tqdm import tqdm

from wordlm.data import Corpus, make_all_windows
from wordlm.models import LanguageModel, build_variant
from wordlm.training import Progress, TrainConfig, evaluate, train_model
from wordlm.variants import Kind, Variant


@dataclass(frozen=True)
class Run:
    """One model to train."""

    variant: Variant
    seed: int

    @property
    def name(self) -> str:
        """The stem of this run's files."""
        return self.variant.stem(self.seed)


def plan_runs(
    kinds: list[Kind], heads: list[int], seeds: list[int], kv_heads: Sequence[int | None] = (None,)
) -> list[Run]:
    """List the runs, each once, seed by seed, so that a slow hour of the machine falls on every variant alike.

    Every one of `heads` is combined with every one of `kv_heads`; None is as many as heads.
    """
    variants = [Variant.of_kind(kind, *counts) for kind in kinds for counts in itertools.product(heads, kv_heads)]
    return list(dict.fromkeys(Run(variant, seed) for seed in seeds for variant in variants))


@dataclass(frozen=True)
class TrainedRun:
    """What a finished run leaves, wherever it was carried out."""

    model: LanguageModel
    result: dict[str, Any]
    history: list[Progress]
    test_loss: float


def train_run(
    run: Run, corpus: Corpus, config: TrainConfig, device: str, on_progress: Callable[[Progress], None] | None = None
) -> TrainedRun:
    """Train one run and score its best validation step once on all test targets."""
    windows = make_all_windows(corpus)
    model = build_variant(run.variant, len(corpus.vocab), run.seed)
    result, history = train_model(
        model,
        *windows["train"],
        *windows["validation"],
        replace(config, seed=run.seed),
        device=device,
        on_progress=on_progress,
    )
    test_loss = evaluate(model.to(result["device"]), *windows["test"])
    return TrainedRun(model.cpu(), result, history, test_loss)


Executor = Callable[[list[Run], Corpus, TrainConfig, str, tqdm], Iterator[tuple[Run, TrainedRun]]]
"""Carries out runs and yields each as it finishes, in any order; moves the bar by one for each step."""


def run_here(
    runs: list[Run], corpus: Corpus, config: TrainConfig, device: str, bar: tqdm
) -> Iterator[tuple[Run, TrainedRun]]:
    """Carry out the runs one after another in this process."""
    for run in runs:
        bar.set_description(run.name)

        def show(progress: Progress) -> None:
            bar.update(1 if progress.step else 0)
            if progress.validation_loss is not None:
                bar.set_postfix(validation=f"{progress.validation_loss:.4f}")

        yield run, train_run(run, corpus, config, device, show)


class ClusterError(RuntimeError):
    """The Ray cluster is missing, cannot be reached, or has no node that fits a run."""


def run_on_ray(address: str | None) -> Executor:
    """Return an engine that carries the runs out on the Ray cluster at `address`, or on this machine without one.

    Ray places the runs, moves one whose worker dies to another, and waits for free nodes. A run takes one GPU
    where the cluster has any (or the device says so), else as many cores as this process has threads: with
    the same number of threads the results are those of the local engine, to the last bit. Every node needs the
    same checkout and packages; the stories travel from here.

    Raises `ClusterError`.
    """
    try:
        import ray
    except ImportError as error:
        raise ClusterError("--engine ray needs Ray: python -m pip install -r requirements-dev.txt brings it") from error

    def engine(
        runs: list[Run], corpus: Corpus, config: TrainConfig, device: str, bar: tqdm
    ) -> Iterator[tuple[Run, TrainedRun]]:
        try:
            if address is not None:
                _knock(address)
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, RuntimeError, ValueError) as error:
            raise ClusterError(f"the Ray cluster {address or 'on this machine'} cannot be used: {error}") from error
        try:
            threads = torch.get_num_threads()
            needs = resources_of_a_run(device, threads, [node["Resources"] for node in ray.nodes() if node["Alive"]])
            if "num_gpus" in needs and device == "auto":
                device = "cuda"
            remote = ray.remote(_train_run_on_a_worker).options(**needs, max_retries=3)
            stories = ray.put(corpus)
            waiting = {remote.remote(run, stories, config, device, threads): run for run in runs}
            bar.set_description(f"{len(waiting)} runs on {len(ray.nodes())} nodes")
            while waiting:
                (done, *_), _ = ray.wait(list(waiting))
                try:
                    trained = ray.get(done)
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from error
                except ray.exceptions.RayError as error:
                    raise ClusterError(f"{waiting[done].name} was lost: {error}; the same command resumes") from error
                bar.update(config.steps)
                yield waiting.pop(done), trained
        finally:
            ray.shutdown()

    return engine


def _knock(address: str) -> None:
    """Raise `OSError` if nothing answers (Ray would try for minutes), `ValueError` if it is no host:port."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError("the address must be host:port, as `ray start --head` prints it")
    socket.create_connection((host, int(port)), timeout=5).close()


def resources_of_a_run(device: str, threads: int, nodes: list[dict[str, float]]) -> dict[str, float]:
    """Return what one run asks of Ray, given what each node has: one GPU, or `threads` cores.

    Raises `ClusterError` when no node has that, since Ray would wait for ever.
    """
    wants_gpu = device.startswith("cuda") or (device == "auto" and any(node.get("GPU", 0) >= 1 for node in nodes))
    resource, amount = ("GPU", 1) if wants_gpu else ("CPU", threads)
    most = max((node.get(resource, 0) for node in nodes), default=0)
    if most < amount:
        hint = "use --device cpu" if wants_gpu else f"set OMP_NUM_THREADS={max(1, int(most))} for this command"
        raise ClusterError(f"a run needs {amount} {resource}, the largest node of the cluster has {most:g}: {hint}")
    return {"num_gpus": 1, "num_cpus": 1} if wants_gpu else {"num_cpus": threads}


def _train_run_on_a_worker(run: Run, corpus: Corpus, config: TrainConfig, device: str, threads: int) -> TrainedRun:
    torch.set_num_threads(threads)
    return train_run(run, corpus, config, device)
