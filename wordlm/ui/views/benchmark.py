"""What the Benchmark page draws from a `comparison.json`."""

import json
import math

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from wordlm.course import cache_bytes_of
from wordlm.files import text_of
from wordlm.numbers import counted, listed, signed, written
from wordlm.results import (
    YOURS,
    against_best,
    baseline_table,
    check_comparison,
    course_table,
    facts_table,
    gap_table,
    group_title,
    history_table,
    in_order,
    mean_interval,
    of_head_counts,
    our_table,
    paired_differences,
    run_table,
    sharing_table,
    summary_table,
    what_sharing_costs,
)
from wordlm.ui.drawing.charts import ACCENT, LEGEND_ABOVE, SECOND, head_hue, horizontal_bars, paired_rows
from wordlm.ui.drawing.escape import as_sentence, for_markdown, for_plotly
from wordlm.ui.drawing.figure import PlainFigure
from wordlm.ui.drawing.tables import number_table, text_table
from wordlm.ui.frame.export import Collected
from wordlm.ui.frame.glossary import explain, say
from wordlm.ui.frame.numbers_behind import in_numbers
from wordlm.ui.frame.uploads import kept_upload
from wordlm.ui.limits import COMPARISON_MB
from wordlm.variants import Variant

_OWN = "own"
SEED_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "star")


def uploaded_comparison() -> dict | None:
    """Let the visitor add a `comparison.json` of their own; return it if it is well formed."""
    upload = kept_upload("Your own comparison.json, from run_head_comparison", ["json"], _OWN, COMPARISON_MB)
    if upload is None:
        return None
    name, content = upload
    if st.session_state[_OWN] is None:
        st.caption(f"{for_markdown(name)} is still here. Another file takes its place.")
    try:
        return check_comparison(json.loads(text_of(content)))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        st.error(f"The file is no JSON text: {type(error).__name__}. Choose the comparison.json in your output folder.")
    except ValueError as error:
        st.error(as_sentence(f"The file is no comparison: {error}"))
    return None


def draw_runs(runs: pd.DataFrame) -> None:
    """Draw every run as a line of a table."""
    number_table(runs.drop(columns="yours"), alt="Test loss of every run", decimals=4)


def baseline_bars(baselines: pd.DataFrame) -> PlainFigure:
    """Draw the test loss of counting and of the models, worst first."""
    names, losses = baselines["model"].tolist(), baselines["test loss"].to_numpy()
    return horizontal_bars(names, losses, "test loss, nats per token")


def gap_bars(gaps: pd.DataFrame) -> PlainFigure:
    """Draw the differences between models within the course's run and within the runs shown."""
    series = {"the course's published run": gaps["course"].to_numpy(), "the runs shown above": gaps["here"].to_numpy()}
    names = gaps["difference of test losses"].tolist()
    return paired_rows(names, series, "difference of test losses, nats per token")


def draw_course(course: dict, shown: dict, gaps: pd.DataFrame) -> None:
    """Draw the course's results and ours as tables, and the differences."""
    published, here = st.columns(2)
    with published:
        explain("The course's published run.")
        text_table(course_table(course), alt="The course's published results")
    with here:
        explain("The runs shown above.")
        text_table(our_table(shown), alt="The same models here")
    number_table(gaps, alt="Differences of test losses within each run", decimals=4)


def draw_conditions(shown: dict) -> None:
    """Draw the machine, the versions and the settings as tables."""
    environment, protocol = st.columns(2)
    with environment:
        text_table(facts_table(shown["environment"]), alt="The machine and the versions")
    with protocol:
        text_table(facts_table(shown["protocol"]), alt="The settings of every run")


def collect(
    course: dict,
    shown: dict,
    against: pd.DataFrame | None,
    pairs: pd.DataFrame | None,
    sharing: pd.DataFrame | None,
) -> Collected:
    """Return all tables and pictures of the page."""
    runs, baselines, gaps = run_table(shown), baseline_table(shown), gap_table(course, shown)
    tables = {
        "Summary": summary_table(shown),
        "Runs": runs,
        "Head counts against the best": against,
        "Four heads against one": pairs,
        "Shared keys and values": sharing,
        "Validation losses": history_table(shown),
        "Baselines": baselines,
        "The course's run": course_table(course),
        "The same models here": our_table(shown),
        "Differences within each run": gaps,
        "Environment": facts_table(shown["environment"]),
        "Protocol": facts_table(shown["protocol"]),
    }
    figures = {
        "Test loss against the number of heads": head_curve(runs),
        "Test loss of every run": seed_points(runs, shown.get("baselines", {})),
        **({} if sharing is None else {"Test loss against bytes of cache": sharing_points(runs)}),
        "Validation losses": validation_curves(shown),
        "Baselines": baseline_bars(baselines),
        "Differences within each run": gap_bars(gaps),
    }
    return {title: table for title, table in tables.items() if table is not None}, figures


def seed_points(runs: pd.DataFrame, baselines: dict) -> go.Figure:
    """Draw the test loss of every run as a point, and the baselines as lines."""
    traces = []
    for place, (seed, part) in enumerate(runs.groupby("seed")):
        traces.append(
            go.Scatter(
                x=[for_plotly(model) for model in part["model"]],
                y=part["test loss"],
                mode="markers",
                name=f"seed {seed}",
                marker={"symbol": SEED_SYMBOLS[place % len(SEED_SYMBOLS)], "size": 10, "color": head_hue(place)},
                hovertemplate="%{x}, seed " + str(seed) + ": %{y:.5~g}<extra></extra>",
            )
        )
    figure = go.Figure(traces)
    for name, baseline in baselines.items():
        if name in ("bigram", "trigram"):  # the others lie far above and stand in the table
            figure.add_hline(
                baseline["test_loss"], line_dash="dot", line_color="#888888", annotation_text=for_plotly(name)
            )
    figure.update_layout(height=380, margin={"l": 8, "r": 8, "t": 28, "b": 8}, scattermode="group")
    figure.update_layout(legend=LEGEND_ABOVE)
    figure.update_xaxes(type="category", fixedrange=True)
    seen = [*runs["test loss"], *(b["test_loss"] for name, b in baselines.items() if name in ("bigram", "trigram"))]
    figure.update_yaxes(title="test loss, nats per token", fixedrange=True, range=[min(seen) - 0.05, max(seen) + 0.05])
    return figure


def validation_curves(comparison: dict) -> go.Figure:
    """Draw the validation loss of every run against its steps, with the chosen step marked."""
    traces = []
    for place, (group, runs) in enumerate(in_order(comparison["runs"])):
        title = for_plotly(group_title(group, runs))
        for number, run in enumerate(runs):
            history = run.get("history", [])
            steps, losses = ([entry[key] for entry in history] for key in ("step", "validation_loss"))
            chosen = [entry["step"] == run["selected_step"] for entry in history]
            traces.append(
                go.Scatter(
                    x=steps,
                    y=losses,
                    mode="lines+markers",
                    name=title,
                    legendgroup=group,
                    showlegend=number == 0,
                    line={"color": head_hue(place), "width": 1.5},
                    marker={
                        "size": [12 if c else 4 for c in chosen],
                        "symbol": ["star" if c else "circle" for c in chosen],
                    },
                    hovertemplate=f"{title}, seed {run['seed']}: step %{{x}}, %{{y:.5~g}}<extra></extra>",
                )
            )
    figure = go.Figure(traces)
    figure.update_layout(height=380, margin={"l": 8, "r": 8, "t": 28, "b": 8}, legend=LEGEND_ABOVE)
    figure.update_xaxes(title="updates", fixedrange=True)
    figure.update_yaxes(title="validation loss, nats per token", fixedrange=True)
    return figure


def head_curve(runs: pd.DataFrame) -> go.Figure:
    """Draw test loss against the number of heads, every seed a point and the mean a line."""
    with_heads = of_head_counts(runs)
    traces = []
    for yours, part in with_heads.groupby("yours"):
        mark, hue = (YOURS, SECOND) if yours else ("", ACCENT)
        means = part.groupby("heads")["test loss"].mean()
        traces += [
            go.Scatter(x=means.index.tolist(), y=means, mode="lines", name=f"mean{mark}", line={"color": hue}),
            go.Scatter(
                x=part["heads"].tolist(),
                y=part["test loss"],
                mode="markers",
                name=f"one seed{mark}",
                marker={"color": hue, "size": 8},
                customdata=part["seed"],
                hovertemplate="heads: %{x}, seed %{customdata}: %{y:.5~g}<extra></extra>",
            ),
        ]
    figure = go.Figure(traces)
    figure.update_layout(height=380, margin={"l": 8, "r": 8, "t": 28, "b": 8})
    figure.update_layout(legend=LEGEND_ABOVE)
    counts = sorted(with_heads["heads"].astype(int).unique().tolist())
    figure.update_xaxes(title="heads (logarithmic)", type="log", tickvals=counts, ticktext=[str(c) for c in counts])
    figure.update_yaxes(title="test loss, nats per token", fixedrange=True)
    return figure


def say_paired(comparison: dict) -> pd.DataFrame | None:
    """Say what the same seeds say about four heads against one; return the differences."""
    pairs = paired_differences(comparison, "multihead", "attention")
    if len(pairs) < 2:
        st.info("A paired comparison needs one head and four heads at two seeds or more; these runs are missing.")
        return None
    mean, low, high = mean_interval(pairs["difference"].tolist())
    better = int((pairs["difference"] < 0).sum())
    say(
        f"{'Yes' if high < 0 else 'No' if low > 0 else 'Undecided'}. Four heads minus one head, seed by seed: "
        f"{signed(mean)} nats per token on average, 95\u00a0% interval "
        f"{signed(low)} to "
        f"{signed(high)}; four heads have the lower loss at {better} of {len(pairs)} seeds. That is a perplexity "
        f"{written(math.exp(mean), 3)} times as large."
    )
    in_numbers("pairs", lambda: number_table(pairs, alt="Test losses of four heads and one head by seed", decimals=4))
    st.caption(
        f"The interval is Student's for {len(pairs)} differences. It rests on differences that are independent from "
        "seed to seed and roughly normally distributed, which so few cannot check. They show whether the gap is larger "
        "than what the random start does on this data and this budget, not whether it holds for others."
    )
    return pairs


def say_best_head_count(runs: pd.DataFrame) -> pd.DataFrame | None:
    """Say which head count has the lowest mean test loss and what the seeds decide; return the paired differences."""
    ours = of_head_counts(runs[~runs["yours"]])
    means = ours.groupby("heads")["test loss"].mean()
    if len(means) < 2:
        return None
    best, worst = int(means.idxmin()), int(means.idxmax())
    say(
        f"The lowest mean test loss is {written(means.min())}, with {in_heads([best])}; the highest "
        f"{written(means.max())}, with "
        f"{in_heads([worst])}."
    )
    pairs = against_best(ours)
    if pairs.empty:
        explain("How sure that is cannot be said: no two head counts share two seeds.")
        return None
    say(what_is_decided(pairs))
    explain(
        f"Each interval is Student's for one pair, seed by seed. The best was picked from the same runs and is held "
        f"against {len(pairs)} others, so all of them together promise less than 95 %."
    )
    alt = "Test loss of each head count minus that of the best, by seed"
    in_numbers("best", lambda: number_table(pairs, alt=alt, decimals=4))
    return pairs


def sharing_points(runs: pd.DataFrame) -> go.Figure:
    """Draw test loss against the bytes that a cache keeps of a word, every seed a point and the mean a line.

    Of the numbers of heads of which some runs share keys and values.
    """
    counts = runs.loc[(runs["kv heads"] < runs["heads"]).fillna(False), "heads"].unique()
    drawn = runs[runs["heads"].isin(counts)]
    held = [cache_bytes_of(Variant.with_heads(*both)) for both in zip(drawn["heads"], drawn["kv heads"], strict=True)]
    drawn = drawn.assign(held=held)
    traces = []
    for place, ((yours, heads), part) in enumerate(drawn.groupby(["yours", "heads"])):
        name, means = f"{counted(heads, 'head')}{YOURS if yours else ''}", part.groupby("held")["test loss"].mean()
        traces += [
            go.Scatter(
                x=means.index.tolist(),
                y=means,
                mode="lines",
                name=f"mean, {name}",
                line={"color": head_hue(place)},
                hoverinfo="skip",
            ),
            go.Scatter(
                x=part["held"].tolist(),
                y=part["test loss"],
                mode="markers",
                name=f"one seed, {name}",
                marker={"color": head_hue(place), "symbol": SEED_SYMBOLS[place % len(SEED_SYMBOLS)], "size": 8},
                customdata=part[["seed", "kv heads"]].to_numpy(),
                hovertemplate=f"{name}, %{{customdata[1]}} kv, seed %{{customdata[0]}}: %{{y:.5~g}}<extra></extra>",
            ),
        ]
    figure = go.Figure(traces)
    figure.update_layout(height=380, margin={"l": 8, "r": 8, "t": 28, "b": 8}, legend=LEGEND_ABOVE)
    ticks = sorted(drawn["held"].unique().tolist())
    figure.update_xaxes(
        title="cache, bytes a word (logarithmic)", type="log", tickvals=ticks, ticktext=[str(tick) for tick in ticks]
    )
    figure.update_yaxes(title="test loss, nats per token", fixedrange=True)
    return figure


def say_sharing(comparison: dict) -> pd.DataFrame | None:
    """Say what sharing keys and values costs; return the paired differences."""
    table = sharing_table(comparison)
    if table.empty:
        return None
    say(what_sharing_costs(table))
    few = table[table["seeds"] < 3]
    if not few.empty:
        explain(f"Fewer than three seeds were trained of {'; '.join(few['model'])}.")
    explain(
        "The interval is Student's, as above. A cache keeps a key and a value of each word for each set. Fewer sets "
        "are fewer parameters too, so the difference is that of both."
    )
    alt = "Test loss with shared keys and values minus that with a set for each head"
    in_numbers("sharing", lambda: number_table(table, alt=alt, decimals=4))
    return table


def what_is_decided(pairs: pd.DataFrame) -> str:
    """Say which head counts the paired intervals tell from the best, and which not. `pairs` is of `against_best`."""
    best = in_heads([int(pairs["best"].iloc[0])])
    parts = {
        f"Paired by seed, the loss with {best} is lower than with": pairs["from"] > 0,
        f"Paired by seed, the loss with {best} is higher than with": pairs["to"] < 0,  # where a best seed has no pair
    }
    said = [
        f"{start} {in_heads(pairs.loc[which, 'heads'].tolist())}: the 95\u00a0% interval of the difference leaves out "
        "0."
        for start, which in parts.items()
        if which.any()
    ]
    if not pairs["decided"].all():
        said.append(
            f"Against {in_heads(pairs.loc[~pairs['decided'], 'heads'].tolist())} it is undecided: there the interval "
            "holds 0, so the order of the means may be luck."
        )
    return " ".join(said)


def in_heads(counts: list[int]) -> str:
    """Return "1 head", "16 heads" or "2, 4 and 8 heads"."""
    return f"{listed(map(str, counts))} head{'' if counts[-1] == 1 else 's'}"


def about_seconds(comparison: dict) -> str:
    """Say on what the runtimes were measured, in Markdown."""
    facts = [str(comparison["environment"].get("accelerator", "an unnamed device"))]
    if "threads" in comparison["environment"]:
        facts.append(f"{comparison['environment']['threads']} threads")
    return (
        f"Seconds: training with its validations, on {for_markdown(', '.join(facts))}. Other work on the machine is "
        "part of them: between runs of different hours, differences mean nothing."
    )


def say_seeds(runs: pd.DataFrame) -> None:
    """Say how far seeds and models lie apart."""
    of_models = runs[~runs["yours"]].groupby("model")["test loss"]
    if of_models.count().max() > 1:
        widest = (of_models.max() - of_models.min()).max()
        say(
            f"The seeds of one model lie at most {written(widest)} apart; the means of the models from "
            f"{written(of_models.mean().min())} to {written(of_models.mean().max())}."
        )


def say_baselines(table: pd.DataFrame) -> None:
    """Say which models lose against counting pairs of words."""
    losses = table.set_index("model")["test loss"]
    if "bigram" not in losses or "trigram" not in losses:
        return
    models = losses.drop([name for name in ("uniform", "unigram", "bigram", "trigram") if name in losses])
    beaten, best = models[models >= losses["bigram"]], losses["trigram"]
    lose = ", ".join(f"{name} at {written(loss)}" for name, loss in beaten.items()) or "no model"
    say(
        for_markdown(
            f"Counting pairs of words gives {written(losses['bigram'])}; above that lies {lose}. Counting triples "
            f"gives {written(best)}; below that lie {int((models < best).sum())} of {len(models)} models."
        )
    )
