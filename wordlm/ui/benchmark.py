"""What the Benchmark page draws from a `comparison.json`."""

import json
import math

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from wordlm.files import text_of
from wordlm.numbers import signed, written
from wordlm.results import (
    YOURS,
    against_best,
    check_comparison,
    group_title,
    in_order,
    listed,
    mean_interval,
    metric_cells,
    paired_differences,
)
from wordlm.ui.blocks import kept_upload
from wordlm.ui.charts import ACCENT, LEGEND_ABOVE, SECOND, head_hue
from wordlm.ui.escape import as_sentence, for_markdown, for_plotly
from wordlm.ui.glossary import explain, say

_OWN = "own"
SEED_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "star")


def uploaded_comparison() -> dict | None:
    """Let the visitor add a `comparison.json` of their own; return it if it is well formed."""
    upload = kept_upload("Your own comparison.json, from run_head_comparison", ["json"], _OWN)
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
    figure.update_layout(height=420, margin={"l": 8, "r": 8, "t": 8, "b": 8})
    figure.update_xaxes(title="updates", fixedrange=True)
    figure.update_yaxes(title="validation loss, nats per token", fixedrange=True)
    return figure


def head_curve(runs: pd.DataFrame) -> go.Figure:
    """Draw test loss against the number of heads, every seed a point and the mean a line."""
    with_heads = runs[runs["heads"].notna()]
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
                hovertemplate="%{x} heads, seed %{customdata}: %{y:.5~g}<extra></extra>",
            ),
        ]
    figure = go.Figure(traces)
    figure.update_layout(height=360, margin={"l": 8, "r": 8, "t": 28, "b": 8})
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
        f"Four heads minus one head, seed by seed: {signed(mean)} nats per token on average, 95 % interval "
        f"{signed(low)} to "
        f"{signed(high)}; four heads have the lower loss at {better} of {len(pairs)} seeds. That is a perplexity "
        f"{written(math.exp(mean), 3)} times as large."
    )
    st.caption(
        f"The interval is Student's for {len(pairs)} differences. It rests on differences that are independent from "
        "seed to seed and roughly normally distributed, which so few cannot check. They show whether the gap is larger "
        "than what the random start does on this data and this budget, not whether it holds for others."
    )
    return pairs


def three_models(aggregate: dict, steps: dict[str, list[int]]) -> pd.DataFrame:
    """Return the MLP, one head and four heads of one run: mean ± sample deviation, and the selected steps."""
    rows = []
    for group, title in (("mlp", "MLP"), ("attention", "1 head"), ("multihead", "4 heads")):
        if group in aggregate:
            rows.append({"model": title} | metric_cells(aggregate[group]) | {"selected steps": listed(steps[group])})
    return pd.DataFrame(rows)


def course_table(course: dict) -> pd.DataFrame:
    """Return the course's published results."""
    return three_models(course["aggregate"], {g: entry["selected_steps"] for g, entry in course["aggregate"].items()})


def our_table(comparison: dict) -> pd.DataFrame:
    """Return the same models of a comparison."""
    steps = {group: [run["selected_step"] for run in runs] for group, runs in comparison["runs"].items()}
    return three_models(comparison["aggregate"], steps)


def gap_table(course: dict, ours: dict) -> pd.DataFrame:
    """Return the differences between models within each run, which may be compared where levels may not."""
    rows = []
    for first, second, name in (("attention", "mlp", "1 head − MLP"), ("multihead", "attention", "4 heads − 1 head")):
        row = {"difference of test losses": name}
        for source, aggregate in (("course", course["aggregate"]), ("here", ours["aggregate"])):
            if first in aggregate and second in aggregate:
                row[source] = aggregate[first]["test_loss"]["mean"] - aggregate[second]["test_loss"]["mean"]
        rows.append(row)
    return pd.DataFrame(rows)


def baseline_table(comparison: dict) -> pd.DataFrame:
    """Return the baselines beside the models' means: `model`, `test loss`, `test perplexity`, worst first."""
    rows = [(name, b["test_loss"], b["test_perplexity"]) for name, b in comparison.get("baselines", {}).items()]
    for group, runs in comparison["runs"].items():
        mean = comparison["aggregate"][group]
        rows.append((group_title(group, runs), mean["test_loss"]["mean"], mean["test_perplexity"]["mean"]))
    table = pd.DataFrame(rows, columns=["model", "test loss", "test perplexity"])
    return table.sort_values("test loss", ascending=False, ignore_index=True)


def facts_table(facts: dict) -> pd.DataFrame:
    """Return an object of the JSON as rows of `field` and `value`."""
    return pd.DataFrame([(name, str(value)) for name, value in facts.items()], columns=["field", "value"])


def history_table(comparison: dict) -> pd.DataFrame:
    """Return the validation losses: one row per run and validated step, and whether the step was kept."""
    return pd.DataFrame(
        [
            (group_title(group, runs), run["seed"], e["step"], e["validation_loss"], e["step"] == run["selected_step"])
            for group, runs in comparison["runs"].items()
            for run in runs
            for e in run.get("history", [])
        ],
        columns=["model", "seed", "step", "validation loss", "kept"],
    )


def say_best_head_count(runs: pd.DataFrame) -> pd.DataFrame | None:
    """Say which head count has the lowest mean test loss and what the seeds decide; return the paired differences."""
    ours = runs[runs["heads"].notna() & ~runs["yours"]]
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
    return pairs


def what_is_decided(pairs: pd.DataFrame) -> str:
    """Say which head counts the paired intervals tell from the best, and which not. `pairs` is of `against_best`."""
    best = in_heads([int(pairs["best"].iloc[0])])
    parts = {
        f"Paired by seed, the loss with {best} is lower than with": pairs["from"] > 0,
        f"Paired by seed, the loss with {best} is higher than with": pairs["to"] < 0,  # where a best seed has no pair
    }
    said = [
        f"{start} {in_heads(pairs.loc[which, 'heads'].tolist())}: the 95 % interval of the difference leaves out 0."
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
    *before, last = counts
    return f"{', '.join(map(str, before))}{' and ' * bool(before)}{last} head{'s' * (last != 1)}"


def about_seconds(comparison: dict) -> str:
    """Say on what the runtimes were measured, in Markdown."""
    facts = [str(comparison["environment"].get("accelerator", "an unnamed device"))]
    if "threads" in comparison["environment"]:
        facts.append(f"{comparison['environment']['threads']} threads")
    return (
        f"Seconds: training with its validations, on {for_markdown(', '.join(facts))}. Other work on the machine is "
        "part of them, so small differences mean nothing."
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
    win = ", ".join(models[models < best].index) or "no model"
    say(
        for_markdown(
            f"Counting pairs of words gives {written(losses['bigram'])}; above that lies {lose}. Counting triples "
            f"gives "
            f"{written(best)}; below that lie {win}."
        )
    )
