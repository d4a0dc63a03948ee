from wordlm.ui.frame.shell import inside_app

inside_app()

import streamlit as st

from wordlm.ui.frame import controls
from wordlm.ui.frame.glossary import explain
from wordlm.ui.state.own_models import job_of_visitor
from wordlm.ui.views.train import losses, models, outcome, run, settings, stories

choice = controls.shared_choice()

st.subheader("How does a model learn to attend?")
explain(
    "It begins with random numbers and changes them a little with each batch of stories, so that it expects their "
    "words better. Press Train and watch its loss fall and its heads form."
)
run.find_run_again()
settings.say_device()
corpus = stories.choose_stories()
model, config = settings.choose_settings()

job = job_of_visitor()
order = None if corpus is None else settings.order_of(model, config, corpus, choice.text)
if order is not None and not (job and job.is_active):
    settings.say_duration(order)
run.start_and_stop(order, job)

if job is None or not job.is_active:
    run.say_who_trains(None)
if job is None:
    losses.show_what_to_expect(model)
else:
    run.follow(job)
    if not job.is_active:
        outcome.outcome(job)

st.subheader("Which models are yours?")
models.your_models()
if job is not None and not job.is_active:
    outcome.take_along(job)
