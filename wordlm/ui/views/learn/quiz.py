"""The quiz on the screen: one question at a time, and how each chapter went."""

from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import streamlit as st

from wordlm.quiz import MAKERS, Question, questions
from wordlm.ui.drawing.charts import MENU, matrix_heatmap
from wordlm.ui.drawing.tables import text_table
from wordlm.ui.frame.address import not_carried
from wordlm.ui.frame.glossary import linked

_ROUND = "quiz_round"


@dataclass
class Round:
    """One round through all questions."""

    seed: int = 1
    place: int = 0
    tries: dict[int, int] = field(default_factory=dict)
    """Wrong answers by question, counted until it was right."""
    right: set[int] = field(default_factory=set)


def ask(question: Question, key: str) -> tuple[bool, bool]:
    """Draw one question and judge the answer; return whether an answer was just given, and whether it is right."""
    if question.matrix is not None:
        st.plotly_chart(
            matrix_heatmap(question.matrix, rows="head", columns="word", unit="weight"),
            key=f"map_{key}",
            config=MENU,
            alt="A small attention map with its numbers",
        )
    # The question stands above its control, whose name has no room for links.
    st.markdown(linked(question.text))
    plain = question.text.replace("*", "")
    with st.form(f"form_{key}", border=False):
        if question.options:
            given: Any = st.radio(
                plain, list(question.options), index=None, key=f"answer_{key}", label_visibility="collapsed"
            )
        else:
            given = st.number_input(
                plain,
                value=None,
                step=None,
                format="%.6g",
                placeholder="a number",
                key=f"answer_{key}",
                label_visibility="collapsed",
            )
        checked = st.form_submit_button("Check", type="primary")
    said = st.session_state.setdefault(f"said_{key}", None)
    if given is None:  # an answer that is no longer there has no verdict
        said = st.session_state[f"said_{key}"] = None
    if checked:
        said = st.session_state[f"said_{key}"] = given
    if said is None:
        if checked:
            st.info("Give an answer first, then press Check.")
        return False, False
    right = question.is_right(said)
    if right:
        st.success(linked(f"Right. {question.why}"))
    else:
        st.error(linked(f"Not yet. {question.remark(said)} Try again."))
    return checked, right


def quiz() -> None:
    """Draw the round where it stands."""
    round_: Round = st.session_state.setdefault(_ROUND, Round())
    if round_.place >= len(MAKERS):
        _summary(round_)
        return
    if round_.place or round_.tries or round_.seed > 1:
        not_carried("where you stand in the quiz")
    asked = questions(round_.seed)
    question, place = asked[round_.place], round_.place
    st.progress(place / len(asked), f"Question {place + 1} of {len(asked)}, from chapter {question.chapter}")
    checked, right = ask(question, f"{round_.seed}_{place}")
    if right:
        round_.right.add(place)
    elif checked and place not in round_.right:
        round_.tries[place] = round_.tries.get(place, 0) + 1

    def move(by: int) -> None:
        round_.place += by

    with st.container(horizontal=True):
        st.button("Next question" if right else "Skip", on_click=move, args=[1], key="quiz_next")
        if place:
            st.button("Back", on_click=move, args=[-1], key="quiz_back")


def _summary(round_: Round) -> None:
    st.subheader("How did it go?")
    table = summary_table(questions(round_.seed), round_)
    at_once = int(table["right at once"].sum())
    st.write(f"{at_once} of {len(MAKERS)} right at the first try, {len(round_.right)} right in the end.")
    text_table(table, alt="How each chapter went")

    def again() -> None:
        st.session_state[_ROUND] = Round(round_.seed + 1)

    def back() -> None:
        round_.place = 0

    with st.container(horizontal=True):
        st.button("Another round, with other numbers", on_click=again, type="primary", key="quiz_again")
        st.button("Back to the first question", on_click=back, key="quiz_first")


def summary_table(asked: tuple[Question, ...], round_: Round) -> pd.DataFrame:
    """Return one line a chapter: `right at once`, `right later`, `open`."""
    rows: dict[int, list[int]] = {}
    for place, question in enumerate(asked):
        column = 2 if place not in round_.right else 1 if round_.tries.get(place) else 0
        rows.setdefault(question.chapter, [0, 0, 0])[column] += 1
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["right at once", "right later", "open"])
    return table.rename_axis("chapter").reset_index()
