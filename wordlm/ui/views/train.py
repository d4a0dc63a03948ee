"""What the Train page draws: settings, the run as it goes, its outcome, the visitor's models."""

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from wordlm.bundled import SEEDS, Bundled
from wordlm.checkpoints import read_metadata
from wordlm.data import FEWEST_STORIES, SEPARATOR, Corpus, DataError, make_all_windows
from wordlm.files import give_back_memory
from wordlm.jobs import (
    Ending,
    Job,
    LineIsFull,
    Order,
    State,
    Trainer,
    last_row_table,
    loss_table,
    seconds_needed,
    validation_sample,
    validation_table,
)
from wordlm.loss import perplexity
from wordlm.numbers import duration, written
from wordlm.prepare_data import prepare
from wordlm.text import EncodedPrompt, encode_prompt
from wordlm.training import TrainConfig, choose_device, evaluate
from wordlm.ui.browser.model.layout import layout_of
from wordlm.ui.browser.pictures.block import block_picture, material
from wordlm.ui.browser.pictures.heads import Look, heads_picture, panes_of
from wordlm.ui.browser.pictures.squares import squares_svg
from wordlm.ui.drawing.charts import MENU, horizontal_bars, loss_curves, past_curves
from wordlm.ui.drawing.escape import as_sentence, for_markdown
from wordlm.ui.drawing.figure import PlainFigure
from wordlm.ui.drawing.sentences import counted, heads_in_words, say_what_was_read
from wordlm.ui.drawing.tables import number_table
from wordlm.ui.frame import address, controls, parameters, widgets
from wordlm.ui.frame.controls import choose_model
from wordlm.ui.frame.export import Collected, file_stem, take_away
from wordlm.ui.frame.glossary import explain, say
from wordlm.ui.frame.numbers_behind import in_numbers
from wordlm.ui.frame.uploads import kept_upload
from wordlm.ui.state.own_models import (
    MOST,
    REPLAY,
    OwnModel,
    be_done_with,
    forget,
    job_of_visitor,
    keep_file,
    model_of_training,
    own_models,
    take_up,
)
from wordlm.ui.state.resources import (
    DATA_DIR,
    MODELS,
    Checkpoint,
    comparison_of,
    data_is_present,
    model_of,
    reading,
    smoke_corpus,
    story_corpus,
    text_corpus,
    vocabulary,
)
from wordlm.ui.state.run_marker import mark_run
from wordlm.variants import Variant

SMOKE, SUBSET, TEXT = parameters.PARAMETERS["learn_from"].options
_FILE_SAID, _RUN_GONE, _PASTED = "checkpoint_said", "run_gone", "text_pasted"
LITTLE_TEXT = 20_000
"""So few targets a small model learns by heart within minutes."""
LONGEST_TEXT = 5_000_000
"""In bytes; an upload may have as many."""
NOTICEABLE = 0.02
"""A difference of validation losses, in nats per token, that is more than another seed makes."""
_ABOUT = {
    SMOKE: "400 very short stories from a small grammar: at hand at once, and soon learned by heart.",
    SUBSET: "The stories that the bundled models were trained on.",
    TEXT: "Your stories stay in this session and are not stored.",
}


@st.cache_resource(show_spinner=False)
def trainer() -> Trainer:
    """Return the one trainer of this process."""
    # A run lives as long without its visitor as Streamlit keeps the session to which the visitor comes back.
    grace = float(st.get_option("server.disconnectedSessionTTL"))
    return Trainer(lambda owner: not Runtime.exists() or Runtime.instance().is_active_session(owner), grace)


def find_run_again() -> None:
    """Take up this tab's training after a reload; where it is gone, say so, and why."""

    def found(token: str) -> None:
        job = trainer().look_after(token, get_script_run_ctx().session_id)
        if job is not None:
            take_up(job)
            return
        be_done_with(token)
        st.session_state[_RUN_GONE] = (
            f"the app keeps one for {duration(trainer().grace)} after its visitor was last there"
            if trainer().gave(token)
            else "the app was started anew since"
        )

    mark_run(found)
    if job_of_visitor() is not None:
        st.session_state.pop(_RUN_GONE, None)
    elif _RUN_GONE in st.session_state:
        st.warning(
            f"Your last training on this page is gone, and its model with it: {st.session_state[_RUN_GONE]}. "
            "A file that you downloaded can be opened below."
        )


def choose_stories() -> Corpus | None:
    """Let the visitor choose what to learn from; None, with the reason on the page, while there is nothing yet."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = widgets.segments("learn_from", "Stories", default=SUBSET if data_is_present() else SMOKE)
        own_words = source != SUBSET and "its own" == widgets.segments(
            "words",
            "Vocabulary",
            help="With the bundled one the new model can stand beside the bundled models. With its own, "
            "the 4,000 most frequent words of these stories, it stands alone.",
        )
    explain(_ABOUT[source])
    try:
        match source:
            case "smoke stories":
                return smoke_corpus(own_words)
            case "6,000 stories":
                return story_corpus() if data_is_present() else _download()
            case _:
                return _own_text(own_words)
    except DataError as error:
        st.error(as_sentence(error))
        return None


class _DownloadBar:
    """Pooch's progress bar, drawn on the page."""

    def __init__(self) -> None:
        self.total, self._done = 0, 0
        self._bar = st.progress(0.0, "Downloading the stories …")

    def update(self, size: int) -> None:
        self._done += size
        share = min(1.0, self._done / self.total) if self.total else 0.0
        self._bar.progress(share, f"Downloading the stories: {self._done / 1e6:.1f} of {self.total / 1e6:.1f} MB")

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        self._bar.empty()


def _download() -> None:
    st.info(
        "The stories are not on this machine. The download is 22.5 MB, from a pinned revision, checked by its digest."
    )
    if st.button("Download the stories"):
        try:
            prepare("dgx", DATA_DIR, progressbar=_DownloadBar())
        except DataError as error:
            # What follows the colon is about the command line, and where the machine keeps things is its own business.
            reason = str(error).partition(": ")[0].replace(str(DATA_DIR), "work/data")
            raise DataError(f"{reason}; try again later, or train on the smoke stories meanwhile") from error
        st.rerun()


def _own_text(own_vocabulary: bool) -> Corpus | None:
    explain(
        f"At least {FEWEST_STORIES} stories or paragraphs, with a blank line or {for_markdown(SEPARATOR)} between. "
        "A tenth is kept for validation and as much for test, at least one each."
    )
    box, file = st.columns(2)
    with box:
        pasted = st.text_area("Paste a text here", height=140, key=_PASTED, persist_state="session")
    with file:
        upload = kept_upload("Or upload one as a UTF-8 file", ["txt", "md"], "text_file")
    name, content = upload or ("", b"")
    if pasted.strip():
        address.not_carried("the text that you pasted")
        unused = f" Empty the box to use {for_markdown(name)}." if upload else ""
        name, content = "The pasted text", pasted.encode()
        if len(content) > LONGEST_TEXT:
            raise DataError(f"the pasted text has {len(content) / 1e6:,.1f} MB, at most 5 MB can be learned from")
    elif upload:
        unused = ""
    else:
        return None
    corpus = text_corpus(content, own_vocabulary)
    counts = ", ".join(f"{len(stream.starts) - 1:,} for {split}" for split, stream in corpus.splits.items())
    st.caption(f"{for_markdown(name)}: stories: {counts}.{unused}")
    _say_if_little(corpus)
    return corpus


def _say_if_little(corpus: Corpus) -> None:
    targets = {split: len(stream.ids) - len(stream.starts) + 1 for split, stream in corpus.splits.items()}
    if targets["train"] < LITTLE_TEXT:
        explain(
            f"That is little: {counted(targets['train'], 'target')} to learn from and {targets['validation']:,} to "
            "validate on. A model soon knows it by heart, and the losses of two runs differ by chance."
        )


def choose_settings() -> tuple[str, TrainConfig]:
    """Let the visitor choose a model and how it is trained."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        model = choose_model("trained", "Heads of the new model, or the MLP (no attention)", MODELS)
        steps = widgets.number("steps", "Steps (updates)", width=220)
    with st.expander("Batch size, learning rate, seed and more"):
        left, middle, right = st.columns(3)
        batch = widgets.number("batch", "Batch size (targets an update)", place=left)
        seed = widgets.number("train_seed", "Seed of start and batches", place=left)
        rate = widgets.number("rate", "Learning rate", place=middle, format="%.5f")
        decay = widgets.number("decay", "Weight decay", place=middle, format="%.4f")
        validations = widgets.number("validations", "Validations on the way", place=right)
        with right:
            precision = widgets.segments(
                "precision",
                "Precision",
                help="bf16 computes the matrix products with fewer digits: faster where the processor has it.",
            )
    every = math.ceil(steps / validations)
    return model, TrainConfig(steps, batch, rate, decay, seed, every, precision)


def order_of(model: str, config: TrainConfig, corpus: Corpus, text: str) -> Order:
    """Return what Train would ask for."""
    return Order(Variant.parse(model), config, corpus, _source_of(corpus), encode_prompt(text, corpus.vocab))


def _source_of(corpus: Corpus) -> str:
    return {"smoke": SMOKE, "dgx": SUBSET}.get(corpus.profile, TEXT)


def say_device() -> None:
    """Say what trains, and why."""
    device, reason = choose_device()
    st.caption(
        f"It runs on the machine of this app, on its {str(device).upper()}: {reason}. "
        "One training at a time; the pages go on answering meanwhile."
    )


def say_duration(order: Order) -> None:
    """Say how long the training will take, by a few updates made just now."""
    config = order.config
    busy = bool(trainer().ahead_of(None))
    key = (order.variant, order.corpus.digest, order.corpus.vocab.sha256, config.batch_size, config.precision)
    update, validation = _pace(key, busy, order)
    validations = math.ceil(config.steps / config.eval_every)
    _, targets = validation_sample(make_all_windows(order.corpus))
    explain(
        f"About {duration(config.steps * update + validations * validation)}: {counted(config.steps, 'update')} of "
        f"{1e3 * update:.0f} ms, and {counted(validations, 'validation')} on {counted(len(targets), 'target')}, "
        f"{1e3 * validation:.0f} ms each, as measured here with a few{' beside a training' if busy else ''}."
    )


@st.cache_data(max_entries=64, show_spinner="Measuring a few updates …")
def _pace(key: tuple, busy: bool, _order: Order) -> tuple[float, float]:
    # The key names all of the order that the pace depends on.
    return seconds_needed(_order)


def start_and_stop(order: Order | None, job: Job | None) -> None:
    """Draw the two buttons. Pressing Train twice starts one run: the trainer returns the active one."""
    busy = job is not None and job.is_active
    with st.container(horizontal=True):
        started = st.button("Train", type="primary", disabled=order is None or busy, key="train")
        stopped = st.button("Stop", disabled=not busy, key="stop_training")
    if stopped and busy:
        trainer().stop(job)
        job.ended.wait(1.0)  # so that the outcome is there at once
        st.rerun()
    if started and order is not None:
        try:
            take_up(trainer().submit(order, get_script_run_ctx().session_id))
        except LineIsFull as error:
            st.warning(as_sentence(error))
        else:
            st.rerun()


def say_who_trains(job: Job | None) -> None:
    """Say, and keep saying, who else trains or waits, and roughly how long that takes."""
    anybody = bool(trainer().ahead_of(job))

    def look() -> None:
        ahead = trainer().ahead_of(job)
        if not ahead:
            if anybody:
                st.rerun()
            return
        left = ahead[0].seconds_left
        of = ahead[0].order.config.steps
        now = f"Another visitor's training is running, {len(ahead[0].losses):,} of {counted(of, 'update')}"
        now += "" if left is None else f", about {duration(left)} left"
        waits = f"; {len(ahead) - 1:,} more wait{'s' * (len(ahead) == 2)}" if len(ahead) > 1 else ""
        yours = " Yours comes after." if job is not None else " A new one would wait for its turn."
        st.info(f"{now}{waits}.{yours}")

    st.fragment(look, run_every=2.0 if anybody else None)()


def follow(job: Job) -> None:
    """Draw a training, again and again while it is active; at its end the whole page is drawn anew."""
    live = job.is_active
    if job.state is State.WAITING:
        say_who_trains(job)

    def look() -> None:
        if live and not job.is_active:
            st.rerun()
        _say_state(job)
        if job.losses or job.history:
            _draw_losses(job, live)

    def look_at_heads() -> None:
        if job.weights:
            _draw_heads(job, live)

    if live:
        st.fragment(look, run_every=1.0)()
        # The pictures are large and change at a validation only.
        st.fragment(look_at_heads, run_every=2.5)()
    else:
        look()
        look_at_heads()
        address.not_carried("your training")


def _say_state(job: Job) -> None:
    config, done = job.order.config, len(job.losses)
    title = job.order.variant.title
    match job.state:
        case State.WAITING:
            st.info("Your training waits for its turn.")
        case State.FAILED:
            st.error(for_markdown(f"The training ended after {counted(done, 'update')}: {job.reason}."))
        case State.STOPPED if job.result is None:
            st.info(f"The training never began: {_why_ended(job)}.")
        case State.STOPPED:
            st.warning(
                f"Stopped after {done:,} of {counted(config.steps, 'update')}: {_why_ended(job)}. "
                "The best validation step is kept."
            )
        case State.FINISHED:
            best = f"Kept is the model after {counted(job.result['selected_step'], 'update')}, the best on validation."
            st.success(f"Trained {title}: {counted(config.steps, 'update')} in {duration(job.seconds)}. {best}")
        case State.RUNNING:
            left = f", about {duration(job.seconds_left)} left" if job.seconds_left is not None else ""
            ending = "Stopping" if job.stop.is_set() else f"Training {title}"
            st.progress(done / config.steps, f"{ending}: {done:,} of {counted(config.steps, 'update')}{left}")
            st.caption(
                "You may visit other pages, reload this one or lose the connection meanwhile. "
                f"Once you have been gone for {duration(trainer().grace)}, the run ends."
            )
    if done and job.seconds:
        cells = _figures(job)
        for column, (label, value) in zip(st.columns(len(cells)), cells.items(), strict=True):
            column.metric(label, value)


def _why_ended(job: Job) -> str:
    match job.ending:
        case Ending.PRESSED:
            return "you pressed Stop"
        case Ending.ABSENCE:
            return f"you had been gone for more than {duration(trainer().grace)}"
        case Ending.SHUTDOWN:
            return "the server was shut down"
    raise ValueError(f"nothing asked this job to end: {job.state}")


def _figures(job: Job) -> dict[str, str]:
    """Return the figures above the curves, each named with the update it belongs to once the run has ended."""
    pace, last = len(job.losses) / job.seconds, len(job.losses)
    cells = {}
    if job.result is not None:
        cells[f"validation loss, kept (update {job.result['selected_step']:,})"] = job.result["validation_loss"]
    if job.result is None or job.history[-1].step != job.result["selected_step"]:
        when = "" if job.result is None else f", not kept (update {job.history[-1].step:,})"
        cells[f"validation loss{when}"] = job.history[-1].validation_loss if job.history else None
    cells["training loss" if job.is_active else f"training loss (update {last:,})"] = job.losses[-1]
    figures = {label: "–" if loss is None else f"{written(loss)}" for label, loss in cells.items()}
    figures["updates a second"] = f"{written(pace, 1)}"
    if job.is_active:
        figures["targets a second"] = f"{pace * job.order.config.batch_size:,.0f}"
    return figures


def _curves(job: Job) -> go.Figure:
    validations = {progress.step: progress.validation_loss for progress in job.history}
    return loss_curves(job.losses, validations, job.result["selected_step"] if job.result else None)


def _draw_losses(job: Job, live: bool) -> None:
    figure = _curves(job)
    alt = "Training loss of each update, smoothed, and validation loss"
    st.plotly_chart(figure, key="loss", config=MENU, alt=alt)
    if not live:  # the table comes with the outcome
        in_numbers("validations", lambda: number_table(validation_table(job), alt=alt, decimals=4))


def _draw_heads(job: Job, live: bool) -> None:
    prompt, steps = job.order.prompt, sorted(job.weights)
    st.subheader("How do the heads form?")
    explain(
        "The attention weights of your prompt, as it was when you pressed Train, each word read as the last one. A new "
        "model's come from random numbers."
    )
    say_what_was_read(prompt)
    kept = job.result["selected_step"] if job.result else None
    step = steps[-1] if kept is None else kept
    through = False
    if not live:
        with st.container(horizontal=True, vertical_alignment="center"):
            if len(steps) > 1:
                step = st.select_slider("After so many updates", steps, value=step, key=REPLAY, persist_state="session")
            through = widgets.toggle("through", "Show the whole model")
    st.caption(f"After {counted(step, 'update')}.{_is_it_kept(step, kept)}")
    weights, look = job.weights[step], _look(job.weights[step], prompt)
    on_chosen = functools.partial(controls.choose_in_picture, prompt)
    if through:
        _draw_whole_model(job, step, look, on_chosen)
    else:
        heads_picture(prompt, weights, panes_of(len(weights)), look, on_chosen)
        heads_in_words(weights[:, -1], prompt)
    if not live:
        alt = "Weights of the last word, one row a head"
        in_numbers("last_row", lambda: number_table(last_row_table(job, step), index=True, alt=alt))


def _draw_whole_model(job: Job, step: int, look: Look, on_chosen: Callable[[dict[str, Any]], None]) -> None:
    """Draw the whole model as it was after so many updates; the text is the one that the training followed."""
    prompt, vocab = job.order.prompt, job.order.corpus.vocab
    then = material(f"after {counted(step, 'update')}", job.snapshots.read(step), layout_of(job.model), vocab)
    text = " ".join(prompt.text_typed[1:])
    alone = look.query == len(prompt.ids) - 1
    block_picture([then], text, prompt, look, on_chosen, weights=job.weights[step][:, -1] if alone else None)


def _look(weights: np.ndarray, prompt: EncodedPrompt) -> Look:
    head = controls.held_head(len(weights))
    query = controls.held_query(prompt)
    return replace(controls.held_look(prompt, query, weights[head, query]), head=head)


def _is_it_kept(step: int, kept: int | None) -> str:
    if kept is None:
        return ""
    if step == kept:
        return " This is the model that is kept."
    return f" Not the model that is kept: that is the one after {counted(kept, 'update')}."


def outcome(job: Job) -> None:
    """Draw what came of a training: beside the bundled model, where to go on, the files."""
    own = model_of_training()
    if job.result is None or own is None:
        return
    st.subheader("How good is it?")
    table = _beside_table(job, own)
    say(
        f"{own.name} was best after {counted(job.result['selected_step'], 'update')}, at a validation loss of "
        f"{written(job.result['validation_loss'])} nats per token. That model is kept, and opens on the other pages. "
        "All lines are scored on the same validation targets."
    )
    _say_what_followed(job)
    even = math.log(len(own.vocab))
    if job.result["validation_loss"] > even:
        st.warning(
            f"On the validation stories {own.name} is worse than even chance. To give each of the "
            f"{len(own.vocab):,} words the same probability has a loss of {written(even)}."
        )
    alt = "Your model beside the bundled one on the same validation targets"
    st.plotly_chart(_beside_bars(table), key="own_beside", config=MENU, alt=alt)
    in_numbers("own_beside", lambda: number_table(table, alt=alt, decimals=4))
    with st.container(horizontal=True, vertical_alignment="center"):
        open_links(own, "outcome")


def _beside_bars(table: pd.DataFrame) -> PlainFigure:
    names, losses = table["model"].tolist(), table["validation loss"].to_numpy()
    return horizontal_bars(names, losses, "validation loss, nats per token")


def take_along(job: Job) -> None:
    """Draw the buttons that take a training's losses and weights along, once it has ended."""
    own = model_of_training()
    if job.result is None or own is None:
        return
    kept, prompt = job.result["selected_step"], job.order.prompt
    weights = job.weights.get(kept)
    alone = None
    if weights is not None:
        title = f"Where each head of {own.name} looks, each word read as the last"
        panes = panes_of(len(weights))
        alone = functools.partial(squares_svg, title, prompt, weights, panes, _look(weights, prompt))

    def collect() -> Collected:
        beside = _beside_table(job, own)
        tables = {
            "Losses of every update": loss_table(job),
            "Validations": validation_table(job),
            "Beside the bundled model": beside,
        }
        figures = {"Losses": _curves(job), "Beside the bundled model": _beside_bars(beside)}
        if weights is not None:
            tables["Weights of the last word"] = last_row_table(job, kept)
        return tables, figures

    text = " ".join(prompt.typed[prompt.positions[0] == 0 :])
    name = file_stem("training", own.name)
    take_away(name, f"The training of {own.name}", text, [own.key], collect, picture=alone)


def show_what_to_expect(model: str) -> None:
    """Show what the training of the bundled model of this kind looked like, before there is one to follow."""
    comparison, variant = comparison_of(), Variant.parse(model)
    runs = comparison["runs"].get(variant.group, [])
    histories = {f"seed {run['seed']}": run["history"] for run in runs if run.get("history")}
    if not histories:
        return
    st.subheader("What will it look like?")
    protocol = comparison["protocol"]
    explain(
        f"Grey: how the validation loss of the bundled {variant.title} fell, with {protocol['steps']:,} updates of "
        f"{protocol['batch_size']} targets on 6,000 stories. Your own curve takes its place once you press Train."
    )
    alt = f"Validation loss of the bundled {variant.title} by update, one line a seed"
    st.plotly_chart(past_curves(histories), key="expected", config=MENU, alt=alt)


def _say_what_followed(job: Job) -> None:
    """Where the validation loss rose after the step that is kept, say so, and what that means."""
    kept, last = job.result["selected_step"], job.history[-1]
    if last.validation_loss < job.result["validation_loss"] + NOTICEABLE:
        return
    # One batch is chance: ten updates up to the step kept, or as many as there were, against the last ten.
    then, now = np.mean(job.losses[max(0, kept - 10) : kept]), np.mean(job.losses[-10:])
    rose = f"By update {last.step:,} the validation loss rose to {written(last.validation_loss)}"
    if now < then:
        st.info(
            f"{rose}, while the training loss, a mean of ten updates, fell from "
            f"{written(then)} to {written(now)}. That is *overfitting*: the model learns its own stories by heart, "
            f"and predicts others worse."
        )
    else:
        st.info(f"{rose}, and the training loss did not fall. A smaller learning rate may help.")


def _beside_table(job: Job, own: OwnModel) -> pd.DataFrame:
    corpus = job.order.corpus
    rows = [(own.name, job.result["selected_step"], own.key)]
    if corpus.vocab.sha256 == vocabulary().sha256:
        same = Bundled.nearest(own.key.variant.choice, SEEDS[0])
        with reading(path := same.path):
            kept = read_metadata(path)["selected_step"]
        rows.append((f"bundled: {same.name}", kept, same))
    table = pd.DataFrame(
        [(name, step, _validation_loss(chosen, corpus.digest, corpus)) for name, step, chosen in rows],
        columns=["model", "best after updates", "validation loss"],
    )
    table.loc[len(table)] = ["the same chance for every word", 0, math.log(len(corpus.vocab))]
    table["perplexity"] = table["validation loss"].map(perplexity)
    return table


@st.cache_data(max_entries=64, show_spinner="Scoring on the same targets …")
def _validation_loss(chosen: Checkpoint, digest: str, _corpus: Corpus) -> float:
    # The digest stands for the corpus in the key. In float32, also for a model that was trained in bf16.
    loss = evaluate(model_of(chosen), *validation_sample(make_all_windows(_corpus)))
    give_back_memory()
    return loss


def open_links(own: OwnModel, place: str) -> None:
    """Draw the buttons that show an own model on another page, and its file; `place` tells two rows of them apart."""

    def choose() -> None:
        address.choose("model", own.name)
        address.choose("b", own.key.variant.choice)
        address.choose("engine", "PyTorch")
        address.choose("writers", [own.name])

    for title, page in (("Explore", "explore"), ("Compare", "compare"), ("Generate", "generate")):
        if st.button(f"Open in {title}", key=f"{place}_{own.name}_{page}", on_click=choose):
            st.switch_page(f"pages/{page}.py")
    st.download_button("Download .npz", own.npz, f"{own.name.replace(' ', '_')}.npz", key=f"{place}_{own.name}_npz")


def your_models() -> None:
    """Draw the visitor's models, and let one be brought along as a file."""

    def open_file() -> None:
        file = st.session_state["checkpoint_file"]
        if file is None:
            st.session_state.pop(_FILE_SAID, None)
            return
        before = set(own_models())
        try:
            name = keep_file(file)
        except ValueError as error:
            st.session_state[_FILE_SAID] = (False, f"The file cannot be opened: {error}.")
        else:
            known = "; you had this model already" if name in before else ""
            st.session_state[_FILE_SAID] = (True, f"The file is open as {name}{known}.")

    st.caption(
        f"They join the bundled ones in the model control of the other pages: at most {MOST}, then the oldest goes. "
        "They live in this session only; download what you want to keep."
    )
    for own in list(own_models().values()):
        with st.container(horizontal=True, vertical_alignment="center", key=f"own_{own.name.replace(' ', '_')}"):
            st.markdown(f"**{own.name}**: {describe(own)}")
            open_links(own, "list")
            st.button("Remove", key=f"remove_{own.name}", on_click=forget, args=[own.name])
    st.file_uploader(
        "Open a checkpoint (.npz) that was made here or by run_head_comparison",
        type="npz",
        max_upload_size=20,
        key="checkpoint_file",
        on_change=open_file,
    )
    if st.session_state.get("checkpoint_file") is not None and _FILE_SAID in st.session_state:
        opened, said = st.session_state[_FILE_SAID]
        (st.success if opened else st.error)(for_markdown(said))


def describe(own: OwnModel) -> str:
    """Return what an own model is, in Markdown."""
    loss, step = own.metadata.get("validation_loss"), own.metadata.get("selected_step")
    parts = [own.key.variant.title, f"seed {own.key.seed}"]
    if isinstance(step, int):
        parts.append(counted(step, "update"))
    if isinstance(loss, float):
        parts.append(f"validation loss {written(loss)}")
    if own.vocab.sha256 != vocabulary().sha256:
        parts.append(f"its own vocabulary of {len(own.vocab):,} words")
    return ", ".join(parts)
