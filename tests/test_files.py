"""Files as people save them."""

import codecs
import json

import pytest

from wordlm.data import DataError, stories_in
from wordlm.files import ARTIFACTS, read_json, text_of

MARKED = {
    "UTF-8 with a mark": codecs.BOM_UTF8 + "café\n".encode(),
    "UTF-8": "café\n".encode(),
    "UTF-16, little": codecs.BOM_UTF16_LE + "café\n".encode("utf-16-le"),
    "UTF-16, big": codecs.BOM_UTF16_BE + "café\n".encode("utf-16-be"),
}


@pytest.mark.parametrize("content", MARKED.values(), ids=MARKED)
def test_a_text_is_read_with_or_without_a_byte_order_mark(content):
    assert text_of(content) == "café\n"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_json_with_a_byte_order_mark_is_read(tmp_path, encoding):
    path = tmp_path / "comparison.json"
    path.write_text(json.dumps({"seed": 11}), encoding=encoding)
    assert read_json(path) == {"seed": 11}


def test_what_is_no_json_is_refused_by_name(tmp_path):
    path = tmp_path / "x.json"
    for content in (b"{", b"\xff\xfe{", b"\xff\xfe\x00", b"\x80"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"x\.json is not valid JSON"):
            read_json(path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_stories_with_a_byte_order_mark_are_read(encoding):
    stories = [f"Story number {i}." for i in range(12)]
    assert stories_in("\r\n\r\n".join(stories).encode(encoding)) == stories


def test_a_text_in_another_encoding_is_refused():
    with pytest.raises(DataError, match="UTF-8"):
        stories_in("café\n\n".encode("latin-1") * 12)


def test_the_bundled_files_have_no_byte_order_mark():
    assert not [path for path in ARTIFACTS.rglob("*.json") if path.read_bytes().startswith(codecs.BOM_UTF8)]
