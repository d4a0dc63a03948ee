from wordlm.ui.shell import inside_app

inside_app()

import streamlit as st

from wordlm.results import beside, run_table, summary_table
from wordlm.ui import address, blocks, charts
from wordlm.ui import benchmark as view
from wordlm.ui.glossary import explain
from wordlm.ui.resources import comparison_of, course_results

ours = comparison_of()

st.subheader("Does splitting the same width into more heads help?")
explain(
    "The same stories, steps and number of parameters for every number of heads; three random starts (seeds) each. "
    "The best validation step of a run is scored once on all test targets. "
    "Mean ± sample standard deviation over the seeds."
)
with st.expander("Add a comparison of your own"):
    own = view.uploaded_comparison()
shown = ours
if own is not None:
    chosen = address.segments("source", "Show")
    shown = {"ours": ours, "yours": own, "both": beside(ours, own)}[chosen]

summary = summary_table(shown)
if summary["seeds"].str.contains("of").any():
    st.warning("Some runs are missing: the column seeds says how many of three each line rests on.")
blocks.text_table(summary, alt="Test loss, perplexity and seconds of each model over its seeds")
explain(view.about_seconds(shown))

st.subheader("How far apart are the seeds?")
runs = run_table(shown)
view.say_seeds(runs)
blocks.picture_and_table(
    view.seed_points(runs, shown.get("baselines", {})),
    runs.drop(columns="yours"),
    "runs",
    alt="Test loss of every run",
    decimals=4,
)

st.subheader("How many heads?")
explain("Test loss against the number of heads, at the same number of parameters; with H heads each is 64 / H wide.")
st.plotly_chart(view.head_curve(runs), key="head_curve", config=charts.MENU, alt="Test loss against number of heads")
against = view.say_best_head_count(runs)
if against is not None:
    blocks.number_table(against, alt="Test loss of each head count minus that of the best, by seed", decimals=4)

st.subheader("Four heads against one, on the same seed")
pairs = view.say_paired(shown)
if pairs is not None:
    blocks.number_table(pairs, alt="Test losses of four heads and one head by seed", decimals=4)

st.subheader("How did the validation loss fall?")
explain("Each line is one run; the star marks the step that was kept.")
st.plotly_chart(
    view.validation_curves(shown), key="curves", config=charts.MENU, alt="Validation loss of every run by step"
)
blocks.number_table(view.history_table(shown), alt="Validation loss of every run by step", decimals=4)

st.subheader("What must a model beat?")
explain(
    "On the same test targets: the same chance for each of the 4,000 words (uniform), counts of words (unigram), of "
    "pairs (bigram) and of triples (trigram), with interpolated Kneser-Ney smoothing. All from the training stories."
)
baselines = view.baseline_table(shown)
view.say_baselines(baselines)
blocks.picture_and_table(
    charts.horizontal_bars(baselines["model"].tolist(), baselines["test loss"].to_numpy(), "test loss, nats per token"),
    baselines,
    "baselines",
    alt="Test loss of counting words beside that of the models",
    decimals=4,
)

st.subheader("How does this compare with the course's published run?")
course = course_results()
explain(
    "The course trained the same models on another 6,000 stories, with another tokenizer and on another device. So "
    "levels of loss may not be compared, nor seconds; the differences between models within a run may."
)
published, here = st.columns(2)
with published:
    explain("The course's published run.")
    blocks.text_table(view.course_table(course), alt="The course's published results")
with here:
    explain("The runs shown above.")
    blocks.text_table(view.our_table(shown), alt="The same models here")
blocks.number_table(view.gap_table(course, shown), alt="Differences of test losses within each run", decimals=4)

st.subheader("Under what conditions?")
environment, protocol = st.columns(2)
with environment:
    blocks.text_table(view.facts_table(shown["environment"]), alt="The machine and the versions")
with protocol:
    blocks.text_table(view.facts_table(shown["protocol"]), alt="The settings of every run")
