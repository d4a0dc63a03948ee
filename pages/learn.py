from wordlm.ui.frame.shell import inside_app

inside_app()

import streamlit as st

from wordlm.quiz import question_of
from wordlm.ui.frame import controls, widgets
from wordlm.ui.frame.glossary import draw_glossary
from wordlm.ui.views.learn.chapters import CHAPTERS, chapter_name
from wordlm.ui.views.learn.quiz import ask, quiz

with st.container(horizontal=True, vertical_alignment="bottom"):
    part = widgets.segments("part", "Part")
    number = int(widgets.segments("chapter", "Chapter", format_func=chapter_name)) if part == "course" else 0

if part == "course":
    chapter = CHAPTERS[number - 1]
    st.subheader(f"{number}. {chapter.title}")
    with st.container(key="chapter_controls", horizontal=True, vertical_alignment="bottom"):
        controls.draw_prompt(chapter.uses)
        controls.draw_model(chapter.uses)
    chapter.draw(controls.shared_choice())

    st.subheader("A question")
    ask(question_of(number, 0), f"chapter_{number}")
    if number < len(CHAPTERS):
        label = f"Next: {number + 1}. {CHAPTERS[number].title}"
        st.button(label, on_click=controls.turn_to_chapter, args=[number + 1], key="next_chapter")
elif part == "quiz":
    st.subheader("What do you know by now?")
    quiz()
else:
    st.subheader("What does that word mean?")
    draw_glossary(widgets.field("term", "Search", live=True, placeholder="softmax"))
