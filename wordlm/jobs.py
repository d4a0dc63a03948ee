"""Training at the press of a button: one run at a time for all visitors of this process, the others wait in line.

One thread trains; it calls nothing of Streamlit. Pages hold their `Job` and look at it. A run ends by itself,
when its visitor presses Stop, when nobody has looked at it for minutes, with an error, or with the server; a job knows
which it was, and in every case the next one begins.
"""

import atexit
import logging
import math
import os
import secrets
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import pandas as pd
import torch

from wordlm.checkpoints import describe_checkpoint, parameter_bytes
from wordlm.data import Corpus, Windows, make_all_windows
from wordlm.files import give_back_memory
from wordlm.inspection import rows_of
from wordlm.models import CausalAttentionLM, LanguageModel, build_variant
from wordlm.text import EncodedPrompt
from wordlm.training import NonFiniteLoss, Progress, TrainConfig, measure_pace, train_model
from wordlm.variants import Variant

VALIDATION_TARGETS = 4096
"""At most so many, evenly spread over the validation stories: so that Stop never waits for a long validation."""
_PACES = 64
"""So many measured paces are kept."""
_THREADS = torch.get_num_threads()


class State(Enum):
    """Where a job stands, in the words of the page."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"


class Ending(Enum):
    """What ended a job before its last update, other than an error."""

    PRESSED = "its visitor pressed Stop"
    ABSENCE = "its visitor was gone"
    SHUTDOWN = "the server was shut down"


class LineIsFull(RuntimeError):
    """Too many trainings wait already: of all visitors, or `yours`."""

    def __init__(self, line: int, *, yours: bool = False) -> None:
        super().__init__(f"{line} trainings {'of yours ' if yours else ''}are in line already")
        self.yours = yours


class NoTemporaryFolder(RuntimeError):
    """This machine has no folder in which a training may keep files."""


@dataclass(frozen=True)
class Order:
    """What a visitor asks to be trained."""

    variant: Variant
    config: TrainConfig
    corpus: Corpus
    source: str
    """The stories in words."""
    prompt: EncodedPrompt
    """Whose rows are kept, encoded with the corpus's vocabulary."""


class Snapshots:
    """A model's parameters after some updates. On disk, since 5 MB each would fill the memory of a small server."""

    def __init__(self) -> None:
        try:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the job, and goes with it)
        except OSError as error:
            raise NoTemporaryFolder(
                "no model can be trained here, since the app finds no folder for temporary files that it can write to: "
                "whoever runs it sets TMPDIR to one and starts it anew"
            ) from error
        weakref.finalize(self, self._file.close)
        self._places: dict[int, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def keep(self, step: int, model: LanguageModel) -> None:
        """Keep the `parameter_bytes` of a model after so many updates."""
        content = parameter_bytes(model)
        with self._lock:
            place = self._file.seek(0, os.SEEK_END)
            self._file.write(content)
            self._places[step] = place, len(content)

    def read(self, step: int) -> bytes:
        """Return what was kept after so many updates. Raises `KeyError`."""
        with self._lock:
            place, size = self._places[step]
            self._file.seek(place)
            return self._file.read(size)


@dataclass(eq=False)
class Job:
    """One training of one visitor. Only the training thread writes to it, but for what `end` and `look_after` do."""

    order: Order
    visitor: str
    """Whose it is: the same for all tabs of a browser."""
    owners: set[str]
    """The sessions that look at it: that of the button, and those of the same tab after a reload."""
    token: str
    """What the visitor's browser keeps, to find the job again in another session. Nobody else can guess it."""
    seen: float
    """When its visitor was last known to be there, by the trainer's clock."""
    state: State = State.WAITING
    reason: str = ""
    """Why it failed."""
    ending: Ending | None = None
    """What asked it to end early. A job may finish all the same, when its last update was made by then."""
    losses: list[float] = field(default_factory=list)
    """The training loss of each update, in nats per token; as many as updates were made."""
    history: list[Progress] = field(default_factory=list)
    """The validations, that before the first update among them."""
    weights: dict[int, np.ndarray] = field(default_factory=dict)
    """The prompt's rows (H, n, n), each word read as the last one, after so many steps: at 0 and at each validation."""
    snapshots: Snapshots = field(default_factory=Snapshots)
    """The model itself after the same steps as `weights`."""
    seconds: float = 0.0
    result: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    model: LanguageModel | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in (State.WAITING, State.RUNNING)

    @property
    def seconds_left(self) -> float | None:
        """What the rest will take at the pace so far; None before the first updates."""
        done = len(self.losses)
        return self.seconds / done * (self.order.config.steps - done) if done else None

    def end(self, ending: Ending) -> None:
        """Ask the job to end before its next update; the first one to ask is the cause."""
        self.ending = self.ending or ending
        self.stop.set()

    def note(self, progress: Progress, model: LanguageModel) -> None:
        """Keep what the loop reports."""
        self.seconds = progress.seconds
        if progress.train_loss is not None and len(self.losses) < progress.step:
            self.losses.append(progress.train_loss)
        if progress.validation_loss is not None:
            self.history.append(progress)
        seen = progress.step == 0 or progress.validation_loss is not None
        if seen and isinstance(model, CausalAttentionLM):
            self.snapshots.keep(progress.step, model)
            self.weights[progress.step] = rows_of(model, self.order.prompt).weights


class Trainer:
    """The one place in which models are trained for visitors.

    `is_present` says whether a session is connected now. A run goes on for `grace` seconds without any of its sessions.
    At most `longest` trainings are in line, that which runs among them, and `each` of one visitor. `clock` gives
    seconds.
    """

    def __init__(
        self,
        is_present: Callable[[str], bool],
        grace: float = math.inf,
        *,
        longest: float = math.inf,
        each: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._is_present = is_present
        self.grace = grace
        self._longest, self._each, self._clock = longest, each, clock
        self._measuring = threading.Lock()
        self._paces: dict[Hashable, tuple[float, float]] = {}
        self._mark = secrets.token_hex(4)  # another process has another one
        # A job can be found again for as long as the line or a session that Streamlit keeps holds it.
        self._findable: weakref.WeakValueDictionary[str, Job] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()
        self._line: list[Job] = []  # the first one is being trained
        self._thread: threading.Thread | None = None
        # A process that ends in the middle of an update would abort.
        atexit.register(self._end)

    def submit(self, order: Order, owner: str, visitor: str = "") -> Job:
        """Put an order in line and return its job; a session whose job is still active gets that one back.

        A `visitor` has several sessions, one a tab; without a name each session is a visitor. Raises `LineIsFull`,
        `NoTemporaryFolder`.
        """
        visitor = visitor or owner
        with self._lock:
            self._tidy()
            for job in self._line:
                if owner in job.owners and job.is_active:
                    return job
            if (yours := sum(job.visitor == visitor for job in self._line)) >= self._each:
                raise LineIsFull(yours, yours=True)
            if len(self._line) >= self._longest:
                raise LineIsFull(len(self._line))
            job = Job(order, visitor, {owner}, f"{self._mark}.{secrets.token_urlsafe(16)}", self._clock())
            self._line.append(job)
            self._findable[job.token] = job
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="trainer", daemon=True)
                self._thread.start()
            return job

    def ahead_of(self, job: Job | None) -> list[Job]:
        """Return the jobs that come before `job`, or all of them."""
        with self._lock:
            self._tidy()
            return self._line[: self._line.index(job)] if job in self._line else list(self._line)

    def pace(self, order: Order) -> tuple[float, float] | None:
        """Return `seconds_needed` by an order, beside a training where one runs; None while another is being measured.

        One is measured at a time, so that many who open the page at once wait for nothing. What the pace depends on is
        measured once.
        """
        corpus, config = order.corpus, order.config
        key = (order.variant, corpus.digest, corpus.vocab.sha256, config.batch_size, config.precision, bool(self._line))
        if key in self._paces:
            return self._paces[key]
        if not self._measuring.acquire(blocking=False):
            return None
        try:
            self._paces[key] = pace = seconds_needed(order)
            while len(self._paces) > _PACES:
                del self._paces[next(iter(self._paces))]
            return pace
        finally:
            self._measuring.release()

    def stop(self, job: Job) -> None:
        """End a job as its visitor wishes: one in line at once, the running one before its next update."""
        job.end(Ending.PRESSED)
        with self._lock:
            self._tidy()

    def look_after(self, token: str, owner: str) -> Job | None:
        """Return the job with this token, from now on also looked at by the session `owner`; None if it is gone."""
        with self._lock:
            job = self._findable.get(token)
            if job is not None:
                job.owners.add(owner)
            return job

    def gave(self, token: str) -> bool:
        """Whether a token is of this process, so that its job was not lost with an earlier one."""
        return token.partition(".")[0] == self._mark

    def _end(self) -> None:
        with self._lock:
            for job in self._line:
                job.end(Ending.SHUTDOWN)
            thread = self._thread
        if thread is not None:
            thread.join(10.0)

    def _work(self) -> None:
        while True:
            with self._lock:
                self._tidy()
                if not self._line:
                    self._thread = None
                    return
                # Whoever is there goes before those who have left the line without a word.
                job = next(filter(self._is_looked_at, self._line), self._line[0])
                self._line.remove(job)
                self._line.insert(0, job)
                job.state = State.RUNNING
            try:
                self._train(job)
            finally:
                with self._lock:
                    self._line.remove(job)
                job.ended.set()
                give_back_memory()

    def _is_looked_at(self, job: Job) -> bool:
        return any(map(self._is_present, job.owners))

    def _tidy(self) -> None:
        """Take out of the line whoever stopped or left before the turn came; end the run of a visitor who left."""
        now = self._clock()
        for job in list(self._line):
            if self._is_looked_at(job):
                job.seen = now
            elif now - job.seen > self.grace:
                job.end(Ending.ABSENCE)
            if job.stop.is_set() and job.state is State.WAITING:
                self._line.remove(job)
                job.state = State.STOPPED
                job.ended.set()

    def _should_stop(self, job: Job) -> bool:
        with self._lock:
            self._tidy()
        return job.stop.is_set()

    def _train(self, job: Job) -> None:
        """Carry out one job; whatever goes wrong in it becomes its reason."""
        try:
            with a_core_left_free():
                train_job(job, lambda: self._should_stop(job))
        except NonFiniteLoss as error:
            job.state, job.reason = State.FAILED, f"{error}"
        except Exception as error:  # any crash must end this job only, and say what it was
            logging.getLogger(__name__).exception("a training failed")
            job.state, job.reason = State.FAILED, f"{type(error).__name__}: {error}"


def train_job(job: Job, should_stop: Callable[[], bool]) -> None:
    """Train a job's model and leave the outcome in it."""
    order = job.order
    model = build_variant(order.variant, len(order.corpus.vocab), order.config.seed)
    windows = make_all_windows(order.corpus)
    result, _ = train_model(
        model,
        *windows["train"],
        *validation_sample(windows),
        order.config,
        on_progress=lambda progress: job.note(progress, model),
        should_stop=should_stop,
    )
    job.result = result
    job.metadata = describe_checkpoint(model, order.corpus, result) | {"source": order.source}
    job.model = model.requires_grad_(False)
    job.state = State.STOPPED if result["stopped"] else State.FINISHED


def validation_sample(windows: dict) -> tuple[Windows | torch.Tensor, torch.Tensor]:
    """Return all validation targets with their contexts, or `VALIDATION_TARGETS` of them, evenly spread."""
    contexts, targets = windows["validation"]
    if len(targets) <= VALIDATION_TARGETS:
        return contexts, targets
    rows = torch.linspace(0, len(targets) - 1, VALIDATION_TARGETS).round().long()
    return contexts[rows], targets[rows]


@contextmanager
def a_core_left_free() -> Iterator[None]:
    """Compute with one thread less than there are cores, so that pages go on answering."""
    # PyTorch keeps the number for this thread, and for threads yet to come: hence the restoring.
    torch.set_num_threads(max(1, min(_THREADS, (os.cpu_count() or 1) - 1)))
    try:
        yield
    finally:
        torch.set_num_threads(_THREADS)


def seconds_needed(order: Order) -> tuple[float, float]:
    """Return the seconds of one update and of one validation of this order, measured on a model that is thrown away."""
    windows = make_all_windows(order.corpus)
    model = build_variant(order.variant, len(order.corpus.vocab), order.config.seed)
    with a_core_left_free():
        pace = measure_pace(model, *windows["train"], *validation_sample(windows), order.config)
    give_back_memory()
    return pace


def validation_table(job: Job) -> pd.DataFrame:
    """Return the validations: `step`, `training loss` of the last update, `validation loss`, `kept`."""
    kept = job.result["selected_step"] if job.result else None
    return pd.DataFrame(
        [(p.step, p.train_loss, p.validation_loss, p.step == kept) for p in job.history],
        columns=["step", "training loss", "validation loss", "kept"],
    )


def loss_table(job: Job) -> pd.DataFrame:
    """Return the loss of every update, and where there was one, of the validation after it."""
    table = pd.DataFrame({"step": range(1, len(job.losses) + 1), "training_loss": job.losses})
    validations = {progress.step: progress.validation_loss for progress in job.history}
    table["validation_loss"] = table["step"].map(validations)
    return table


def last_row_table(job: Job, step: int) -> pd.DataFrame:
    """Return the weights of the prompt's last word after so many updates, one row a head and one column a word."""
    rows = {f"head {head + 1}": row[-1] for head, row in enumerate(job.weights[step])}
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(job.order.prompt.labels))
