"""What the browser needs to read a prompt by itself: where in its bytes a model's parameters lie, and the tokenizer.

`forward.js` and `tokenizer.js` are the readers. The tables come from this Python, because its Unicode is older or newer
than that of a visitor's browser, and the two must cut a text alike.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import chain
from typing import Any

from wordlm.models import CausalAttentionLM, LanguageModel, variant_of
from wordlm.text import CONTROLS, MARKS, PLAIN
from wordlm.ui.browser.carrying.messages import Layout


def layout_of(model: LanguageModel) -> Layout:
    """Return what `readModel` needs beside the bytes: sizes, and `arrays`, name to [offset in floats, *shape]."""
    arrays, offset = {}, 0
    for name, tensor in model.state_dict().items():
        arrays[name] = [offset, *tensor.shape]
        offset += tensor.numel()
    variant = variant_of(model)
    vocab_size, d_model = model.token_embedding.weight.shape
    return {
        "kind": variant.kind,
        "heads": variant.heads,
        "kvHeads": variant.kv_heads,
        "vocabSize": vocab_size,
        "contextLen": context_len_of(model),
        "dModel": d_model,
        "hidden": model.hidden_layer.out_features,
        "arrays": arrays,
    }


def context_len_of(model: LanguageModel) -> int:
    """Return the number of slots that a model reads."""
    if isinstance(model, CausalAttentionLM):
        return model.position_embedding.num_embeddings
    return model.hidden_layer.in_features // model.token_embedding.embedding_dim


@cache
def tokenizer_tables() -> dict[str, Any]:
    """Return what `tokenizer.js` must know of this Python's Unicode and of `wordlm.text`, as plain JSON of about 20 kB.

    Sets of characters are flat lists [gap, length, gap, length, ...]: so many that are not in it, so many that are.

    letters, digits, word, spaces   `[^\\W\\d_]`, `\\d`, `\\w` and `\\s`
    marks, controls                 those of `wordlm.text`
    unassigned                      what no rule of normalisation may touch, since this Python knows none for it
    plain, lower                    `_runs` of a character's plain form and of its lower-case form
    cased, ignorable                what decides whether a capital sigma ends its word
    """
    every = "".join(map(chr, range(0x110000)))
    categories = [unicodedata.category(character) for character in every]
    # Only of what is a character of some script; these two loops would take most of the time.
    known = [code for code, category in enumerate(categories) if category not in ("Cn", "Co", "Cs")]
    # Case-ignorable characters are skipped when looking for the cased one before a final sigma.
    cased = {code for code in known if f"{chr(code)}Σ".lower()[-1] == "ς"}
    cased_or_ignorable = {code for code in known if f"a{chr(code)}Σ".lower()[-1] == "ς"}
    return {
        "unicode": unicodedata.unidata_version,
        "letters": _matched(r"[^\W\d_]", every),
        "digits": _matched(r"\d", every),
        "word": _matched(r"\w", every),
        "spaces": _matched(r"\s", every),
        "marks": _compact(map(ord, MARKS)),
        "controls": _matched(f"[{CONTROLS}]", every),
        "unassigned": _compact(code for code, category in enumerate(categories) if category == "Cn"),
        "plain": _runs(PLAIN),
        "lower": _runs({ord(c): c.lower() for c in every if c.lower() != c}),
        "cased": _compact(sorted(cased)),
        "ignorable": _compact(sorted(cased_or_ignorable - cased)),
    }


def _matched(one: str, every: str) -> list[int]:
    """Return the characters that the pattern of `one` matches."""
    return _compact(chain.from_iterable(range(*match.span()) for match in re.finditer(f"{one}+", every)))


def _compact(codes: Iterable[int]) -> list[int]:
    """Return codes in rising order as [gap, length, gap, length, ...]."""
    lengths: list[int] = []
    end = 0
    for code in codes:
        if code == end and lengths:
            lengths[-1] += 1
        else:
            lengths += [code - end, 1]
        end = code + 1
    return lengths


def _runs(forms: dict[int, str]) -> list[list]:
    """Return what characters become as [first, last, step, distance], or [code, form] where it is not one character.

    Upper and lower case often take turns, so a run takes every character or every second one.
    """
    runs: list[list] = []
    for code, form in sorted(forms.items()):
        if len(form) != 1:
            runs.append([code, form])
            continue
        distance, last = ord(form) - code, runs[-1] if runs else []
        step = code - last[1] if len(last) == 4 and last[3] == distance else 0
        if step in (1, 2) and (last[0] == last[1] or last[2] == step):
            last[1:3] = code, step
        else:
            runs.append([code, code, 1, distance])
    return runs
