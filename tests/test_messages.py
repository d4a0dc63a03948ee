"""What goes to the browser and comes back has one form: `messages.py` as types of Python, `messages.js` as JSDoc."""

import re
import types
from typing import NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from wordlm.files import REPOSITORY
from wordlm.ui.browser.carrying import messages
from wordlm.ui.browser.carrying.components import checked

SCRIPT = REPOSITORY / "wordlm/ui/browser/carrying/messages.js"
TYPES = {name: kind for name, kind in vars(messages).items() if is_typeddict(kind)}
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", types.NoneType: "null"}


def in_jsdoc(kind) -> str:
    """Write a type of Python as JSDoc has it."""
    of = get_args(kind)
    match get_origin(kind):
        case origin if origin is Union or origin is types.UnionType:
            return " | ".join(map(in_jsdoc, of))
        case origin if origin is list:
            return f"{in_jsdoc(of[0])}[]"
        case origin if origin is tuple:
            return f"[{', '.join(map(in_jsdoc, of))}]"
        case origin if origin is dict:
            return f"Record<{in_jsdoc(of[0])}, {in_jsdoc(of[1])}>"
    return PLAIN.get(kind) or kind.__name__


def declared_in_python(kind) -> dict[str, str]:
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        optional = get_origin(hint) is NotRequired
        found[f"[{name}]" if optional else name] = in_jsdoc(get_args(hint)[0] if optional else hint)
    return found


def declared_in_script() -> dict[str, dict[str, str]]:
    found = {}
    for block in re.findall(r"/\*\*(.*?)\*/", SCRIPT.read_text(encoding="utf-8"), re.DOTALL):
        if name := re.search(r"@typedef \{object\} (\w+)", block):
            found[name[1]] = {key: kind for kind, key in re.findall(r"@property \{(.+)\} (\S+)", block)}
    return found


def test_both_sides_declare_the_same_messages():
    assert set(declared_in_script()) == set(TYPES)


@pytest.mark.parametrize("name", TYPES)
def test_a_message_has_the_same_parts_on_both_sides(name):
    assert declared_in_script()[name] == declared_in_python(TYPES[name])


@pytest.mark.parametrize(
    "came",
    [
        None,
        3,
        {},
        {"at": "1"},
        {"at": 1, "head": "2"},
        {"at": 1, "off": [1, "2"]},
        {"at": 1, "query": {"label": "3 · dog"}},
        {"at": 1, "prompt": 7},
    ],
)
def test_what_no_script_of_ours_says_is_not_heard(came):
    assert checked(came) is None


def test_what_a_picture_says_is_heard():
    said = {"at": 2, "query": {"label": "3 · dog", "position": 3}, "head": 1, "off": [0, 2], "prompt": None}
    assert checked(said) == said
