"""What the Heads tab of Heads and words draws: a card a head, and the answer to a hypothesis about one."""

import base64
import math

import numpy as np
import pandas as pd
import streamlit as st

from wordlm.ablation import head_value_table
from wordlm.bundled import BUNDLED
from wordlm.numbers import SPACE, counted, listed, numbered, percent, written
from wordlm.profiles import MEASURES, POSITION, SPREAD, STORIES, TARGETS, Measure, Profile, verdict
from wordlm.ui.drawing.charts import MENU, beside_even, head_hue
from wordlm.ui.drawing.figure import PlainFigure
from wordlm.ui.drawing.tables import number_table
from wordlm.ui.frame import controls, widgets
from wordlm.ui.frame.export import Collected
from wordlm.ui.frame.glossary import explain, say
from wordlm.ui.state.resources import Checkpoint, ablation_of, checkpoint, likeness_of, profile_over, profiled_texts

INDUCTION = "the word after the same word earlier"
WHY_NO_INDUCTION = (
    "One block cannot do this in general. A key is made from its own word and slot alone, so it does not know which "
    "word stood before it; a second block could. In stories a word is often followed by the same sort of word, which "
    "a head may seek by itself. Over *repeated words*, chosen at random, that help is gone."
)


def choose_texts(chosen: Checkpoint) -> tuple[str, Profile]:
    """Let the visitor choose the texts; return them and what the heads do over them."""
    texts = widgets.segments(
        "over",
        "Over",
        profiled_texts(chosen),
        help="Repeated words: random common words, shown twice over. Repeated names: short texts in which two names "
        "come again. Both are made by a generator with a fixed seed.",
    )
    seen = profile_over(chosen, texts)
    explain(
        f"{counted(seen.texts, 'text')}, {counted(seen.words, 'word')}, each read as the last one. A picture shows the "
        f"mean weight by distance; its height is the square root, so that small weights show. The band holds "
        f"{percent(SPREAD[1] - SPREAD[0], 0)} of the words, the dashed line is what even weights give. *Nats "
        "from even*, its sharpness, is the logarithm of the number of keys less the entropy of the row, on average. "
        "Named are the three shares furthest from even weights, by the Kullback-Leibler divergence."
    )
    if chosen.is_own:
        say(
            f"{chosen.title} is your own, so it was not measured over the test stories; these texts were read just now."
        )
    return texts, seen


# A card a head


def cards(chosen: Checkpoint, seen: Profile) -> None:
    """Draw a card for each head: where it looks, what is unusual in that, its worth, and heads like it."""
    worth, sharpness = _worth(chosen), _sharpness(chosen)
    alike = _most_alike(chosen)
    largest = float(max(seen.by_distance.max(), seen.high.max()))
    drawn = "".join(
        f'<section><h4><i style="background:{head_hue(head)}"></i>Head {head + 1}'
        f"<span>{written(seen.sharpness[head], 2)} nats from even</span></h4>{_picture(seen, head, largest)}"
        f"<p>{_what_is_unusual(seen, head)}</p>"
        + "".join(f"<p>{said}</p>" for said in (_worth_said(worth, sharpness, head), alike[head]) if said)
        + "</section>"
        for head in range(seen.heads)
    )
    st.html(f'<div class="head-cards">{drawn}</div>')
    if any(alike):
        explain("How alike: 1 minus the mean Jensen-Shannon distance of two heads' rows over eight short texts.")


def _picture(seen: Profile, head: int, largest: float) -> str:
    """Return the mean weight by distance as a picture, with the spread over words and what even weights give."""
    width, height, reach = 256, 72, seen.by_distance.shape[1]

    def line(values: np.ndarray) -> list[str]:
        heights = height * (1 - np.sqrt(values / largest))
        return [f"{width * (1 - (d + 0.5) / reach):.1f},{y:.1f}" for d, y in enumerate(heights)]

    mean, hue = seen.by_distance[head], head_hue(head)
    far = int(mean.argmax())
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" preserveAspectRatio="none">'
        f'<polygon points="{" ".join(line(seen.high[head]) + line(seen.low[head])[::-1])}" fill="{hue}" '
        f'fill-opacity="0.3"/><g fill="none" stroke-width="2"><polyline points="{" ".join(line(seen.even))}" '
        f'stroke="#888888" stroke-dasharray="3 3"/><polyline points="{" ".join(line(mean))}" stroke="{hue}"/></g></svg>'
    )
    said = f"Head {head + 1}: the largest mean weight is {written(mean[far], 3)}, on {_back(far)}"
    # Streamlit takes drawings out of HTML, and leaves pictures.
    packed = base64.b64encode(svg.encode()).decode()
    return (
        f'<img src="data:image/svg+xml;base64,{packed}" alt="{said}">'
        f"<small><span>{counted(reach - 1, 'word')} back</span><span>itself</span></small>"
    )


def _back(distance: int) -> str:
    return ("the word itself", "the previous word")[distance] if distance < 2 else f"the key {distance} words back"


def _what_is_unusual(seen: Profile, head: int) -> str:
    shares = [
        f"{written(seen.measures[name].value[head], 3, limit=True)} on {name} (even: "
        f"{written(seen.measures[name].even, 3)})"
        for name in seen.unusual(head)
    ]
    said = f"<b>{shares[0]}</b>, {', '.join(shares[1:])}."
    by_position = seen.measures[POSITION].value[head]
    if math.isnan(by_position):
        return f"{said} Its weights are even, so there is nothing to explain."
    if by_position <= 0:
        return f"{said} Position alone explains nothing of how far its weights lie from even ones."
    return (
        f"{said} Position alone, that of the start mark too, explains {percent(by_position, 0)} of how far its weights "
        "lie from even ones (squared); the rest depends on the other words."
    )


def _worth(chosen: Checkpoint) -> np.ndarray | None:
    """Return what each head is worth on the test set, nats per token; None for an own model."""
    stored = ablation_of(chosen)
    return None if stored is None else head_value_table(stored)["zero"].to_numpy()


def _sharpness(chosen: Checkpoint) -> np.ndarray:
    """Return how far each head's rows are from even over the test stories, on which its worth was measured too."""
    return np.zeros(0) if chosen.is_own else profile_over(chosen, STORIES).sharpness


def _rank(values: np.ndarray, head: int) -> int:
    return 1 + int((values > values[head]).sum())


def _worth_said(worth: np.ndarray | None, sharpness: np.ndarray, head: int) -> str:
    if worth is None:
        return ""
    said = f"Worth {written(worth[head])} nats per token on the test set"
    if len(worth) == 1:
        return f"{said}."
    by_worth, by_sharpness = _rank(worth, head), _rank(sharpness, head)
    said += f": number {by_worth} of {len(worth)}; in sharpness over the test stories it is number {by_sharpness}."
    return said + (" <b>The two disagree.</b>" if disagree(by_worth, by_sharpness, len(worth)) else "")


def disagree(one: int, other: int, heads: int) -> bool:
    """Whether two ranks of a head are at least half the number of heads apart."""
    return abs(one - other) >= max(1, heads / 2)


def say_where_worth_differs(chosen: Checkpoint) -> None:
    """Say whether the heads that are sharpest over the test stories are those that are worth most there."""
    worth = _worth(chosen)
    if worth is None or len(worth) == 1:
        return
    sharpness, heads = _sharpness(chosen), len(worth)
    sharpest, best = int(sharpness.argmax()), int(worth.argmax())
    if sharpest == best:
        said = f"Over the test stories head {best + 1} is furthest from even weights and worth most."
    else:
        said = (
            f"Over the test stories head {sharpest + 1} is furthest from even weights, head {best + 1} is worth most: "
            "how a head looks does not say how much the model needs it."
        )
    far = [head + 1 for head in range(heads) if disagree(_rank(worth, head), _rank(sharpness, head), heads)]
    if far:
        said += f" Sharpness and worth disagree for {numbered('head', far)}."
    say(said)


def _most_alike(chosen: Checkpoint) -> list[str]:
    """Return for each head the heads of other seeds that are most like it, in words."""
    heads = chosen.heads or 0
    if chosen.is_own or len(BUNDLED[chosen.variant]) == 1:
        return [""] * heads
    others = [checkpoint(chosen.choice, seed) for seed in BUNDLED[chosen.variant] if seed != chosen.seed]
    likeness = {other.seed: likeness_of(chosen, other) for other in others}
    mean = written(np.mean(list(likeness.values())), 2)
    said = []
    for head in range(heads):
        found = [
            f"head {rows[head].argmax() + 1} of seed {seed} ({written(rows[head].max(), 2)})"
            for seed, rows in likeness.items()
        ]
        usual = f"; two heads of two seeds: {mean} on average" if heads > 1 else ""
        said.append(f"Most alike: {listed(found)}{usual}.")
    return said


def numbers(seen: Profile) -> None:
    """Draw every measure of every head."""
    number_table(profile_table(seen), alt="Every measure of every head")
    st.markdown("\n".join(f"- *{name}*: {said}." for name, said in MEASURES.items()))
    number_table(distance_table(seen), alt="The mean weight by distance, with its spread over the words")


def profile_table(seen: Profile) -> pd.DataFrame:
    """Return one row a head and measure: `head`, `measure`, `value`, its 95 % interval, `even`, `words`."""
    return pd.DataFrame(
        [
            (head + 1, name, measure.value[head], measure.low[head], measure.high[head], measure.even, measure.words)
            for head in range(seen.heads)
            for name, measure in seen.measures.items()
        ],
        columns=["head", "measure", "value", "low", "high", "even", "words"],
    )


def distance_table(seen: Profile) -> pd.DataFrame:
    """Return one row a distance: what even weights give, then for each head the mean and the spread."""
    table = pd.DataFrame({"words back": range(len(seen.even)), "even": seen.even})
    low, high = (percent(quantile, 0).replace(SPACE, " ") for quantile in SPREAD)  # columns are exported
    for head in range(seen.heads):
        name = f"head {head + 1}"
        table[name], table[f"{name}, {low}"] = seen.by_distance[head], seen.low[head]
        table[f"{name}, {high}"] = seen.high[head]
    return table


# A hypothesis


def state_hypothesis(chosen: Checkpoint) -> tuple[int, str]:
    """Let the visitor say which head looks at what; return the head, from 0, and one of `TARGETS`."""
    with st.container(key="hypothesis", horizontal=True, vertical_alignment="bottom"):
        heads = controls.numbered(chosen.heads or 1)
        head = int(widgets.segments("head", "Head", heads)) - 1 if len(heads) > 1 else 0
        return head, widgets.dropdown("looks_at", "looks at", width=320)


def answer(seen: Profile, own: Profile | None, texts: str, head: int, target: str) -> None:
    """Answer whether a head looks at `target`, over many texts and in the visitor's `own` prompt."""
    measure, in_prompt = seen.measures[target], None if own is None else own.measures[target]
    if measure.words:
        say(_answer(measure, head).format(head=head + 1, target=target) + _share_said(measure, head, texts))
    else:
        say(f"No word of the {texts} has {target}, so they say nothing about this.")
    if in_prompt is None or not in_prompt.words:
        say(f"No word of your prompt has {target}, so it says nothing about this.")
    else:
        say(
            f"In your prompt it gives {target} {written(in_prompt.value[head], 3)} (even: "
            f"{written(in_prompt.even, 3)}), over {counted(in_prompt.words, 'word')}."
        )
    if target == INDUCTION:
        explain(WHY_NO_INDUCTION)
    figure = answer_picture(measure, in_prompt, texts)
    st.plotly_chart(figure, key="looks_at_picture", config=MENU, alt=f"Share of each head's weight on {target}")


_ANSWERS = {
    "mostly": "**Yes, mostly.** Head {head} gives {target} more than half of its weight.",
    "more": "**More than evenly.** Head {head} gives {target} {times} times what even weights would{beyond}.",
    "position": "**Position explains it.** Head {head} gives {target} {side} than even weights would. Distance and "
    "number of keys alone predict that.",
    "no": "**Not that one can tell.** Head {head} gives {target} about what even weights would.",
    "less": "**No.** Head {head} gives {target} {times} times what even weights would{beyond}.",
}


def _answer(measure: Measure, head: int) -> str:
    value = measure.value[head]
    side = "more" if value > measure.even else "less"
    beyond = "" if measure.by_position is None else f", {side} than position alone predicts"
    said = _ANSWERS[verdict(measure, head)].replace("{side}", side).replace("{beyond}", beyond)
    return said.replace("{times}", written(value / measure.even, 2))


def _share_said(measure: Measure, head: int, texts: str) -> str:
    value, low, high = (written(part[head], 3, limit=True) for part in (measure.value, measure.low, measure.high))
    expected = measure.by_position
    predicted = "" if expected is None else f", position alone predicts {written(expected[head], 3, limit=True)}"
    return (
        f" Over {texts} the share is {value}, 95\u00a0% interval {low} to {high}; even weights give "
        f"{written(measure.even, 3, limit=True)}{predicted}. For "
        f"{percent(measure.share_of_largest(head), 0)} of the words the largest weight falls there."
    )


def answer_picture(measure: Measure, in_prompt: Measure | None, texts: str) -> PlainFigure:
    """Draw the share of every head beside even weights: over many texts with its interval, and in the prompt."""
    groups = {texts: measure, "your prompt": in_prompt}
    shown = {name: _shares(one) for name, one in groups.items() if one is not None and one.words}
    return beside_even(shown, "share of the weight")


def _shares(measure: Measure) -> pd.DataFrame:
    """Return a row a head; one text has no interval, so none is drawn."""
    low, high = (np.where(np.isnan(end), measure.value, end) for end in (measure.low, measure.high))
    heads = [f"head {head + 1}" for head in range(len(low))]
    return pd.DataFrame({"value": measure.value, "low": low, "high": high, "even": measure.even}, index=heads)


def answer_table(chosen: Checkpoint, own: Profile | None, head: int, target: str) -> pd.DataFrame:
    """Return the answer over every sort of text: `share` with its interval, both baselines, how often it is largest."""
    seen = {texts: profile_over(chosen, texts) for texts in profiled_texts(chosen)}
    if own is not None:
        seen["your prompt"] = own
    measures = {texts: profile.measures[target] for texts, profile in seen.items()}
    return pd.DataFrame(
        [
            (
                texts,
                m.value[head],
                m.low[head],
                m.high[head],
                m.even,
                _predicted(m, head),
                m.share_of_largest(head),
                m.words,
            )
            for texts, m in measures.items()
        ],
        columns=["texts", "share", "low", "high", "even", "by position", "largest weight there", "words"],
    )


def _predicted(measure: Measure, head: int) -> float:
    return math.nan if measure.by_position is None else float(measure.by_position[head])


def draw_answer(table: pd.DataFrame, target: str) -> None:
    """Draw the answer over every sort of text as a table."""
    number_table(table, alt=f"Share of the weight on {target}, by texts", help={"share": TARGETS[target]})


def collected(texts: str, seen: Profile, own: Profile | None, answers: pd.DataFrame, target: str) -> Collected:
    """Return the tables and figures of the tab."""
    tables = {f"Measures over {texts}": profile_table(seen), f"Weight by distance over {texts}": distance_table(seen)}
    tables[f"Share on {target}"] = answers
    figure = answer_picture(seen.measures[target], None if own is None else own.measures[target], texts)
    return tables, {f"Share of each head's weight on {target}": figure}
