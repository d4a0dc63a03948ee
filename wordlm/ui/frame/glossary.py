"""The glossary on the screen: opened from any page, and linked wherever a text uses one of its terms."""

import functools
import html
import re
from urllib.parse import quote_plus

import streamlit as st

from wordlm.glossary import TERMS, matching

# Code, links and formulas stay as they are.
_PROTECTED = re.compile(r"(`[^`]*`|\[[^\]]*\]\([^)]*\)|\$[^$]+\$)")
_WORDS = {term.lower(): term for term in TERMS} | {
    "weight": "weights",
    "logit": "logits",
    "queries": "query",
    "matrices": "matrix",
    "vocabularies": "vocabulary",
}
_ANY_WORD = re.compile(
    rf"\b({'|'.join(sorted(map(re.escape, _WORDS), key=len, reverse=True))})(s|es)?\b", re.IGNORECASE
)


@functools.lru_cache(maxsize=512)
def linked(text: str) -> str:
    """Link the first mention of each term in a Markdown text of ours to the glossary, which opens in a new tab.

    Not for a visitor's words: they are no terms, whatever they say.
    """
    seen: set[str] = set()

    def link(match: re.Match) -> str:
        term = _WORDS[match[1].lower()]
        if term in seen:
            return match[0]
        seen.add(term)
        return f"[{match[0]}](learn?part=glossary&term={quote_plus(term)})"

    pieces = _PROTECTED.split(text)
    return "".join(piece if place % 2 else _ANY_WORD.sub(link, piece) for place, piece in enumerate(pieces))


def explain(text: str) -> None:
    """Write one of our explanations, its terms linked."""
    st.caption(linked(text))


def say(text: str) -> None:
    """Write a sentence or two of ours at full size, its terms linked."""
    st.markdown(linked(text))


def draw_glossary(search: str) -> None:
    """Draw the terms that match a search."""
    found = matching(search)
    if not found:
        st.info(f"None of the {len(TERMS)} terms, nor its sentence, contains that. Try fewer letters.")
    entries = "".join(f"<dt>{html.escape(term)}</dt><dd>{html.escape(said)}</dd>" for term, said in found.items())
    st.html(f'<dl class="glossary">{entries}</dl>')


@st.dialog("Glossary", width="medium")
def open_glossary() -> None:
    """Show the glossary over the page that the visitor is on."""
    draw_glossary(st.text_input("Search", key="glossary_search", live=True, placeholder="softmax") or "")
