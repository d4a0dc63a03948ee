"""A prompt is cut in the browser as here: `wordlm/ui/browser/model/tokenizer.js` in node against `wordlm.text`."""

import json
import os
import random
import unicodedata

from tests.node import node, run_tests, write_plain_json
from wordlm.files import sha256_text
from wordlm.prepare_data import cut_subset
from wordlm.text import MARKS, PLAIN, SPECIALS, Vocab, encode_prompt, tokenize, typed_words
from wordlm.ui.browser.model.layout import tokenizer_tables

CASES = int(os.environ.get("WORDLM_TOKENIZER_CASES", 20_000))
OTHER_WORDS = Vocab((*SPECIALS, ".", "'", "it's", "don`t", "ﬁ", "σας", "i̇", "a", "…", "bos"))

ODD = [
    "",
    " \t\r\n\x85\u2028",
    "<s> </script> $x$ *a* :smile: &lt; _b_ <BOS><PAD>",
    "don´t don′t don＇t donʼt don’t don`t it`s ''quoted'' rock'n'roll 'tis",
    "wait… … ...",
    "spark\ufffeling \ufffe\u0301 e\ufffe\u0301 x\ufffe",
    "spark\u00adling sand\u2060castle 5\ufe0f\u20e3 cats",
    "İstanbul DİDİM ıI ΣΑΣ ΣΑΣ' ΌΣΟΣ. Σ ΑΣ\u0301 Α\u0301Σ\u0345Α Α.Σ Α’Σ",
    "e\u0301\u0323 a\u0323\u0301 \u1112\u1161\u11ab \u2126 \u212b \u0344 \uf900 \ufb1d \u0958",
    "a\u200db \u0915\u094d\u200d\u0937 \u200d\u200dx a\u200d\u200db É\u200cé",
    "👩\u200d🚀 👩\u200d👩\u200d👧 🏴\U000e0067\U000e0062\U000e007f ❤\ufe0f 🇩🇪",
    "𝐇𝐞𝐥𝐥𝐨 Ｈｅｌｌｏ！ ﬃ Ĳ ǆ ŉ ⅷ ℃",
    "1.234,5 ١٢٣ ²³ ½ Ⅻ 5th 3.14.15 ,5.",
    "\ud800a\udc00 \ud83d\u200b\ude00 x\udfff",
    "\u0378\u0301 \U00010ec0\u0323\u0301 \U0001e4ee\u0301 \U0001fae9 \ua7cb\u0301",  # Unicode 15 to 17
    "\U00016ea0 \U0001e4ec\U0001e4ee \U000113c2\U000113c2",  # of which some would change places, some become one
]


def utf_16(text: str) -> str:
    """Return the text as JavaScript has it, where two lone surrogates beside each other are one character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def found(text: str, vocab: Vocab) -> dict:
    typed, ids = typed_words(text, vocab)
    return {"typed": typed, "ids": ids, "tokens": tokenize(text)}


def digest_of(text: str, vocab: Vocab, name: str) -> dict:
    one = found(text, vocab)
    parts = (*one["typed"], *map(str, one["ids"]), *one["tokens"])
    return {"text": text, "name": name, "sha256": sha256_text("\0".join(parts))}


def random_texts(count: int, vocab: Vocab) -> list[str]:
    """Return short texts of characters for which there is a rule, of any others, and of words."""
    chance = random.Random(15)
    everything = [chr(code) for code in range(0x110000)]
    pools = [
        everything,
        [chr(code) for code in range(0x250)],
        list(" ''`’.,5aAbBeEiIßσΣİ\u0301\u0323\u200c\u200d\u00ad\ufe0f👩🚀"),
        [chr(code) for code in PLAIN],
        list(MARKS),
        [c for c in everything if unicodedata.normalize("NFC", c) != c or unicodedata.decomposition(c)],
        [c for c in everything if c.lower() != c or c.upper() != c],
        [c for c in everything[:0x20000] if unicodedata.category(c) == "Cn"],
        [c for c in everything if unicodedata.category(c)[0] in "NZ" or unicodedata.category(c) in ("Lm", "Cf", "Sk")],
        [f"{word} " for word in vocab.itos[4:]],
        [f"{word.upper()}’" for word in vocab.itos[4:]],
    ]
    return [
        utf_16("".join(chance.choice(chance.choice(mixed)) for _ in range(chance.randint(1, 12))))
        for mixed in (chance.choices(pools, k=3) for _ in range(count))
    ]


def write_fixtures(folder, vocab: Vocab, **texts) -> None:
    vocabularies = [list(one.itos) for one in (vocab, OTHER_WORDS)]
    write_plain_json(folder / "tokenizer.json", {"tables": tokenizer_tables(), "vocabularies": vocabularies} | texts)


def prompt_fields(text: str, vocab: Vocab, vocabulary: int, context_len: int, place: int) -> dict:
    prompt = encode_prompt(text, vocab, context_len)
    place %= len(prompt.ids)
    names = ("ids", "typed", "tokens", "positions", "dropped", "padding", "unknown", "labels", "reach")
    part = prompt.up_to(place)
    return {name: getattr(prompt, name) for name in names} | {
        "text": text,
        "vocabulary": vocabulary,
        "contextLen": context_len,
        "place": place,
        "upTo": {name: getattr(part, name) for name in ("ids", "typed", "positions", "reach")},
    }


def test_random_and_odd_texts_are_cut_as_here(vocab, tmp_path):
    node()
    vocabs = (vocab, OTHER_WORDS)
    texts = [utf_16(text) for text in ODD] + random_texts(CASES, vocab)
    cases = [{"text": text, "vocabulary": i % 2} | found(text, vocabs[i % 2]) for i, text in enumerate(texts)] + [
        {"text": utf_16(text), "vocabulary": 1} | found(utf_16(text), OTHER_WORDS) for text in ODD
    ]
    prompts = [
        prompt_fields(" ".join(texts[i : i + 10]), vocabs[i % 2], i % 2, 1 + i % 70, i)
        for i in range(0, min(len(texts), 20_000), 23)
    ]
    write_fixtures(tmp_path, vocab, cases=cases, prompts=prompts)
    run_tests("tokenizer.test.js", tmp_path)


def test_every_character_is_cut_lowered_and_normalised_as_here(vocab, tmp_path):
    node()
    blocks = [*range(0, 0x34000, 0x400), *range(0xE0000, 0xE1000, 0x400), 0x10FC00]
    characters = (map(chr, range(first, first + 0x400)) for first in blocks)
    texts = [utf_16("".join(f"a{c}Σ {c}\u0301\u0323 " for c in some)) for some in characters]
    digests = [digest_of(text, vocab, f"from {first:#x}") for first, text in zip(blocks, texts, strict=True)]
    write_fixtures(tmp_path, vocab, digests=digests)
    run_tests("tokenizer.test.js", tmp_path)


def test_the_stories_are_cut_as_here(vocab, real_stories, tmp_path):
    node()
    digests = [digest_of(story, vocab, f"story {i}") for i, story in enumerate(cut_subset(real_stories))]
    assert len(digests) == 6000
    write_fixtures(tmp_path, vocab, digests=digests)
    run_tests("tokenizer.test.js", tmp_path)


def test_the_tables_are_small_plain_json():
    written = json.dumps(tokenizer_tables(), separators=(",", ":"))
    assert json.loads(written) == tokenizer_tables()
    assert len(written) < 40_000
