"""A training as it goes: started, stopped, waited for, followed, found again."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from wordlm.jobs import Ending, Job, LineIsFull, NoTemporaryFolder, Order, State
from wordlm.numbers import counted, duration, written
from wordlm.ui import limits
from wordlm.ui.drawing.escape import as_sentence, for_markdown
from wordlm.ui.frame import address
from wordlm.ui.state.own_models import be_done_with, job_of_visitor, take_up
from wordlm.ui.state.run_marker import mark_run
from wordlm.ui.views.train.heads import draw_heads
from wordlm.ui.views.train.losses import draw_losses
from wordlm.ui.views.train.trainer import trainer, visitor

_RUN_GONE = "run_gone"


def find_run_again() -> None:
    """Take up this tab's training after a reload; where it is gone, say so, and why."""

    def found(token: str) -> None:
        job = trainer().look_after(token, _session())
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


def _session() -> str:
    """Return the id of this session."""
    context = get_script_run_ctx()
    return "" if context is None else context.session_id


def start_and_stop(order: Order | None, job: Job | None) -> None:
    """Draw the two buttons. Pressing Train twice starts one run: the trainer returns the active one."""
    busy = job is not None and job.is_active
    with st.container(horizontal=True):
        started = st.button("Train", type="primary", disabled=order is None or busy, key="train")
        stopped = st.button("Stop", disabled=not busy, key="stop_training")
    if stopped and job is not None and job.is_active:
        trainer().stop(job)
        job.ended.wait(1.0)  # so that the outcome is there at once
        st.rerun()
    if started and order is not None:
        try:
            take_up(trainer().submit(order, _session(), visitor()))
        except LineIsFull as error:
            st.warning(as_sentence((limits.LINE_EACH if error.yours else limits.LINE)()))
        except NoTemporaryFolder as error:
            st.error(as_sentence(str(error)))
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
            draw_losses(job, live)

    def look_at_heads() -> None:
        if job.weights:
            draw_heads(job, live)

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
        case State.FINISHED if job.result is not None:
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
