"""A visitor's words as plain text, wherever something would read them as markup."""

import html
import re

LONGEST_LABEL = 18


def for_html(text: str) -> str:
    """Escape for HTML text and attributes. `<bdi>` keeps right-to-left words from turning their surroundings."""
    return f"<bdi>{html.escape(text)}</bdi>"


def for_plotly(text: str) -> str:
    """Escape for Plotly's labels, hovers and titles, which read tags and entities."""
    return html.escape(text, quote=False)


def for_markdown(text: str) -> str:
    """Escape for Streamlit's Markdown: emphasis, code, math, links, directives, HTML."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|~$:<>&])", r"\\\1", text)


def as_sentence(error: Exception | str) -> str:
    """Return an error's message as a sentence in Markdown: a capital first, unless a name is first, and a full stop.

    Errors of the package begin small, since a command puts its own name before them.
    """
    message = str(error)
    first = message.partition(" ")[0].rstrip(",;:")
    return for_markdown((message[:1].upper() + message[1:] if first.isalpha() else message).rstrip(".") + ".")


def shortened(text: str) -> str:
    """Cut a very long word for a label; hover and table keep all of it."""
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"


def word_html(word: str) -> str:
    """Return a word of the vocabulary in bold for a sentence in HTML; a mark alone, as a full stop, in quotes."""
    said = for_html(word)
    return f"<b>{said}</b>" if any(character.isalnum() for character in word) else f"<b>“{said}”</b>"


def label_html(text: str) -> str:
    """Escape a word or label for a sentence in HTML, a very long one cut short.

    A label's number stands before its word, whatever the direction of the word.
    """
    number, dot, word = shortened(text).partition(" · ")
    return f"{number}{dot}{for_html(word)}" if dot and number.isdecimal() else for_html(shortened(text))
