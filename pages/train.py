from wordlm.ui.frame.shell import inside_app

inside_app()

import streamlit as st

from wordlm.ui.frame import controls
from wordlm.ui.frame.glossary import explain
from wordlm.ui.views import train as view

choice = controls.shared_choice()

st.subheader("How does a model learn to attend?")
explain(
    "It begins with random numbers and changes them a little with each batch of stories, so that it expects their "
    "words better. Press Train and watch its loss fall and its heads form."
)
view.find_run_again()
view.say_device()
corpus = view.choose_stories()
model, config = view.choose_settings()

job = view.job_of_visitor()
order = None if corpus is None else view.order_of(model, config, corpus, choice.text)
if order is not None and not (job and job.is_active):
    view.say_duration(order)
view.start_and_stop(order, job)

if job is None or not job.is_active:
    view.say_who_trains(None)
if job is None:
    view.show_what_to_expect(model)
else:
    view.follow(job)
    if not job.is_active:
        view.outcome(job)

st.subheader("Which models are yours?")
view.your_models()
if job is not None and not job.is_active:
    view.take_along(job)
