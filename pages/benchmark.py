from wordlm.ui.frame.shell import inside_app

inside_app()

import streamlit as st

from wordlm.results import baseline_table, beside, gap_table, history_table, run_table, summary_table
from wordlm.ui.drawing import charts, tables
from wordlm.ui.frame import address, export, numbers_behind, widgets
from wordlm.ui.frame.glossary import explain
from wordlm.ui.state.resources import comparison_of, course_results
from wordlm.ui.views import benchmark as view

ours, course = comparison_of(), course_results()

st.subheader("Does splitting the same width into more heads help?")
explain(
    "Every number of heads has the same stories and steps, and three random starts (seeds). Parameters are as many for "
    "each number of heads, and fewer only where heads share keys and values. "
    "The MLP has no attention: it is a network that reads the words through one hidden layer."
)
with st.expander("Add a comparison of your own"):
    own = view.uploaded_comparison()
shown = ours
if own is None:
    address.settle("source", ["ours", "both"])  # nothing is there yet to be shown alone
else:
    chosen = widgets.segments("source", "Show")
    shown = {"ours": ours, "yours": own, "both": beside(ours, own)}[chosen]
runs, summary = run_table(shown), summary_table(shown)

st.subheader("Do four heads beat one, on the same seed?")
pairs = view.say_paired(shown)

st.subheader("How good is each model?")
explain("Mean ± sample standard deviation over the seeds, all test targets.")
if summary["seeds"].str.contains("of").any():
    st.warning("Some runs are missing: the column seeds says how many of three each line rests on.")
tables.text_table(summary, alt="Test loss, perplexity and seconds of each model over its seeds")
explain(view.about_seconds(shown))

left, right = st.columns(2)
with left:
    st.subheader("How many heads?")
    explain("With H heads each is 64 / H wide; these models have the same number of parameters.")
    alt = "Test loss against number of heads"
    st.plotly_chart(view.head_curve(runs), key="head_curve", config=charts.MENU, alt=alt)
    against = view.say_best_head_count(runs)
with right:
    st.subheader("How far apart are the seeds?")
    explain("Each mark is one run; dotted, what counting pairs and triples of words gives.")
    alt = "Test loss of every run"
    st.plotly_chart(view.seed_points(runs, shown.get("baselines", {})), key="runs", config=charts.MENU, alt=alt)
    view.say_seeds(runs)
    numbers_behind.in_numbers("runs", lambda: view.draw_runs(runs))

st.subheader("What does sharing keys and values cost?")
explain(
    "Heads may share keys and values, in groups or all one set (grouped-query and multi-query attention). Then a "
    "key-value cache keeps less of each word. Every mark is one run."
)
sharing = view.say_sharing(shown)
if sharing is None:
    st.info("No run shown here shares keys and values.")
else:
    alt = "Test loss against the bytes that a cache keeps of a word"
    st.plotly_chart(view.sharing_points(runs), key="sharing", config=charts.MENU, alt=alt)

left, right = st.columns(2)
with left:
    st.subheader("How did the validation loss fall?")
    explain("Each line is one run; the star marks the step that was kept.")
    alt = "Validation loss of every run by step"
    st.plotly_chart(view.validation_curves(shown), key="curves", config=charts.MENU, alt=alt)
    numbers_behind.in_numbers("history", lambda: tables.number_table(history_table(shown), alt=alt, decimals=4))
with right:
    st.subheader("What must a model beat?")
    explain(
        "Counting, on the same test targets: the same chance for each of 4,000 words (uniform), counts of words "
        "(unigram), pairs (bigram) and triples (trigram). All from the training stories, with interpolated Kneser-Ney "
        "smoothing."
    )
    baselines = baseline_table(shown)
    numbers_behind.picture_over_numbers(
        view.baseline_bars(baselines),
        baselines,
        "baselines",
        alt="Test loss of counting words beside that of the models",
        decimals=4,
    )
    view.say_baselines(baselines)

st.subheader("How does this compare with the course's published run?")
explain(
    "The course trained the same models on another 6,000 stories, with another tokenizer and on another device. So "
    "levels of loss may not be compared, nor seconds; the differences between models within a run may."
)
gaps = gap_table(course, shown)
alt = "Differences of test losses within each run"
st.plotly_chart(view.gap_bars(gaps), key="gaps", config=charts.MENU, alt=alt)
numbers_behind.in_numbers("course", lambda: view.draw_course(course, shown, gaps))

st.subheader("Under what conditions?")
explain("The machine, the versions and the settings of every run.")
numbers_behind.in_numbers("conditions", lambda: view.draw_conditions(shown))

export.take_away("benchmark", "Benchmark", "", [], lambda: view.collect(course, shown, against, pairs, sharing))
